'use strict'

const fs = require('fs')
const path = require('path')

// SEPAL_LEVEL_ADDON names an addon that was built in another place.
const addon = process.env.SEPAL_LEVEL_ADDON || path.join(__dirname, 'build', 'sepal_level.node')

if (!fs.existsSync(addon)) {
  throw new Error(`sepal-level: its addon is not built (${addon}). Run 'npm rebuild sepal-level', which builds it.`)
}

module.exports = require(addon)
