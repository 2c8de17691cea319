#!/usr/bin/env bash
# Builds and tests the package with the shared library of a build, offline.
#   test.sh BUILD_DIRECTORY GO
set -euo pipefail
cd "$(dirname "$0")"
build=$(realpath "$1") go=$2
export CGO_CFLAGS="-I$PWD/../../include -O1 -Wall -Werror" CGO_LDFLAGS=-L$build LD_LIBRARY_PATH=$build
export GOCACHE=$build/go GOFLAGS=-mod=mod GOPROXY=off GOTOOLCHAIN=local GO111MODULE=on
unformatted=$("$(dirname "$go")/gofmt" -l . 2>/dev/null || true)
if [ -n "$unformatted" ]; then
  echo "gofmt would change: $unformatted"
  exit 1
fi
"$go" vet ./...
GODEBUG=cgocheck=2 exec "$go" test ./...
