'use strict'

const { AbstractChainedBatch } = require('abstract-level')
const binding = require('./binding')
const { kHandle } = require('./common')

class ChainedBatch extends AbstractChainedBatch {
  #batch = binding.newBatch()

  _put (key, value) {
    binding.batchPut(this.#batch, key, value)
  }

  _del (key) {
    binding.batchDel(this.#batch, key)
  }

  _clear () {
    binding.batchClear(this.#batch)
  }

  async _write (options) {
    return binding.batchWrite(this.db[kHandle], this.#batch, options.sync === true)
  }

  async _close () {
    this.#batch = null
  }
}

exports.ChainedBatch = ChainedBatch
