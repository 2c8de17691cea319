"""The type stubs name what is there, and with the same arguments."""

import ast
import inspect
import pathlib
import unittest

import sepal
from sepal import _sepal

STUB = pathlib.Path(sepal.__file__).with_name("_sepal.pyi")


class StubsTest(unittest.TestCase):
    def setUp(self):
        self.tree = ast.parse(STUB.read_text())
        self.classes = {node.name: node for node in self.tree.body if isinstance(node, ast.ClassDef)}

    def methods(self, name):
        node = self.classes[name]
        found = {}
        for base in node.bases:
            if isinstance(base, ast.Name) and base.id in self.classes:
                found.update(self.methods(base.id))
        found.update({item.name: item for item in node.body if isinstance(item, ast.FunctionDef)})
        return found

    def test_classes_and_functions(self):
        there = {name for name in dir(_sepal) if not name.startswith("_")}
        told = {name for name in self.classes if not name.startswith("_")}
        told |= {node.name for node in self.tree.body if isinstance(node, ast.FunctionDef)}
        self.assertEqual(told, there)
        self.assertEqual(there | {"Mapping"}, set(sepal.__all__))
        self.assertTrue(STUB.with_name("py.typed").exists())

    def test_methods(self):
        kept = {"__enter__", "__exit__", "__iter__", "__next__", "__len__", "__init__"}
        for name, kind in inspect.getmembers(_sepal, inspect.isclass):
            if issubclass(kind, Exception):
                continue
            there = {key for key in vars(kind) if not key.startswith("_") or key in kept}
            self.assertEqual(set(self.methods(name)) - {"__init__"}, there - {"__init__"}, name)

    def test_arguments(self):
        for name, kind in inspect.getmembers(_sepal, inspect.isclass):
            if issubclass(kind, Exception):
                continue
            for method, node in self.methods(name).items():
                real = getattr(kind, method)
                if method.startswith("__") or not callable(real) or real.__text_signature__ is None:
                    continue
                told = [a.arg for a in node.args.posonlyargs + node.args.args + node.args.kwonlyargs if a.arg != "self"]
                signature = inspect.signature(real)
                there = [p.name for p in signature.parameters.values()
                         if p.name != "self" and p.kind is not inspect.Parameter.VAR_POSITIONAL]
                self.assertEqual(told, there, f"{name}.{method}")
