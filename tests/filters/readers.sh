#!/usr/bin/env bash
# The readers of filter files in other languages, against files that the C++ library wrote. Status 77, and the reason,
# where a language is not installed.
#   readers.sh python|node|browser
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
files=$root/tests/data/filters
# program NAME...: the first that is installed.
program() {
  local name
  for name in "$@"; do
    if command -v "$name"; then return; fi
  done
  echo "skipped: none of these is installed: $*" >&2
  exit 77
}
case $1 in
  python)
    python=$(program python3)
    "$python" -B "$root/bindings/filter-python/test_sepal_filter.py" "$files"
    ;;
  node)
    node=$(program node nodejs)
    "$node" "$root/bindings/filter-js/test.js" "$files"
    ;;
  browser)
    browser=$(program chromium chromium-browser google-chrome)
    python=$(program python3)
    "$python" -B "$root/bindings/filter-js/test_browser.py" "$browser" "$files"
    ;;
  *) exit 2 ;;
esac
