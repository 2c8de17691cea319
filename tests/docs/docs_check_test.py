#!/usr/bin/env python3
"""tests/docs/docs_check.py finds what is wrong in a small source: docs_check_test.py SCRIPT"""

import pathlib
import subprocess
import sys
import tempfile

SCRIPT = sys.argv[1]
FILES = {
    "README.md": "# Top\n[docs](docs/README.md)\n",
    "docs/README.md": "[start](guide/start.md#first-steps) [options](reference/options.md)\n"
                      "[metrics](reference/metrics.md) [room](internals/room.md) [why](internals/decisions/README.md)\n",
    "docs/guide/start.md": "# Start\n\n## First steps\n",
    "docs/reference/options.md": "| `depth` | 1 |\n## Calls\n",
    "docs/reference/metrics.md": "| `sepal_puts_total` | puts |\n",
    "docs/internals/room.md": "`util/cache/` and `util/prometheus.cc`\n",
    "docs/internals/decisions/README.md": "[one](0001-one.md)\n",
    "docs/internals/decisions/0001-one.md": "# One\n",
    "include/sepal/options.h": "int depth = 1;\n",
    "util/cache/cache.h": "// docs/internals/room.md\n",
    "util/prometheus.cc": '"sepal_puts_total"\n',
}
# What is changed, and what the check says of it.
BROKEN = [
    ({"docs/guide/start.md": "# Start\n"}, "no such heading: guide/start.md#first-steps"),
    ({"README.md": "[gone](docs/gone.md)\n"}, "no such file: docs/gone.md"),
    ({"docs/guide/start.md": "## First steps\nmeasured at a85a089\n"}, "start.md:2: a commit's hash"),
    ({"docs/guide/more.md": "# More\n"}, "does not link"),
    ({"docs/internals/decisions/0002-two.md": "# Two\n"}, "does not link"),
    ({"docs/internals/room.md": "`util/gone.h`\n"}, "no such file: util/gone.h"),
    ({"util/cache/cache.h": "// docs/gone.md\n"}, "no such document: docs/gone.md"),
    ({"docs/reference/options.md": "| `width` | 1 |\n"}, "width is no option"),
    ({"docs/reference/metrics.md": "\n"}, "lacks sepal_puts_total"),
    ({"util/prometheus.cc": "\n"}, "sepal_puts_total is no metric"),
]


def check(files):
    with tempfile.TemporaryDirectory() as directory:
        root = pathlib.Path(directory)
        for name, text in files.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
        subprocess.run(["git", "init", "--quiet", root], check=True)
        subprocess.run(["git", "-C", root, "add", "."], check=True)
        return subprocess.run([sys.executable, SCRIPT, root], text=True, stdout=subprocess.PIPE)


def main():
    sound = check(FILES)
    if sound.returncode != 0:
        sys.exit(f"docs_check_test: what is right is refused\n{sound.stdout}")
    for change, message in BROKEN:
        done = check({**FILES, **change})
        if done.returncode != 1 or message not in done.stdout:
            sys.exit(f"docs_check_test: {change} should give {message!r}, and gives\n{done.stdout}")
    print(f"docs_check_test: {len(BROKEN)} mistakes are found")


if __name__ == "__main__":
    main()
