'use strict'

const { AbstractIterator, AbstractKeyIterator, AbstractValueIterator } = require('abstract-level')
const binding = require('./binding')
const { FORMS, kHandle } = require('./common')

const MOST_ENTRIES = 1000
const MOST_BYTES = 64 * 1024
const NOTHING = Object.freeze([])

// Reads chunks ahead. A chunk is an array that holds an item in each `step` elements.
class Reader {
  #db
  #iterator
  #signal
  #abort = () => binding.iteratorAbort(this.#iterator)
  #mostBytes
  #chunk = NOTHING
  #position = 0
  #size = 1

  constructor (db, options) {
    this.#db = db
    this.#iterator = binding.newIterator(db[kHandle], options, FORMS[options.keyEncoding], FORMS[options.valueEncoding],
      options.snapshot?.[kHandle])
    this.#mostBytes = options.highWaterMarkBytes ?? MOST_BYTES
    this.#signal = options.signal ?? null
    this.#signal?.addEventListener('abort', this.#abort, { once: true })
  }

  // The item of the last next() begins at this element of this chunk.
  get chunk () { return this.#chunk }
  get position () { return this.#position }

  // Moves to the next item if it is here already.
  advance (step) {
    const next = this.#position + step
    if (next >= this.#chunk.length) return false
    this.#position = next
    return true
  }

  // Reads a chunk, and moves to its first item. The first chunk has a single item, because often no more is needed.
  async fill (step) {
    this.#chunk = await this.#read(this.#size)
    this.#size = MOST_ENTRIES
    this.#position = 0
    if (this.#chunk.length > 0) return true
    this.#position = -step
    return false
  }

  // Returns the items that were read ahead, or a new chunk; at most `size` items.
  async take (size, step) {
    this.#size = MOST_ENTRIES
    const begin = this.#position + step
    if (begin >= this.#chunk.length) return this.#read(size)
    const end = Math.min(this.#chunk.length, begin + size * step)
    this.#position = end - step
    return this.#chunk.slice(begin, end)
  }

  async #read (size) {
    return binding.iteratorNext(this.#db[kHandle], this.#iterator, size, this.#mostBytes)
  }

  seek (target) {
    binding.iteratorSeek(this.#iterator, target)
    this.#chunk = NOTHING
    this.#position = 0
    this.#size = 1
  }

  close () {
    this.#chunk = NOTHING
    this.#signal?.removeEventListener('abort', this.#abort)
    binding.iteratorClose(this.#iterator)
  }
}

class Iterator extends AbstractIterator {
  #reader
  #keys
  #values

  constructor (db, options) {
    // Called first, because a refused object must not become a resource of the database.
    const reader = new Reader(db, options)
    super(db, options)
    this.#keys = options.keys !== false
    this.#values = options.values !== false
    this.#reader = reader
  }

  get #step () { return this.#keys && this.#values ? 2 : 1 }

  #entry (chunk, i) {
    if (this.#values) return this.#keys ? [chunk[i], chunk[i + 1]] : [undefined, chunk[i]]
    return [this.#keys ? chunk[i] : undefined, undefined]
  }

  async _next () {
    const reader = this.#reader
    if (!reader.advance(this.#step) && !(await reader.fill(this.#step))) return undefined
    return this.#entry(reader.chunk, reader.position)
  }

  async _nextv (size) {
    const step = this.#step
    const chunk = await this.#reader.take(size, step)
    const entries = new Array(chunk.length / step)
    for (let i = 0, entry = 0; i < chunk.length; i += step) entries[entry++] = this.#entry(chunk, i)
    return entries
  }

  _seek (target) {
    this.#reader.seek(target)
  }

  async _close () {
    this.#reader.close()
  }
}

// Iterators over only keys or only values, which are the items of the chunks.
const over = (Base, part) => class extends Base {
  #reader

  constructor (db, options) {
    const reader = new Reader(db, { ...options, keys: part === 'keys', values: part === 'values' })
    super(db, options)
    this.#reader = reader
  }

  async _next () {
    const reader = this.#reader
    if (!reader.advance(1) && !(await reader.fill(1))) return undefined
    return reader.chunk[reader.position]
  }

  async _nextv (size) {
    return this.#reader.take(size, 1)
  }

  _seek (target) {
    this.#reader.seek(target)
  }

  async _close () {
    this.#reader.close()
  }
}

exports.Iterator = Iterator
exports.KeyIterator = over(AbstractKeyIterator, 'keys')
exports.ValueIterator = over(AbstractValueIterator, 'values')
