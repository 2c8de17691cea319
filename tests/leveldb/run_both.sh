#!/usr/bin/env bash
# Runs a program that is linked with LevelDB once with the system's library and once with Sepal's, for each seed, and
# compares what it prints.
#   run_both.sh PROGRAM LIBRARIES FIRST LAST     LIBRARIES: the directory of Sepal's libleveldb
# A seed that fails is printed with the first lines that differ.
set -euo pipefail
program=$1 libraries=$2 first=$3 last=$4
work=$(mktemp -d "${TMPDIR:-/tmp}/sepal_leveldb.XXXXXX")
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT

for seed in $(seq "$first" "$last"); do
  # In places of one name, which statuses show.
  for side in theirs ours; do
    rm -rf "$work/place"
    mkdir "$work/place"
    path=
    if [ "$side" = ours ]; then path=$libraries; fi
    status=0
    (cd "$work/place" && LD_LIBRARY_PATH=$path "$program" "$seed" db) >"$work/$side" 2>&1 || status=$?
    echo "exit $status" >>"$work/$side"
    chmod -R u+w "$work/place"
  done
  if ! diff "$work/theirs" "$work/ours" >"$work/difference"; then
    echo "seed $seed: LevelDB (<) and Sepal (>) differ:"
    head -20 "$work/difference"
    exit 1
  fi
  if ! tail -1 "$work/theirs" | grep -qx 'exit 0'; then
    echo "seed $seed: the program failed with LevelDB: $(tail -1 "$work/theirs")"
    exit 1
  fi
done
# The two were not the same library.
loaded=$(LD_LIBRARY_PATH=$libraries ldd "$program" | awk '/libleveldb/ { print $3 }')
if [ "$loaded" != "$libraries/libleveldb.so.1d" ]; then
  echo "$program loads $loaded instead of $libraries/libleveldb.so.1d"
  exit 1
fi
echo "seeds $first to $last: the same"
