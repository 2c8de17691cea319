"""Reads the filters of Sepal: sets of keys in a few bits each, which know for certain what is absent.

    import sepal_filter
    weak = sepal_filter.load("weak-passwords.filter")
    if weak.may_contain("password1"):
        ...

Pure Python, without dependencies. The file format is docs/reference/filter-format.md of Sepal. A filter is read whole and
cannot be changed. A key is bytes, or a str, which is taken as UTF-8.
"""

import struct

__all__ = ["Filter", "FilterError", "load", "loads", "xxh3_64"]
__version__ = "0.1.0"

_MASK = (1 << 64) - 1
_MAGIC = b"\x89SFLT\r\n\x1a"
_HEADER = struct.Struct("<8sBBBBIQQQQQQ")
_KINDS = {1: "bloom", 2: "blocked", 3: "partitioned", 4: "counting", 5: "ageing", 6: "generations", 7: "scalable",
          8: "fingerprints", 9: "static", 10: "count-min", 11: "hyperloglog"}


class FilterError(ValueError):
    """The bytes are no filter, are damaged, or are of a version, kind or hash that this reader does not know."""


# --- XXH3-64 (https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md) ---

_SECRET = bytes.fromhex(
    "b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671f"
    "cb79e64eccc0e578825ad07dccff7221b8084674f743248ee03590e6813a264c"
    "3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8"
    "a8fa763fe39c343ff9dcbbc7c70b4f1d8a51e04bcdb45931c89f7ec9d9787364"
    "eac5ac8334d3ebc3c581a0fffa1363eb170ddd51b7f0da49d316552629d4689e"
    "2b16be587d47a1fc8ff8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e")
_P32 = (0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D)
_P64 = (0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5)


def _read64(data, at):
    return int.from_bytes(data[at:at + 8], "little")


def _read32(data, at):
    return int.from_bytes(data[at:at + 4], "little")


def _fold(a, b):
    product = a * b
    return (product ^ (product >> 64)) & _MASK


def _avalanche(h):
    h ^= h >> 37
    h = h * 0x165667919E3779F9 & _MASK
    return h ^ (h >> 32)


def _avalanche_short(h):
    h ^= h >> 33
    h = h * _P64[1] & _MASK
    h ^= h >> 29
    h = h * _P64[2] & _MASK
    return h ^ (h >> 32)


def _rotate(h, bits):
    return (h << bits | h >> (64 - bits)) & _MASK


def _up_to_16(data, seed):
    size = len(data)
    if size > 8:
        low = _read64(data, 0) ^ ((_read64(_SECRET, 24) ^ _read64(_SECRET, 32)) + seed & _MASK)
        high = _read64(data, size - 8) ^ ((_read64(_SECRET, 40) ^ _read64(_SECRET, 48)) - seed & _MASK)
        swapped = int.from_bytes(low.to_bytes(8, "little"), "big")
        return _avalanche(size + swapped + high + _fold(low, high) & _MASK)
    if size >= 4:
        seed ^= int.from_bytes((seed & 0xFFFFFFFF).to_bytes(4, "little"), "big") << 32
        flip = (_read64(_SECRET, 8) ^ _read64(_SECRET, 16)) - seed & _MASK
        h = (_read32(data, size - 4) + (_read32(data, 0) << 32)) ^ flip
        h ^= _rotate(h, 49) ^ _rotate(h, 24)
        h = h * 0x9FB21C651E98DF25 & _MASK
        h ^= (h >> 35) + size
        h = h * 0x9FB21C651E98DF25 & _MASK
        return h ^ (h >> 28)
    if size:
        combined = data[0] << 16 | data[size >> 1] << 24 | data[-1] | size << 8
        return _avalanche_short(combined ^ ((_read32(_SECRET, 0) ^ _read32(_SECRET, 4)) + seed & _MASK))
    return _avalanche_short(seed ^ _read64(_SECRET, 56) ^ _read64(_SECRET, 64))


def _mix16(data, at, secret_at, seed):
    return _fold(_read64(data, at) ^ (_read64(_SECRET, secret_at) + seed & _MASK),
                 _read64(data, at + 8) ^ (_read64(_SECRET, secret_at + 8) - seed & _MASK))


def _up_to_240(data, seed):
    size = len(data)
    h = size * _P64[0]
    if size <= 128:
        for i in range((size - 1) // 32, -1, -1):
            h += _mix16(data, 16 * i, 32 * i, seed) + _mix16(data, size - 16 * (i + 1), 32 * i + 16, seed)
        return _avalanche(h & _MASK)
    for i in range(8):
        h += _mix16(data, 16 * i, 16 * i, seed)
    h = _avalanche(h & _MASK)
    for i in range(8, size // 16):
        h += _mix16(data, 16 * i, 16 * (i - 8) + 3, seed)
    return _avalanche(h + _mix16(data, size - 16, 136 - 17, seed) & _MASK)


def _accumulate(acc, data, at, secret, secret_at):
    values = struct.unpack_from("<8Q", data, at)
    keys = struct.unpack_from("<8Q", secret, secret_at)
    for i in range(8):
        key = values[i] ^ keys[i]
        acc[i ^ 1] += values[i]
        acc[i] = acc[i] + (key & 0xFFFFFFFF) * (key >> 32) & _MASK


def _long(data, seed):
    size = len(data)
    words = struct.unpack("<24Q", _SECRET)
    secret = struct.pack("<24Q", *((word + (-seed if i % 2 else seed)) & _MASK for i, word in enumerate(words)))
    acc = [_P32[2], _P64[0], _P64[1], _P64[2], _P64[3], _P32[1], _P64[4], _P32[0]]
    last = struct.unpack_from("<8Q", secret, 128)
    blocks = (size - 1) // 1024
    for block in range(blocks):
        for stripe in range(16):
            _accumulate(acc, data, 1024 * block + 64 * stripe, secret, 8 * stripe)
        for i in range(8):
            value = acc[i] & _MASK
            acc[i] = (value ^ (value >> 47) ^ last[i]) * _P32[0] & _MASK
    for stripe in range((size - 1 - 1024 * blocks) // 64):
        _accumulate(acc, data, 1024 * blocks + 64 * stripe, secret, 8 * stripe)
    _accumulate(acc, data, size - 64, secret, 192 - 64 - 7)
    h = size * _P64[0]
    for i in range(4):
        h += _fold(acc[2 * i] & _MASK ^ _read64(secret, 11 + 16 * i),
                   acc[2 * i + 1] & _MASK ^ _read64(secret, 19 + 16 * i))
    return _avalanche(h & _MASK)


def xxh3_64(data, seed=0):
    """XXH3-64 of bytes."""
    if len(data) <= 16:
        return _up_to_16(data, seed)
    return _up_to_240(data, seed) if len(data) <= 240 else _long(data, seed)


# --- filters ---


def _mix64(h):
    h ^= h >> 33
    h = h * 0xFF51AFD7ED558CCD & _MASK
    h ^= h >> 33
    h = h * 0xC4CEB9FE1A85EC53 & _MASK
    return h ^ (h >> 33)


def _probes(h, count, span):
    for _ in range(count):
        yield h * span >> 64
        h = h * 0xD1342543DE82EF95 & _MASK


_LINE_MULTIPLIERS = (0x47B6137B, 0x44974D91, 0x8824AD5B, 0xA2B7289D, 0x705495C7, 0x2DF1424B, 0x9EFC4947, 0x5C6BFB31)


class Filter:
    """A filter that was read. `kind`, `seed`, `keys` and the other fields are those of the file's header."""

    def __init__(self, data, name="filter"):
        if data[:8] != _MAGIC[:len(data)] or not data:
            raise FilterError(f"{name} is no filter file: it begins with {bytes(data[:8]).hex()}, and not with {_MAGIC.hex()}")
        if len(data) < _HEADER.size:
            raise FilterError(f"{name}: header: expected {_HEADER.size} bytes, got {len(data)}")
        (_, version, kind, hash_kind, self.probes, self.width, self.seed, self.keys, self.size, self.extra, body_bytes,
         checksum) = _HEADER.unpack_from(data)
        if version != 1:
            raise FilterError(f"{name}: version {version} is not known here")
        self._body = bytes(data[_HEADER.size:])
        if len(self._body) != body_bytes:
            raise FilterError(f"{name}: body: expected {body_bytes} bytes, got {len(self._body)}")
        computed = xxh3_64(self._body, xxh3_64(bytes(data[:56])))
        if checksum != computed:
            raise FilterError(f"{name}: checksum: expected {checksum:016x}, got {computed:016x}")
        if kind not in _KINDS or hash_kind != 1:
            raise FilterError(f"{name}: kind {kind} with hash {hash_kind} is not known here")
        self.kind = _KINDS[kind]
        self._parts = list(self._split(name)) if kind in (6, 7) else []
        self._check_size(name)

    def may_contain(self, key):
        """False is certain."""
        h = self._hash(key)
        if self._parts:
            return any(part._bits(h) for part in self._parts)
        if self.kind in ("bloom", "ageing", "partitioned"):
            return self._bits(h)
        if self.kind == "blocked":
            return self._line(h)
        if self.kind in ("counting", "count-min"):
            return self.estimate_count(key) > 0
        if self.kind == "fingerprints":
            return self._table(h)
        if self.kind == "static":
            return self._static(h)
        raise FilterError(f"a {self.kind} filter cannot say which keys it has seen")

    __contains__ = may_contain

    def estimate_count(self, key):
        """How often the key was added, of a counting filter or a count-min sketch."""
        if self.kind == "counting":
            span = self.size // self.probes
            return min(self._cell(i * span + at, self.width) for i, at in enumerate(_probes(self._hash(key), self.probes, span)))
        if self.kind == "count-min":
            return min(_read64(self._body, 8 * (i * self.size + at))
                       for i, at in enumerate(_probes(self._hash(key), self.probes, self.size)))
        raise FilterError(f"a {self.kind} filter cannot count a key")

    def _hash(self, key):
        if isinstance(key, str):
            key = key.encode()
        elif not isinstance(key, (bytes, bytearray, memoryview)):
            raise TypeError(f"a key is str or bytes, not {type(key).__name__}")
        return xxh3_64(bytes(key), self.seed)

    def _cell(self, i, width):
        if width == 4:
            return self._body[i // 2] >> i % 2 * 4 & 15
        return self._body[i] if width == 8 else self._body[2 * i] | self._body[2 * i + 1] << 8

    def _bits(self, h):
        partitioned = self.kind == "partitioned"
        span = self.size // self.probes if partitioned else self.size
        for i, at in enumerate(_probes(h, self.probes, span)):
            bit = i * span + at if partitioned else at
            if not self._body[bit // 8] >> bit % 8 & 1:
                return False
        return True

    def _line(self, h):
        first = (h * (self.size // 512) >> 64) * 64
        for multiplier in _LINE_MULTIPLIERS[:self.probes]:
            bit = ((h & 0xFFFFFFFF) * multiplier & 0xFFFFFFFF) >> 23
            if not self._body[first + bit // 8] >> bit % 8 & 1:
                return False
        return True

    def _table(self, h):
        wanted = 1 + (_mix64(h) * ((1 << self.width) - 1) >> 64)
        bucket = h * self.size >> 64
        for _ in range(self.size):
            if any(self._cell(8 * bucket + i, self.width) == wanted for i in range(7)):
                return True
            if self._cell(8 * bucket + 7, self.width) == 0:
                return False
            bucket = (bucket + 1) % self.size
        return False

    def _static(self, h):
        mixed = _mix64(h + self.extra & _MASK)
        segment = 1 << self.probes
        first = mixed * self.size >> 64
        slots = (first, (first + segment) ^ (mixed >> 18 & segment - 1), (first + 2 * segment) ^ (mixed & segment - 1))
        found = 0
        for slot in slots:
            found ^= self._cell(slot, self.width)
        return found == (mixed ^ mixed >> 32) & (1 << self.width) - 1

    def _split(self, name):
        at = 0
        while at < len(self._body):
            end = at + _HEADER.size + _read64(self._body, at + 48)
            yield Filter(self._body[at:end], name)
            at = end

    def _check_size(self, name):
        words = {"bloom": self.size, "ageing": self.size, "partitioned": self.size, "blocked": self.size,
                 "counting": self.size * self.width, "fingerprints": 8 * self.size * self.width,
                 "static": (self.size + 2 * (1 << min(self.probes, 18))) * self.width,
                 "count-min": self.size * self.probes * 64, "hyperloglog": 8 * self.size}
        if self.kind in words and ((words[self.kind] + 63) // 64 * 8 != len(self._body) or not self._body):
            raise FilterError(f"{name}: size: expected {len(self._body)} bytes, got {words[self.kind]} bits")
        if self.kind in ("bloom", "partitioned", "blocked", "counting", "ageing", "count-min") and not self.probes:
            raise FilterError(f"{name}: probes: expected at least 1, got 0")
        if self.kind not in words and not (self._parts and all(part.kind == "bloom" for part in self._parts)):
            raise FilterError(f"{name}: parts: expected filters of kind bloom")
        slices = self.probes if self.kind in ("partitioned", "counting") else 1
        lines = 512 if self.kind == "blocked" else 1
        if self.size % slices or self.size % lines or (lines > 1 and self.probes > len(_LINE_MULTIPLIERS)):
            raise FilterError(f"{name}: {self.size} bits and {self.probes} probes contradict each other")


def loads(data, name="filter"):
    """The filter in these bytes; FilterError for others."""
    return Filter(data, name)


def load(path):
    """The filter in this file."""
    with open(path, "rb") as file:
        return Filter(file.read(), str(path))
