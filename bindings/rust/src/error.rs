use std::{ffi::CStr, fmt, os::raw::c_char, ptr};

use crate::ffi;

/// An error, with the engine's message. `docs/reference/errors.md` of Sepal says when each occurs; an absent key is not
/// an error.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// There is no such database or column family.
    NotFound(String),
    /// A mistake of the caller.
    InvalidArgument(String),
    /// There is such a database, column family or checkpoint already.
    AlreadyExists(String),
    /// The database is read-only, the family was dropped, or the files belong to another engine or a newer version.
    FailedPrecondition(String),
    PermissionDenied(String),
    /// The disk or the memory limit is full.
    ResourceExhausted(String),
    /// The database is open elsewhere, or a write would have to wait.
    Unavailable(String),
    Cancelled(String),
    Unimplemented(String),
    /// Bytes of a file fail their checksum.
    DataLoss(String),
    /// A file operation failed.
    Internal(String),
    /// A read-only view has been overtaken by the writer.
    Aborted(String),
    /// An error that this version of the crate does not know.
    Other(String),
}

pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    pub fn message(&self) -> &str {
        use Error::*;
        match self {
            NotFound(text) | InvalidArgument(text) | AlreadyExists(text) | FailedPrecondition(text)
            | PermissionDenied(text) | ResourceExhausted(text) | Unavailable(text) | Cancelled(text)
            | Unimplemented(text) | DataLoss(text) | Internal(text) | Aborted(text) | Other(text) => text,
        }
    }

    /// Of the C interface's "CODE: message".
    fn parse(text: &str) -> Error {
        let (code, message) = text.split_once(": ").unwrap_or(("", text));
        let make = match code {
            "NOT_FOUND" => Error::NotFound,
            "INVALID_ARGUMENT" => Error::InvalidArgument,
            "ALREADY_EXISTS" => Error::AlreadyExists,
            "FAILED_PRECONDITION" => Error::FailedPrecondition,
            "PERMISSION_DENIED" => Error::PermissionDenied,
            "RESOURCE_EXHAUSTED" => Error::ResourceExhausted,
            "UNAVAILABLE" => Error::Unavailable,
            "CANCELLED" => Error::Cancelled,
            "UNIMPLEMENTED" => Error::Unimplemented,
            "DATA_LOSS" => Error::DataLoss,
            "INTERNAL" => Error::Internal,
            "ABORTED" => Error::Aborted,
            _ => return Error::Other(text.to_owned()),
        };
        make(message.to_owned())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.message())
    }
}

impl std::error::Error for Error {}

/// Takes a string of the library's, and frees it.
pub(crate) unsafe fn take_text(text: *mut c_char) -> Option<String> {
    if text.is_null() {
        return None;
    }
    let taken = CStr::from_ptr(text).to_string_lossy().into_owned();
    ffi::sepal_free(text.cast());
    Some(taken)
}

pub(crate) unsafe fn take_error(error: *mut c_char) -> Result<()> {
    take_text(error).map_or(Ok(()), |text| Err(Error::parse(&text)))
}

/// Makes a call that sets an error pointer.
pub(crate) fn check<T>(call: impl FnOnce(ffi::ErrPtr) -> T) -> Result<T> {
    let mut error = ptr::null_mut();
    let result = call(&mut error);
    unsafe { take_error(error) }.map(|()| result)
}
