"""A value as a file that is read in parts."""

from __future__ import annotations

import io
import typing

from ._sepal import DB, ColumnFamily, PrefixedDB, Snapshot

_Space = typing.Union[DB, ColumnFamily, PrefixedDB, Snapshot]

# What a read of a few bytes takes from the database, of which a streamed value has a checksum.
_BUFFER_BYTES = 64 << 10


class ValueFile(io.RawIOBase):
    """The value that `key` has now, whatever is written to the key later. KeyError: it has none."""

    def __init__(self, space: _Space, key: bytes) -> None:
        super().__init__()
        self._own = None if isinstance(space, Snapshot) else space.snapshot()
        self._space = space if self._own is None else self._own
        self._key = bytes(key)
        self._at = 0
        there = self._space.read_value(self._key, 0, 0)
        if there is None:
            self.close()
            raise KeyError(key)
        self._size = there[1]

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        begins = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}
        if whence not in begins or begins[whence] + offset < 0:
            raise ValueError(f"seek to {offset} by {whence}")
        self._at = begins[whence] + offset
        return self._at

    def tell(self) -> int:
        return self._at

    def readinto(self, buffer: typing.Any) -> int:
        view = memoryview(buffer).cast("B")
        part = self._space.read_value(self._key, self._at, len(view))
        data = b"" if part is None else part[0]
        view[: len(data)] = data
        self._at += len(data)
        return len(data)

    def close(self) -> None:
        if self._own is not None:
            self._own.close()
        super().close()


def open_value(space: _Space, key: bytes) -> io.BufferedReader:
    return io.BufferedReader(ValueFile(space, key), _BUFFER_BYTES)
