#!/usr/bin/env python3
"""tools/figures.py on a small source of its own: figures_test.py SCRIPT"""

import json
import pathlib
import subprocess
import sys
import tempfile

SCRIPT = sys.argv[1]
README = ("before\n<!-- figures: summary (tools/figures.py) -->\n<!-- figures: end of summary -->\nbetween\n"
          "<!-- figures: table (tools/figures.py) -->\n<!-- figures: end of table -->\nafter\n")


def run(root, *arguments):
    return subprocess.run([sys.executable, SCRIPT, "--root", root, *map(str, arguments)], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def expect(condition, what):
    if not condition:
        sys.exit(f"figures_test: {what}")


def measurement(engine, round_number, operations, seconds):
    return {"engine": engine, "workload": "readrandom", "threads": 1, "round": round_number, "operations": operations,
            "seconds": seconds}


def main():
    with tempfile.TemporaryDirectory() as directory:
        root = pathlib.Path(directory)
        (root / "docs").mkdir()
        (root / "bench/results").mkdir(parents=True)
        (root / "README.md").write_text(README)
        measured = root / "measured.json"
        measured.write_text(json.dumps({
            "command": "build/compare --rounds=3 --workloads=readrandom", "machine": "a machine", "measurements": [
                measurement("sepal", 0, 3000, 1), measurement("rocksdb", 0, 1000, 1), measurement("leveldb", 0, 1500, 1),
                measurement("sepal", 1, 4000, 1), measurement("rocksdb", 1, 1000, 1), measurement("leveldb", 1, 500, 1),
                measurement("sepal", 2, 6000, 2), measurement("rocksdb", 2, 1000, 1), measurement("leveldb", 2, 500, 1)]}))
        added = run(root, "add", measured, "two-million", "--title", "Reads", "--commit", "0123456", "--peer_versions",
                    '{"rocksdb": "7.8.3"}')
        expect(added.returncode == 0, added.stderr)
        table = json.loads((root / "bench/results/two-million.json").read_text())["tables"][0]
        # The median of 3000 / 1500, 4000 / 1000 and 3000 / 1000.
        expect(table["rows"] == [["readrandom", 3000, 1000, 500, 3.0]], f"rows are {table['rows']}")

        (root / "docs/figures.md").write_text("")
        expect(run(root, "check").returncode == 1, "an old page passes")
        expect(run(root, "write").returncode == 0, "the pages are not written")
        expect(run(root, "check").returncode == 0, "new pages do not pass")
        row = "| readrandom | 3,000 | 1,000 | 500 | 3.00 |\n"
        readme = (root / "README.md").read_text()
        expect(row in readme and readme.startswith("before\n") and readme.endswith("\nafter\n"), readme)
        expect("| gets | 0.00 | 0.00 | 0.00 |\n" in readme and "| Sepal | RocksDB | LevelDB |" in readme, readme)
        page = (root / "docs/figures.md").read_text()
        expect(row in page and "## Reads" in page and "At commit" not in page and "at commit 0123456" in page, page)

        (root / "README.md").write_text(readme.replace("3,000", "9,000"))
        stale = run(root, "check")
        expect(stale.returncode == 1 and "-| readrandom | 9,000" in stale.stdout, "a changed figure passes")
        (root / "README.md").write_text("no markers\n")
        expect("needs one line" in run(root, "check").stderr, "a README without markers passes")
        table["rows"][0].pop()
        (root / "bench/results/two-million.json").write_text(json.dumps({"schema_version": 1, "tables": [table]}))
        expect("as many cells" in run(root, "check").stderr, "a short row passes")
    print("figures_test: ok")


if __name__ == "__main__":
    main()
