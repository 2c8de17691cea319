#![doc = include_str!("../README.md")]

mod batch;
mod db;
mod error;
mod ffi;
mod iterator;
mod options;

pub use batch::WriteBatch;
pub use db::{ColumnFamily, Db, Snapshot};
pub use error::{Error, Result};
pub use iterator::{Iter, PinnedValue, RawIterator};
pub use options::{Compression, MergeOperator, Options, ReadOptions, WriteOptions};

/// The version of the linked library.
pub fn version() -> &'static str {
    unsafe { std::ffi::CStr::from_ptr(ffi::sepal_version_string()) }.to_str().unwrap_or("")
}

// The example of the guide is a test, where the guide is there.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/guide/rust.md")]
struct Guide;
