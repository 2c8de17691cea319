"""Column families, checkpoints and backups."""

import os
import pathlib

import sepal
from case import DatabaseCase


class ColumnFamilyTest(DatabaseCase):
    def test_families_are_apart(self):
        mail = self.db.create_column_family("mail")
        self.assertEqual((mail.name, mail.db), ("mail", self.db))
        mail.put(b"k", b"mail")
        self.db.put(b"k", b"default")
        self.assertEqual((mail.get(b"k"), self.db.get(b"k")), (b"mail", b"default"))
        self.assertEqual(mail.multi_get([b"k", b"x"]), [b"mail", None])
        self.assertEqual(list(mail), [(b"k", b"mail")])
        raw = mail.raw_iterator()
        raw.seek_to_first()
        self.assertEqual(raw.value(), b"mail")
        self.assertEqual(mail.prefixed_db(b"k").get(b""), b"mail")
        mail.flush()
        mail.compact_range()
        self.assertGreater(mail.properties()["runs"], 0)
        self.assertEqual(mail.get_property("sepal.num-runs"), "1")
        mail.delete(b"k")
        self.assertEqual(list(mail), [])
        self.assertEqual(self.db.get(b"k"), b"default")

    def test_names(self):
        self.assertEqual(self.db.column_families(), ["default"])
        self.db.create_column_family("zwölf")
        self.assertEqual(self.db.column_families(), ["default", "zwölf"])
        self.assertEqual(sepal.list_column_families(self.path), ["default", "zwölf"])
        self.reopen()
        self.db.column_family("zwölf").put(b"k", b"v")
        self.assertEqual(self.db.column_family(b"default").name, "default")
        with self.assertRaises(sepal.ExistsError):
            self.db.create_column_family("zwölf")
        with self.assertRaises(sepal.NotFoundError):
            self.db.column_family("none")
        for wrong in (None, 5, ["f"]):
            for call in (self.db.column_family, self.db.create_column_family, self.db.drop_column_family):
                with self.assertRaises(TypeError):
                    call(wrong)

    def test_dropping(self):
        family = self.db.create_column_family("f")
        family.put(b"k", b"v")
        iterator = family.iterator()
        self.db.drop_column_family(family)
        self.assertEqual(list(iterator), [(b"k", b"v")])
        for call in (lambda: family.get(b"k"), lambda: family.put(b"k", b"v"), family.iterator,
                     lambda: self.db.drop_column_family(family)):
            with self.assertRaises(sepal.Error):
                call()
        self.db.create_column_family("g")
        self.db.drop_column_family("g")
        with self.assertRaises(sepal.NotFoundError):
            self.db.drop_column_family("g")
        with self.assertRaises(sepal.InvalidArgumentError):
            self.db.drop_column_family("default")

    def test_one_batch_for_several(self):
        first, second = self.db.create_column_family("1"), self.db.create_column_family("2")
        with self.db.write_batch() as batch:
            batch.put(b"k", b"default")
            batch.put(b"k", b"first", column_family=first)
            batch.put(b"k", b"second", column_family=second)
            batch.delete(b"k", column_family=first)
        self.assertEqual([space.get(b"k") for space in (self.db, first, second)], [b"default", None, b"second"])
        with first.write_batch() as batch:
            batch.put(b"own", b"v")
        self.assertEqual(list(first), [(b"own", b"v")])
        for wrong in ("1", self.db, 5):
            with self.assertRaises(TypeError):
                batch.put(b"k", b"v", column_family=wrong)

    def test_a_batch_for_another_database_is_refused(self):
        with sepal.DB(self.path + "-other", create_if_missing=True) as other:
            family = other.create_column_family("f")
            batch = self.db.write_batch()
            batch.put(b"k", b"v", column_family=family)
            with self.assertRaises(sepal.InvalidArgumentError):
                batch.write()
            with self.assertRaises(sepal.InvalidArgumentError):
                self.db.drop_column_family(family)

    def test_a_snapshot_is_of_all_families(self):
        family = self.db.create_column_family("f")
        family.put(b"k", b"old")
        with self.db.snapshot() as snapshot:
            family.put(b"k", b"new")
            self.assertEqual(snapshot.column_family("f").get(b"k"), b"old")
            self.assertEqual(list(snapshot.column_family("f")), [(b"k", b"old")])
            with self.assertRaises(sepal.NotFoundError):
                snapshot.column_family("none")
        self.assertEqual(family.snapshot().get(b"k"), b"new")


class CheckpointTest(DatabaseCase):
    def test_a_checkpoint_is_a_database(self):
        self.fill(100)
        copy = pathlib.Path(self.directory) / "copy"
        self.db.checkpoint(copy)
        self.db.put(b"later", b"v")
        with sepal.DB(copy) as db:
            self.assertEqual(sum(1 for _ in db), 100)
            db.put(b"own", b"v")
        with self.assertRaises(sepal.ExistsError):
            self.db.checkpoint(copy)

    def test_backups_share_tables_with_the_one_before(self):
        self.fill(1000)
        self.db.flush()
        first, second = os.path.join(self.directory, "1"), os.path.join(self.directory, "2")
        self.db.checkpoint(first, link_tables=False, verify=True)
        self.db.put(b"more", b"v")
        self.db.checkpoint(second, base=first, link_tables=False, verify=True)
        shared = [table for table in pathlib.Path(second).glob("*.sst") if table.stat().st_nlink == 2]
        self.assertEqual(len(shared), 1)
        with sepal.DB(second) as db:
            self.assertEqual(sum(1 for _ in db), 1001)
        with self.assertRaises(sepal.Error):
            self.db.checkpoint(os.path.join(self.directory, "3"), base="/nonexistent", link_tables=False)
