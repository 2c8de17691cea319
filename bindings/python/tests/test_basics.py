"""What plyvel's documentation shows, in its order: opening, reading and writing, batches, snapshots, prefixed databases."""

import os
import pathlib

import sepal
from case import DatabaseCase


class OpeningTest(DatabaseCase):
    def test_a_missing_database_is_made_only_where_that_is_asked_for(self):
        with self.assertRaises(sepal.NotFoundError) as raised:
            sepal.DB(self.path + "-missing")
        self.assertEqual(raised.exception.code, "not_found")
        self.assertIn("create_if_missing", str(raised.exception))
        self.assertIsInstance(raised.exception, sepal.Error)
        self.assertFalse(os.path.exists(self.path + "-missing"))

    def test_error_if_exists(self):
        self.db.close()
        with self.assertRaises(sepal.ExistsError):
            sepal.DB(self.path, error_if_exists=True)

    def test_a_second_opening_is_refused(self):
        with self.assertRaises(sepal.BusyError) as raised:
            sepal.DB(self.path)
        self.assertIsInstance(raised.exception, sepal.IOError)
        self.assertIsInstance(raised.exception, OSError)

    def test_paths_of_all_kinds(self):
        for name in (pathlib.Path(self.directory) / "p", os.path.join(self.directory, "s"),
                     os.path.join(self.directory, "b").encode()):
            with sepal.DB(name, create_if_missing=True) as db:
                self.assertEqual(db.name, os.fsdecode(name))
        with self.assertRaises(TypeError):
            sepal.DB(12)
        with self.assertRaises(ValueError):
            sepal.DB("a\0b")

    def test_closing(self):
        self.assertFalse(self.db.closed)
        self.db.close()
        self.assertTrue(self.db.closed)
        self.db.close()
        sepal.DB(self.path).close()

    def test_with(self):
        self.db.close()
        with sepal.DB(self.path) as db:
            db.put(b"k", b"v")
        self.assertTrue(db.closed)
        with self.assertRaises(ZeroDivisionError), sepal.DB(self.path) as db:
            1 / 0
        self.assertTrue(db.closed)

    def test_options(self):
        self.db.close()
        options = {"paranoid_checks": True, "max_open_files": 100, "block_restart_interval": 8, "max_file_size": 1 << 20,
                   "write_buffer_size": 4 << 20, "lru_cache_size": 512 << 20, "block_size": 8192, "bloom_filter_bits": 12,
                   "compression": None, "background_threads": 1, "info_log": False}
        with sepal.DB(self.path, **options) as db:
            self.assertIn("memory_limit: 528.0 MiB", db.get_property("sepal.options"))
            db.put(b"k", b"v")
        for compression in ("none", "snappy", "lz4", "zstd"):
            sepal.DB(self.path, compression=compression, memory_limit=16 << 20).close()

    def test_options_out_of_range(self):
        self.db.close()
        for options, error in (
            ({"memory_limit": 1}, sepal.InvalidArgumentError),
            ({"block_size": 1}, sepal.InvalidArgumentError),
            ({"memory_limit": -1}, ValueError),
            ({"memory_limit": 1 << 70}, ValueError),
            ({"memory_limit": "1"}, TypeError),
            ({"background_threads": 1 << 40}, sepal.InvalidArgumentError),
            ({"compression": "zip"}, ValueError),
            ({"compression": 3}, TypeError),
            ({"comparator": lambda a, b: 0}, NotImplementedError),
            ({"comparator_name": b"x"}, NotImplementedError),
            ({"no_such_option": 1}, TypeError),
            ({"read_only": True, "create_if_missing": True}, sepal.InvalidArgumentError),
        ):
            with self.subTest(options), self.assertRaises(error):
                sepal.DB(self.path, **options)
        with self.assertRaises(TypeError):
            sepal.DB()
        with self.assertRaises(TypeError):
            sepal.DB(self.path, True)

    def test_a_database_is_opened_once(self):
        with self.assertRaises(RuntimeError):
            self.db.__init__(self.path)
        self.db.put(b"k", b"v")

    def test_read_only(self):
        self.db.put(b"k", b"v", sync=True)
        with sepal.DB(self.path, read_only=True) as reader:
            self.assertEqual(reader.get(b"k"), b"v")
            with self.assertRaises(sepal.Error) as raised:
                reader.put(b"k", b"w")
            self.assertEqual(raised.exception.code, "failed_precondition")

    def test_a_view_follows(self):
        with sepal.DB(self.path, read_only=True, follow_milliseconds=1) as view:
            self.db.put(b"k", b"v")
            while view.get(b"k") is None:
                pass
            self.assertEqual(view.get(b"k"), b"v")
        with self.assertRaises(sepal.InvalidArgumentError):
            sepal.DB(self.path + "2", follow_milliseconds=1, create_if_missing=True)

    def test_repair_and_destroy(self):
        with self.assertRaises(sepal.BusyError):
            sepal.destroy_db(self.path)
        self.db.put(b"k", b"v")
        self.db.close()
        self.assertIn("nothing was wrong", sepal.repair_db(self.path))
        self.assertIn("nothing is wrong", sepal.repair_db(self.path, dry_run=True))
        sepal.destroy_db(self.path)
        self.assertFalse(os.path.exists(self.path))
        sepal.destroy_db(self.path)
        with self.assertRaises(sepal.NotFoundError):
            sepal.repair_db(self.path)

    def test_another_engines_directory_is_refused(self):
        path = os.path.join(self.directory, "leveldb")
        os.mkdir(path)
        pathlib.Path(path, "CURRENT").write_bytes(b"MANIFEST-000002\n")
        with self.assertRaises(sepal.Error) as raised:
            sepal.DB(path, create_if_missing=True)
        self.assertIn("sepal import", str(raised.exception))

    def test_damage_is_a_corruption_error(self):
        self.db.put(b"k", b"v")
        self.db.close()
        manifest = next(pathlib.Path(self.path).glob("MANIFEST-*"))
        manifest.write_bytes(manifest.read_bytes()[:20] + b"\xff" * 20)
        with self.assertRaises(sepal.CorruptionError) as raised:
            sepal.DB(self.path)
        self.assertEqual(raised.exception.code, "data_loss")


class ReadingAndWritingTest(DatabaseCase):
    def test_put_get_delete(self):
        self.db.put(b"key", b"value")
        self.assertEqual(self.db.get(b"key"), b"value")
        self.assertIsNone(self.db.get(b"other"))
        self.assertEqual(self.db.get(b"other", b"default"), b"default")
        marker = object()
        self.assertIs(self.db.get(b"other", default=marker), marker)
        self.db.delete(b"key")
        self.db.delete(b"key")
        self.assertIsNone(self.db.get(b"key", verify_checksums=True, fill_cache=False))

    def test_sync(self):
        self.db.put(b"k", b"v", sync=True)
        self.db.delete(b"k", sync=True)
        self.db.sync()

    def test_by_name(self):
        self.db.put(value=b"v", key=b"k")
        self.assertEqual(self.db.get(key=b"k", default=None), b"v")
        self.db.delete(key=b"k")
        self.assertIsNone(self.db.get(b"k"))

    def test_bytes_like(self):
        self.db.put(bytearray(b"key"), memoryview(b"value"))
        self.assertEqual(self.db.get(memoryview(b"key")), b"value")
        key = bytearray(b"key")
        self.assertEqual(self.db.get(key), b"value")
        key.append(1)  # no export is left
        self.db.put(b"", b"")
        self.assertEqual(self.db.get(b""), b"")
        self.db.put(b"\0\xff", b"\0" * 1000)
        self.assertEqual(self.db.get(b"\0\xff"), b"\0" * 1000)

    def test_multi_get(self):
        expected = dict(self.fill(2000))
        keys = [b"%05d" % i for i in range(0, 4000, 3)]
        self.assertEqual(self.db.multi_get(keys), [expected.get(key) for key in keys])
        self.assertEqual(self.db.multi_get(iter(keys), b"absent"), [expected.get(key, b"absent") for key in keys])
        self.assertEqual(self.db.multi_get([]), [])
        self.assertEqual(self.db.multi_get((bytearray(b"00001"), memoryview(b"x"))), [b"value1", None])
        for wrong in (None, 5, [5], ["00001"], [b"a", None]):
            with self.subTest(wrong), self.assertRaises(TypeError):
                self.db.multi_get(wrong)

    def test_reopening_keeps_everything(self):
        entries = self.fill(1000)
        self.reopen()
        self.assertEqual(list(self.db), entries)


class BatchTest(DatabaseCase):
    def test_a_batch_is_written_when_it_is_told_to(self):
        batch = self.db.write_batch()
        batch.put(b"a", b"1")
        batch.put(b"b", b"2")
        batch.delete(b"a")
        self.assertEqual(len(batch), 3)
        self.assertGreater(batch.approximate_size(), 0)
        self.assertIsNone(self.db.get(b"b"))
        batch.write()
        self.assertEqual(list(self.db), [(b"b", b"2")])
        batch.clear()
        self.assertEqual(len(batch), 0)
        batch.put(b"c", b"3")
        batch.write()
        self.assertEqual(len(list(self.db)), 2)

    def test_with(self):
        with self.db.write_batch(sync=True) as batch:
            batch.put(b"a", b"1")
            self.assertIsNone(self.db.get(b"a"))
        self.assertEqual(self.db.get(b"a"), b"1")

    def test_an_exception_writes_a_batch_but_no_transaction(self):
        for transaction in (False, True):
            with self.assertRaises(ZeroDivisionError), self.db.write_batch(transaction=transaction) as batch:
                batch.put(b"%d" % transaction, b"v")
                1 / 0
        self.assertEqual(list(self.db), [(b"0", b"v")])
        self.assertEqual(len(batch), 0)

    def test_append(self):
        first, second = self.db.write_batch(), self.db.write_batch()
        first.put(b"a", b"1")
        second.put(b"b", b"2")
        first.append(second)
        first.append(first)
        self.assertEqual(len(first), 4)
        first.write()
        self.assertEqual(list(self.db), [(b"a", b"1"), (b"b", b"2")])
        for wrong in (None, [], b""):
            with self.assertRaises(TypeError):
                first.append(wrong)

    def test_a_batch_that_is_too_large_is_refused_whole(self):
        self.reopen(memory_limit=8 << 20)
        with self.assertRaises(sepal.InvalidArgumentError), self.db.write_batch() as batch:
            batch.put(b"small", b"v")
            batch.put(b"large", b"v" * (4 << 20))
        self.assertEqual(list(self.db), [])


class SnapshotTest(DatabaseCase):
    def test_a_snapshot_does_not_change(self):
        self.db.put(b"key", b"first")
        snapshot = self.db.snapshot()
        self.db.put(b"key", b"second")
        self.db.put(b"other", b"x")
        self.assertEqual(snapshot.get(b"key"), b"first")
        self.assertIsNone(snapshot.get(b"other"))
        self.assertEqual(snapshot.get(b"other", b"d"), b"d")
        self.assertEqual(list(snapshot), [(b"key", b"first")])
        self.assertEqual(list(snapshot.iterator(include_value=False)), [b"key"])
        self.assertEqual(snapshot.multi_get([b"key", b"other"]), [b"first", None])
        raw = snapshot.raw_iterator()
        raw.seek_to_last()
        self.assertEqual(raw.item(), (b"key", b"first"))
        self.assertEqual(self.db.get(b"key"), b"second")

    def test_closing(self):
        with self.db.snapshot() as snapshot:
            iterator = snapshot.iterator()
            self.assertFalse(snapshot.closed)
        self.assertTrue(snapshot.closed)
        snapshot.close()
        snapshot.release()
        for call in (lambda: snapshot.get(b"k"), lambda: list(snapshot), lambda: snapshot.multi_get([b"k"]),
                     snapshot.raw_iterator, snapshot.__enter__):
            with self.assertRaises(sepal.ClosedError):
                call()
        self.assertEqual(list(iterator), [])
        self.assertFalse(hasattr(snapshot, "put"))


class PrefixedDbTest(DatabaseCase):
    def test_keys_are_without_their_prefix(self):
        users = self.db.prefixed_db(b"user:")
        self.assertEqual((users.prefix, users.db), (b"user:", self.db))
        users.put(b"ada", b"1")
        self.db.put(b"user:bob", b"2")
        self.db.put(b"user;", b"behind")
        self.db.put(b"usea", b"before")
        self.assertEqual(self.db.get(b"user:ada"), b"1")
        self.assertEqual(users.get(b"bob"), b"2")
        self.assertEqual(users.multi_get([b"ada", b"bob", b"eve"]), [b"1", b"2", None])
        self.assertEqual(list(users), [(b"ada", b"1"), (b"bob", b"2")])
        self.assertEqual(list(users.iterator(reverse=True, include_value=False)), [b"bob", b"ada"])
        self.assertEqual(list(users.iterator(start=b"b")), [(b"bob", b"2")])
        self.assertEqual(list(users.iterator(stop=b"bob")), [(b"ada", b"1")])
        self.assertEqual(list(users.iterator(prefix=b"a")), [(b"ada", b"1")])
        users.delete(b"ada")
        with users.write_batch() as batch:
            batch.put(b"cyd", b"3")
            batch.delete(b"bob")
        self.assertEqual(list(users), [(b"cyd", b"3")])
        self.assertEqual(len(list(self.db)), 3)

    def test_one_in_another(self):
        inner = self.db.prefixed_db(b"a").prefixed_db(b"b")
        inner.put(b"c", b"v")
        self.assertEqual(inner.prefix, b"ab")
        self.assertIs(inner.db, self.db)
        self.assertEqual(self.db.get(b"abc"), b"v")

    def test_the_last_prefixes(self):
        for prefix in (b"\xff\xff", b"\xff", b"a\xff"):
            space = self.db.prefixed_db(prefix)
            space.put(b"1", b"v")
            space.put(b"\xff1", b"v")
            self.assertEqual(list(space.iterator(include_value=False))[:2], [b"1", b"\xff1"])
            self.assertEqual(list(space.iterator(stop=b"1", include_stop=True)), [(b"1", b"v")])

    def test_snapshots_and_cursors(self):
        space = self.db.prefixed_db(b"p")
        self.db.put(b"o", b"before")
        self.db.put(b"q", b"behind")
        space.put(b"1", b"a")
        space.put(b"2", b"b")
        snapshot = space.snapshot()
        space.delete(b"1")
        self.assertEqual(list(snapshot), [(b"1", b"a"), (b"2", b"b")])
        self.assertEqual(snapshot.get(b"1"), b"a")
        raw = snapshot.raw_iterator()
        raw.seek_to_first()
        self.assertEqual(raw.key(), b"1")
        raw.seek(b"2")
        self.assertEqual(raw.item(), (b"2", b"b"))
        raw.next()
        self.assertFalse(raw.valid())
        iterator = snapshot.iterator()
        iterator.seek(b"2")
        self.assertEqual(next(iterator), (b"2", b"b"))
        self.assertEqual(iterator.prev(), (b"2", b"b"))
        self.assertEqual(iterator.prev(), (b"1", b"a"))


class PropertiesTest(DatabaseCase):
    def test_properties(self):
        self.fill(100)
        self.db.flush()
        self.assertIsInstance(self.db.get_property(b"leveldb.stats"), bytes)
        self.assertEqual(self.db.get_property("sepal.num-files-at-level0"), "1")
        self.assertEqual(self.db.get_property(b"leveldb.num-files-at-level0"), b"1")
        self.assertIsNone(self.db.get_property(b"no such"))
        properties = self.db.properties()
        self.assertEqual(properties["levels"][0]["tables"], 1)
        self.assertEqual(properties["last_sequence"], 100)
        self.assertIsNone(properties["background_error"])

    def test_sizes_and_compaction(self):
        for i in range(2000):
            self.db.put(b"%05d" % i, os.urandom(100))
        self.db.flush()
        whole = self.db.approximate_size(b"0", b"9")
        self.assertGreater(whole, 100_000)
        first, second = self.db.approximate_sizes((b"0", b"01000"), [b"01000", b"9"])
        self.assertLess(first, whole)
        self.assertGreater(second, 0)
        self.assertEqual(self.db.approximate_sizes(), [])
        self.db.compact_range(start=b"0", stop=b"5")
        self.db.compact_range()
        self.db.verify_checksums()
        self.db.wait_for_background_work()
        for wrong in ((b"a",), b"ab", 5, (b"a", b"b", b"c"), (b"a", None)):
            with self.subTest(wrong), self.assertRaises(TypeError):
                self.db.approximate_sizes(wrong)
        with self.assertRaises(sepal.InvalidArgumentError):
            self.db.compact_range(start=b"b", stop=b"a")
