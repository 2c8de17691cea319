"""A database as a dictionary."""

import collections.abc

import sepal
from case import DatabaseCase


class MappingTest(DatabaseCase):
    def test_it_does_what_a_sorted_dictionary_does(self):
        mapping = sepal.Mapping(self.db)
        self.assertIsInstance(mapping, collections.abc.MutableMapping)
        self.assertFalse(mapping)
        mapping[b"b"] = b"2"
        mapping[b"a"] = b"1"
        mapping.update({b"c": b"3"})
        mapping.update([(b"d", b"4")])
        expected = {b"a": b"1", b"b": b"2", b"c": b"3", b"d": b"4"}
        self.assertTrue(mapping)
        self.assertEqual(mapping, expected)
        self.assertEqual(dict(mapping), expected)
        self.assertEqual(len(mapping), 4)
        self.assertEqual(list(mapping), list(expected))
        self.assertEqual(list(mapping.keys()), list(expected))
        self.assertEqual(list(mapping.values()), list(expected.values()))
        self.assertEqual(list(mapping.items()), list(expected.items()))
        self.assertEqual(list(reversed(mapping)), list(reversed(expected)))
        self.assertEqual(list(reversed(mapping.keys())), list(reversed(expected)))
        self.assertEqual(list(reversed(mapping.values())), [b"4", b"3", b"2", b"1"])
        self.assertEqual(list(reversed(mapping.items()))[0], (b"d", b"4"))
        self.assertIn(b"a", mapping)
        self.assertNotIn(b"x", mapping)
        self.assertIn(b"4", mapping.values())
        self.assertIn((b"d", b"4"), mapping.items())
        self.assertEqual(mapping.get(b"x", 7), 7)
        self.assertEqual(mapping.setdefault(b"a", b"x"), b"1")
        self.assertEqual(mapping.setdefault(b"e", b"5"), b"5")
        self.assertEqual(mapping.pop(b"a"), b"1")
        self.assertEqual(mapping.pop(b"a", None), None)
        self.assertEqual(mapping.popitem(), (b"e", b"5"))
        del mapping[b"b"]
        self.assertEqual(list(mapping), [b"c", b"d"])
        for call in (lambda: mapping[b"x"], lambda: mapping.__delitem__(b"x"), lambda: mapping.pop(b"x")):
            with self.assertRaises(KeyError):
                call()
        mapping.clear()
        self.assertEqual(list(mapping), [])
        with self.assertRaises(KeyError):
            mapping.popitem()

    def test_keys_and_values_are_bytes(self):
        mapping = sepal.Mapping(self.db)
        for call in (lambda: mapping["a"], lambda: mapping.__setitem__("a", b""), lambda: mapping.__setitem__(b"a", 1),
                     lambda: "a" in mapping, lambda: mapping.update(a=b"1"), lambda: sepal.Mapping({}),
                     lambda: sepal.Mapping(self.db.snapshot())):
            with self.assertRaises(TypeError):
                call()

    def test_large_updates_and_clears(self):
        mapping = sepal.Mapping(self.db.prefixed_db(b"p"))
        self.db.put(b"a", b"stays")
        mapping.update((b"%05d" % i, b"v") for i in range(2500))
        self.assertEqual(len(mapping), 2500)
        for key in mapping:
            del mapping[key]
            break
        self.assertEqual(len(mapping), 2499)
        mapping.clear()
        self.assertEqual(list(self.db), [(b"a", b"stays")])

    def test_of_a_family(self):
        mapping = sepal.Mapping(self.db.create_column_family("f"))
        mapping[b"k"] = b"v"
        self.assertEqual(dict(mapping), {b"k": b"v"})
        self.assertIn("Mapping(<sepal.ColumnFamily 'f'", repr(mapping))
