'use strict'

// The addon's part of an object.
exports.kHandle = Symbol('handle')

// The addon's numbers of the encodings in which it takes and gives data.
exports.FORMS = Object.freeze({ utf8: 0, buffer: 1, view: 2 })
