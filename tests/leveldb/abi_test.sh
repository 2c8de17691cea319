#!/usr/bin/env bash
# Sepal's libleveldb exports LevelDB's public symbols, each of the same kind, and nothing else.
#   abi_test.sh SYSTEM_LIBRARY OUR_LIBRARY PRIVATE_SYMBOLS
# PRIVATE_SYMBOLS lists what the system's library exports though no header declares it, or only as private.
set -euo pipefail
theirs=$1 ours=$2 private=$3
# Kind and name. Weak (V, W, u) is as good as strong: it is up to the compiler.
symbols() {
  nm -D --defined-only "$1" | awk '{ kind = $2; if (kind == "V") kind = "D"; if (kind == "W") kind = "T"
    if (kind == "R" || kind == "B") kind = "D"; print kind, $3 }' | sort
}
work=$(mktemp -d "${TMPDIR:-/tmp}/sepal_leveldb.XXXXXX")
trap 'rm -rf "$work"' EXIT
symbols "$theirs" | grep leveldb | grep -vFf "$private" >"$work/theirs"
symbols "$ours" >"$work/ours"
if ! diff "$work/theirs" "$work/ours"; then
  echo "< only in $theirs, > only in $ours"
  exit 1
fi
count=$(wc -l <"$work/ours")
if [ "$count" -lt 230 ]; then
  echo "only $count symbols: is $theirs LevelDB?"
  exit 1
fi
if [ "$(objdump -p "$ours" | awk '$1 == "SONAME" { print $2 }')" != libleveldb.so.1d ]; then
  echo "$ours has another name for the loader than libleveldb.so.1d"
  exit 1
fi
echo "$count symbols"
