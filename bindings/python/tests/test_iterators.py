"""Iterators: their arguments, their cursor between entries, and the raw ones."""

import random

import sepal
from case import DatabaseCase


class IteratorTest(DatabaseCase):
    def setUp(self):
        super().setUp()
        self.entries = [(b"a", b"1"), (b"b", b"2"), (b"c", b"3"), (b"d", b"4"), (b"e", b"5")]
        for key, value in self.entries:
            self.db.put(key, value)

    def keys(self, **arguments):
        return b"".join(self.db.iterator(include_value=False, **arguments))

    def test_all(self):
        self.assertEqual(list(self.db), self.entries)
        self.assertEqual(list(self.db.iterator()), self.entries)
        self.assertEqual(list(self.db.iterator(reverse=True)), self.entries[::-1])
        iterator = self.db.iterator()
        self.assertIs(iter(iterator), iterator)

    def test_bounds(self):
        for arguments, keys in (
            ({"start": b"b"}, b"bcde"),
            ({"start": b"b", "include_start": False}, b"cde"),
            ({"stop": b"d"}, b"abc"),
            ({"stop": b"d", "include_stop": True}, b"abcd"),
            ({"start": b"b", "stop": b"d"}, b"bc"),
            ({"start": b"bb", "stop": b"dd"}, b"cd"),
            ({"start": b"bb", "stop": b"dd", "include_start": False, "include_stop": True}, b"cd"),
            ({"start": b"d", "stop": b"b"}, b""),
            ({"start": b"b", "stop": b"b"}, b""),
            ({"start": b"b", "stop": b"b", "include_stop": True}, b"b"),
            ({"start": b""}, b"abcde"),
            ({"stop": b""}, b""),
            ({"start": None, "stop": None, "prefix": None}, b"abcde"),
            ({"prefix": b"c"}, b"c"),
            ({"prefix": b""}, b"abcde"),
            ({"prefix": b"cc"}, b""),
            ({"prefix": b"c", "include_start": False}, b"c"),
        ):
            with self.subTest(arguments):
                self.assertEqual(self.keys(**arguments), keys)
                self.assertEqual(self.keys(reverse=True, **arguments), keys[::-1])

    def test_prefixes(self):
        for key in (b"p", b"p1", b"p2", b"p\xff", b"p\xff\xff", b"q", b"\xff", b"\xff\xff1"):
            self.db.put(key, b"")
        keys = [b"p", b"p1", b"p2", b"p\xff", b"p\xff\xff"]
        self.assertEqual(list(self.db.iterator(prefix=b"p", include_value=False)), keys)
        self.assertEqual(list(self.db.iterator(prefix=b"p\xff", include_value=False)), keys[3:])
        self.assertEqual(list(self.db.iterator(prefix=b"\xff", include_value=False)), [b"\xff", b"\xff\xff1"])

    def test_what_an_entry_is(self):
        self.assertEqual(next(self.db.iterator(include_value=False)), b"a")
        self.assertEqual(next(self.db.iterator(include_key=False)), b"1")
        self.assertIsNone(next(self.db.iterator(include_key=False, include_value=False)))

    def test_wrong_arguments(self):
        for arguments, error in (
            ({"prefix": b"a", "start": b"a"}, TypeError),
            ({"prefix": b"a", "stop": b"a"}, TypeError),
            ({"start": "a"}, TypeError),
            ({"stop": 5}, TypeError),
            ({"prefix": "a"}, TypeError),
            ({"no_such": 1}, TypeError),
        ):
            with self.subTest(arguments), self.assertRaises(error):
                self.db.iterator(**arguments)
        with self.assertRaises(TypeError):
            self.db.iterator(True)

    def test_the_cursor_stands_between_entries(self):
        iterator = self.db.iterator()
        with self.assertRaises(StopIteration):
            iterator.prev()
        self.assertEqual(next(iterator), (b"a", b"1"))
        self.assertEqual(next(iterator), (b"b", b"2"))
        self.assertEqual(iterator.prev(), (b"b", b"2"))
        self.assertEqual(next(iterator), (b"b", b"2"))
        self.assertEqual(list(iterator), self.entries[2:])
        with self.assertRaises(StopIteration):
            next(iterator)
        self.assertEqual(iterator.prev(), (b"e", b"5"))
        self.assertEqual(iterator.prev(), (b"d", b"4"))
        self.assertEqual(next(iterator), (b"d", b"4"))

    def test_seeking(self):
        iterator = self.db.iterator()
        iterator.seek(b"c")
        self.assertEqual(next(iterator), (b"c", b"3"))
        iterator.seek(b"bb")
        self.assertEqual(iterator.prev(), (b"b", b"2"))
        iterator.seek(b"x")
        with self.assertRaises(StopIteration):
            next(iterator)
        self.assertEqual(iterator.prev(), (b"e", b"5"))
        iterator.seek_to_start()
        self.assertEqual(next(iterator), (b"a", b"1"))
        iterator.seek_to_stop()
        with self.assertRaises(StopIteration):
            next(iterator)
        self.assertEqual(iterator.prev(), (b"e", b"5"))
        for wrong in ("c", None, 5):
            with self.assertRaises(TypeError):
                iterator.seek(wrong)

    def test_seeking_keeps_to_the_bounds(self):
        iterator = self.db.iterator(start=b"b", stop=b"d")
        iterator.seek(b"a")
        self.assertEqual(next(iterator), (b"b", b"2"))
        iterator.seek(b"e")
        self.assertEqual(iterator.prev(), (b"c", b"3"))
        iterator.seek_to_stop()
        self.assertEqual(iterator.prev(), (b"c", b"3"))

    def test_backwards(self):
        iterator = self.db.iterator(reverse=True)
        self.assertEqual(next(iterator), (b"e", b"5"))
        self.assertEqual(iterator.prev(), (b"e", b"5"))
        with self.assertRaises(StopIteration):
            iterator.prev()
        iterator.seek(b"c")
        self.assertEqual(next(iterator), (b"b", b"2"))
        self.assertEqual(iterator.prev(), (b"b", b"2"))
        self.assertEqual(iterator.prev(), (b"c", b"3"))

    def test_it_shows_one_moment(self):
        iterator = self.db.iterator()
        self.db.put(b"aa", b"new")
        self.db.delete(b"e")
        self.assertEqual(list(iterator), self.entries)

    def test_closing(self):
        with self.db.iterator() as iterator:
            next(iterator)
        iterator.close()
        for call in (lambda: next(iterator), iterator.prev, iterator.seek_to_start, iterator.seek_to_stop,
                     lambda: iterator.seek(b"a"), iterator.__enter__):
            with self.assertRaises(sepal.ClosedError):
                call()

    def test_any_walk_is_that_over_a_list(self):
        for seed in range(30):
            self.walk(random.Random(seed), reverse=seed % 2 == 1)

    def walk(self, rng, reverse):
        count = rng.choice([0, 1, 2, 10, 700])
        space = self.db.prefixed_db(b"walk%d:" % rng.randrange(1 << 30))
        keys = sorted(b"%04d" % key for key in rng.sample(range(10000), count))
        with space.write_batch() as batch:
            for key in keys:
                batch.put(key, rng.choice([b"", b"v", b"v" * 3000]) + key)
        iterator = space.iterator(reverse=reverse, include_value=False)
        at = len(keys) if reverse else 0
        for _ in range(300):
            step = rng.randrange(20)
            if step == 0:
                target = b"%04d" % rng.randrange(10000)
                iterator.seek(target)
                at = sum(1 for key in keys if key < target)
            elif step == 1:
                iterator.seek_to_start()
                at = 0
            elif step == 2:
                iterator.seek_to_stop()
                at = len(keys)
            else:
                forward = (rng.random() < 0.7) != reverse
                for _ in range(rng.choice([1, 1, 1, 3, 400])):
                    got = self.step(iterator, forward != reverse)
                    at, expected = self.step_in_list(keys, at, forward)
                    self.assertEqual(got, expected)

    @staticmethod
    def step(iterator, on):
        try:
            return next(iterator) if on else iterator.prev()
        except StopIteration:
            return None

    @staticmethod
    def step_in_list(keys, at, forward):
        if forward:
            return (at + 1, keys[at]) if at < len(keys) else (at, None)
        return (at - 1, keys[at - 1]) if at > 0 else (at, None)


class RawIteratorTest(DatabaseCase):
    def test_walking(self):
        entries = self.fill(5)
        iterator = self.db.raw_iterator()
        self.assertFalse(iterator.valid())
        iterator.seek_to_first()
        self.assertTrue(iterator.valid())
        self.assertEqual((iterator.key(), iterator.value(), iterator.item()), (*entries[0], entries[0]))
        iterator.next()
        self.assertEqual(iterator.item(), entries[1])
        iterator.prev()
        self.assertEqual(iterator.item(), entries[0])
        iterator.seek_to_last()
        self.assertEqual(iterator.key(), entries[-1][0])
        iterator.next()
        self.assertFalse(iterator.valid())
        iterator.seek(b"00002x")
        self.assertEqual(iterator.key(), b"00003")

    def test_where_there_is_no_entry(self):
        iterator = self.db.raw_iterator(verify_checksums=True, fill_cache=False)
        iterator.seek_to_first()
        for call in (iterator.key, iterator.value, iterator.item, iterator.next, iterator.prev):
            with self.assertRaises(sepal.IteratorInvalidError):
                call()
        with self.assertRaises(TypeError):
            iterator.seek("a")

    def test_closing(self):
        with self.db.raw_iterator() as iterator:
            iterator.seek_to_first()
        iterator.close()
        for call in (iterator.valid, iterator.key, iterator.next, iterator.seek_to_first):
            with self.assertRaises(sepal.ClosedError):
                call()
