'use strict'

// Builds the addon with CMake and the installed libsepal and Node headers. Nothing is downloaded.

const { spawnSync } = require('child_process')
const fs = require('fs')
const path = require('path')

if (process.env.SEPAL_LEVEL_ADDON) {
  console.log(`sepal-level: uses ${process.env.SEPAL_LEVEL_ADDON}`)
  process.exit(0)
}

const build = path.join(__dirname, 'build')

function cmake (...args) {
  const { status, error } = spawnSync('cmake', args, { stdio: 'inherit' })
  if (error) {
    console.error(`sepal-level: cmake cannot be run (${error.message}). It builds the addon: install it first.`)
    process.exit(1)
  }
  if (status !== 0) process.exit(1)
}

// A build for another libsepal or Node is not reused.
fs.rmSync(path.join(build, 'CMakeCache.txt'), { force: true })
cmake('-S', __dirname, '-B', build, '-DCMAKE_BUILD_TYPE=Release', `-DSEPAL_NODE=${process.execPath}`)
cmake('--build', build)
