#!/usr/bin/env python3
"""Counts the branches that were taken, from what `llvm-cov export` wrote of each program. Used by tools/coverage.sh.

A branch is one outcome of one condition (`a && b` has four). It counts as taken if any instantiation of its template or
any program that holds it has taken it. What a macro expands to counts where the macro stands. Left out are

- what is within SEPAL_CHECK and SEPAL_DCHECK: that their condition is never false is what they say;
- "none of the cases" of a switch without a default whose cases are `Enum::kName`: the compiler (-Wswitch, -Werror) holds
  that every value has its case;
- `operator==` and `operator<=>` by `= default`: LLVM 14 counts one outcome of it only, whatever was compared.

  coverage.py rooms REGEX EXPORT...    a line for each directory
  coverage.py files REGEX EXPORT...    a line for each file whose path matches
  coverage.py missed REGEX EXPORT...   each branch that was never taken: path:line:column, which outcome, and its line
"""
import collections
import functools
import json
import os
import re
import sys

COUNTED = ("util/", "table/", "db/", "include/", "tools/")
CHECK = re.compile(r"SEPAL_D?CHECK\b")
SWITCH = re.compile(r"\bswitch \($")
ENUMERATOR_CASE = re.compile(r"\s*case (\w+::)+k\w+:")
DEFAULTED_EQUALITY = re.compile(r"\boperator(==|<=>)\(.*\) = default;")
KIND_EXPANSION = 1


@functools.lru_cache(maxsize=None)
def source(path):
    with open(path, encoding="utf-8") as file:
        return file.read().splitlines()


def text_at(path, line, column):
    lines = source(path)
    return lines[line - 1][column - 1:] if line <= len(lines) else ""


def is_no_branch(path, line, column):
    """Whether the code there has outcomes that need not be taken."""
    lines = source(path)
    text = lines[line - 1]
    if DEFAULTED_EQUALITY.search(text):
        return True
    return bool(SWITCH.search(text[: column - 1]) and ENUMERATOR_CASE.match(lines[line]))


def inside(place, span):
    return (span[0], span[1]) <= (place[0], place[1]) and (place[2], place[3]) <= (span[2], span[3])


def function_branches(function, root):
    """Yields (path, line, column, rest of the key, true count, false count) for each branch of one function."""
    if not function["branches"]:
        return
    names = function["filenames"]
    expansions = {}  # the number of an expanded file: where its macro stands
    checks = []
    for region in function["regions"]:
        if region[7] == KIND_EXPANSION:
            expansions[region[6]] = (region[5], tuple(region[:4]))
            name = names[region[5]]
            if name.startswith(root) and CHECK.match(text_at(name, region[0], region[1])):
                checks.append((region[5], tuple(region[:4])))
    for branch in function["branches"]:
        file, place = branch[6], tuple(branch[:4])
        chain = [place]
        left_out = False
        while True:
            left_out = left_out or any(file == number and inside(place, span) for number, span in checks)
            if file not in expansions:
                break
            file, place = expansions[file]
            chain.append(place)
        name = names[file]
        if left_out or not name.startswith(root) or not name[len(root):].startswith(COUNTED):
            continue
        if not is_no_branch(name, place[0], place[1]):
            yield name[len(root):], place[0], place[1], tuple(chain), branch[4], branch[5]


def collect(exports):
    root = os.getcwd() + "/"
    branches = collections.defaultdict(lambda: [0, 0])
    for export in exports:
        with open(export, encoding="utf-8") as file:
            functions = json.load(file)["data"][0]["functions"]
        for function in functions:
            # Those of the source are relative to it (-ffile-prefix-map).
            function["filenames"] = [os.path.normpath(os.path.join(root, name)) for name in function["filenames"]]
            for path, line, column, chain, true, false in function_branches(function, root):
                counts = branches[(path, line, column, chain)]
                counts[0] += true
                counts[1] += false
    return branches


def table(branches, name_of):
    taken, every = collections.Counter(), collections.Counter()
    for (path, *_), counts in branches.items():
        name = name_of(path)
        taken[name] += sum(count > 0 for count in counts)
        every[name] += 2
    for name in sorted(every):
        print(f"{name:36} {taken[name]:6} of {every[name]:6} branches, {100 * taken[name] / every[name]:6.2f} %")
    total, all_taken = sum(every.values()), sum(taken.values())
    if total:
        print(f"{'together':36} {all_taken:6} of {total:6} branches, {100 * all_taken / total:6.2f} %")


def main():
    what, regex, exports = sys.argv[1], sys.argv[2], sys.argv[3:]
    branches = {key: counts for key, counts in collect(exports).items() if re.search(regex, key[0])}
    if what == "rooms":
        table(branches, os.path.dirname)
    elif what == "files":
        table(branches, str)
    else:
        for (path, line, column, _), counts in sorted(branches.items()):
            for outcome, count in zip(("true", "false"), counts):
                if count == 0:
                    print(f"{path}:{line}:{column}: never {outcome}: {source(path)[line - 1].strip()}")


main()
