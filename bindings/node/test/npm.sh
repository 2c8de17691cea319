#!/usr/bin/env bash
# Installs a build under a new prefix, has npm install the package beside it, and runs programs of others on it.
#   npm.sh BUILD_DIRECTORY CMAKE NODE NPM         exit status 77: skipped
set -euo pipefail
source=$(cd "$(dirname "$0")/.." && pwd)
build=$(realpath "$1") cmake=$2 node=$3 npm=$4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export PATH=$(dirname "$cmake"):$(dirname "$node"):$PATH

"$cmake" --install "$build" --prefix "$work/prefix" >"$work/log" || { cat "$work/log"; exit 1; }
cp -r "$source" "$work/source"
(cd "$work/source" && rm -rf node_modules build && "$npm" pack --silent --pack-destination "$work" >"$work/log")
mv "$work"/sepal-level-*.tgz "$work/sepal-level.tgz"

# level and y-leveldb ask for classic-level and are given this package.
mkdir "$work/app"
cd "$work/app"
cat >package.json <<'JSON'
{
  "private": true,
  "dependencies": { "level": "10.0.0", "y-leveldb": "0.2.0", "yjs": "13.6.27" },
  "overrides": { "classic-level": "file:../sepal-level.tgz" }
}
JSON
if ! "$npm" install --ignore-scripts --prefer-offline --no-audit --no-fund >"$work/log" 2>&1; then
  if grep -Eq 'ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ENETUNREACH|ETIMEDOUT|ENOTCACHED' "$work/log"; then
    printf 'node_npm: Skipped\nthe packages that the test needs cannot be fetched from npm\n'
    exit 77
  fi
  cat "$work/log"
  exit 1
fi
package=node_modules/classic-level

# Without the addon, and without the library, it says what is missing.
if "$node" -e "require('level')" >"$work/log" 2>&1 || ! grep -q 'its addon is not built' "$work/log"; then
  echo "a missing addon is not told:"
  cat "$work/log"
  exit 1
fi
if CMAKE_PREFIX_PATH=$work/nothing CMAKE_FIND_USE_CMAKE_SYSTEM_PATH=OFF "$node" "$package/install.js" >"$work/log" 2>&1 &&
  [ ! -e /usr/local/lib/cmake/sepal ] && [ ! -e /usr/lib/cmake/sepal ]; then
  echo "a missing libsepal is not told:"
  cat "$work/log"
  exit 1
fi

CMAKE_PREFIX_PATH=$work/prefix "$npm" rebuild --foreground-scripts classic-level >"$work/log" 2>&1 || {
  cat "$work/log"
  exit 1
}
[ -e "$package/build/sepal_level.node" ] || CMAKE_PREFIX_PATH=$work/prefix "$node" "$package/install.js" >"$work/log"

cat >check.js <<'JS'
const assert = require('assert')
const fs = require('fs')
const { Level } = require('level')
const { LeveldbPersistence } = require('y-leveldb')
const Y = require('yjs')

async function main () {
  const db = new Level('level', { valueEncoding: 'json' })
  const users = db.sublevel('users', { valueEncoding: 'json' })
  await users.put('ada', { born: 1815 })
  await db.batch([{ type: 'put', key: 'x', value: 1 }])
  assert.deepStrictEqual(await users.get('ada'), { born: 1815 })
  assert.deepStrictEqual(await db.keys().all(), ['!users!ada', 'x'])
  await db.close()
  assert.strictEqual(fs.readFileSync('level/CURRENT', 'utf8'), 'Sepal')

  const persistence = new LeveldbPersistence('documents')
  const document = new Y.Doc()
  document.getText('t').insert(0, 'hello')
  await persistence.storeUpdate('one', Y.encodeStateAsUpdate(document))
  document.getText('t').insert(5, ' world')
  await persistence.storeUpdate('one', Y.encodeStateAsUpdate(document))
  const read = await persistence.getYDoc('one')
  assert.strictEqual(read.getText('t').toString(), 'hello world')
  await persistence.flushDocument('one')
  assert.deepStrictEqual(await persistence.getAllDocNames(), ['one'])
  await persistence.clearDocument('one')
  assert.deepStrictEqual(await persistence.getAllDocNames(), [])
  await persistence.destroy()
  assert.strictEqual(fs.readFileSync('documents/CURRENT', 'utf8'), 'Sepal')
}
main().then(() => console.log('level and y-leveldb run'))
JS
"$node" check.js
