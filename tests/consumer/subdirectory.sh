#!/usr/bin/env bash
# Builds the consumer with Sepal as a subdirectory of it, and runs it; shows that its build type is left to it.
#   subdirectory.sh SOURCE CMAKE COMPILER [LAUNCHER]
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
source=$1 cmake=$2 compiler=$3 launcher=${4:-}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$cmake" -S "$here/subdirectory" -B "$work/build" -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG=-O0 \
  -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_CXX_COMPILER_LAUNCHER="$launcher" -DSEPAL_SOURCE="$source" \
  -DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=12 \
  >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
"$cmake" --build "$work/build" --target consumer -j "$(nproc)" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
"$work/build/consumer" "$work/db"

"$cmake" -S "$here/subdirectory" -B "$work/untyped" -DCMAKE_CXX_COMPILER="$compiler" -DSEPAL_SOURCE="$source" \
  >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
if grep '^CMAKE_BUILD_TYPE:[A-Z]*=.' "$work/untyped/CMakeCache.txt"; then
  echo "the build type of the whole project was set"
  exit 1
fi
