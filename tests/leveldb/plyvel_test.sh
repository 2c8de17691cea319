#!/usr/bin/env bash
# Debian's plyvel, on LevelDB and on Sepal's libleveldb.
#   plyvel_test.sh LIBRARIES
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
python=/usr/bin/python3
module=$("$python" -c 'import plyvel._plyvel as p; print(p.__file__)' 2>/dev/null) || true
if [ -z "$module" ] || ! grep -q 'libleveldb\.so\.1d' "$module"; then
  echo "skipped: Debian's python3-plyvel is not installed"
  exit 0
fi
for side in theirs ours; do
  path=
  if [ "$side" = ours ]; then path=$1; fi
  work=$(mktemp -d "${TMPDIR:-/tmp}/sepal_leveldb.XXXXXX")
  for seed in 1 2 3; do
    if ! LD_LIBRARY_PATH=$path "$python" "$here/plyvel_check.py" "$seed" "$work/db" >"$work/said" 2>&1; then
      cat "$work/said"
      exit 1
    fi
    sed "s|$work|PLACE|g" "$work/said" >>"$work/$side"
  done
  declare "$side=$work/$side"
done
if ! diff "$theirs" "$ours"; then
  echo "LevelDB (<) and Sepal (>) differ"
  exit 1
fi
lines=$(wc -l <"$ours")
rm -rf "$(dirname "$theirs")" "$(dirname "$ours")"
if [ "$lines" -lt 30 ]; then
  echo "only $lines lines"
  exit 1
fi
echo "$lines lines, the same"
