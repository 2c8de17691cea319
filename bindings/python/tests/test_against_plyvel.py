"""The same calls on plyvel, with the LevelDB that it has, give the same results."""

import os
import random
import unittest

import sepal
from case import DatabaseCase

try:
    import plyvel
except ImportError:
    plyvel = None

KEYS = [bytes([a, b]) for a in b"abc\xff" for b in b"\0x\xff"] + [b"", b"a", b"b", b"\xff"]


@unittest.skipIf(plyvel is None, "plyvel is not installed (python3-plyvel)")
class AgainstPlyvelTest(DatabaseCase):
    def setUp(self):
        super().setUp()
        self.other = plyvel.DB(os.path.join(self.directory, "leveldb"), create_if_missing=True)
        self.addCleanup(self.other.close)

    def test_errors_have_the_same_names_and_bases(self):
        for name in ("Error", "IOError", "CorruptionError", "IteratorInvalidError"):
            own, other = getattr(sepal, name), getattr(plyvel, name)
            self.assertEqual([kind.__name__ for kind in own.__mro__], [kind.__name__ for kind in other.__mro__])

    def test_everything_of_plyvels_is_there(self):
        def names(thing):
            return {name for name in dir(thing) if not name.startswith("_")}

        for make in (lambda db: db, lambda db: db.prefixed_db(b"p"), lambda db: db.iterator(), lambda db: db.write_batch(),
                     lambda db: db.snapshot(), lambda db: db.raw_iterator()):
            self.assertLessEqual(names(make(self.other)), names(make(self.db)))

    def test_the_same_calls_give_the_same_results(self):
        for seed in range(40):
            rng = random.Random(seed)
            pairs = [(self.db, self.other)]
            pairs.append(tuple(db.prefixed_db(b"a") for db in pairs[0]))
            for _ in range(30):
                self.change(rng, rng.choice(pairs))
            pairs.append(tuple(db.snapshot() for db in rng.choice(pairs)))
            for _ in range(5):
                self.change(rng, rng.choice(pairs[:2]))
                self.compare(rng, rng.choice(pairs))

    @staticmethod
    def change(rng, pair):
        kind, key, value = rng.randrange(4), rng.choice(KEYS), b"%d" % rng.randrange(1000)
        batches = [space.write_batch(transaction=True) for space in pair]
        for space, batch in zip(pair, batches):
            if kind == 0:
                space.put(key, value)
            elif kind == 1:
                space.delete(key)
            else:
                batch.put(key, value)
                batch.delete(value)
                batch.put(value, key)
                batch.write()

    def compare(self, rng, pair):
        for key in KEYS:
            self.assertEqual(*(space.get(key, b"default") for space in pair))
        arguments = {name: rng.random() < 0.5 for name in ("include_start", "include_stop", "include_key")}
        if rng.random() < 0.3:
            # plyvel's include_stop takes in the first key behind the prefix.
            arguments.update(prefix=rng.choice(KEYS), include_stop=False)
        else:
            arguments.update((name, rng.choice(KEYS)) for name in ("start", "stop") if rng.random() < 0.5)
        with self.subTest(arguments):
            own, other = (list(space.iterator(**arguments)) for space in pair)
            self.assertEqual(own, other)
            # plyvel's own reverse iterators disagree with its forward ones at the ends of a range.
            self.assertEqual(list(pair[0].iterator(reverse=True, **arguments)), own[::-1])
        # Within bounds plyvel's prev() may leave them.
        reverse = rng.random() < 0.5
        self.walk(rng, [db.iterator(reverse=reverse) for db in (self.db, self.other)])

    def walk(self, rng, iterators):
        for _ in range(30):
            step, target = rng.randrange(12), rng.choice(KEYS)
            self.assertEqual(*(self.step(iterator, step, target) for iterator in iterators), (step, target))

    @staticmethod
    def step(iterator, step, target):
        try:
            if step == 0:
                return iterator.seek(target)
            if step == 1:
                return iterator.seek_to_start()
            if step == 2:
                return iterator.seek_to_stop()
            return next(iterator) if step < 8 else iterator.prev()
        except StopIteration:
            return "end"
