use std::{marker::PhantomData, path::Path, ptr, slice};

use crate::error::{check, take_text};
use crate::options::{c_path, c_text, RawReadOptions, RawWriteOptions};
use crate::{ffi, iterator, Iter, Options, PinnedValue, RawIterator, ReadOptions, Result, WriteBatch, WriteOptions};

/// An open database. All of its methods may be called by many threads at once. The methods for keys use the default
/// column family; [`Db::column_family`] has them for others.
pub struct Db {
    pub(crate) raw: *mut ffi::sepal_t,
    // The options of calls without their own.
    pub(crate) reading: RawReadOptions,
    writing: RawWriteOptions,
}

unsafe impl Send for Db {}
unsafe impl Sync for Db {}

impl Drop for Db {
    fn drop(&mut self) {
        if !self.raw.is_null() {
            unsafe { ffi::sepal_close(self.raw) }
        }
    }
}

impl Db {
    /// # Errors
    /// `NotFound` without `create_if_missing`, `AlreadyExists` with `error_if_exists`, `Unavailable` if it is open
    /// elsewhere, and others of the engine's.
    pub fn open(options: &Options, directory: impl AsRef<Path>) -> Result<Db> {
        let directory = c_path(directory)?;
        let raw = check(|error| unsafe { ffi::sepal_open(options.raw, directory.as_ptr(), error) })?;
        let reading = RawReadOptions::new(&ReadOptions::default());
        let writing = RawWriteOptions::new(&WriteOptions::default());
        Ok(Db { raw, reading, writing })
    }

    /// Closes the database and reports the first error, which dropping it does not.
    pub fn close(mut self) -> Result<()> {
        let raw = std::mem::replace(&mut self.raw, ptr::null_mut());
        check(|error| unsafe { ffi::sepal_close_with_error(raw, error) })
    }

    /// Deletes a database that is not open; other files in its directory stay.
    pub fn destroy(options: &Options, directory: impl AsRef<Path>) -> Result<()> {
        let directory = c_path(directory)?;
        check(|error| unsafe { ffi::sepal_destroy_db(options.raw, directory.as_ptr(), error) })
    }

    /// Restores a damaged database that is not open; returns a report of what was done and dropped.
    pub fn repair(options: &Options, directory: impl AsRef<Path>) -> Result<String> {
        let directory = c_path(directory)?;
        let report = check(|error| unsafe { ffi::sepal_repair_db(options.raw, directory.as_ptr(), error) })?;
        Ok(unsafe { take_text(report) }.unwrap_or_default())
    }

    fn default_family(&self) -> ColumnFamily<'_> {
        ColumnFamily { db: self, raw: ptr::null_mut() }
    }

    /// # Errors
    /// `NotFound` if there is none of that name.
    pub fn column_family(&self, name: &str) -> Result<ColumnFamily<'_>> {
        let name = c_text(name)?;
        let raw = check(|error| unsafe { ffi::sepal_find_column_family(self.raw, name.as_ptr(), error) })?;
        Ok(ColumnFamily { db: self, raw })
    }

    pub fn create_column_family(&self, name: &str, options: &Options) -> Result<ColumnFamily<'_>> {
        let name = c_text(name)?;
        let raw =
            check(|error| unsafe { ffi::sepal_create_column_family(self.raw, options.raw, name.as_ptr(), error) })?;
        Ok(ColumnFamily { db: self, raw })
    }

    pub fn drop_column_family(&self, family: &ColumnFamily<'_>) -> Result<()> {
        check(|error| unsafe { ffi::sepal_drop_column_family(self.raw, family.raw, error) })
    }

    pub fn column_family_names(&self) -> Vec<String> {
        let mut count = 0;
        unsafe {
            let list = ffi::sepal_column_family_names(self.raw, &mut count);
            if list.is_null() {
                return Vec::new();
            }
            let text = |name: &*mut _| std::ffi::CStr::from_ptr(*name).to_string_lossy().into_owned();
            let names = slice::from_raw_parts(list, count).iter().map(text).collect();
            ffi::sepal_list_column_families_destroy(list, count);
            names
        }
    }

    pub fn put(&self, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Result<()> {
        self.default_family().put(key, value)
    }
    pub fn put_with(&self, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>, options: &WriteOptions) -> Result<()> {
        self.default_family().put_with(key, value, options)
    }
    pub fn delete(&self, key: impl AsRef<[u8]>) -> Result<()> {
        self.default_family().delete(key)
    }
    pub fn merge(&self, key: impl AsRef<[u8]>, operand: impl AsRef<[u8]>) -> Result<()> {
        self.default_family().merge(key, operand)
    }
    /// Deletes the keys from `begin` up to, and without, `end` as one update; `None`: up to the last key.
    pub fn delete_range(&self, begin: impl AsRef<[u8]>, end: Option<&[u8]>) -> Result<()> {
        self.default_family().delete_range(begin, end)
    }
    pub fn write(&self, batch: &WriteBatch) -> Result<()> {
        check(|error| unsafe { ffi::sepal_write(self.raw, self.writing.0, batch.raw, error) })
    }
    pub fn write_with(&self, batch: &WriteBatch, options: &WriteOptions) -> Result<()> {
        let options = RawWriteOptions::new(options);
        check(|error| unsafe { ffi::sepal_write(self.raw, options.0, batch.raw, error) })
    }

    pub fn get(&self, key: impl AsRef<[u8]>) -> Result<Option<Vec<u8>>> {
        self.default_family().get(key)
    }
    pub fn get_with(&self, key: impl AsRef<[u8]>, options: &ReadOptions<'_>) -> Result<Option<Vec<u8>>> {
        self.default_family().get_with(key, options)
    }
    /// The same without a copy.
    pub fn get_pinned(&self, key: impl AsRef<[u8]>) -> Result<Option<PinnedValue<'_>>> {
        self.default_family().get_pinned(key)
    }
    /// Reads many keys as of one moment, and overlaps reads from the disk.
    pub fn multi_get<K: AsRef<[u8]>>(&self, keys: &[K]) -> Vec<Result<Option<Vec<u8>>>> {
        self.default_family().multi_get(keys)
    }
    pub fn iter(&self) -> Iter<'_> {
        self.default_family().iter()
    }
    pub fn iter_with(&self, options: &ReadOptions<'_>) -> Iter<'_> {
        self.default_family().iter_with(options)
    }
    pub fn raw_iter(&self, options: &ReadOptions<'_>) -> RawIterator<'_> {
        self.default_family().raw_iter(options)
    }

    /// A snapshot of the database as of now, with all column families.
    pub fn snapshot(&self) -> Snapshot<'_> {
        let raw = unsafe { ffi::sepal_create_snapshot(self.raw) };
        Snapshot { raw, db: self.raw, database: PhantomData }
    }

    pub fn property(&self, name: &str) -> Option<String> {
        let name = c_text(name).ok()?;
        unsafe { take_text(ffi::sepal_property_value_cf(self.raw, ptr::null_mut(), name.as_ptr())) }
    }
    pub fn compact_range(&self, begin: Option<&[u8]>, end: Option<&[u8]>) -> Result<()> {
        self.default_family().compact_range(begin, end)
    }
    pub fn flush(&self) -> Result<()> {
        check(|error| unsafe { ffi::sepal_flush(self.raw, ptr::null_mut(), 1, error) })
    }
    /// Makes all earlier writes durable.
    pub fn sync(&self) -> Result<()> {
        check(|error| unsafe { ffi::sepal_sync(self.raw, error) })
    }
    /// Brings a read-only database up to date with its writer.
    pub fn catch_up(&self) -> Result<()> {
        check(|error| unsafe { ffi::sepal_catch_up(self.raw, error) })
    }
    /// Makes a copy in a directory that is missing or empty.
    pub fn checkpoint(&self, directory: impl AsRef<Path>) -> Result<()> {
        let directory = c_path(directory)?;
        check(|error| unsafe { ffi::sepal_checkpoint(self.raw, directory.as_ptr(), error) })
    }
    pub fn verify_checksums(&self) -> Result<()> {
        check(|error| unsafe { ffi::sepal_verify_checksums(self.raw, error) })
    }
}

/// A key space of a database.
pub struct ColumnFamily<'a> {
    pub(crate) db: &'a Db,
    pub(crate) raw: *mut ffi::sepal_column_family_t, // null: the default one
}

unsafe impl Send for ColumnFamily<'_> {}
unsafe impl Sync for ColumnFamily<'_> {}

impl Drop for ColumnFamily<'_> {
    fn drop(&mut self) {
        unsafe { ffi::sepal_column_family_handle_destroy(self.raw) }
    }
}

impl<'a> ColumnFamily<'a> {
    pub fn put(&self, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Result<()> {
        self.put_raw(key.as_ref(), value.as_ref(), self.db.writing.0)
    }
    pub fn put_with(&self, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>, options: &WriteOptions) -> Result<()> {
        let options = RawWriteOptions::new(options);
        self.put_raw(key.as_ref(), value.as_ref(), options.0)
    }
    fn put_raw(&self, key: &[u8], value: &[u8], options: *const ffi::sepal_writeoptions_t) -> Result<()> {
        let (at, size) = (key.as_ptr().cast(), key.len());
        let (value_at, value_size) = (value.as_ptr().cast(), value.len());
        check(|error| unsafe {
            ffi::sepal_put_cf(self.db.raw, options, self.raw, at, size, value_at, value_size, error)
        })
    }
    pub fn delete(&self, key: impl AsRef<[u8]>) -> Result<()> {
        let (at, size) = (key.as_ref().as_ptr().cast(), key.as_ref().len());
        check(|error| unsafe { ffi::sepal_delete_cf(self.db.raw, self.db.writing.0, self.raw, at, size, error) })
    }
    /// # Errors
    /// `InvalidArgument` if the family has no merge operator.
    pub fn merge(&self, key: impl AsRef<[u8]>, operand: impl AsRef<[u8]>) -> Result<()> {
        let (at, size) = (key.as_ref().as_ptr().cast(), key.as_ref().len());
        let (operand_at, operand_size) = (operand.as_ref().as_ptr().cast(), operand.as_ref().len());
        check(|error| unsafe {
            ffi::sepal_merge_cf(self.db.raw, self.db.writing.0, self.raw, at, size, operand_at, operand_size, error)
        })
    }
    pub fn delete_range(&self, begin: impl AsRef<[u8]>, end: Option<&[u8]>) -> Result<()> {
        let (at, size) = (begin.as_ref().as_ptr().cast(), begin.as_ref().len());
        let (end_at, end_size) = end.map_or((ptr::null(), 0), |end| (end.as_ptr().cast(), end.len()));
        check(|error| unsafe {
            ffi::sepal_delete_range_cf(self.db.raw, self.db.writing.0, self.raw, at, size, end_at, end_size, error)
        })
    }

    pub fn get(&self, key: impl AsRef<[u8]>) -> Result<Option<Vec<u8>>> {
        self.get_with(key, &ReadOptions::default())
    }
    pub fn get_with(&self, key: impl AsRef<[u8]>, options: &ReadOptions<'_>) -> Result<Option<Vec<u8>>> {
        Ok(PinnedValue::get(self, key.as_ref(), options)?.map(|value| value.to_vec()))
    }
    pub fn get_pinned(&self, key: impl AsRef<[u8]>) -> Result<Option<PinnedValue<'a>>> {
        PinnedValue::get(self, key.as_ref(), &ReadOptions::default())
    }
    pub fn multi_get<K: AsRef<[u8]>>(&self, keys: &[K]) -> Vec<Result<Option<Vec<u8>>>> {
        iterator::multi_get(self, keys, &ReadOptions::default())
    }
    pub fn iter(&self) -> Iter<'a> {
        self.iter_with(&ReadOptions::default())
    }
    pub fn iter_with(&self, options: &ReadOptions<'_>) -> Iter<'a> {
        Iter::new(self, options)
    }
    pub fn raw_iter(&self, options: &ReadOptions<'_>) -> RawIterator<'a> {
        RawIterator::new(self, options)
    }
    pub fn compact_range(&self, begin: Option<&[u8]>, end: Option<&[u8]>) -> Result<()> {
        let parts = |key: Option<&[u8]>| key.map_or((ptr::null(), 0), |key| (key.as_ptr().cast(), key.len()));
        let ((begin_at, begin_size), (end_at, end_size)) = (parts(begin), parts(end));
        check(|error| unsafe {
            ffi::sepal_compact_range_cf(self.db.raw, self.raw, begin_at, begin_size, end_at, end_size, error)
        })
    }
}

/// A moment in the history of a database. It is released when it is dropped.
pub struct Snapshot<'a> {
    pub(crate) raw: *const ffi::sepal_snapshot_t,
    db: *mut ffi::sepal_t,
    database: PhantomData<&'a Db>,
}

unsafe impl Send for Snapshot<'_> {}
unsafe impl Sync for Snapshot<'_> {}

impl Drop for Snapshot<'_> {
    fn drop(&mut self) {
        unsafe { ffi::sepal_release_snapshot(self.db, self.raw) }
    }
}
