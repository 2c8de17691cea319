"""A database as a dictionary of bytes."""

from __future__ import annotations

import collections.abc
import typing

from ._sepal import DB, ColumnFamily, PrefixedDB

_Space = typing.Union[DB, ColumnFamily, PrefixedDB]

# Of clear() and update(): updates in one batch, of which each is written whole.
_BATCH_UPDATES = 1000


class _Values(collections.abc.ValuesView):
    def __iter__(self) -> typing.Iterator[bytes]:
        return self._mapping.space.iterator(include_key=False)

    def __contains__(self, value: object) -> bool:
        return any(value == other for other in self)

    def __reversed__(self) -> typing.Iterator[bytes]:
        return self._mapping.space.iterator(include_key=False, reverse=True)


class _Items(collections.abc.ItemsView):
    def __iter__(self) -> typing.Iterator[tuple[bytes, bytes]]:
        return self._mapping.space.iterator()

    def __reversed__(self) -> typing.Iterator[tuple[bytes, bytes]]:
        return self._mapping.space.iterator(reverse=True)


class _Keys(collections.abc.KeysView):
    def __reversed__(self) -> typing.Iterator[bytes]:
        return reversed(self._mapping)


class Mapping(collections.abc.MutableMapping):
    """The entries of `space` (a DB, ColumnFamily or PrefixedDB), in the order of their keys.

    Going over it shows the moment at which it began, so that entries may be changed meanwhile. len() counts the entries
    one by one.
    """

    def __init__(self, space: _Space) -> None:
        if not isinstance(space, (DB, ColumnFamily, PrefixedDB)):
            raise TypeError(f"Mapping() takes a DB, ColumnFamily or PrefixedDB, not {type(space).__name__}")
        self.space = space

    def __getitem__(self, key: bytes) -> bytes:
        value = self.space.get(key)
        if value is None:
            raise KeyError(key)
        return value

    def get(self, key: bytes, default: typing.Any = None) -> typing.Any:
        return self.space.get(key, default)

    def __setitem__(self, key: bytes, value: bytes) -> None:
        self.space.put(key, value)

    def __delitem__(self, key: bytes) -> None:
        self[key]  # a KeyError
        self.space.delete(key)

    def __contains__(self, key: object) -> bool:
        return self.space.get(key) is not None  # type: ignore[arg-type]

    def __iter__(self) -> typing.Iterator[bytes]:
        return self.space.iterator(include_value=False)

    def __reversed__(self) -> typing.Iterator[bytes]:
        return self.space.iterator(include_value=False, reverse=True)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __bool__(self) -> bool:
        return any(True for _ in self)

    def keys(self) -> _Keys:
        return _Keys(self)

    def values(self) -> _Values:
        return _Values(self)

    def items(self) -> _Items:
        return _Items(self)

    def popitem(self) -> tuple[bytes, bytes]:
        """Removes and returns the entry with the highest key."""
        for key, value in reversed(self.items()):
            self.space.delete(key)
            return key, value
        raise KeyError("the mapping is empty")

    def _write(self, updates: typing.Iterable[tuple[bytes, typing.Optional[bytes]]]) -> None:
        batch = self.space.write_batch()
        for key, value in updates:
            if value is None:
                batch.delete(key)
            else:
                batch.put(key, value)
            if len(batch) == _BATCH_UPDATES:
                batch.write()
                batch.clear()
        batch.write()

    def clear(self) -> None:
        """Deletes all entries, in batches."""
        self._write((key, None) for key in self)

    def update(self, other: typing.Any = (), /, **more: bytes) -> None:
        """Puts all entries of `other`, in batches."""
        if more:
            raise TypeError("keys are bytes, so that update() takes none by name")
        if hasattr(other, "keys"):
            self._write((key, other[key]) for key in other.keys())
        else:
            self._write(other)

    def __repr__(self) -> str:
        return f"Mapping({self.space!r})"
