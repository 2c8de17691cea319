#!/usr/bin/env bash
# Installs LevelDB, RocksDB and LMDB, builds bench/compare (Release) and runs it.
#   tools/compare.sh [FLAG...]      flags of compare, e.g. --quick --threads=1 --markdown; --help lists them
set -euo pipefail
cd "$(dirname "$0")/.."
. tools/packages.sh

require_packages build peers
say "building (Release)"
mapfile -t launcher < <(ccache_arguments)
log=$(mktemp)
trap 'rm -f "$log"' EXIT
cmake -G Ninja -S . -B build/compare -DCMAKE_BUILD_TYPE=Release -DSEPAL_BUILD_TESTS=OFF -DSEPAL_BUILD_BENCH=ON \
  "${launcher[@]}" >"$log" 2>&1 || { cat "$log" >&2; fail "cmake failed"; }
cmake --build build/compare -j "$(nproc)" --target compare -- --quiet || fail "the build failed"
rm -f "$log"
exec build/compare/bench/compare/compare "$@"
