#!/usr/bin/env bash
# How much memory both sides of a sync take at most, and what it moves: many entries of some 17 bytes, of which each side
# lacks one in 200 that the other one has.
#   bench/sync_memory.sh [BUILD] [ENTRIES]      default: build/release 10000000; needs GNU time
set -euo pipefail
cd "$(dirname "$0")/.."
build=$(cd "${1:-build/release}" && pwd)
entries=${2:-10000000}
sepal=$build/tools/sepal
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

for side in 1 2; do
  {
    printf 'sepal-dump 1 text\nfamily default\n'
    awk -v n="$entries" -v side="$side" 'BEGIN { for (i = 0; i < n; i++) if (i % 200 != side) printf " k%08d\tv%d\n", i, i }'
    echo 'end - -'
  } | "$sepal" load "$work/$side" >/dev/null 2>&1
  echo "$side: $(du -sb "$work/$side" | cut -f1) bytes in its directory"
done
server="env time -f 'the other side: %M KiB, %e s' '$sepal' sync-server '$work/2'"
env time -f 'this side: %M KiB, %e s' "$sepal" sync "$work/1" --over "$server"
