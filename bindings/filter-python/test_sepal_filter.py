#!/usr/bin/env python3
"""The reader against files that the C++ library wrote: test_sepal_filter.py DIRECTORY, tests/data/filters."""

import json
import pathlib
import sys

import sepal_filter


def golden_key(i):
    size = i if i < 300 else 1000 + i * 37
    return bytes((i * 131 + j * 7 + (j >> 8)) & 255 for j in range(size))


def check(condition, what):
    if not condition:
        sys.exit(f"failed: {what}")


def check_keys(read):
    """What is no key is an error, and not some bytes that are certainly absent."""
    for key in (5, None, 1.5, ["k"]):
        try:
            read.may_contain(key)
            check(False, f"{key!r} is taken as a key")
        except TypeError as error:
            check("a key is str or bytes" in str(error), str(error))
    check(read.may_contain("key") == read.may_contain(b"key") == read.may_contain(bytearray(b"key")), "forms of a key")


def check_damage(name, data):
    for at in [*range(0, 64, 3), len(data) // 2, len(data) - 1]:
        damaged = bytearray(data)
        damaged[at] ^= 16
        try:
            sepal_filter.loads(bytes(damaged), name)
            check(False, f"{name}: byte {at} may be damaged")
        except sepal_filter.FilterError as error:
            check(name in str(error), str(error))
    for size in (0, 7, 63, 64, len(data) - 1):
        try:
            sepal_filter.loads(data[:size], name)
            check(False, f"{name}: may be cut to {size} bytes")
        except sepal_filter.FilterError:
            pass


def check_contradiction(read, name, data):
    """A file whose checksum is right and whose fields contradict each other."""
    changed = bytearray(data)
    if read.kind in ("generations", "scalable"):
        del changed[64:]
        changed[48:56] = bytes(8)
    elif read.kind == "blocked":
        changed[11] = 9
    elif read.kind in ("partitioned", "counting"):
        changed[11] = next(probes for probes in range(read.probes, 255) if read.size % probes)
    else:
        return
    checksum = sepal_filter.xxh3_64(bytes(changed[64:]), sepal_filter.xxh3_64(bytes(changed[:56])))
    changed[56:64] = checksum.to_bytes(8, "little")
    try:
        sepal_filter.loads(bytes(changed), name)
    except sepal_filter.FilterError:
        return
    check(False, f"{name}: what contradicts itself is read")


def main(directory):
    golden = json.loads((directory / "answers.json").read_text())
    keys = [golden_key(i) for i in range(320)]
    hashes = golden.pop("hashes")
    for key, expected in zip(keys, hashes):
        check(f"{sepal_filter.xxh3_64(key, 0x123456789abcdef0):016x}" == expected, f"the hash of {len(key)} bytes")
    asked = keys + [f"absent{i}" for i in range(680)]
    for name, expected in golden.items():
        path = directory / f"{name}.filter"
        read = sepal_filter.load(path)
        check(read.kind == expected["kind"], f"{name}: {read.kind}")
        check_damage(name, path.read_bytes())
        check_contradiction(read, name, path.read_bytes())
        if read.kind == "hyperloglog":
            continue
        check_keys(read)
        counts = read.kind in ("counting", "count-min")
        answers = "".join(str(int(read.estimate_count(key) if counts else key in read)) for key in asked)
        check(answers == expected["answers"], f"{name}: the answers")
    print(f"{len(hashes)} hashes and {len(golden)} files are read as the C++ library does")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
