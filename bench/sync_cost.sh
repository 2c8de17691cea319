#!/usr/bin/env bash
# What a sync moves: two databases of 1,000,000 entries of 116 bytes, of which each lacks 5,000 that the other has, beside
# rsync of the directories.
#   bench/sync_cost.sh [BUILD]      default: build/release; needs rsync for the comparison
set -euo pipefail
cd "$(dirname "$0")/.."
build=$(cd "${1:-build/release}" && pwd)
sepal=$build/tools/sepal
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$build/tools/db_bench" --db="$work/a" --benchmarks=fillseq,flush,waitforcompaction --num=1000000 >/dev/null 2>&1
"$sepal" dump "$work/a" --format binary --output "$work/dump" >/dev/null
"$sepal" load "$work/b" "$work/dump" >/dev/null 2>&1
for side in "a 0" "b 100"; do
  read -r name first <<<"$side"
  for ((i = first; i < 1000000; i += 200)); do printf 'delete %016d\n' "$i"; done |
    "$sepal" shell "$work/$name" --no-sync >/dev/null
  "$sepal" db compact "$work/$name" --yes >/dev/null 2>&1
  echo "$name: $(du -sb "$work/$name" | cut -f1) bytes in its directory"
done
if command -v rsync >/dev/null; then
  cp -a "$work/b" "$work/copy"
  rsync -a --no-whole-file --stats "$work/a/" "$work/copy/" | grep '^Total bytes'
  rm -rf "$work/copy"
else
  echo "rsync is not installed: nothing beside it"
fi
time "$sepal" sync "$work/a" "$work/b"
echo "once more:"
"$sepal" sync "$work/a" "$work/b"
