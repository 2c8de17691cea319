'use strict'

const { AbstractLevel, AbstractSnapshot } = require('abstract-level')
const ModuleError = require('module-error')
const fsp = require('fs/promises')
const binding = require('./binding')
const { ChainedBatch } = require('./chained-batch')
const { Iterator, KeyIterator, ValueIterator } = require('./iterator')
const { FORMS, kHandle } = require('./common')

class SepalLevel extends AbstractLevel {
  #location

  constructor (location, options) {
    assertLocation(location)

    super({
      encodings: { buffer: true, utf8: true, view: true },
      has: true,
      createIfMissing: true,
      errorIfExists: true,
      explicitSnapshots: true,
      getSync: true,
      additionalMethods: { approximateSize: true, compactRange: true },
      signals: { iterators: true }
    }, options)

    this.#location = location
    this[kHandle] = binding.newHandle()
  }

  get location () {
    return this.#location
  }

  async _open (options) {
    if (options.readOnly) {
      options = { ...options, createIfMissing: false }
    } else if (options.createIfMissing) {
      await fsp.mkdir(this.#location, { recursive: true })
    }
    return binding.open(this[kHandle], this.#location, options)
  }

  async _close () {
    return binding.close(this[kHandle])
  }

  async _put (key, value, options) {
    return binding.put(this[kHandle], key, value, options.sync === true)
  }

  async _del (key, options) {
    return binding.del(this[kHandle], key, options.sync === true)
  }

  async _get (key, options) {
    return binding.get(this[kHandle], key, readForm(options), options.snapshot?.[kHandle])
  }

  _getSync (key, options) {
    return binding.getSync(this[kHandle], key, readForm(options), options.snapshot?.[kHandle])
  }

  async _getMany (keys, options) {
    return binding.getMany(this[kHandle], keys, readForm(options), options.snapshot?.[kHandle])
  }

  async _has (key, options) {
    return binding.has(this[kHandle], key, readForm(options), options.snapshot?.[kHandle])
  }

  async _hasMany (keys, options) {
    return binding.hasMany(this[kHandle], keys, readForm(options), options.snapshot?.[kHandle])
  }

  async _batch (operations, options) {
    const batch = binding.newBatch()
    for (const operation of operations) {
      if (operation.type === 'put') {
        binding.batchPut(batch, operation.key, operation.value)
      } else {
        binding.batchDel(batch, operation.key)
      }
    }
    return binding.batchWrite(this[kHandle], batch, options.sync === true)
  }

  _chainedBatch () {
    return new ChainedBatch(this)
  }

  async _clear (options) {
    const limit = Number.isInteger(options.limit) && options.limit >= 0 ? options.limit : undefined
    return binding.clear(this[kHandle], options, options.reverse === true, limit, options.snapshot?.[kHandle])
  }

  _iterator (options) {
    return new Iterator(this, options)
  }

  _keys (options) {
    return new KeyIterator(this, options)
  }

  _values (options) {
    return new ValueIterator(this, options)
  }

  _snapshot (options) {
    return new Snapshot(this, options)
  }

  async approximateSize (start, end, options) {
    return this.#onRange('approximateSize', start, end, options)
  }

  async compactRange (start, end, options) {
    return this.#onRange('compactRange', start, end, options)
  }

  async #onRange (method, start, end, options) {
    if (arguments.length < 3 || start == null || end == null) {
      throw new TypeError("The arguments 'start' and 'end' are required")
    }
    if (this.status === 'opening') {
      return this.deferAsync(() => this.#onRange(method, start, end, options))
    }
    this.#assertOpen()
    const encoding = this.keyEncoding(options?.keyEncoding)
    return binding[method](this[kHandle], encoding.encode(start), encoding.encode(end))
  }

  getProperty (property) {
    if (typeof property !== 'string') throw new TypeError("The first argument 'property' must be a string")
    this.#assertOpen()
    return binding.getProperty(this[kHandle], property)
  }

  #assertOpen () {
    if (this.status !== 'open') {
      throw new ModuleError('Database is not open', { code: 'LEVEL_DATABASE_NOT_OPEN' })
    }
  }

  static async destroy (location) {
    assertLocation(location)
    return binding.destroy(location)
  }

  static async repair (location) {
    assertLocation(location)
    return binding.repair(location)
  }
}

class Snapshot extends AbstractSnapshot {
  constructor (db, options) {
    // Called first, because a refused object must not become a resource of the database.
    const handle = binding.newSnapshot(db[kHandle])
    super(options)
    this[kHandle] = handle
  }

  async _close () {
    binding.closeSnapshot(this[kHandle])
  }
}

// The encoding of values and whether blocks that are read stay in the cache, as one number. Reads without values have none.
function readForm (options) {
  return (FORMS[options.valueEncoding] ?? FORMS.utf8) | (options.fillCache === false ? 0 : 4)
}

function assertLocation (location) {
  if (typeof location !== 'string' || location === '') {
    throw new TypeError("The first argument 'location' must be a non-empty string")
  }
}

exports.SepalLevel = SepalLevel
// For programs that use this package in place of classic-level.
exports.ClassicLevel = SepalLevel
