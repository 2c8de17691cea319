use std::{marker::PhantomData, ptr};

use crate::{error::check, ffi, options::{bytes, RawReadOptions}, ColumnFamily, Error, ReadOptions, Result};

/// The engine's iterator, which stands at an entry and copies nothing. It sees the database as it was at its creation.
pub struct RawIterator<'a> {
    raw: *mut ffi::sepal_iterator_t,
    database: PhantomData<&'a ()>,
}

unsafe impl Send for RawIterator<'_> {}

impl Drop for RawIterator<'_> {
    fn drop(&mut self) {
        unsafe { ffi::sepal_iter_destroy(self.raw) }
    }
}

impl<'a> RawIterator<'a> {
    pub(crate) fn new(family: &ColumnFamily<'a>, options: &ReadOptions<'_>) -> Self {
        let options = RawReadOptions::new(options);
        let raw = unsafe { ffi::sepal_create_iterator_cf(family.db.raw, options.0, family.raw) };
        RawIterator { raw, database: PhantomData }
    }

    pub fn seek_to_first(&mut self) {
        unsafe { ffi::sepal_iter_seek_to_first(self.raw) }
    }
    pub fn seek_to_last(&mut self) {
        unsafe { ffi::sepal_iter_seek_to_last(self.raw) }
    }
    /// Moves to the first entry at or after the key.
    pub fn seek(&mut self, key: impl AsRef<[u8]>) {
        let key = key.as_ref();
        unsafe { ffi::sepal_iter_seek(self.raw, key.as_ptr().cast(), key.len()) }
    }
    /// Moves to the last entry at or before the key.
    pub fn seek_for_prev(&mut self, key: impl AsRef<[u8]>) {
        let key = key.as_ref();
        unsafe { ffi::sepal_iter_seek_for_prev(self.raw, key.as_ptr().cast(), key.len()) }
    }

    pub fn valid(&self) -> bool {
        unsafe { ffi::sepal_iter_valid(self.raw) != 0 }
    }
    /// Does nothing if it stands at no entry.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) {
        if self.valid() {
            unsafe { ffi::sepal_iter_next(self.raw) }
        }
    }
    pub fn prev(&mut self) {
        if self.valid() {
            unsafe { ffi::sepal_iter_prev(self.raw) }
        }
    }

    /// The entry at which it stands.
    pub fn entry(&self) -> Option<(&[u8], &[u8])> {
        Some((self.key()?, self.value()?))
    }
    pub fn key(&self) -> Option<&[u8]> {
        let mut size = 0;
        self.valid().then(|| unsafe { bytes(ffi::sepal_iter_key(self.raw, &mut size), size) })
    }
    pub fn value(&self) -> Option<&[u8]> {
        let mut size = 0;
        self.valid().then(|| unsafe { bytes(ffi::sepal_iter_value(self.raw, &mut size), size) })
    }

    /// Whether it stands at no entry because of an error.
    pub fn status(&self) -> Result<()> {
        check(|error| unsafe { ffi::sepal_iter_get_error(self.raw, error) })
    }
}

/// The entries of a range, in order. After an error there are no more.
pub struct Iter<'a> {
    entries: RawIterator<'a>,
    reverse: bool,
    started: bool,
    ended: bool,
}

impl<'a> Iter<'a> {
    pub(crate) fn new(family: &ColumnFamily<'a>, options: &ReadOptions<'_>) -> Self {
        let entries = RawIterator::new(family, options);
        Iter { entries, reverse: options.reverse, started: false, ended: false }
    }

    fn step(&mut self) {
        match (std::mem::replace(&mut self.started, true), self.reverse) {
            (false, false) => self.entries.seek_to_first(),
            (false, true) => self.entries.seek_to_last(),
            (true, false) => self.entries.next(),
            (true, true) => self.entries.prev(),
        }
    }
}

impl Iterator for Iter<'_> {
    type Item = Result<(Vec<u8>, Vec<u8>)>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        self.step();
        if let Some((key, value)) = self.entries.entry() {
            return Some(Ok((key.to_vec(), value.to_vec())));
        }
        self.ended = true;
        self.entries.status().err().map(Err)
    }
}

impl std::iter::FusedIterator for Iter<'_> {}

/// A value that lies in the database's memory, which it pins.
pub struct PinnedValue<'a> {
    raw: *mut ffi::sepal_pinned_value_t,
    database: PhantomData<&'a ()>,
}

unsafe impl Send for PinnedValue<'_> {}
unsafe impl Sync for PinnedValue<'_> {}

impl Drop for PinnedValue<'_> {
    fn drop(&mut self) {
        unsafe { ffi::sepal_pinned_value_destroy(self.raw) }
    }
}

impl std::ops::Deref for PinnedValue<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        let mut size = 0;
        unsafe { bytes(ffi::sepal_pinned_value(self.raw, &mut size), size) }
    }
}

impl<'a> PinnedValue<'a> {
    pub(crate) fn get(family: &ColumnFamily<'a>, key: &[u8], options: &ReadOptions<'_>) -> Result<Option<Self>> {
        let plain = options.snapshot.is_none() && !options.no_cache;
        let options = if plain { None } else { Some(RawReadOptions::new(options)) };
        let options = options.as_ref().map_or_else(|| family.db.reading.0, |options| options.0);
        let raw = check(|error| unsafe {
            ffi::sepal_get_pinned(family.db.raw, options, family.raw, key.as_ptr().cast(), key.len(), error)
        })?;
        Ok((!raw.is_null()).then_some(PinnedValue { raw, database: PhantomData }))
    }
}

pub(crate) fn multi_get<K: AsRef<[u8]>>(
    family: &ColumnFamily<'_>, keys: &[K], options: &ReadOptions<'_>,
) -> Vec<Result<Option<Vec<u8>>>> {
    let options = RawReadOptions::new(options);
    let pointers: Vec<ffi::Bytes> = keys.iter().map(|key| key.as_ref().as_ptr().cast()).collect();
    let sizes: Vec<usize> = keys.iter().map(|key| key.as_ref().len()).collect();
    let mut values = vec![ptr::null_mut(); keys.len()];
    let mut value_sizes = vec![0; keys.len()];
    let mut errors = vec![ptr::null_mut(); keys.len()];
    unsafe {
        ffi::sepal_multi_get(
            family.db.raw, options.0, family.raw, keys.len(), pointers.as_ptr(), sizes.as_ptr(), values.as_mut_ptr(),
            value_sizes.as_mut_ptr(), errors.as_mut_ptr(),
        );
        let take = |i: usize| -> std::result::Result<Option<Vec<u8>>, Error> {
            crate::error::take_error(errors[i])?;
            if values[i].is_null() {
                return Ok(None);
            }
            let value = bytes(values[i], value_sizes[i]).to_vec();
            ffi::sepal_free(values[i].cast());
            Ok(Some(value))
        };
        (0..keys.len()).map(take).collect()
    }
}
