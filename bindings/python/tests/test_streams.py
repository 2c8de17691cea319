"""Values that are written and read in parts."""

import io
import unittest

import sepal
from case import DatabaseCase

SIZE = 3_000_017


def pattern(begin, end):
    return bytes((i * 7 // 5) % 251 for i in range(begin, end))


class StreamsTest(DatabaseCase):
    def setUp(self):
        super().setUp()
        self.value = pattern(0, SIZE)

    def test_a_file_goes_in_and_comes_out(self):
        self.db.put_stream(b"k", io.BytesIO(self.value), SIZE, sync=True)
        self.assertEqual(self.db.get(b"k"), self.value)
        with self.db.open_value(b"k") as value:
            self.assertEqual(value.read(10), self.value[:10])
            self.assertEqual(value.seek(-5, io.SEEK_END), SIZE - 5)
            self.assertEqual(value.read(), self.value[-5:])
            value.seek(1_000_000)
            self.db.put(b"k", b"another")
            self.assertEqual(value.read(200_000), self.value[1_000_000:1_200_000])
        self.assertEqual(self.db.open_value(b"k").read(), b"another")

    def test_parts_of_an_iterable(self):
        parts = [self.value[i : i + 70_001] for i in range(0, SIZE, 70_001)]
        self.db.put_stream(b"k", [b"", *parts[:3], b"", *parts[3:]], SIZE)
        self.assertEqual(self.db.read_value(b"k", 2_999_990, 100), (self.value[2_999_990:], SIZE))
        self.assertEqual(self.db.read_value(b"k", SIZE, 100), (b"", SIZE))
        self.assertIsNone(self.db.read_value(b"absent", 0, 1))

    def test_what_fails_writes_nothing(self):
        def failing():
            yield self.value[:1_500_000]
            raise RuntimeError("the network is down")

        with self.assertRaisesRegex(RuntimeError, "the network is down"):
            self.db.put_stream(b"k", failing(), SIZE)
        with self.assertRaises(sepal.InvalidArgumentError):
            self.db.put_stream(b"k", io.BytesIO(self.value), SIZE - 1)
        with self.assertRaises(sepal.InvalidArgumentError):
            self.db.put_stream(b"k", io.BytesIO(self.value), SIZE + 1)
        with self.assertRaises(TypeError):
            self.db.put_stream(b"k", ["text"], 4)
        with self.assertRaises(TypeError):
            self.db.put_stream(b"k", 5, 4)
        self.assertIsNone(self.db.get(b"k"))
        with self.assertRaises(KeyError):
            self.db.open_value(b"k")

    def test_families_prefixes_and_snapshots(self):
        space = self.db.prefixed_db(b"p/")
        space.put_stream(b"k", io.BytesIO(self.value), SIZE)
        snapshot = space.snapshot()
        space.delete(b"k")
        with snapshot.open_value(b"k") as value:
            value.seek(500)
            self.assertEqual(value.read(5), self.value[500:505])
        self.assertFalse(snapshot.closed)


if __name__ == "__main__":
    unittest.main()
