#!/usr/bin/env python3
"""Keeps the pages with figures equal to the result files, bench/results/*.json.

  tools/figures.py write              rewrites docs/figures.md and the tables in README.md
  tools/figures.py check              exit status 1, and the difference, if either is out of date (a test)
  tools/figures.py add RESULT.json NAME --title TITLE [--order N] [--text TEXT] [--commit COMMIT]
                                      makes bench/results/NAME.json of what `compare --json=RESULT.json` has measured
  --root DIRECTORY                    of the source; default: the directory above this script's

A result file is an object:
  schema_version  1
  order           where its section stands on the page
  title, text     of the section
  command, commit, machine, rounds, peers (name and version)   under which circumstances it was measured
  tables          each: columns, rows, and perhaps a caption. null is printed as "-"
  notes           sentences below the tables
"""

import argparse
import difflib
import json
import pathlib
import statistics
import subprocess
import sys

README_RESULT = "two-million"
# The rows of README_RESULT that stand in the README's first table, in millions a second.
SUMMARY = {"fillrandom": "random puts", "fillbatch": "puts in batches, in key order", "readrandom": "gets",
           "multireadrandom": "gets, 64 at a time", "readmissing": "gets of absent keys", "readseq": "entries of a scan"}
PEER_NAMES = {"rocksdb": "RocksDB", "leveldb": "LevelDB", "lmdb": "LMDB"}
PREFACE = """# Figures beside other engines

Made by `tools/figures.py` out of `bench/results/*.json`: change those, not this page.

"Best" is the better of RocksDB and LevelDB. LMDB stands beside them where it says so; it has no compression, no checksums
and no log. Each rate and each ratio is the median of the rounds, and a ratio is that of one round, so it differs a little
from dividing the columns. All machines were virtual and shared, and not the same each day: the ratios of one section mean
something, the rates of two sections do not. The commands need RocksDB, LevelDB and LMDB; `--json` keeps what they measured.
"""


def fail(message):
    sys.exit(f"figures.py: {message}")


def load(root):
    results = {}
    for path in sorted((root / "bench/results").glob("*.json")):
        result = json.loads(path.read_text())
        if result.get("schema_version") != 1:
            fail(f"{path}: the schema version is not 1")
        for table in result["tables"]:
            if any(len(row) != len(table["columns"]) for row in table["rows"]):
                fail(f"{path}: a row does not have as many cells as there are columns")
        results[path.stem] = result
    return results


def cell(value):
    if value is None:
        return "-"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        whole, _, part = repr(value).partition(".")
        return f"{int(whole):,}.{part.ljust(2, '0')}"
    return value


def markdown(table):
    lines = [table["columns"], ["---"] + ["--:"] * (len(table["columns"]) - 1)]
    lines += [[cell(value) for value in row] for row in table["rows"]]
    text = "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"
    return (table["caption"] + "\n\n" if "caption" in table else "") + text


def wrapped(text, width=120):
    lines, line = [], ""
    for word in text.split():
        if line and len(line) + 1 + len(word) > width:
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}" if line else word
    return "\n".join(lines + [line])


def circumstances(result):
    parts = []
    if result.get("rounds"):
        parts.append("one round" if result["rounds"] == 1 else f"{result['rounds']} rounds")
    if result["peers"]:
        parts.append("beside " + ", ".join(f"{PEER_NAMES[name]} {version}" for name, version in result["peers"].items()))
    if result["commit"]:
        parts.append(f"at commit {result['commit']}")
    parts.append(result["machine"])
    text = ", ".join(parts)
    return text[0].upper() + text[1:] + "."


def figures_page(results):
    sections = [PREFACE]
    for result in sorted(results.values(), key=lambda r: r["order"]):
        parts = [f"## {result['title']}\n", wrapped(result["text"]) + "\n"]
        parts += [markdown(table) for table in result["tables"]]
        notes = ["- " + wrapped(note, 118).replace("\n", "\n  ") + "\n" for note in result.get("notes", [])]
        parts += ["".join(notes)] if notes else []
        parts.append(wrapped(circumstances(result)) + "\n")
        if result["command"].startswith(("build/", "tools/")):
            parts.append("    " + result["command"].replace(" --workloads", " \\\n        --workloads") + "\n")
        sections.append("\n".join(parts))
    return "\n".join(sections)


def summary(table):
    columns = [column for column in table["columns"][1:] if "/" not in column]
    rates = {row[0]: row[1 : 1 + len(columns)] for row in table["rows"]}
    rows = [[label] + [None if rate is None else f"{rate / 1e6:.2f}" for rate in rates[workload]]
            for workload, label in SUMMARY.items() if workload in rates]
    names = [{"sepal": "Sepal", **PEER_NAMES}[column] for column in columns]
    return markdown({"columns": ["millions a second", *names], "rows": rows})


def replaced(text, name, content):
    """The text with `content` between the two markers of that name."""
    begin, end = f"<!-- figures: {name} (tools/figures.py) -->", f"<!-- figures: end of {name} -->"
    if text.count(begin) != 1 or text.count(end) != 1:
        fail(f"README.md needs one line {begin!r} and one {end!r}")
    before, rest = text.split(begin)
    return f"{before}{begin}\n\n{content}\n{end}{rest.split(end)[1]}"


def readme_page(readme, results):
    table = results[README_RESULT]["tables"][0]
    return replaced(replaced(readme, "summary", summary(table)), "table", markdown(table))


def pages(root):
    results = load(root)
    readme = root / "README.md"
    return {root / "docs/figures.md": figures_page(results), readme: readme_page(readme.read_text(), results)}


def check(root):
    stale = False
    for path, wanted in pages(root).items():
        got = path.read_text()
        if got != wanted:
            stale = True
            sys.stdout.writelines(difflib.unified_diff(got.splitlines(True), wanted.splitlines(True), str(path), "made"))
    if stale:
        fail("out of date; tools/figures.py write")


def rate(measurement):
    return measurement["operations"] / measurement["seconds"]


def add(root, arguments):
    measured = json.loads(arguments.result.read_text())
    by_workload = {}
    for m in measured["measurements"]:
        by_workload.setdefault((m["threads"], m["workload"]), {}).setdefault(m["engine"], []).append(m)
    engines = list(dict.fromkeys(m["engine"] for m in measured["measurements"]))
    best = [engine for engine in ("rocksdb", "leveldb") if engine in engines]
    many_threads = len({threads for threads, _ in by_workload}) > 1
    ratios = (["sepal / best"] if best else []) + (["sepal / lmdb"] if "lmdb" in engines else [])
    rows = []
    for (threads, workload), runs in by_workload.items():
        row = [f"{workload}, {threads} threads" if many_threads else workload]
        row += [round(statistics.median(map(rate, runs[e]))) if e in runs else None for e in engines]
        for peers in ([best] if best else []) + ([["lmdb"]] if "lmdb" in engines else []):
            peers = [peer for peer in peers if peer in runs]
            rounds = zip(runs["sepal"], *(runs[peer] for peer in peers)) if peers and "sepal" in runs else []
            of_rounds = [rate(ours) / max(map(rate, theirs)) for ours, *theirs in rounds]
            row.append(round(statistics.median(of_rounds), 2) if of_rounds else None)
        rows.append(row)
    commit = arguments.commit or subprocess.run(["git", "-C", root, "rev-parse", "--short", "HEAD"], check=True, text=True,
                                                stdout=subprocess.PIPE).stdout.strip()
    result = {
        "schema_version": 1, "order": arguments.order, "title": arguments.title, "text": arguments.text,
        "command": measured["command"], "commit": commit, "machine": measured["machine"],
        "peers": {peer: arguments.peer_versions.get(peer, "?") for peer in engines if peer in PEER_NAMES},
        "rounds": 1 + max(m["round"] for m in measured["measurements"]),
        "tables": [{"columns": ["operations a second", *engines, *ratios], "rows": rows}],
    }
    path = root / "bench/results" / f"{arguments.name}.json"
    path.write_text(json.dumps(result, indent=2) + "\n")
    print(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent.parent)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("write")
    commands.add_parser("check")
    adding = commands.add_parser("add")
    adding.add_argument("result", type=pathlib.Path)
    adding.add_argument("name")
    adding.add_argument("--title", required=True)
    adding.add_argument("--text", default="")
    adding.add_argument("--order", type=int, default=150)
    adding.add_argument("--commit", default="")
    adding.add_argument("--peer_versions", type=json.loads, default={}, help='such as {"rocksdb": "7.8.3"}')
    arguments = parser.parse_args()
    if arguments.command == "add":
        add(arguments.root, arguments)
    elif arguments.command == "check":
        check(arguments.root)
    else:
        for path, text in pages(arguments.root).items():
            path.write_text(text)


if __name__ == "__main__":
    main()
