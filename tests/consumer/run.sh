#!/usr/bin/env bash
# Installs a build under a new prefix, builds the consumer against that through CMake and through pkg-config, runs it.
#   run.sh BUILD_DIRECTORY CMAKE COMPILER
set -euo pipefail
source=$(cd "$(dirname "$0")" && pwd)
build=$1 cmake=$2 compiler=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
prefix=$work/prefix

"$cmake" --install "$build" --prefix "$prefix" >"$work/log" || { cat "$work/log"; exit 1; }

"$cmake" -S "$source" -B "$work/build" -DCMAKE_BUILD_TYPE=Release -DCMAKE_PREFIX_PATH="$prefix" \
  -DCMAKE_CXX_COMPILER="$compiler" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
"$cmake" --build "$work/build" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
for kind in sepal sepal-static sepal-shared; do
  "$work/build/consumer_$kind" "$work/db_$kind"
done

# The installed .pc file names the configured prefix; this one is elsewhere.
pc=$(find "$prefix" -name sepal.pc)
export PKG_CONFIG_PATH=${pc%/*}
flags() { pkg-config --define-variable=prefix="$prefix" "$@" sepal; }
read -r -a compile <<<"$(flags --cflags)"
read -r -a link <<<"$(flags --libs)"
"$compiler" "${compile[@]}" "$source/consumer.cc" -o "$work/consumer_pc" "${link[@]}" -Wl,-rpath,"$(dirname "${pc%/*}")"
"$work/consumer_pc" "$work/db_pc"

# Nothing but the public interface is visible in the shared library.
library=$(find "$prefix" -name 'libsepal.so' | head -n 1)
hidden=$(nm -DC --defined-only "$library" | grep -c 'sepal::internal::' || true)
if [ "$hidden" -ne 0 ]; then
  echo "the shared library exports $hidden internal symbols"
  exit 1
fi
