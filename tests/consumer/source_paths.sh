#!/usr/bin/env bash
# The libraries name no directory of the machine that built them: neither in messages nor in debug information.
#   source_paths.sh SOURCE LIBRARY...
set -euo pipefail
source=$1
shift
[ $# -gt 0 ] || { echo "names no library"; exit 1; }
status=0
for library in "$@"; do
  if strings -a "$library" | grep -F "$source" | sort | uniq -c | sort -rn | head -n 5 | grep .; then
    echo "$library holds paths of $source"
    status=1
  fi
  # It does name files, relative to the source directory, or to the build directory where ccache makes paths so.
  strings -a "$library" | grep '^\(\.\./\)*util/[a-z]*/[a-z_]*\.cc$' >/dev/null || {
    echo "$library names no source file, so that this test sees nothing"
    status=1
  }
done
exit "$status"
