#!/usr/bin/env python3
"""The examples in the documentation, compiled and run.

    docs_examples.py extract OUT FILE...     writes the programs into OUT and prints their names
    docs_examples.py run TOOLS PROGRAMS FILE...   runs all examples, in order, each document in a directory of its own

An example is a fenced block. What its language says:
    cpp, c    a program, that ends with status 0; or part of one, see below
    bash      commands that end with status 0
    console   commands behind "$ ", with what they print: compared, but for numbers and the width of spaces
    cmake, json, toml, text   not an example (tests/consumer has the ones for CMake)
    python    run by bindings/python/tests/test_guide.py
    js        run by bindings/node/test/guide.js
    rust, go  run by the tests of bindings/rust and bindings/go
A comment alone on the line before the block changes that:
    <!-- fragment of DIR -->     C++ that stands in `absl::Status Fragment(sepal::DB& db)`, with DIR open as `db`
    <!-- output differs -->      what a console prints is not compared
    <!-- not run: REASON -->
/tmp, /var/lib and /backup in examples are in a directory of the test. /var/lib/app is a database.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

ELSEWHERE = {"cmake", "json", "toml", "text", "python", "js", "rust", "go"}  # not run here
LANGUAGES = {"cpp", "c", "bash", "console"} | ELSEWHERE
HEADERS = ("iostream", "memory", "string", "string_view", "vector")


class Block:
    def __init__(self, path, line, language, directive):
        self.path, self.line, self.language, self.directive = path, line, language, directive
        self.text = ""

    def where(self):
        return f"{self.path}:{self.line}"

    def fragment_directory(self):
        match = re.fullmatch(r"fragment of (\S+)", self.directive)
        return match and moved(match.group(1))


def fail(message):
    sys.exit(message)


def moved(text):
    """Absolute paths of examples, made relative."""
    return re.sub(r'(^|(?<=[\s"\'=:(]))/(tmp|var/lib|backup)/', r"\2/", text, flags=re.M)


def blocks_of(path):
    blocks, block, before = [], None, ""
    for number, line in enumerate(path.read_text().splitlines(), 1):
        fence = re.fullmatch(r"```(\w*)", line)
        if fence and block is None:
            if fence.group(1) not in LANGUAGES:
                fail(f"{path}:{number}: a block of the language \"{fence.group(1)}\"; known: {sorted(LANGUAGES)}")
            directive = re.fullmatch(r"<!-- (.*) -->", before)
            directive = directive.group(1) if directive else ""
            if directive and not re.match(r"fragment of \S+$|output differs$|not run: .", directive):
                fail(f"{path}:{number}: the directive \"{directive}\" is not known")
            block = Block(path, number, fence.group(1), directive)
        elif fence:
            blocks.append(block)
            block = None
        elif block is not None:
            block.text += line + "\n"
        elif re.match(r"    (\$ )?(sepal|sepal_\w+|g\+\+) |    #include", line):
            fail(f"{path}:{number}: an example without a fence")
        if line.strip():
            before = line
    if block is not None:
        fail(f"{block.where()}: the block has no end")
    return blocks


def write_if_new(path, text):
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def programs_of(path, blocks):
    """Each program with its source."""
    fragments = [b for b in blocks if b.language == "cpp" and b.fragment_directory()]
    for block in blocks:
        if block.language in ("cpp", "c") and block not in fragments and not block.directive.startswith("not run"):
            yield program_of(block), f'#line {block.line + 1} "{path}"\n' + moved(block.text)
    if not fragments:
        return
    text = "".join(f"#include <{header}>\n" for header in HEADERS) + '\n#include "sepal/db.h"\n#include "sepal/indexed_batch.h"\n\n'
    for block in fragments:
        text += f"static absl::Status Fragment{block.line}(sepal::DB& db) {{\n"
        text += f'#line {block.line + 1} "{path}"\n' + moved(block.text) + "  return absl::OkStatus();\n}\n\n"
    text += "int main(int, char** argv) {\n  const std::string line = argv[1];\n"
    text += "  auto db = sepal::DB::Open({.create_if_missing = true}, argv[2]);\n"
    text += "  absl::Status status = db.status();\n"
    for block in fragments:
        text += f'  if (status.ok() && line == "{block.line}") status = Fragment{block.line}(**db);\n'
    text += '  if (status.ok()) status = (*db)->Close();\n  if (!status.ok()) std::cerr << status << "\\n";\n'
    text += "  return status.ok() ? 0 : 1;\n}\n"
    yield fragments_of(path), text


def program_of(block):
    return f"{block.path.stem.lower()}_{block.line}.{'c' if block.language == 'c' else 'cc'}"


def fragments_of(path):
    return f"{path.stem.lower()}_fragments.cc"


def extract(out, paths):
    out.mkdir(parents=True, exist_ok=True)
    names = []
    for path in paths:
        for name, text in programs_of(path, blocks_of(path)):
            if name in names:
                fail(f"{path}: another document of this name has examples too")
            write_if_new(out / name, text)
            names.append(name)
    print(";".join(names), end="")


def call(block, command, work, environment):
    done = subprocess.run(command, cwd=work, env=environment, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        fail(f"{block.where()}: exit status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def comparable(text):
    text = re.sub(r"\d+(\.\d+)?( ([KMG]i)?B\b)?", "N", text)
    return [re.sub(r"\s+", " ", line).strip() for line in text.splitlines()]


def run_console(block, work, environment):
    for part in re.split(r"^\$ ", moved(block.text), flags=re.M)[1:]:
        command, _, expected = part.partition("\n")
        printed = call(block, ["bash", "-euo", "pipefail", "-c", command], work, environment)
        if block.directive != "output differs" and comparable(printed) != comparable(expected):
            fail(f"{block.where()}: {command}\nprints\n{printed}and not\n{expected}")


def run_block(block, work, programs, environment):
    if block.directive.startswith("not run") or block.language in ELSEWHERE:
        return 0
    if block.language == "console":
        run_console(block, work, environment)
    elif block.language == "bash":
        call(block, ["bash", "-euo", "pipefail", "-c", moved(block.text)], work, environment)
    elif block.fragment_directory():
        program = programs / fragments_of(block.path).rsplit(".", 1)[0]
        # Readers run a program again.
        for _ in range(2):
            call(block, [program, str(block.line), block.fragment_directory()], work, environment)
    else:
        for _ in range(2):
            call(block, [programs / program_of(block).rsplit(".", 1)[0]], work, environment)
    return 1


def run(tools, programs, paths):
    count = 0
    for path in paths:
        blocks = blocks_of(path)
        with tempfile.TemporaryDirectory() as work:
            work = pathlib.Path(work)
            for directory in ("bin", "tmp", "var/lib", "backup"):
                (work / directory).mkdir(parents=True)
            # Under the names that installing gives them.
            for name, tool in (("sepal", "sepal"), ("sepal_db_bench", "db_bench"), ("sepal_sst_dump", "sst_dump")):
                (work / "bin" / name).symlink_to(tools / tool)
            environment = dict(os.environ, PATH=f"{work / 'bin'}:{os.environ['PATH']}", HOME=str(work))
            for key in ("user:1", "user:2"):
                subprocess.run(["sepal", "db", "put", "var/lib/app", key, "Ada"], cwd=work, env=environment, check=True)
            count += sum(run_block(block, work, programs, environment) for block in blocks)
    print(f"{count} examples")
    if count == 0:
        fail("there are no examples")


def main():
    if len(sys.argv) > 3 and sys.argv[1] == "extract":
        extract(pathlib.Path(sys.argv[2]), [pathlib.Path(p) for p in sys.argv[3:]])
    elif len(sys.argv) > 4 and sys.argv[1] == "run":
        tools, programs, *paths = [pathlib.Path(p) for p in sys.argv[2:]]
        run(tools.resolve(), programs.resolve(), paths)
    else:
        fail(__doc__)


if __name__ == "__main__":
    main()
