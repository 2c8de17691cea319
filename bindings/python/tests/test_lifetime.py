"""Objects that outlive each other, in every order, and the garbage collector."""

import gc
import itertools
import subprocess
import sys
import weakref

import sepal
from case import DatabaseCase


class LifetimeTest(DatabaseCase):
    def open_elsewhere(self):
        try:
            sepal.DB(self.path).close()
        except sepal.BusyError:
            return False
        return True

    def test_a_database_is_closed_with_its_last_object(self):
        makers = (lambda db: db.iterator(), lambda db: db.raw_iterator(), lambda db: db.snapshot(),
                  lambda db: db.write_batch(), lambda db: db.prefixed_db(b"x"), lambda db: db.column_family("default"),
                  lambda db: db.prefixed_db(b"x").iterator(), lambda db: iter(db.snapshot()))
        self.db.close()
        for maker in makers:
            made = maker(sepal.DB(self.path))
            self.assertFalse(self.open_elsewhere())
            del made
            self.assertTrue(self.open_elsewhere())

    def test_an_iterator_outlives_all_else(self):
        entries = self.fill(1000)
        iterator = self.db.prefixed_db(b"00").snapshot().iterator()
        del self.db
        gc.collect()
        self.assertEqual(len(list(iterator)), len(entries))

    def test_objects_die_in_any_order(self):
        self.db.close()
        for order in itertools.permutations(range(4)):
            db = sepal.DB(self.path)
            db.put(b"k", b"v")
            things = [db, db.iterator(), db.snapshot(), db.raw_iterator()]
            next(things[1])
            things[3].seek_to_first()
            del db
            for place in order:
                things[place] = None
            self.assertTrue(self.open_elsewhere())

    def test_closing_before_and_after_everything(self):
        self.fill(100)
        things = [self.db.iterator(), self.db.raw_iterator(), self.db.snapshot(), self.db.create_column_family("f")]
        self.db.close()
        self.assertTrue(self.open_elsewhere())
        del things
        gc.collect()

    def test_cycles_are_collected(self):
        class Own(sepal.DB):
            pass

        self.db.close()
        db = Own(self.path)
        db.itself = db
        db.prefixed = db.prefixed_db(b"x")
        db.family = db.column_family("default")
        db.cursor = db.iterator()
        dead = weakref.ref(db)
        del db
        gc.collect()
        self.assertIsNone(dead())
        self.assertTrue(self.open_elsewhere())

    def test_weak_references(self):
        for thing in (self.db, self.db.snapshot(), self.db.iterator(), self.db.raw_iterator(), self.db.write_batch()):
            self.assertIs(weakref.ref(thing)(), thing)

    def test_a_subclass(self):
        class Counting(sepal.DB):
            puts = 0

            def put(self, key, value, **more):
                self.puts += 1
                super().put(key, value, **more)

        self.db.close()
        with Counting(self.path) as db:
            db.put(b"k", b"v", sync=True)
            self.assertEqual((db.puts, db.get(b"k")), (1, b"v"))

    def test_calls_keep_and_lose_no_reference(self):
        key, value, default = b"key-%d" % 1, b"value-%d" % 1, object()
        self.db.put(key, value)
        iterator, raw, batch = self.db.iterator(), self.db.raw_iterator(), self.db.write_batch()

        def calls():
            self.db.put(key, value)
            self.db.get(key)
            self.db.get(b"missing", default)
            self.db.multi_get([key, b"missing"], default)
            list(self.db.iterator(start=key))
            self.db.prefixed_db(key).get(key)
            self.db.properties()
            self.db.approximate_sizes((key, value))
            iterator.seek(key)
            next(iterator)
            raw.seek(key)
            raw.item()
            batch.put(key, value)
            batch.clear()
            for wrong in (lambda: self.db.get(5), lambda: self.db.column_family("none"), lambda: self.db.get(no=key)):
                try:
                    wrong()
                except (TypeError, sepal.Error):
                    pass

        calls()
        before = [sys.getrefcount(thing) for thing in (key, value, default, None, self.db)]
        for _ in range(1000):
            calls()
        after = [sys.getrefcount(thing) for thing in (key, value, default, None, self.db)]
        for was, now in zip(before, after):
            self.assertLess(abs(now - was), 100)

    def test_what_is_left_when_the_interpreter_ends(self):
        self.db.close()
        program = ("import sepal, sys\n"
                   "db = sepal.DB(sys.argv[1])\n"
                   "db.put(b'last', b'words')\n"
                   "iterator = iter(db); next(iterator)\n"
                   "snapshot = db.snapshot()\n"
                   "sys.it = db.iterator()\n")
        done = subprocess.run([sys.executable, "-c", program, self.path], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        with sepal.DB(self.path) as db:
            self.assertEqual(db.get(b"last"), b"words")
