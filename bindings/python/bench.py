"""put, get, iterate and multi_get of sepal, and of plyvel on LevelDB where that is installed, in one run.

    PYTHONPATH=build/release/python python3 bindings/python/bench.py [--entries N] [--rounds N]

Both open a database with their default options. Keys have 16 random digits and values 100 bytes. The rounds of the two
engines alternate, each in a new database. All figures are medians over the rounds: the rates, how many times plyvel's rate
sepal's is, and how many times sepal's processor time plyvel takes, that of all its threads. multi_get, which plyvel does
not have, is compared with its get.
"""

import argparse
import random
import shutil
import statistics
import sys
import tempfile
import time

sys.path.pop(0)  # beside this file is the package without its extension

import sepal

try:
    import plyvel
except ImportError:
    plyvel = None


class Run:
    def __init__(self, engine, keys, value):
        self.engine, self.keys, self.value = engine, keys, value
        self.shuffled = random.Random(2).sample(keys, len(keys))

    def put(self, db):
        put, value = db.put, self.value
        for key in self.keys:
            put(key, value)

    def batch(self, db):
        for i in range(0, len(self.keys), 1000):
            with db.write_batch() as batch:
                put, value = batch.put, self.value
                for key in self.keys[i : i + 1000]:
                    put(key, value)

    def get(self, db):
        get = db.get
        for key in self.shuffled:
            get(key)

    def absent(self, db):
        get = db.get
        for key in self.shuffled:
            get(key + b"x")

    def multi_get(self, db):
        if self.engine is not sepal:
            return self.get(db)
        for i in range(0, len(self.shuffled), 1000):
            db.multi_get(self.shuffled[i : i + 1000])

    def iterate(self, db):
        for _ in db:
            pass

    def measure(self):
        seconds = {}
        directory = tempfile.mkdtemp(prefix="bench-")
        try:
            db = self.engine.DB(directory + "/db", create_if_missing=True)
            for name in ("put", "get", "absent", "multi_get", "iterate", "batch"):
                clock, processor = time.perf_counter(), time.process_time()
                getattr(self, name)(db)
                seconds[name] = (time.perf_counter() - clock, time.process_time() - processor)
            db.close()
        finally:
            shutil.rmtree(directory)
        return seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--entries", type=int, default=300_000)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    rng = random.Random(1)
    keys = [b"%016d" % rng.randrange(10**16) for _ in range(arguments.entries)]
    engines = [sepal] + ([plyvel] if plyvel else [])
    rounds = [[Run(engine, keys, b"v" * 100).measure() for engine in engines] for _ in range(arguments.rounds)]
    print(f"{'operations/s':12} {'sepal':>12} {'plyvel':>12} {'ratio':>7} {'processor time':>15}")
    for name in rounds[0][0]:
        rates = [len(keys) / statistics.median(r[i][name][0] for r in rounds) for i in range(len(engines))]
        ratios = [statistics.median(r[-1][name][kind] / r[0][name][kind] for r in rounds) for kind in (0, 1)]
        line = f"{name:12} {rates[0]:12,.0f}"
        print(line + (f" {rates[1]:12,.0f} {ratios[0]:7.1f} {ratios[1]:15.1f}" if plyvel else ""))


if __name__ == "__main__":
    main()
