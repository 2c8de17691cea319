#!/usr/bin/env bash
# Figures of a database on a Ceph cluster, beside one in a local directory and beside the cluster's own benchmark
# (`rados bench`). Starts a cluster of three OSDs on this machine and stops it.
#   tools/rados_bench.sh [--build DIRECTORY] [--local DIRECTORY] [--seconds N]
# Needs a build with librados (build/release unless told) and Ceph's programs (the group `rados` of tools/packages.sh).
set -euo pipefail
cd "$(dirname "$0")/.."
. tools/packages.sh

build=build/release
local=
seconds=10
while [ $# -gt 0 ]; do
  case $1 in
    --build) build=${2:?--build needs a directory}; shift 2 ;;
    --local) local=${2:?--local needs a directory}; shift 2 ;;
    --seconds) seconds=${2:?--seconds needs a number}; shift 2 ;;
    *) sed -n '2,5s/^# \{0,1\}//p' "$0"; exit 2 ;;
  esac
done
for program in ceph-mon rados; do command -v $program >/dev/null || fail "$program is not installed (apt-get install ${sepal_packages_rados[*]})"; done
[ -x "$build/tools/db_bench" ] || fail "$build has no db_bench: build it, configured with librados-dev"

work=$(mktemp -d /tmp/sepal_rados_XXXXXX)
cluster() { tests/rados/cluster.sh "$1" "$work/cluster" "${@:2}"; }
finish() {
  cluster stop
  rm -rf "$work" "${local:-$work}/sepal_rados_bench"
}
trap finish EXIT
cluster start
eval "$(cluster env)"
remote=rados:$SEPAL_RADOS_POOL/bench
here=${local:-$work}/sepal_rados_bench
mkdir -p "$here"

# Runs the cluster's own benchmark: NAME ARGS...
ceph_bench() {
  local name=$1
  shift
  rados -c "$SEPAL_RADOS_CONF" -n "client.$SEPAL_RADOS_USER" -k "$SEPAL_RADOS_KEYRING" -p "$SEPAL_RADOS_POOL" bench \
    "$seconds" "$@" >"$work/said" 2>&1 || fail "rados bench $*: $(tail -n 3 "$work/said")"
  printf '%-42s %s\n' "rados bench: $name" \
    "$(awk '/^Average IOPS/ { i = $3 } /^Average Latency/ { l = $3 } /^Bandwidth/ { b = $3 }
            END { printf "%d a second, %.2f ms, %d MB/s", i, 1000 * l, b }' "$work/said")"
}
# Runs a benchmark of a database at both places: NAME FLAGS...
both() {
  local name=$1 place
  shift
  for place in "$remote" "$here/db"; do
    # What is cold lies with the OSDs, or on the disk.
    if [ -w /proc/sys/vm/drop_caches ]; then sync && echo 1 >/proc/sys/vm/drop_caches; fi
    "$build/tools/db_bench" --db="$place" --histogram "$@" >"$work/said" 2>&1 || fail "db_bench $*: $(tail -n 3 "$work/said")"
    printf '%-42s %s\n' "$name, $([ "$place" = "$remote" ] && echo RADOS || echo local)" \
      "$(awk '/ops\/sec/ { for (i = 2; i <= NF; ++i) if ($i == "ops/sec") rate = $(i - 1) }
              /^Count:/ { mean = $NF } /^Percentiles:/ { p50 = $3; p99 = $7 }
              END { printf "%s a second; us: mean %s, p50 %s, p99 %s", rate, mean, p50, p99 }' "$work/said")"
  done
}

ceph_bench "writes of 4 KiB, 1 at a time" write -b 4096 -t 1 --no-cleanup
ceph_bench "reads of 4 KiB, 1 at a time" rand -t 1
ceph_bench "writes of 4 KiB, 32 at a time" write -b 4096 -t 32
ceph_bench "writes of 4 MiB, 16 at a time" write -t 16 --no-cleanup
ceph_bench "reads of 4 MiB in order, 16 at a time" seq -t 16
both "synced put, 1 thread" --benchmarks=fillrandom --sync --num=3000
both "synced put, 32 threads" --benchmarks=fillrandom --sync --threads=32 --num=2000
both "put" --benchmarks=fillrandom --num=2000000
both "compact" --benchmarks=compact --use_existing_db --num=2000000
both "get, cold" --benchmarks=readrandom --use_existing_db --num=2000000 --reads=3000
both "MultiGet of 64, cold" --benchmarks=multireadrandom --use_existing_db --num=2000000 --reads=12800
both "scan, cold" --benchmarks=readseq --use_existing_db --num=2000000
both "verify all checksums" --benchmarks=verifychecksum --use_existing_db --num=2000000
