'use strict'

require('./suite')
require('./own')
require('./errors')
require('./threads')
require('./guide')
require('./types')
