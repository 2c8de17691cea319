#!/usr/bin/env bash
# `sepal run`, and what becomes of LevelDB's own databases.
#   run_test.sh SEPAL SMALL_CLIENT
set -euo pipefail
sepal=$(readlink -f "$1") client=$(readlink -f "$2")
work=$(mktemp -d "${TMPDIR:-/tmp}/sepal_leveldb.XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$(realpath "$work")"
unset LD_LIBRARY_PATH SEPAL_LEVELDB_MEMORY_LIMIT
export PATH="$(dirname "$sepal"):$PATH"
failed=0
expect() { # WHAT EXPECTED GOT
  if [[ $3 == $2 ]]; then return; fi
  printf '%s:\n  expected: %s\n  got:      %s\n' "$1" "$2" "$3"
  failed=1
}
state() { find "$1" -type f -exec sha256sum {} + | sort; }

# A program on Sepal; its arguments are its own, and so is its exit status.
expect "put" OK "$("$sepal" run "$client" put ours k -v)"
expect "get" -v "$("$sepal" run --memory-limit 64MiB "$client" get ours k)"
expect "a database of Sepal's" "k*" "$("$sepal" db scan ours)"
expect "an absent key" "NotFound: *1" "$("$sepal" run "$client" get ours absent; echo $?)"
expect "flags" "--json --help --memory-limit 7 x" "$("$sepal" run echo --json --help --memory-limit 7 x)"
expect "behind --" "a" "$("$sepal" run -- echo a)"
expect "for the child alone" "" "${LD_LIBRARY_PATH-}"
expect "in front" "*/sepal/leveldb:/other" "$(LD_LIBRARY_PATH=/other "$sepal" run sh -c 'echo $LD_LIBRARY_PATH')"
expect "a limit that is none" "Invalid argument: SEPAL_LEVELDB_MEMORY_LIMIT=x*" \
  "$(SEPAL_LEVELDB_MEMORY_LIMIT=x "$sepal" run "$client" get ours k || true)"

# What cannot be run.
expect "no program" "*there is no program nothing-of-that-name in PATH*" \
  "$("$sepal" run nothing-of-that-name 2>&1 || true)"
expect "nothing" "*PROGRAM is required*" "$("$sepal" run 2>&1 || true)"
{ cat /bin/true; printf 'leveldb.BytewiseComparator'; } >static
chmod +x static
expect "linked in" "*static has LevelDB (or RocksDB) linked in*" "$("$sepal" run ./static 2>&1 || true)"

# Without it LevelDB refuses the database, and touches no data.
before=$(state ours | grep -v -e /LOG -e /LOCK)
expect "LevelDB on Sepal's" "Corruption: CURRENT file does not end with newline*" "$("$client" put ours k w || true)"
expect "touched" "$before" "$(state ours | grep -v -e /LOG -e /LOCK)"
expect "still there" -v "$("$sepal" run "$client" get ours k)"

# A database of LevelDB's is not touched, and the line that is printed brings it over.
expect "LevelDB's own" OK "$("$client" put "it's theirs" k old)"
before=$(state "it's theirs")
refusal=$("$sepal" run "$client" put "it's theirs" k new || true)
expect "refused" "IO error: it's theirs: is a database of LevelDB's*: mv '$PWD/it'?''s theirs' * && sepal import *" "$refusal"
expect "untouched" "$before" "$(state "it's theirs")"
line="mv '$PWD/it'?''s theirs' '$PWD/it'?''s theirs.leveldb' && sepal import '$PWD/it'?''s theirs' '*.leveldb'"
expect "with a slash" "*: $line" "$("$sepal" run "$client" get "it's theirs/" k || true)"
expect "from within" "*: $line" "$(cd "it's theirs" && "$sepal" run "$client" get . k || true)"
expect "import under run" "*LD_LIBRARY_PATH*" "$("$sepal" run "$sepal" import new "it's theirs" 2>&1 || true)"
eval "${refusal#*of it: }" >/dev/null
expect "imported" old "$("$sepal" run "$client" get "it's theirs" k)"
expect "kept" old "$("$client" get "it's theirs.leveldb" k)"

exit "$failed"
