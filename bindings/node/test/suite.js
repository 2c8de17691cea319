'use strict'

// The suite that ships in abstract-level.

const test = require('tape')
const suite = require('abstract-level/test')
const { SepalLevel } = require('..')
const { temporary } = require('./helpers')

suite({
  test,
  factory (options) {
    return new SepalLevel(temporary(), options)
  }
})
