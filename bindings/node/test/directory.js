'use strict'

const fs = require('fs')
const os = require('os')
const path = require('path')

const root = fs.mkdtempSync(path.join(os.tmpdir(), 'sepal-level-'))
let count = 0
process.on('exit', () => fs.rmSync(root, { recursive: true, force: true }))

// A name that is not in use.
exports.temporary = () => path.join(root, `db${++count}`)
