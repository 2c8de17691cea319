"""Prints what plyvel, the Python package over LevelDB, finds; with LevelDB and with Sepal's libleveldb it is the same.

    plyvel_check.py SEED DIRECTORY
"""
import random
import sys

import plyvel


def main():
    seed, directory = int(sys.argv[1]), sys.argv[2]
    rng = random.Random(seed)
    try:
        plyvel.DB(directory)
    except plyvel.Error as error:
        print(type(error).__name__, error)
    db = plyvel.DB(directory, create_if_missing=True, lru_cache_size=1 << 20, bloom_filter_bits=10)
    for i in range(2000):
        db.put(b"key%04d" % rng.randrange(500), bytes([65 + i % 26]) * rng.randrange(200), sync=i % 500 == 0)
    print(db.get(b"absent"), db.get(b"absent", b"default"), len(list(db)))
    with db.snapshot() as snapshot, db.write_batch(transaction=True) as batch:
        for i in range(0, 500, 3):
            batch.delete(b"key%04d" % i)
        print(len(list(snapshot)), len(list(db)))
    print(len(list(db)), [key for key in db.iterator(include_value=False, reverse=True)][:5])
    print(list(db.iterator(start=b"key0100", stop=b"key0110", include_stop=True, include_value=False)))
    prefixed = db.prefixed_db(b"p/")
    prefixed.put(b"a", b"1")
    print(list(prefixed), db.get(b"p/a"))
    with db.raw_iterator() as it:
        it.seek(b"key04")
        print(it.valid(), it.key())
        it.prev()
        print(it.key())
        it.seek_to_last()
        it.next()
        print(it.valid())
    print(db.get_property(b"nothing"), db.get_property(b"leveldb.stats") is not None)
    db.compact_range()
    print(db.approximate_size(b"zzz", b"zzzz"))
    try:
        plyvel.DB(directory)
    except plyvel.IOError as error:
        print("locked", error)
    db.close()
    print(db.closed)
    plyvel.repair_db(directory)
    db = plyvel.DB(directory)
    print(len(list(db)))
    db.close()
    try:
        plyvel.DB(directory, error_if_exists=True)
    except plyvel.Error as error:
        print(type(error).__name__, error)
    plyvel.destroy_db(directory)


main()
