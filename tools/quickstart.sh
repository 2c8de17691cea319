#!/usr/bin/env bash
# From a bare Debian 12 to a working engine: installs the packages it needs, builds Release, runs db_bench with a million
# entries on a real directory, asks the example about names in this machine's Debian package index, and inspects one of
# the files written.
#   tools/quickstart.sh [DIRECTORY]      where the data goes: a new or empty one (default: build/quickstart, made anew)
set -euo pipefail
cd "$(dirname "$0")/.."
. tools/packages.sh

data=${1:-build/quickstart}
if [ $# -eq 0 ]; then rm -rf "$data"; fi
if [ -n "$(ls -A "$data" 2>/dev/null)" ]; then fail "$data is not empty: name a new directory"; fi
started=$SECONDS
require_packages build

say "building (Release)"
mapfile -t launcher < <(ccache_arguments)
log=$(mktemp)
trap 'rm -f "$log"' EXIT
cmake -G Ninja -S . -B build/quick -DCMAKE_BUILD_TYPE=Release -DSEPAL_BUILD_TESTS=OFF -DSEPAL_BUILD_BENCH=OFF \
  "${launcher[@]}" >"$log" 2>&1 || { cat "$log" >&2; fail "cmake failed"; }
cmake --build build/quick -j "$(nproc)" --target sepal db_bench sst_dump name_lookup -- --quiet || fail "the build failed"
tools=$PWD/build/quick/tools

mkdir -p "$data"
data=$(cd "$data" && pwd)

say "db_bench: a million entries of 16 + 100 bytes in $data/bench"
"$tools/db_bench/main" --db="$data/bench" --num=1000000 --seed=1 \
  --benchmarks=filluniquerandom,flush,waitforcompaction,readrandom,readmissing,multireadrandom,seekrandom,readseq,readreverse,filters \
  | tee "$data/bench.txt"

say "the package index as names: key = package, value = stanza"
names=$data/names.tsv
package_index() {
  apt-cache dumpavail | awk '
    function flush() { if (name != "") print name "\t" stanza; name = ""; stanza = "" }
    /^$/ { flush(); next }
    /^Package: / { name = $2 }
    { gsub(/\t/, " "); stanza = stanza (stanza == "" ? "" : "\\n") $0 }
    END { flush() }'
}
package_index >"$names"
if [ "$(wc -l <"$names")" -lt 1000 ]; then
  say "the package index is empty: fetching it"
  as_root apt-get update -q >"$log" 2>&1 || { cat "$log" >&2; fail "apt-get update failed"; }
  package_index >"$names"
fi
say "$(wc -l <"$names") stanzas"
"$tools/name_lookup/main" --db="$data/names" --load="$names" bash cmake libsnappy-dev no-such-package bash2 zzz-free-name
# A thousand names that are certainly free: how many of them needed a block?
awk -F '\t' 'NR <= 1000 { print $1 "-is-free" }' "$names" |
  "$tools/name_lookup/main" --db="$data/names" --summary - | tee "$data/lookup.txt"

table=$(find "$data/names" "$data/bench" -name '*.sst' | sort | head -n 1)
[ -n "$table" ] || fail "no table file was written below $data"
say "sst_dump of $table"
"$tools/sst_dump/main" --file="$table" --command=check
"$tools/sst_dump/main" --file="$table" --command=verify
"$tools/sst_dump/main" --file="$table" --command=none --show_properties
"$tools/sst_dump/main" --file="$table" --command=filters | tail -n 6

printf '\nSummary (%d s in all)\n' $((SECONDS - started))
awk '/ micros\/op / && $9 > 1 { printf "  %-18s %12s a second\n", $1, $5 }' "$data/bench.txt"
sed -n 's/^filters saved/  db_bench: &/p' "$data/bench.txt"
sed -n 's/^/  names: /p' "$data/lookup.txt"
printf '  database: %s\n  the sepal command and the other tools: %s\n' "$data/bench" "$tools"
