"""The examples of docs/guide/python.md, in order."""

import doctest
import os
import pathlib
import re
import shutil
import tempfile
import unittest

GUIDE = pathlib.Path(__file__).resolve().parents[3] / "docs" / "guide" / "python.md"


@unittest.skipUnless(GUIDE.exists(), "the guide is not here")
class GuideTest(unittest.TestCase):
    def test_the_examples_of_the_guide(self):
        directory = tempfile.mkdtemp(prefix="sepal-guide-")
        self.addCleanup(shutil.rmtree, directory, ignore_errors=True)
        for name in ("var/lib", "backup"):
            os.makedirs(os.path.join(directory, name))
        text = re.sub(r'"/(var/lib|backup)/', rf'"{directory}/\1/', GUIDE.read_text())
        # What is between the examples becomes empty lines, so that the numbers of lines stay.
        lines, inside, examples = text.splitlines(), False, []
        for line in lines:
            if line.startswith("```"):
                inside = line == "```python"
                line = ""
            examples.append(line if inside else "")
        parser = doctest.DocTestParser()
        test = parser.get_doctest("\n".join(examples) + "\n", {}, "python.md", str(GUIDE), 0)
        self.assertGreater(len(test.examples), 50)
        report = []
        runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS, verbose=False)
        runner.run(test, out=report.append, clear_globs=True)
        self.assertEqual(runner.failures, 0, "".join(report))
