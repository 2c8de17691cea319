"""A database in a directory of its own, for each test."""

import os
import shutil
import tempfile
import unittest

import sepal


class DatabaseCase(unittest.TestCase):
    options = {}

    def setUp(self):
        self.directory = tempfile.mkdtemp(prefix="sepal-python-")
        self.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)
        self.path = os.path.join(self.directory, "db")
        self.db = sepal.DB(self.path, create_if_missing=True, **self.options)
        self.addCleanup(self.db.close)

    def reopen(self, **options):
        self.db.close()
        self.db = sepal.DB(self.path, **{**self.options, **options})
        self.addCleanup(self.db.close)

    def fill(self, count, space=None):
        space = space or self.db
        with space.write_batch() as batch:
            for i in range(count):
                batch.put(b"%05d" % i, b"value%d" % i)
        return [(b"%05d" % i, b"value%d" % i) for i in range(count)]
