#!/usr/bin/env bash
# A program that writes through Sepal's libleveldb is killed, again and again, and loses nothing that it was told is
# durable.
#   kill_test.sh PROGRAM LIBRARIES ROUNDS
set -euo pipefail
program=$1 rounds=$3
export LD_LIBRARY_PATH=$2
work=$(mktemp -d "${TMPDIR:-/tmp}/sepal_leveldb.XXXXXX")
trap 'rm -rf "$work"' EXIT

for round in $(seq "$rounds"); do
  : >"$work/told"
  "$program" write "$work/db$round" >"$work/told" &
  writer=$!
  # Until it has written something, and a little longer.
  while [ ! -s "$work/told" ]; do
    kill -0 "$writer"
    sleep 0.02
  done
  sleep "0.0$((RANDOM % 10))"
  kill -KILL "$writer"
  wait "$writer" || true
  # The last line may be cut off.
  least=$(grep -c . "$work/told" || true)
  least=$((least > 1 ? (least - 1) * 8 : 0))
  "$program" check "$work/db$round" "$least"
done

# What is over the memory limit as a whole.
status=0
SEPAL_LEVELDB_MEMORY_LIMIT=$((64 << 20)) "$program" large "$work/large" || status=$?
[ "$status" -eq 137 ]
SEPAL_LEVELDB_MEMORY_LIMIT=$((64 << 20)) "$program" check-large "$work/large" 1
