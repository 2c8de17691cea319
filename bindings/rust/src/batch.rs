use std::{ptr, time::{SystemTime, UNIX_EPOCH}};

use crate::{ffi, ColumnFamily};

/// Updates that are written whole or not at all, in their order. The methods with a family are for others than the
/// default one; a batch is written to the database of its families.
pub struct WriteBatch {
    pub(crate) raw: *mut ffi::sepal_writebatch_t,
}

// Changes need an exclusive reference.
unsafe impl Send for WriteBatch {}
unsafe impl Sync for WriteBatch {}

impl Drop for WriteBatch {
    fn drop(&mut self) {
        unsafe { ffi::sepal_writebatch_destroy(self.raw) }
    }
}

impl Default for WriteBatch {
    fn default() -> Self {
        WriteBatch { raw: unsafe { ffi::sepal_writebatch_create() } }
    }
}

fn raw(family: Option<&ColumnFamily<'_>>) -> *mut ffi::sepal_column_family_t {
    family.map_or(ptr::null_mut(), |family| family.raw)
}

impl WriteBatch {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn put(&mut self, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) {
        self.put_in(None, key, value)
    }

    pub fn put_cf(&mut self, family: &ColumnFamily<'_>, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) {
        self.put_in(Some(family), key, value)
    }

    fn put_in(&mut self, family: Option<&ColumnFamily<'_>>, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) {
        let (key, value) = (key.as_ref(), value.as_ref());
        unsafe {
            ffi::sepal_writebatch_put_cf(
                self.raw, raw(family), key.as_ptr().cast(), key.len(), value.as_ptr().cast(), value.len(),
            )
        }
    }

    /// A put whose key expires at that time.
    pub fn put_expiring(&mut self, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>, expires_at: SystemTime) {
        let (key, value) = (key.as_ref(), value.as_ref());
        let millis = expires_at.duration_since(UNIX_EPOCH).map_or(0, |time| time.as_millis() as u64);
        unsafe {
            ffi::sepal_writebatch_put_expiring(
                self.raw, ptr::null_mut(), key.as_ptr().cast(), key.len(), value.as_ptr().cast(), value.len(), millis,
            )
        }
    }

    pub fn delete(&mut self, key: impl AsRef<[u8]>) {
        self.delete_in(None, key)
    }

    pub fn delete_cf(&mut self, family: &ColumnFamily<'_>, key: impl AsRef<[u8]>) {
        self.delete_in(Some(family), key)
    }

    fn delete_in(&mut self, family: Option<&ColumnFamily<'_>>, key: impl AsRef<[u8]>) {
        let key = key.as_ref();
        unsafe { ffi::sepal_writebatch_delete_cf(self.raw, raw(family), key.as_ptr().cast(), key.len()) }
    }

    pub fn merge(&mut self, key: impl AsRef<[u8]>, operand: impl AsRef<[u8]>) {
        self.merge_in(None, key, operand)
    }

    pub fn merge_cf(&mut self, family: &ColumnFamily<'_>, key: impl AsRef<[u8]>, operand: impl AsRef<[u8]>) {
        self.merge_in(Some(family), key, operand)
    }

    fn merge_in(&mut self, family: Option<&ColumnFamily<'_>>, key: impl AsRef<[u8]>, operand: impl AsRef<[u8]>) {
        let (key, operand) = (key.as_ref(), operand.as_ref());
        unsafe {
            ffi::sepal_writebatch_merge_cf(
                self.raw, raw(family), key.as_ptr().cast(), key.len(), operand.as_ptr().cast(), operand.len(),
            )
        }
    }

    /// Deletes the keys from `begin` up to, and without, `end`; `None`: up to the last key.
    pub fn delete_range(&mut self, begin: impl AsRef<[u8]>, end: Option<&[u8]>) {
        self.delete_range_in(None, begin, end)
    }

    pub fn delete_range_cf(&mut self, family: &ColumnFamily<'_>, begin: impl AsRef<[u8]>, end: Option<&[u8]>) {
        self.delete_range_in(Some(family), begin, end)
    }

    fn delete_range_in(&mut self, family: Option<&ColumnFamily<'_>>, begin: impl AsRef<[u8]>, end: Option<&[u8]>) {
        let begin = begin.as_ref();
        let (end, end_size) = end.map_or((ptr::null(), 0), |end| (end.as_ptr().cast(), end.len()));
        unsafe {
            ffi::sepal_writebatch_delete_range_cf(
                self.raw, raw(family), begin.as_ptr().cast(), begin.len(), end, end_size,
            )
        }
    }

    pub fn append(&mut self, other: &WriteBatch) {
        unsafe { ffi::sepal_writebatch_append(self.raw, other.raw) }
    }

    pub fn clear(&mut self) {
        unsafe { ffi::sepal_writebatch_clear(self.raw) }
    }

    pub fn len(&self) -> usize {
        unsafe { ffi::sepal_writebatch_count(self.raw) as usize }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
