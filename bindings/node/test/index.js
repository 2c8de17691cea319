'use strict'

require('./suite')
require('./own')
require('./errors')
require('./threads')
require('./types')
