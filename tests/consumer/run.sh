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

"$work/build/consumer_simulated"
"$work/build/consumer_cached" "$work/cached"
"$work/build/consumer_filter"
"$work/build/consumer_filter_both"
"$work/build/consumer_filter_c"
for program in consumer_filter consumer_filter_c; do
  # All of it is read: a broken pipe would count as nothing found.
  if nm -C "$work/build/$program" | grep 'sepal::DB::' >/dev/null; then
    echo "sepal::filter brings the engine with it"
    exit 1
  fi
done

# Plain compilers with pkg-config: shared, static with the private libraries, and from C.
pc=$(find "$prefix" -name sepal.pc)
export PKG_CONFIG_PATH=${pc%/*}
libraries=$(dirname "${pc%/*}")
read -r -a compile <<<"$(pkg-config --cflags sepal-filter)"
read -r -a link <<<"$(pkg-config --libs sepal-filter)"
"$compiler" -std=c++20 "${compile[@]}" "$source/filtered.cc" -o "$work/filter_pc" "${link[@]}"
"$work/filter_pc"
cc -std=c11 -Werror "${compile[@]}" "$source/filtered.c" -o "$work/filter_pc_c" "${link[@]}"
"$work/filter_pc_c"
read -r -a compile <<<"$(pkg-config --cflags sepal)"
read -r -a link <<<"$(pkg-config --libs sepal)"
"$compiler" -std=c++20 "${compile[@]}" "$source/consumer.cc" -o "$work/consumer_pc" "${link[@]}" -Wl,-rpath,"$libraries"
"$work/consumer_pc" "$work/db_pc"
c_tests=()
for file in "$source"/../db/c/c_*.c; do
  # That one needs the library for Ceph.
  [ "${file##*/}" = c_rados_test.c ] || c_tests+=("$file")
done
cc -std=c11 -Werror -D_DEFAULT_SOURCE "${compile[@]}" "${c_tests[@]}" -pthread -o "$work/consumer_c" -L "$libraries" \
  -lsepal -Wl,-rpath,"$libraries"
"$work/consumer_c"
read -r -a link <<<"$(pkg-config --static --libs sepal)"
mkdir "$work/shared"
mv "$libraries"/libsepal.so* "$work/shared"
"$compiler" -std=c++20 "${compile[@]}" "$source/consumer.cc" -o "$work/consumer_static" "${link[@]}"
mv "$work/shared"/* "$libraries"
"$work/consumer_static" "$work/db_static"
if "$compiler" -std=c++17 "${compile[@]}" -fsyntax-only "$source/consumer.cc" 2>"$work/log" ||
  ! grep -q 'Sepal needs C++20' "$work/log"; then
  echo "C++17 is not refused in words"
  exit 1
fi
"$prefix/bin/sepal" db get "$work/db_static" key
cmp "$prefix/share/man/man1/sepal.1" <("$prefix/bin/sepal" man)
cmp "$prefix/share/man/man1/sepal_db_bench.1" <("$prefix/bin/sepal" man db_bench)
cmp "$prefix/share/man/man1/sepal_sst_dump.1" <("$prefix/bin/sepal" man sst_dump)
cmp "$prefix/share/bash-completion/completions/sepal" <("$prefix/bin/sepal" completion bash)
cmp "$prefix/share/zsh/vendor-completions/_sepal" <("$prefix/bin/sepal" completion zsh)
cmp "$prefix/share/fish/vendor_completions.d/sepal.fish" <("$prefix/bin/sepal" completion fish)

# Nothing but the public interface is visible in the shared library.
library=$(find "$prefix" -name 'libsepal.so' | head -n 1)
hidden=$(nm -DC --defined-only "$library" | grep -c 'sepal::internal::' || true)
if [ "$hidden" -ne 0 ]; then
  echo "the shared library exports $hidden internal symbols"
  exit 1
fi
strip --strip-unneeded -o "$work/stripped.so" "$library"
bytes=$(stat -c %s "$work/stripped.so")
if [ "$bytes" -ge 4500000 ]; then
  echo "the shared library has $bytes bytes when stripped; at most 4.5 MB"
  exit 1
fi
