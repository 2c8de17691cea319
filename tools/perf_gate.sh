#!/usr/bin/env bash
# Did a change make the engine slower? Builds BASE and the working tree in Release and prints, for each workload, the
# instructions of an operation (callgrind, AVX2 path) and the ratio of the rates (bench/compare, the two sides in turn).
#   tools/perf_gate.sh BASE                          a commit; exit status 1 if a row moved beyond noise
#   tools/perf_gate.sh BASE --only instructions      or rates
#   tools/perf_gate.sh BASE --workloads readrandom,readseq --rounds 7 --num 1000000
#   SEPAL_GATE_DIR=/tmp/gate                         the builds and BASE's tree (default build/perf_gate); kept
# Nothing else may run beside it: tools/perf_gate.py says when a row counts as moved.
set -euo pipefail
cd "$(dirname "$0")/.."
. tools/packages.sh

[ $# -ge 1 ] || fail "names no commit to compare with: tools/perf_gate.sh BASE"
base=$(git rev-parse --verify --quiet "$1^{commit}") || fail "$1 is no commit of this repository"
shift
require_packages build peers gate
work=${SEPAL_GATE_DIR:-build/perf_gate}
mkdir -p "$work"
work=$(cd "$work" && pwd)

if [ "$(cat "$work/base/commit" 2>/dev/null)" != "$base" ]; then
  rm -rf "$work/base" && mkdir -p "$work/base/tree"
  git archive "$base" | tar -x -C "$work/base/tree"
  echo "$base" >"$work/base/commit"
fi
mkdir -p "$work/head"

mapfile -t launcher < <(ccache_arguments)
build() { # name tree
  say "building $1"
  cmake -G Ninja -S "$2" -B "$work/$1/build" -DCMAKE_BUILD_TYPE=Release -DSEPAL_BUILD_TESTS=OFF -DSEPAL_BUILD_SHARED=OFF \
    -DSEPAL_INSTALL=OFF "${launcher[@]}" >"$work/$1.log" 2>&1 || { cat "$work/$1.log" >&2; fail "cmake failed for $1"; }
  cmake --build "$work/$1/build" -j "$(nproc)" --target compare db_bench -- --quiet || fail "the build of $1 failed"
}
build base "$work/base/tree"
build head "$PWD"

say "comparing ${base:0:7} with the working tree"
exec python3 tools/perf_gate.py "$work/base/build" "$work/head/build" --directory "$work/data" "$@"
