//! The part of sepal/c.h and sepal/c_merge.h that this crate uses.
#![allow(non_camel_case_types)]

use std::os::raw::{c_char, c_int, c_uchar, c_void};

macro_rules! opaque {
    ($($name:ident),*) => { $(#[repr(C)] pub struct $name { _private: [u8; 0] })* };
}
opaque!(
    sepal_t, sepal_column_family_t, sepal_iterator_t, sepal_mergeoperator_t, sepal_options_t, sepal_pinned_value_t,
    sepal_readoptions_t, sepal_snapshot_t, sepal_writebatch_t, sepal_writeoptions_t
);

pub type Bytes = *const c_char;
pub type ErrPtr = *mut *mut c_char;
pub type Merge = unsafe extern "C" fn(
    *mut c_void, Bytes, usize, Bytes, usize, *const Bytes, *const usize, usize, *mut usize,
) -> *mut c_char;

extern "C" {
    pub fn malloc(size: usize) -> *mut c_void;

    pub fn sepal_open(options: *const sepal_options_t, name: Bytes, error: ErrPtr) -> *mut sepal_t;
    pub fn sepal_close(db: *mut sepal_t);
    pub fn sepal_close_with_error(db: *mut sepal_t, error: ErrPtr);
    pub fn sepal_destroy_db(options: *const sepal_options_t, name: Bytes, error: ErrPtr);
    pub fn sepal_repair_db(options: *const sepal_options_t, name: Bytes, error: ErrPtr) -> *mut c_char;

    pub fn sepal_put_cf(
        db: *mut sepal_t, options: *const sepal_writeoptions_t, family: *mut sepal_column_family_t, key: Bytes,
        key_size: usize, value: Bytes, value_size: usize, error: ErrPtr,
    );
    pub fn sepal_delete_cf(
        db: *mut sepal_t, options: *const sepal_writeoptions_t, family: *mut sepal_column_family_t, key: Bytes,
        key_size: usize, error: ErrPtr,
    );
    pub fn sepal_merge_cf(
        db: *mut sepal_t, options: *const sepal_writeoptions_t, family: *mut sepal_column_family_t, key: Bytes,
        key_size: usize, operand: Bytes, operand_size: usize, error: ErrPtr,
    );
    pub fn sepal_delete_range_cf(
        db: *mut sepal_t, options: *const sepal_writeoptions_t, family: *mut sepal_column_family_t, begin: Bytes,
        begin_size: usize, end: Bytes, end_size: usize, error: ErrPtr,
    );
    pub fn sepal_write(
        db: *mut sepal_t, options: *const sepal_writeoptions_t, batch: *mut sepal_writebatch_t, error: ErrPtr,
    );
    pub fn sepal_get_pinned(
        db: *mut sepal_t, options: *const sepal_readoptions_t, family: *mut sepal_column_family_t, key: Bytes,
        key_size: usize, error: ErrPtr,
    ) -> *mut sepal_pinned_value_t;
    pub fn sepal_pinned_value(value: *const sepal_pinned_value_t, size: *mut usize) -> Bytes;
    pub fn sepal_pinned_value_destroy(value: *mut sepal_pinned_value_t);
    pub fn sepal_multi_get(
        db: *mut sepal_t, options: *const sepal_readoptions_t, family: *mut sepal_column_family_t, count: usize,
        keys: *const Bytes, key_sizes: *const usize, values: *mut *mut c_char, value_sizes: *mut usize,
        errors: *mut *mut c_char,
    );

    pub fn sepal_create_snapshot(db: *mut sepal_t) -> *const sepal_snapshot_t;
    pub fn sepal_release_snapshot(db: *mut sepal_t, snapshot: *const sepal_snapshot_t);
    pub fn sepal_property_value_cf(
        db: *mut sepal_t, family: *mut sepal_column_family_t, name: Bytes,
    ) -> *mut c_char;
    pub fn sepal_compact_range_cf(
        db: *mut sepal_t, family: *mut sepal_column_family_t, begin: Bytes, begin_size: usize, end: Bytes,
        end_size: usize, error: ErrPtr,
    );
    pub fn sepal_flush(db: *mut sepal_t, family: *mut sepal_column_family_t, wait: c_uchar, error: ErrPtr);
    pub fn sepal_sync(db: *mut sepal_t, error: ErrPtr);
    pub fn sepal_catch_up(db: *mut sepal_t, error: ErrPtr);
    pub fn sepal_checkpoint(db: *mut sepal_t, directory: Bytes, error: ErrPtr);
    pub fn sepal_verify_checksums(db: *mut sepal_t, error: ErrPtr);

    pub fn sepal_create_column_family(
        db: *mut sepal_t, options: *const sepal_options_t, name: Bytes, error: ErrPtr,
    ) -> *mut sepal_column_family_t;
    pub fn sepal_find_column_family(db: *mut sepal_t, name: Bytes, error: ErrPtr) -> *mut sepal_column_family_t;
    pub fn sepal_drop_column_family(db: *mut sepal_t, family: *mut sepal_column_family_t, error: ErrPtr);
    pub fn sepal_column_family_handle_destroy(family: *mut sepal_column_family_t);
    pub fn sepal_column_family_names(db: *mut sepal_t, count: *mut usize) -> *mut *mut c_char;
    pub fn sepal_list_column_families_destroy(list: *mut *mut c_char, count: usize);

    pub fn sepal_create_iterator_cf(
        db: *mut sepal_t, options: *const sepal_readoptions_t, family: *mut sepal_column_family_t,
    ) -> *mut sepal_iterator_t;
    pub fn sepal_iter_destroy(iterator: *mut sepal_iterator_t);
    pub fn sepal_iter_valid(iterator: *const sepal_iterator_t) -> c_uchar;
    pub fn sepal_iter_seek_to_first(iterator: *mut sepal_iterator_t);
    pub fn sepal_iter_seek_to_last(iterator: *mut sepal_iterator_t);
    pub fn sepal_iter_seek(iterator: *mut sepal_iterator_t, key: Bytes, size: usize);
    pub fn sepal_iter_seek_for_prev(iterator: *mut sepal_iterator_t, key: Bytes, size: usize);
    pub fn sepal_iter_next(iterator: *mut sepal_iterator_t);
    pub fn sepal_iter_prev(iterator: *mut sepal_iterator_t);
    pub fn sepal_iter_key(iterator: *const sepal_iterator_t, size: *mut usize) -> Bytes;
    pub fn sepal_iter_value(iterator: *const sepal_iterator_t, size: *mut usize) -> Bytes;
    pub fn sepal_iter_get_error(iterator: *const sepal_iterator_t, error: ErrPtr);

    pub fn sepal_writebatch_create() -> *mut sepal_writebatch_t;
    pub fn sepal_writebatch_destroy(batch: *mut sepal_writebatch_t);
    pub fn sepal_writebatch_clear(batch: *mut sepal_writebatch_t);
    pub fn sepal_writebatch_count(batch: *const sepal_writebatch_t) -> u32;
    pub fn sepal_writebatch_append(batch: *mut sepal_writebatch_t, other: *const sepal_writebatch_t);
    pub fn sepal_writebatch_put_cf(
        batch: *mut sepal_writebatch_t, family: *mut sepal_column_family_t, key: Bytes, key_size: usize, value: Bytes,
        value_size: usize,
    );
    pub fn sepal_writebatch_put_expiring(
        batch: *mut sepal_writebatch_t, family: *mut sepal_column_family_t, key: Bytes, key_size: usize, value: Bytes,
        value_size: usize, unix_millis: u64,
    );
    pub fn sepal_writebatch_delete_cf(
        batch: *mut sepal_writebatch_t, family: *mut sepal_column_family_t, key: Bytes, key_size: usize,
    );
    pub fn sepal_writebatch_merge_cf(
        batch: *mut sepal_writebatch_t, family: *mut sepal_column_family_t, key: Bytes, key_size: usize, operand: Bytes,
        operand_size: usize,
    );
    pub fn sepal_writebatch_delete_range_cf(
        batch: *mut sepal_writebatch_t, family: *mut sepal_column_family_t, begin: Bytes, begin_size: usize, end: Bytes,
        end_size: usize,
    );

    pub fn sepal_options_create() -> *mut sepal_options_t;
    pub fn sepal_options_destroy(options: *mut sepal_options_t);
    pub fn sepal_options_from_text(options: *mut sepal_options_t, text: Bytes, error: ErrPtr);
    pub fn sepal_options_set_create_if_missing(options: *mut sepal_options_t, value: c_uchar);
    pub fn sepal_options_set_error_if_exists(options: *mut sepal_options_t, value: c_uchar);
    pub fn sepal_options_set_read_only(options: *mut sepal_options_t, value: c_uchar);
    pub fn sepal_options_set_follow_milliseconds(options: *mut sepal_options_t, milliseconds: u64);
    pub fn sepal_options_set_memory_limit(options: *mut sepal_options_t, bytes: usize);
    pub fn sepal_options_set_log_directory(options: *mut sepal_options_t, directory: Bytes);
    pub fn sepal_options_set_background_threads(options: *mut sepal_options_t, threads: c_int);
    pub fn sepal_options_set_compression(options: *mut sepal_options_t, compression: c_int);
    pub fn sepal_options_set_block_size(options: *mut sepal_options_t, bytes: usize);
    pub fn sepal_options_set_ttl(options: *mut sepal_options_t, milliseconds: i64);
    pub fn sepal_options_set_merge_operator(options: *mut sepal_options_t, merge: *const sepal_mergeoperator_t);
    pub fn sepal_options_add_column_family(
        options: *mut sepal_options_t, name: Bytes, family: *const sepal_options_t,
    );

    pub fn sepal_mergeoperator_create(
        state: *mut c_void, destructor: unsafe extern "C" fn(*mut c_void), merge: Merge, combine: *const c_void,
        name: unsafe extern "C" fn(*mut c_void) -> Bytes,
    ) -> *mut sepal_mergeoperator_t;
    pub fn sepal_mergeoperator_create_by_name(name: Bytes, size: usize) -> *mut sepal_mergeoperator_t;
    pub fn sepal_mergeoperator_destroy(merge: *mut sepal_mergeoperator_t);

    pub fn sepal_readoptions_create() -> *mut sepal_readoptions_t;
    pub fn sepal_readoptions_destroy(options: *mut sepal_readoptions_t);
    pub fn sepal_readoptions_set_fill_cache(options: *mut sepal_readoptions_t, value: c_uchar);
    pub fn sepal_readoptions_set_snapshot(options: *mut sepal_readoptions_t, snapshot: *const sepal_snapshot_t);
    pub fn sepal_readoptions_set_lower_bound(options: *mut sepal_readoptions_t, key: Bytes, size: usize);
    pub fn sepal_readoptions_set_upper_bound(options: *mut sepal_readoptions_t, key: Bytes, size: usize);
    pub fn sepal_readoptions_set_prefix(options: *mut sepal_readoptions_t, prefix: Bytes, size: usize);

    pub fn sepal_writeoptions_create() -> *mut sepal_writeoptions_t;
    pub fn sepal_writeoptions_destroy(options: *mut sepal_writeoptions_t);
    pub fn sepal_writeoptions_set_sync(options: *mut sepal_writeoptions_t, value: c_uchar);
    pub fn sepal_writeoptions_set_disable_wal(options: *mut sepal_writeoptions_t, value: c_uchar);
    pub fn sepal_writeoptions_set_no_slowdown(options: *mut sepal_writeoptions_t, value: c_uchar);
    pub fn sepal_writeoptions_set_ttl(options: *mut sepal_writeoptions_t, milliseconds: i64);

    pub fn sepal_free(pointer: *mut c_void);
    pub fn sepal_version_string() -> Bytes;
}
