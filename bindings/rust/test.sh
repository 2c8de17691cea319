#!/usr/bin/env bash
# Builds and tests the crate with the shared library of a build, offline.
#   test.sh BUILD_DIRECTORY CARGO
set -euo pipefail
source=$(cd "$(dirname "$0")" && pwd)
build=$(realpath "$1") cargo=$2
export PATH=$(dirname "$cargo"):$PATH SEPAL_LIB_DIR=$build LD_LIBRARY_PATH=$build
export RUSTFLAGS=-Dwarnings
exec "$cargo" test --quiet --offline --locked --manifest-path "$source/Cargo.toml" --target-dir "$build/rust"
