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

tools/quickstart_tour.sh "$PWD/build/quick/tools" "$data"
printf '  all of it took %d s\n' $((SECONDS - started))
