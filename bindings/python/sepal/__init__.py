"""Sepal: an embedded ordered key-value store.

    with sepal.DB("/var/lib/app", create_if_missing=True) as db:
        db.put(b"key", b"value")
        for key, value in db.iterator(prefix=b"k"):
            print(key, value)

The interface is plyvel's, and more. docs/guide/python.md has the whole of it.
"""

from ._sepal import (
    DB,
    BusyError,
    ClosedError,
    ColumnFamily,
    CorruptionError,
    Error,
    ExistsError,
    InvalidArgumentError,
    IOError,
    Iterator,
    IteratorInvalidError,
    NotFoundError,
    PrefixedDB,
    RawIterator,
    Snapshot,
    WriteBatch,
    __version__,
    destroy_db,
    list_column_families,
    repair_db,
)
from .mapping import Mapping

__all__ = [
    "DB",
    "BusyError",
    "ClosedError",
    "ColumnFamily",
    "CorruptionError",
    "Error",
    "ExistsError",
    "IOError",
    "InvalidArgumentError",
    "Iterator",
    "IteratorInvalidError",
    "Mapping",
    "NotFoundError",
    "PrefixedDB",
    "RawIterator",
    "Snapshot",
    "WriteBatch",
    "destroy_db",
    "list_column_families",
    "repair_db",
]
