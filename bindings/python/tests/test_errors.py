"""Wrong types, closed handles, and calls after closing: exceptions, never a crash."""

import sepal
from case import DatabaseCase


class WrongTypesTest(DatabaseCase):
    def test_keys_and_values_are_bytes(self):
        calls = (
            lambda wrong: self.db.get(wrong),
            lambda wrong: self.db.put(wrong, b"v"),
            lambda wrong: self.db.put(b"k", wrong),
            lambda wrong: self.db.delete(wrong),
            lambda wrong: self.db.multi_get([wrong]),
            lambda wrong: self.db.prefixed_db(wrong),
            lambda wrong: self.db.approximate_size(wrong, b"z"),
            lambda wrong: self.db.write_batch().put(wrong, b"v"),
            lambda wrong: self.db.write_batch().put(b"k", wrong),
            lambda wrong: self.db.write_batch().delete(wrong),
        )
        for wrong in ("text", 5, 1.5, None, [b"k"], object()):
            for place, call in enumerate(calls):
                with self.subTest(wrong=wrong, call=place), self.assertRaises(TypeError):
                    call(wrong)
        with self.assertRaises(TypeError) as raised:
            self.db.get("text")
        self.assertEqual(str(raised.exception), "key must be bytes, not str")
        with self.assertRaises(BufferError):
            self.db.get(memoryview(b"abcdef")[::2])

    def test_numbers_of_arguments(self):
        for call in (
            lambda: self.db.get(),
            lambda: self.db.get(b"k", None, True),
            lambda: self.db.get(b"k", key=b"k"),
            lambda: self.db.get(b"k", no_such=1),
            lambda: self.db.put(b"k"),
            lambda: self.db.put(b"k", b"v", True),
            lambda: self.db.put(b"k", **{"v\udc80": 1}),
            lambda: self.db.delete(),
            lambda: self.db.delete(b"k", True),
            lambda: self.db.write_batch(True),
            lambda: self.db.snapshot(1),
            lambda: self.db.close(1),
            lambda: self.db.iterator().prev(1),
            lambda: self.db.checkpoint(),
            lambda: sepal.repair_db(),
            lambda: sepal.destroy_db(),
        ):
            with self.assertRaises(TypeError):
                call()

    def test_objects_are_made_by_the_database_alone(self):
        for kind in (sepal.Iterator, sepal.RawIterator, sepal.WriteBatch, sepal.Snapshot, sepal.PrefixedDB,
                     sepal.ColumnFamily):
            with self.assertRaises(TypeError):
                kind()
            with self.assertRaises(TypeError):
                kind.__new__(kind)

    def test_a_flag_whose_truth_cannot_be_told(self):
        class Neither:
            def __bool__(self):
                raise ZeroDivisionError

        for call in (
            lambda: self.db.put(b"k", b"v", sync=Neither()),
            lambda: self.db.get(b"k", fill_cache=Neither()),
            lambda: self.db.iterator(reverse=Neither()),
            lambda: self.db.write_batch(transaction=Neither()),
        ):
            with self.assertRaises(ZeroDivisionError):
                call()

    def test_a_keys_source_that_fails(self):
        def keys():
            yield b"a"
            raise ZeroDivisionError

        with self.assertRaises(ZeroDivisionError):
            self.db.multi_get(keys())

    def test_a_key_that_is_too_long(self):
        with self.assertRaises(sepal.InvalidArgumentError) as raised:
            self.db.put(b"k" * (64 << 20), b"v")
        self.assertIsInstance(raised.exception, ValueError)
        self.assertEqual(raised.exception.code, "invalid_argument")

    def test_a_path_with_bytes_that_are_no_utf8(self):
        with self.assertRaises(sepal.NotFoundError) as raised:
            sepal.DB(b"/nonexistent-\xff\xfe")
        self.assertIn("\\xff", str(raised.exception))


class ClosedTest(DatabaseCase):
    def test_everything_that_a_closed_database_made_is_closed(self):
        self.fill(10)
        family = self.db.create_column_family("f")
        prefixed, snapshot = self.db.prefixed_db(b"0"), self.db.snapshot()
        iterator, raw, batch = self.db.iterator(), self.db.raw_iterator(), self.db.write_batch()
        next(iterator)
        raw.seek_to_first()
        batch.put(b"k", b"v")
        db = self.db
        db.close()
        calls = [
            lambda: next(iterator), iterator.prev, lambda: iterator.seek(b"a"), iterator.seek_to_stop,
            raw.valid, raw.key, raw.next, raw.seek_to_first,
            batch.write, batch.clear, lambda: batch.put(b"k", b"v"), lambda: batch.delete(b"k"),
            lambda: batch.append(batch),
            lambda: snapshot.get(b"k"), lambda: list(snapshot), lambda: snapshot.column_family("f"),
            db.snapshot, db.flush, db.sync, db.properties, db.column_families, db.verify_checksums, db.write_batch,
            db.compact_range, db.wait_for_background_work, db.__enter__,
            lambda: db.get_property("sepal.stats"), lambda: db.checkpoint(self.path + "-copy"),
            lambda: db.column_family("f"), lambda: db.create_column_family("g"), lambda: db.drop_column_family("f"),
            lambda: db.approximate_size(b"a", b"b"), lambda: db.approximate_sizes((b"a", b"b")),
        ]
        for space in (db, family, prefixed):
            calls += [
                lambda s=space: s.get(b"k"), lambda s=space: s.put(b"k", b"v"), lambda s=space: s.delete(b"k"),
                lambda s=space: s.multi_get([b"k"]), lambda s=space: list(s), lambda s=space: s.iterator(),
                lambda s=space: s.raw_iterator(), lambda s=space: s.prefixed_db(b"x"), lambda s=space: s.write_batch(),
            ]
        for place, call in enumerate(calls):
            with self.subTest(place), self.assertRaises(sepal.ClosedError) as raised:
                call()
            self.assertIsInstance(raised.exception, RuntimeError)
        for thing in (iterator, raw, snapshot):
            thing.close()
        with self.assertRaises(sepal.ClosedError), batch:
            pass
        for thing in (db, family, prefixed, snapshot, iterator):
            repr(thing)

    def test_one_that_was_never_opened(self):
        db = sepal.DB.__new__(sepal.DB)
        self.assertTrue(db.closed)
        self.assertIsNone(db.name)
        db.close()
        repr(db)
        for call in (lambda: db.get(b"k"), lambda: db.put(b"k", b"v"), lambda: list(db), db.snapshot, db.__enter__):
            with self.assertRaises(sepal.ClosedError):
                call()

    def test_a_failed_opening_leaves_nothing_open(self):
        db = sepal.DB.__new__(sepal.DB)
        with self.assertRaises(sepal.BusyError):
            db.__init__(self.path)
        self.assertTrue(db.closed)
        self.db.close()
        db.__init__(self.path)
        self.assertFalse(db.closed)
        db.close()
