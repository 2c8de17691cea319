'use strict'

const test = require('tape')
const path = require('path')
const { spawnSync } = require('child_process')

test('types.ts compiles', function (t) {
  const compiler = require.resolve('typescript/bin/tsc')
  const { status, stdout } = spawnSync(process.execPath, [compiler, '-p', path.join(__dirname, 'tsconfig.json')],
    { encoding: 'utf8' })
  t.is(status, 0, stdout)
  t.end()
})
