#!/usr/bin/env bash
# Runs LevelDB's own db_bench, one binary, on LevelDB and through Sepal's libleveldb.so.1d, in alternating rounds, and
# prints both rates and the median of their ratios.
#   tools/leveldb_bench.sh [--build DIRECTORY] [--entries N] [--rounds N] [--memory-limit BYTES] [FLAG_OF_DB_BENCH...]
# DIRECTORY is a build with libleveldb.so.1d (build/release unless told). Flags such as --cache_size and
# --write_buffer_size go to both sides. --memory-limit is Sepal's alone; without it the interface takes its own.
# The source of db_bench comes from Debian's archive; Debian's package does not have the program.
set -euo pipefail
cd "$(dirname "$0")/.."
. tools/packages.sh

readonly version=1.23 sum=9a37f8a6174f09bd622bc723b55881dc541cd50747cbd08831c2a82d620f6d76
readonly source=${SEPAL_LEVELDB_SOURCE:-https://deb.debian.org/debian/pool/main/l/leveldb/leveldb_$version.orig.tar.gz}
readonly workloads=fillseq,fillrandom,overwrite,readrandom,readmissing,seekrandom,readseq,readreverse,compact,readrandom,seekrandom,readseq,readreverse

build=build/release entries=1000000 rounds=3 limit=
flags=()
while [ $# -gt 0 ]; do
  case $1 in
    --build) build=${2:?--build needs a directory}; shift 2 ;;
    --entries) entries=${2:?--entries needs a number}; shift 2 ;;
    --rounds) rounds=${2:?--rounds needs a number}; shift 2 ;;
    --memory-limit) limit=${2:?--memory-limit needs a number of bytes}; shift 2 ;;
    --help) sed -n '2,8s/^# \{0,1\}//p' "$0"; exit ;;
    --*=*) flags+=("$1"); shift ;;
    *) fail "unknown argument '$1'; --help lists them" ;;
  esac
done
library=$(realpath "$build")/lib/sepal/leveldb
[ -e "$library/libleveldb.so.1d" ] || fail "$build has no lib/sepal/leveldb/libleveldb.so.1d: build sepal_leveldb"
require_packages peers
command -v curl >/dev/null || fail "curl is not installed; it fetches the source of db_bench"
work=$(mktemp -d "${TMPDIR:-/tmp}/leveldb_bench.XXXXXX")
trap 'rm -rf "$work"' EXIT

curl -fsS -o "$work/leveldb.tar.gz" "$source" || fail "$source cannot be fetched"
sha256sum --quiet -c <<<"$sum  $work/leveldb.tar.gz" || fail "$source is not LevelDB $version"
tar -C "$work" -xf "$work/leveldb.tar.gz" --strip-components=1
c++ -O2 -std=c++17 -w -DNDEBUG -DLEVELDB_PLATFORM_POSIX=1 -DHAVE_SNAPPY=1 -DLEVELDB_IS_BIG_ENDIAN=0 -I"$work" \
  -I"$work/include" "$work"/benchmarks/db_bench.cc "$work"/util/{crc32c,histogram,testutil}.cc -o "$work/db_bench" \
  -lleveldb -lsnappy -lpthread || fail "db_bench does not compile"

# run ENGINE ROUND: a line "name microseconds" for each workload; what comes after `compact` has a name of its own.
run() {
  local environment=()
  [ "$1" = leveldb ] || environment=(LD_LIBRARY_PATH="$library" ${limit:+SEPAL_LEVELDB_MEMORY_LIMIT="$limit"})
  rm -rf "$work/db"
  env "${environment[@]}" "$work/db_bench" --db="$work/db" --num="$entries" --benchmarks="$workloads" "${flags[@]}" \
    2>"$work/errors" | tr '\r' '\n' |
    awk -v engine="$1" -v round="$2" '$2 == ":" && $4 ~ /^micros/ {
      print engine, round, $1 (compacted ? ", compacted" : ""), $3; compacted += $1 == "compact" }' >>"$work/times" ||
    fail "db_bench failed on $1: $(tail -n 3 "$work/errors")"
}
for ((round = 1; round <= rounds; ++round)); do
  run leveldb "$round"
  run sepal "$round"
done

printf '%d entries, %d rounds; operations a second (best of the rounds), median of the ratios\n' "$entries" "$rounds"
python3 - "$work/times" <<'REPORT'
import statistics, sys

times = {}  # of a workload and an engine, one a round
for line in open(sys.argv[1]):
    engine, _, rest = line.split(" ", 2)
    name, micros = rest.rsplit(" ", 1)
    times.setdefault(name, {}).setdefault(engine, []).append(float(micros))
print(f"| {'workload':22} | {'LevelDB':>10} | {'Sepal':>10} | ratio |\n|---|--:|--:|--:|")
for name, of in times.items():
    rates = [1e6 / min(of[engine]) for engine in ("leveldb", "sepal")]
    ratio = statistics.median(a / b for a, b in zip(of["leveldb"], of["sepal"]))
    if name == "compact":
        rates = [f"{min(of[engine]) / 1e6:.2f} s" for engine in ("leveldb", "sepal")]
    else:
        rates = [f"{rate:,.0f}" for rate in rates]
    print(f"| {name:22} | {rates[0]:>10} | {rates[1]:>10} | {ratio:.1f} |")
REPORT
