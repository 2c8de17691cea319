#!/usr/bin/env bash
# A program that is compiled with another Abseil, or another layout of the standard library, does not link.
#   other_abseil.sh BUILD_DIRECTORY CMAKE COMPILER
set -euo pipefail
source=$(cd "$(dirname "$0")" && pwd)
build=$1 cmake=$2 compiler=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
prefix=$work/prefix

"$cmake" --install "$build" --prefix "$prefix" >"$work/log" || { cat "$work/log"; exit 1; }
pc=$(find "$prefix" -name sepal.pc)
export PKG_CONFIG_PATH=${pc%/*}
libraries=$(dirname "${pc%/*}")
read -r -a compile <<<"$(pkg-config --cflags sepal)"
read -r -a static_link <<<"$(pkg-config --static --libs sepal)"
read -r -a shared_link <<<"$(pkg-config --libs sepal)"

# An Abseil of another version: the same, but for what its configuration says.
mkdir -p "$work/other/absl/base"
cat >"$work/other/absl/base/config.h" <<'HEADER'
#include_next <absl/base/config.h>
#undef ABSL_LTS_RELEASE_VERSION
#define ABSL_LTS_RELEASE_VERSION 20991231
HEADER

# links KIND FLAG...: compiles and links the consumer; what the linker says goes to a file.
links() {
  local kind=$1 link
  shift
  "$compiler" -std=c++20 -O1 "$@" "${compile[@]}" -c "$source/consumer.cc" -o "$work/consumer.o" || exit 2
  if [ "$kind" = static ]; then
    link=("$libraries/libsepal.a" "${static_link[@]}")
  else
    link=("${shared_link[@]}")
  fi
  "$compiler" "$work/consumer.o" -o "$work/consumer" -Wl,--gc-sections "${link[@]}" -Wl,-rpath,"$libraries" 2>"$work/said"
}
refused() { # KIND WORD FLAG...
  local kind=$1 word=$2
  shift 2
  if links "$kind" "$@"; then
    echo "a consumer ($kind) that was compiled with $* links"
    exit 1
  fi
  grep -q "undefined reference to .sepal_compiled_with_.*$word" "$work/said" || {
    echo "the linker ($kind, $*) does not say why:"
    cat "$work/said"
    exit 1
  }
}
for kind in static shared; do
  links "$kind" || { cat "$work/said"; exit 1; }
  "$work/consumer" "$work/db_$kind"
  refused "$kind" 20991231 -I "$work/other" -ffunction-sections -fdata-sections
  refused "$kind" glibcxx_debug -D_GLIBCXX_DEBUG
done
