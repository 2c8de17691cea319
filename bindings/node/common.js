'use strict'

// The addon's part of an object.
exports.kHandle = Symbol('handle')

// The addon's numbers for encodings of data.
exports.FORMS = Object.freeze({ utf8: 0, buffer: 1, view: 2 })
