"""Threads that share a database, and processes that want it at once."""

import os
import subprocess
import sys
import threading
import unittest

import sepal
from case import DatabaseCase


class ThreadsTest(DatabaseCase):
    def run_all(self, workers):
        failures = []

        def guarded(worker):
            try:
                worker()
            except BaseException as error:  # told by the main thread
                failures.append(error)

        threads = [threading.Thread(target=guarded, args=(worker,)) for worker in workers]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if failures:
            raise failures[0]

    def test_writers_and_readers(self):
        def writer(number):
            for i in range(300):
                self.db.put(b"%d-%d" % (number, i), b"v%d" % i, sync=i % 100 == 0)
                with self.db.write_batch() as batch:
                    batch.put(b"batch%d-%d" % (number, i), b"v")

        def reader():
            for _ in range(20):
                for key, value in self.db.iterator(start=b"0", stop=b"9"):
                    self.assertEqual(value, b"v" + key.split(b"-")[1])
                self.db.multi_get([b"0-0", b"1-1"])

        self.run_all([lambda n=n: writer(n) for n in range(4)] + [reader] * 2)
        self.assertEqual(sum(1 for _ in self.db), 2400)

    def test_an_iterator_is_used_by_one_thread_at_a_time(self):
        self.fill(20000)
        iterator, raw, batch = self.db.iterator(), self.db.raw_iterator(), self.db.write_batch()
        raw.seek_to_first()
        seen, refused = [], []

        def walk():
            while True:
                try:
                    seen.append(next(iterator))
                    raw.seek(seen[-1][0])
                    batch.put(b"k", b"v")
                    batch.write()
                    batch.clear()
                except RuntimeError as error:
                    refused.append(error)
                except StopIteration:
                    return

        self.run_all([walk] * 4)
        self.assertEqual(sorted(seen), sorted(set(seen)))
        self.assertEqual(len(seen), 20000)
        for error in refused:
            self.assertIn("another thread", str(error))

    def test_others_run_while_a_call_waits(self):
        # A reader that holds the interpreter would end this writer's wait only by accident.
        done = threading.Event()

        def compact():
            self.db.compact_range()
            done.set()

        for i in range(20):
            with self.db.write_batch() as batch:
                for j in range(500):
                    batch.put(b"%d" % (i * j), os.urandom(200))
            self.db.flush()
        thread = threading.Thread(target=compact)
        thread.start()
        reads = 0
        while not done.is_set():
            self.db.get(b"1")
            reads += 1
        thread.join()
        self.assertGreater(reads, 0)

    def test_closing_beside_calls(self):
        for _ in range(10):
            self.fill(2000)
            started = threading.Barrier(5)

            def call(work):
                started.wait()
                try:
                    while True:
                        work()
                except sepal.ClosedError:
                    pass
                except sepal.Error as error:
                    # Begun before, ended after.
                    self.assertEqual(error.code, "failed_precondition")

            db = self.db
            works = [
                lambda: db.put(b"k", b"v"),
                lambda: db.multi_get([b"k"] * 100),
                lambda: list(db),
                lambda: db.snapshot().get(b"k"),
            ]

            def close():
                started.wait()
                db.close()

            self.run_all([lambda w=w: call(w) for w in works] + [close])
            self.reopen()

    def test_a_bytearray_is_not_resized_while_it_is_read(self):
        value = bytearray(b"v" * (1 << 20))
        sizes = []

        def put():
            for _ in range(50):
                self.db.put(b"k", value)

        def resize():
            for _ in range(2000):
                try:
                    value.append(1)
                    value.pop()
                except BufferError:
                    sizes.append(1)

        self.run_all([put, resize])
        self.assertGreaterEqual(len(self.db.get(b"k")), 1 << 20)


class ProcessesTest(DatabaseCase):
    def run_program(self, program):
        return subprocess.run([sys.executable, "-c", program, self.path], capture_output=True, text=True)

    def test_a_second_process_is_told_who_has_the_database(self):
        program = "import sepal, sys\nsepal.DB(sys.argv[1])\n"
        done = self.run_program(program)
        self.assertEqual(done.returncode, 1)
        self.assertIn("BusyError", done.stderr)
        self.assertIn(str(os.getpid()), done.stderr)
        self.db.close()
        self.assertEqual(self.run_program(program).returncode, 0)

    def test_a_reader_in_a_second_process(self):
        self.db.put(b"k", b"v", sync=True)
        program = "import sepal, sys\nprint(sepal.DB(sys.argv[1], read_only=True).get(b'k'))\n"
        done = self.run_program(program)
        self.assertEqual((done.stdout, done.stderr), ("b'v'\n", ""))

    def test_what_a_killed_process_wrote_is_there(self):
        self.db.close()
        program = ("import os, sepal, sys\ndb = sepal.DB(sys.argv[1])\n"
                   "for i in range(1000): db.put(b'%d' % i, b'v')\nos._exit(9)\n")
        self.assertEqual(self.run_program(program).returncode, 9)
        with sepal.DB(self.path) as db:
            self.assertEqual(sum(1 for _ in db), 1000)

    @unittest.skipUnless(hasattr(os, "fork"), "the system has no fork")
    def test_a_forked_child_is_refused_and_harms_nothing(self):
        self.db.put(b"k", b"v")
        iterator = self.db.iterator()
        child = os.fork()
        if child == 0:
            status = 1
            try:
                self.db.put(b"k", b"child")
            except sepal.Error:
                try:
                    next(iterator)
                except sepal.Error:
                    self.db = iterator = None
                    status = 0
            finally:
                os._exit(status)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)
        self.db.put(b"k2", b"v")
        self.assertEqual(list(self.db), [(b"k", b"v"), (b"k2", b"v")])
