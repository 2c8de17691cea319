use std::{ffi::CString, os::raw::{c_char, c_int, c_void}, panic, path::Path, ptr, slice, time::Duration};

use crate::{error::check, ffi, Error, Result, Snapshot};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    None = 0,
    Snappy = 1,
    Lz4 = 2,
    Zstd = 3,
}

pub(crate) fn c_text(text: &str) -> Result<CString> {
    CString::new(text).map_err(|_| Error::InvalidArgument("a name with a zero byte".to_owned()))
}

pub(crate) fn c_path(path: impl AsRef<Path>) -> Result<CString> {
    use std::os::unix::ffi::OsStrExt;
    CString::new(path.as_ref().as_os_str().as_bytes())
        .map_err(|_| Error::InvalidArgument("a path with a zero byte".to_owned()))
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

/// The options for opening a database and for its column families. `docs/reference/options.md` of Sepal explains them.
pub struct Options {
    pub(crate) raw: *mut ffi::sepal_options_t,
}

unsafe impl Send for Options {}
unsafe impl Sync for Options {}

impl Drop for Options {
    fn drop(&mut self) {
        unsafe { ffi::sepal_options_destroy(self.raw) }
    }
}

impl Default for Options {
    fn default() -> Self {
        Options { raw: unsafe { ffi::sepal_options_create() } }
    }
}

macro_rules! setters {
    ($($(#[$meta:meta])* $name:ident($argument:ident: $kind:ty) = $function:ident($value:expr);)*) => {
        $($(#[$meta])* pub fn $name(self, $argument: $kind) -> Self {
            unsafe { ffi::$function(self.raw, $value) };
            self
        })*
    };
}

impl Options {
    pub fn new() -> Self {
        Self::default()
    }

    setters! {
        create_if_missing(on: bool) = sepal_options_set_create_if_missing(on.into());
        error_if_exists(on: bool) = sepal_options_set_error_if_exists(on.into());
        /// A view as of the opening, also beside a process that writes.
        read_only(on: bool) = sepal_options_set_read_only(on.into());
        /// With `read_only`: the time after which the view catches up again automatically.
        follow(period: Duration) = sepal_options_set_follow_milliseconds(period.as_millis() as u64);
        /// The memory limit for everything, in bytes.
        memory_limit(bytes: usize) = sepal_options_set_memory_limit(bytes);
        background_threads(threads: u16) = sepal_options_set_background_threads(threads.into());
        compression(kind: Compression) = sepal_options_set_compression(kind as c_int);
        block_size(bytes: usize) = sepal_options_set_block_size(bytes);
        /// The time to live of puts without their own.
        ttl(time: Duration) = sepal_options_set_ttl(millis(time));
        /// The merge operator.
        merge_operator(merge: &MergeOperator) = sepal_options_set_merge_operator(merge.raw);
    }

    /// # Errors
    /// `InvalidArgument` for a path with a zero byte.
    pub fn log_directory(self, directory: impl AsRef<Path>) -> Result<Self> {
        let directory = c_path(directory)?;
        unsafe { ffi::sepal_options_set_log_directory(self.raw, directory.as_ptr()) };
        Ok(self)
    }

    /// The options of the column family of that name.
    ///
    /// # Errors
    /// `InvalidArgument` for a name with a zero byte.
    pub fn column_family(self, name: &str, options: &Options) -> Result<Self> {
        let name = c_text(name)?;
        unsafe { ffi::sepal_options_add_column_family(self.raw, name.as_ptr(), options.raw) };
        Ok(self)
    }

    /// Changes the options by a text, or, with an error, not at all.
    pub fn text(self, text: &str) -> Result<Self> {
        let text = c_text(text)?;
        check(|error| unsafe { ffi::sepal_options_from_text(self.raw, text.as_ptr(), error) })?;
        Ok(self)
    }
}

/// The effect of a merge on a value. Its name belongs to a column family for good.
pub struct MergeOperator {
    raw: *mut ffi::sepal_mergeoperator_t,
}

unsafe impl Send for MergeOperator {}
unsafe impl Sync for MergeOperator {}

impl Drop for MergeOperator {
    fn drop(&mut self) {
        unsafe { ffi::sepal_mergeoperator_destroy(self.raw) }
    }
}

type MergeFunction = Box<dyn Fn(&[u8], Option<&[u8]>, &[&[u8]]) -> Option<Vec<u8>> + Send + Sync>;

struct MergeState {
    name: CString,
    merge: MergeFunction,
}

impl MergeOperator {
    /// One that comes with the library: `sepal.Add64`, `sepal.Append:` and a separator, `sepal.Max`, `sepal.Min`,
    /// `sepal.JsonMergePatch`. `None` if it has no such operator.
    pub fn built_in(name: &str) -> Option<Self> {
        let raw = unsafe { ffi::sepal_mergeoperator_create_by_name(name.as_ptr().cast(), name.len()) };
        (!raw.is_null()).then_some(MergeOperator { raw })
    }

    /// Adds signed numbers of eight bytes, little-endian.
    pub fn add64() -> Self {
        Self::built_in("sepal.Add64").expect("the library has it")
    }

    /// An operator that returns the value for a key, its old value and the operands, oldest first; `None` if they
    /// cannot be merged. It must be deterministic, must not block, and is called by many threads at once.
    ///
    /// # Errors
    /// `InvalidArgument` for a name with a zero byte.
    pub fn new<F>(name: &str, merge: F) -> Result<Self>
    where
        F: Fn(&[u8], Option<&[u8]>, &[&[u8]]) -> Option<Vec<u8>> + Send + Sync + 'static,
    {
        let state = Box::into_raw(Box::new(MergeState { name: c_text(name)?, merge: Box::new(merge) }));
        let raw = unsafe {
            ffi::sepal_mergeoperator_create(state.cast(), drop_merge, call_merge, ptr::null(), merge_name)
        };
        Ok(MergeOperator { raw })
    }
}

unsafe extern "C" fn drop_merge(state: *mut c_void) {
    drop(Box::from_raw(state.cast::<MergeState>()));
}

unsafe extern "C" fn merge_name(state: *mut c_void) -> ffi::Bytes {
    (*state.cast::<MergeState>()).name.as_ptr()
}

pub(crate) unsafe fn bytes<'a>(data: ffi::Bytes, size: usize) -> &'a [u8] {
    if data.is_null() { &[] } else { slice::from_raw_parts(data.cast(), size) }
}

unsafe extern "C" fn call_merge(
    state: *mut c_void, key: ffi::Bytes, key_size: usize, base: ffi::Bytes, base_size: usize,
    operands: *const ffi::Bytes, sizes: *const usize, count: usize, size: *mut usize,
) -> *mut c_char {
    let state = &*state.cast::<MergeState>();
    let operands: Vec<&[u8]> = (0..count).map(|i| bytes(*operands.add(i), *sizes.add(i))).collect();
    let base = (!base.is_null()).then(|| bytes(base, base_size));
    // A panic must not reach the library.
    let call = panic::AssertUnwindSafe(|| (state.merge)(bytes(key, key_size), base, &operands));
    let value = match panic::catch_unwind(call) {
        Ok(Some(value)) => value,
        _ => return ptr::null_mut(),
    };
    let memory = ffi::malloc(value.len().max(1));
    if !memory.is_null() {
        ptr::copy_nonoverlapping(value.as_ptr(), memory.cast(), value.len());
        *size = value.len();
    }
    memory.cast()
}

/// The options of a write. Without `sync` it survives the death of the process, and with `sync` a loss of power.
#[derive(Clone, Debug, Default)]
pub struct WriteOptions {
    pub sync: bool,
    /// Do not log the write: it is only in memory until it is flushed.
    pub disable_wal: bool,
    /// Fail with `Unavailable` instead of waiting.
    pub no_slowdown: bool,
    /// For puts only: the time to live of the key.
    pub ttl: Option<Duration>,
}

impl WriteOptions {
    pub fn sync() -> Self {
        WriteOptions { sync: true, ..Self::default() }
    }
}

pub(crate) struct RawWriteOptions(pub *mut ffi::sepal_writeoptions_t);

impl RawWriteOptions {
    pub fn new(options: &WriteOptions) -> Self {
        unsafe {
            let raw = ffi::sepal_writeoptions_create();
            ffi::sepal_writeoptions_set_sync(raw, options.sync.into());
            ffi::sepal_writeoptions_set_disable_wal(raw, options.disable_wal.into());
            ffi::sepal_writeoptions_set_no_slowdown(raw, options.no_slowdown.into());
            if let Some(ttl) = options.ttl {
                ffi::sepal_writeoptions_set_ttl(raw, millis(ttl));
            }
            RawWriteOptions(raw)
        }
    }
}

impl Drop for RawWriteOptions {
    fn drop(&mut self) {
        unsafe { ffi::sepal_writeoptions_destroy(self.0) }
    }
}

/// The options of a read. The bounds, the prefix and `reverse` are for iterators.
#[derive(Clone, Default)]
pub struct ReadOptions<'a> {
    /// Read as of this snapshot instead of as of now.
    pub snapshot: Option<&'a Snapshot<'a>>,
    /// Do not keep blocks that are read in the cache.
    pub no_cache: bool,
    /// The first key, and the first key after the last one.
    pub lower_bound: Option<Vec<u8>>,
    pub upper_bound: Option<Vec<u8>>,
    /// Only keys that begin with these bytes.
    pub prefix: Option<Vec<u8>>,
    pub reverse: bool,
}

pub(crate) struct RawReadOptions(pub *mut ffi::sepal_readoptions_t);

impl RawReadOptions {
    pub fn new(options: &ReadOptions<'_>) -> Self {
        unsafe {
            let raw = ffi::sepal_readoptions_create();
            ffi::sepal_readoptions_set_fill_cache(raw, (!options.no_cache).into());
            if let Some(snapshot) = options.snapshot {
                ffi::sepal_readoptions_set_snapshot(raw, snapshot.raw);
            }
            if let Some(prefix) = &options.prefix {
                ffi::sepal_readoptions_set_prefix(raw, prefix.as_ptr().cast(), prefix.len());
            }
            if let Some(key) = &options.lower_bound {
                ffi::sepal_readoptions_set_lower_bound(raw, key.as_ptr().cast(), key.len());
            }
            if let Some(key) = &options.upper_bound {
                ffi::sepal_readoptions_set_upper_bound(raw, key.as_ptr().cast(), key.len());
            }
            RawReadOptions(raw)
        }
    }
}

impl Drop for RawReadOptions {
    fn drop(&mut self) {
        unsafe { ffi::sepal_readoptions_destroy(self.0) }
    }
}
