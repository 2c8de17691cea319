"""Sepal from Python, with nothing but ctypes: the shared library and include/sepal/c.h.

    python3 docs/examples/python_ctypes.py [DIRECTORY]

The library is found by its name, or where the environment variable SEPAL_LIBRARY says.
"""

import ctypes
import os
import sys
import tempfile

_lib = ctypes.CDLL(os.environ.get("SEPAL_LIBRARY", "libsepal.so.0"))
_POINTER, _BYTES, _SIZE = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t
_ERROR = ctypes.POINTER(ctypes.c_void_p)


def _declare(name, result, *arguments):
    function = getattr(_lib, name)
    function.restype = result
    function.argtypes = arguments
    return function


_free = _declare("sepal_free", None, _POINTER)
_options_create = _declare("sepal_options_create", _POINTER)
_options_destroy = _declare("sepal_options_destroy", None, _POINTER)
_set_create = _declare("sepal_options_set_create_if_missing", None, _POINTER, ctypes.c_ubyte)
_readoptions_create = _declare("sepal_readoptions_create", _POINTER)
_writeoptions_create = _declare("sepal_writeoptions_create", _POINTER)
_set_sync = _declare("sepal_writeoptions_set_sync", None, _POINTER, ctypes.c_ubyte)
_open = _declare("sepal_open", _POINTER, _POINTER, _BYTES, _ERROR)
_close = _declare("sepal_close_with_error", None, _POINTER, _ERROR)
_put = _declare("sepal_put", None, _POINTER, _POINTER, _BYTES, _SIZE, _BYTES, _SIZE, _ERROR)
_delete = _declare("sepal_delete", None, _POINTER, _POINTER, _BYTES, _SIZE, _ERROR)
_get = _declare("sepal_get", _POINTER, _POINTER, _POINTER, _BYTES, _SIZE, ctypes.POINTER(_SIZE), _ERROR)
_begin = _declare("sepal_begin_transaction", _POINTER, _POINTER, ctypes.c_int, ctypes.c_int, ctypes.c_uint64, _ERROR)
_txn_get = _declare("sepal_transaction_get", _POINTER, _POINTER, _POINTER, _POINTER, _BYTES, _SIZE,
                    ctypes.POINTER(_SIZE), _ERROR)
_txn_put = _declare("sepal_transaction_put", None, _POINTER, _POINTER, _BYTES, _SIZE, _BYTES, _SIZE, _ERROR)
_txn_commit = _declare("sepal_transaction_commit", None, _POINTER, _POINTER, _ERROR)
_txn_destroy = _declare("sepal_transaction_destroy", None, _POINTER)
_SERIALIZABLE, _OPTIMISTIC = 1, 0
_iterator = _declare("sepal_create_iterator", _POINTER, _POINTER, _POINTER)
_iter_first = _declare("sepal_iter_seek_to_first", None, _POINTER)
_iter_seek = _declare("sepal_iter_seek", None, _POINTER, _BYTES, _SIZE)
_iter_valid = _declare("sepal_iter_valid", ctypes.c_ubyte, _POINTER)
_iter_next = _declare("sepal_iter_next", None, _POINTER)
_iter_key = _declare("sepal_iter_key", _POINTER, _POINTER, ctypes.POINTER(_SIZE))
_iter_value = _declare("sepal_iter_value", _POINTER, _POINTER, ctypes.POINTER(_SIZE))
_iter_error = _declare("sepal_iter_get_error", None, _POINTER, _ERROR)
_iter_destroy = _declare("sepal_iter_destroy", None, _POINTER)


class Error(Exception):
    pass


class Aborted(Error):
    """Another write came between: run the transaction again."""


def _call(function, *arguments):
    """Calls a function whose last parameter is `errptr`; its error becomes an exception."""
    error = ctypes.c_void_p()
    result = function(*arguments, ctypes.byref(error))
    if error.value is not None:
        message = ctypes.string_at(error.value).decode()
        _free(error.value)
        raise (Aborted if message.startswith("ABORTED") else Error)(message)
    return result


def _take(value, length):
    """Copies a value that the library made; None stays None."""
    if value is None:
        return None
    copy = ctypes.string_at(value, length.value)
    _free(value)
    return copy


class Transaction:
    def __init__(self, database):
        self._database = database
        self._txn = _call(_begin, database._db, _SERIALIZABLE, _OPTIMISTIC, 0)

    def get(self, key):
        length = _SIZE()
        return _take(_call(_txn_get, self._txn, self._database._read, None, key, len(key), ctypes.byref(length)), length)

    def put(self, key, value):
        _call(_txn_put, self._txn, None, key, len(key), value, len(value))

    def commit(self):
        _call(_txn_commit, self._txn, self._database._write)

    def close(self):
        """Rolls back what was not committed."""
        _txn_destroy(self._txn)


class Database:
    def __init__(self, directory, create=True):
        self._read, self._write = _readoptions_create(), _writeoptions_create()
        options = _options_create()
        _set_create(options, create)
        try:
            self._db = _call(_open, options, os.fsencode(directory))
        finally:
            _options_destroy(options)

    def put(self, key, value, sync=False):
        _set_sync(self._write, sync)
        _call(_put, self._db, self._write, key, len(key), value, len(value))

    def get(self, key):
        length = _SIZE()
        return _take(_call(_get, self._db, self._read, key, len(key), ctypes.byref(length)), length)

    def delete(self, key):
        _set_sync(self._write, False)
        _call(_delete, self._db, self._write, key, len(key))

    def items(self, start=None):
        iterator = _iterator(self._db, self._read)
        try:
            _iter_first(iterator) if start is None else _iter_seek(iterator, start, len(start))
            length = _SIZE()
            while _iter_valid(iterator):
                key = ctypes.string_at(_iter_key(iterator, ctypes.byref(length)), length.value)
                value = ctypes.string_at(_iter_value(iterator, ctypes.byref(length)), length.value)
                yield key, value
                _iter_next(iterator)
            _call(_iter_error, iterator)
        finally:
            _iter_destroy(iterator)

    def run(self, body):
        """Calls `body` with a transaction, and again until it commits."""
        while True:
            transaction = Transaction(self)
            try:
                body(transaction)
                transaction.commit()
                return
            except Aborted:
                continue
            finally:
                transaction.close()

    def close(self):
        _call(_close, self._db)


def main():
    directory = sys.argv[1] if len(sys.argv) > 1 else os.path.join(tempfile.mkdtemp(), "db")
    db = Database(directory)
    db.put(b"user:1", b"Ada", sync=True)
    db.put(b"user:2", b"Grace")
    db.put(b"zero", b"a\0b")
    db.delete(b"user:2")
    assert db.get(b"user:1") == b"Ada"
    assert db.get(b"user:2") is None
    assert db.get(b"zero") == b"a\0b"
    assert list(db.items(b"user:")) == [(b"user:1", b"Ada"), (b"zero", b"a\0b")]
    attempts = []

    def count(transaction):
        attempts.append(transaction)
        visits = int(transaction.get(b"visits") or 0)
        if len(attempts) == 1:
            db.put(b"visits", b"41")  # another, meanwhile
        transaction.put(b"visits", str(visits + 1).encode())

    db.run(count)
    assert db.get(b"visits") == b"42" and len(attempts) == 2
    try:
        Database(directory)
        raise AssertionError("opened twice")
    except Error as error:
        print("as it should be:", error)
    db.close()
    print("ok")


if __name__ == "__main__":
    main()
