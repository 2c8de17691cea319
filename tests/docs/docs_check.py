#!/usr/bin/env python3
"""What a script can hold of the documentation.

    docs_check.py ROOT      exit status 1 if a rule is broken

- Every link to a file or a heading of this source leads there, and references to docs/ in code and scripts do.
- Files and folders of the source that pages of docs/internals name in backquotes exist.
- Pages for users (docs/guide, docs/reference) carry no commit hashes.
- docs/README.md links every page, and decisions/README.md every decision.
- Options that docs/reference/options.md lists are in include/sepal/options.h.
- docs/reference/metrics.md has every metric that the library prints, and no other.
"""

import pathlib
import re
import subprocess
import sys

LINK = re.compile(r"\]\(([^)\s]+)\)")
REFERENCE = re.compile(r"(?<![\w}/.-])docs/[\w./-]*\w")
SOURCE = re.compile(r"`((?:util|table|db|sim|tools|bench|tests|include)/[\w./-]*)`")
HASH = re.compile(r"(?<![\w/#.-])(?=[0-9a-f]*[a-f])(?=[0-9a-f]*[0-9])[0-9a-f]{7,12}(?![\w.-])")
CODE = {".h", ".cc", ".c", ".sh", ".py", ".txt", ".cmake", ".dox"}


def anchors(text):
    headings = re.findall(r"^#+ (.*)$", text, flags=re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def prose(text):
    """Lines with their numbers, without fenced and indented blocks."""
    fenced = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("```"):
            fenced = not fenced
        elif not fenced and not line.startswith("    "):
            yield number, line


def check_links(root, page, text):
    for target in LINK.findall(text):
        if "://" in target:
            continue
        path, _, anchor = target.partition("#")
        file = page.parent / path if path else page
        if not file.exists():
            yield f"{page}: no such file: {target}"
        elif anchor and file.suffix == ".md" and anchor not in anchors(file.read_text()):
            yield f"{page}: no such heading: {target}"


def check_page(root, page):
    text = page.read_text()
    yield from check_links(root, page, text)
    if "internals" in page.parts:
        for name in SOURCE.findall(text):
            if not (root / name).exists() and not list(root.glob(name + ".*")):
                yield f"{page}: no such file: {name}"
    for_users = page.parent.name in ("guide", "reference")
    for number, line in prose(text):
        if for_users and HASH.search(line):
            yield f"{page}:{number}: a commit's hash on a page for users"


def check_index(index, pages):
    linked = {(index.parent / target.partition("#")[0]).resolve() for target in LINK.findall(index.read_text())}
    for page in pages:
        if page != index and page.resolve() not in linked:
            yield f"{index}: does not link {page}"


def check_references(root):
    listed = subprocess.run(["git", "-C", root, "ls-files"], check=True, text=True, stdout=subprocess.PIPE)
    for name in listed.stdout.splitlines():
        file = root / name
        if file.suffix not in CODE or name.startswith("tests/docs/") or not file.is_file():
            continue
        for number, line in enumerate(file.read_text(errors="replace").splitlines(), 1):
            for reference in REFERENCE.findall(line):
                if not (root / reference).exists() and not list(root.glob(reference + "*")):
                    yield f"{file}:{number}: no such document: {reference}"


def check_options(root):
    page = root / "docs/reference/options.md"
    header = (root / "include/sepal/options.h").read_text()
    tables = page.read_text().partition("## Calls")[0]
    for row in re.findall(r"^\| (`.*?) \|", tables, flags=re.M):
        for name in re.findall(r"`(\w+)`", row):
            if not re.search(rf"\b{name}\b( =.*)?;", header):
                yield f"{page}: {name} is no option"


def check_metrics(root):
    page = root / "docs/reference/metrics.md"
    documented = set(re.findall(r"^\| `(sepal_\w+)`", page.read_text(), flags=re.M))
    sources = [file for floor in ("util", "db") for file in sorted((root / floor).rglob("*prometheus*.cc"))]
    printed = {name for file in sources for name in re.findall(r'"(sepal_\w+)"', file.read_text())}
    yield from (f"{page}: lacks {name}" for name in sorted(printed - documented))
    yield from (f"{page}: {name} is no metric" for name in sorted(documented - printed))


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    root = pathlib.Path(sys.argv[1]).resolve()
    pages = sorted((root / "docs").rglob("*.md"))
    decisions = root / "docs/internals/decisions"
    problems = [p for page in [*sorted(root.glob("*.md")), *pages] for p in check_page(root, page)]
    problems += check_index(root / "docs/README.md", [p for p in pages if p.parent != decisions])
    problems += check_index(decisions / "README.md", sorted(decisions.glob("*.md")))
    problems += check_options(root)
    problems += check_metrics(root)
    if (root / ".git").exists():
        problems += check_references(root)
    for problem in problems:
        print(problem)
    print(f"docs_check: {len(pages)} pages, {len(problems)} problems")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
