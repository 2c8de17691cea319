#!/usr/bin/env python3
"""The reader in headless Chromium: test_browser.py CHROMIUM DIRECTORY, tests/data/filters. Exit status 77: no browser."""

import base64
import json
import pathlib
import re
import subprocess
import sys
import tempfile

PAGE = """<!doctype html><meta charset="utf-8"><p id="told">nothing</p><script type="module">
{script}
const files = {files};
const read = (name) => Uint8Array.from(atob(files[name]), (c) => c.charCodeAt(0));
try {{
  document.getElementById("told").textContent = checkAll({golden}, read);
}} catch (error) {{
  document.getElementById("told").textContent = `failed: ${{error.message}}`;
}}
</script>"""


def main(chromium, directory):
    here = pathlib.Path(__file__).parent
    script = "\n".join(re.sub(r"^import .*$|^export ", "", (here / name).read_text(), flags=re.M)
                       for name in ("index.js", "checks.js"))
    golden = (directory / "answers.json").read_text()
    files = {path.stem: base64.b64encode(path.read_bytes()).decode() for path in directory.glob("*.filter")}
    with tempfile.TemporaryDirectory() as work:
        page = pathlib.Path(work) / "page.html"
        page.write_text(PAGE.format(script=script, files=json.dumps(files), golden=golden))
        command = [chromium, "--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=60000",
                   f"--user-data-dir={work}/profile", "--dump-dom", page.as_uri()]
        try:
            dom = subprocess.run(command, capture_output=True, text=True, timeout=120).stdout
        except OSError as error:
            print(f"skipped: {error}")
            return 77
    told = re.search(r'<p id="told">(.*?)</p>', dom)
    print(told.group(1) if told else f"no answer of the page: {dom[:500]}")
    return 0 if told and "are read" in told.group(1) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], pathlib.Path(sys.argv[2])))
