'use strict'

const fs = require('fs')
const os = require('os')
const path = require('path')

const root = fs.mkdtempSync(path.join(os.tmpdir(), 'sepal-level-'))
let count = 0
process.on('exit', () => fs.rmSync(root, { recursive: true, force: true }))

// A name that is not in use.
exports.temporary = () => path.join(root, `db${++count}`)

// The error of a promise is of that class, or has that code.
exports.rejects = async function (t, promise, expected) {
  try {
    await promise
  } catch (error) {
    if (typeof expected === 'function') return t.ok(error instanceof expected, error.message)
    return t.is(error.code, expected.code, error.message)
  }
  t.fail('it was not refused')
}
