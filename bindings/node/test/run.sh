#!/usr/bin/env bash
# Tests a copy of the package with an addon that is built: the suite of abstract-level, and the package's own tests.
#   run.sh BUILD_DIRECTORY ADDON NODE NPM         exit status 77: skipped
set -euo pipefail
source=$(cd "$(dirname "$0")/.." && pwd)
build=$(realpath "$1") addon=$2 node=$3 npm=$4
package=$build/node/package
export PATH=$(dirname "$node"):$PATH

# Packages are fetched once, and again when the lock file changes.
mkdir -p "$package"
find "$package" -mindepth 1 -maxdepth 1 ! -name node_modules ! -name installed ! -name log -exec rm -rf {} +
cp -r "$source"/*.js "$source"/*.json "$source/index.d.ts" "$source/test" "$package"
cp "$source/../../docs/guide/node.md" "$package/test/guide.md"
cd "$package"
if ! cmp -s package-lock.json installed; then
  if ! "$npm" ci --ignore-scripts --prefer-offline --no-audit --no-fund >log 2>&1; then
    if grep -Eq 'ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ENETUNREACH|ETIMEDOUT|ENOTCACHED' log; then
      printf 'node: Skipped\nthe packages that the tests need cannot be fetched from npm\n'
      exit 77
    fi
    cat log
    exit 1
  fi
  cp package-lock.json installed
fi

# Thousands of small databases: in memory where that is possible.
if [ -w /dev/shm ]; then export TMPDIR=/dev/shm; fi
SEPAL_LEVEL_ADDON=$addon "$npm" test >log 2>&1 || { grep -v '^ok' log; exit 1; }
tail -n 6 log
# Far fewer would mean that the suite was not run.
passed=$(awk '/^# pass +[0-9]+$/ { print $3 }' log)
[ "${passed:-0}" -ge 5168 ]
