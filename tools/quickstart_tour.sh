#!/usr/bin/env bash
# A tour of the tools: db_bench on a real directory, names of this machine's Debian package index, the contents of a
# table file.
#   tools/quickstart_tour.sh TOOLS DIRECTORY [ENTRIES]     TOOLS: where db_bench, sst_dump and name_lookup were built
set -euo pipefail
. "$(dirname "$0")/packages.sh"

[ $# -ge 2 ] || { sed -n '4p' "$0" >&2; exit 2; }
tools=$1
data=$2
entries=${3:-1000000}
log=$(mktemp)
trap 'rm -f "$log"' EXIT

mkdir -p "$data"
data=$(cd "$data" && pwd)

say "db_bench: $entries entries of 16 + 100 bytes in $data/bench"
"$tools/db_bench" --db="$data/bench" --num="$entries" --seed=1 \
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
"$tools/name_lookup" --db="$data/names" --load="$names" bash cmake libsnappy-dev no-such-package bash2 zzz-free-name
# A thousand names that are certainly free: how many of them needed a block?
awk -F '\t' 'NR <= 1000 { print $1 "-is-free" }' "$names" |
  "$tools/name_lookup" --db="$data/names" --summary - | tee "$data/lookup.txt"

table=$(find "$data/names" "$data/bench" -name '*.sst' | sort | head -n 1)
[ -n "$table" ] || fail "no table file was written below $data"
say "sst_dump of $table"
"$tools/sst_dump" --file="$table" --command=check
"$tools/sst_dump" --file="$table" --command=verify
"$tools/sst_dump" --file="$table" --command=none --show_properties
"$tools/sst_dump" --file="$table" --command=filters | tail -n 6

printf '\nSummary\n'
awk '/ micros\/op / && $9 > 1 { printf "  %-18s %12s a second\n", $1, $5 }' "$data/bench.txt"
sed -n 's/^filters saved/  db_bench: &/p' "$data/bench.txt"
sed -n 's/^/  names: /p' "$data/lookup.txt"
printf '  database: %s\n  the sepal command and the other tools: %s\n' "$data/bench" "$tools"
