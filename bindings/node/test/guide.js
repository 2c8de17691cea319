'use strict'

// The examples of docs/guide/node.md, in order. A comment behind an expression says what it gives, if that is a value.

const test = require('tape')
const assert = require('assert')
const fs = require('fs')
const path = require('path')
const { SepalLevel } = require('..')
const { temporary } = require('./helpers')

const guide = [path.join(__dirname, 'guide.md'), path.join(__dirname, '../../../docs/guide/node.md')].find(fs.existsSync)

test('the examples of the guide', { skip: guide === undefined && 'the guide is not here' }, async function (t) {
  const directory = temporary()
  const blocks = [...fs.readFileSync(guide, 'utf8').matchAll(/^```js\n([^]*?)^```$/mg)].map(match => match[1])
  t.ok(blocks.length >= 2)
  let checks = 0
  const code = blocks.join('').replaceAll('/var/lib', directory)
    .replace(/^(await .*|\w+\..*\)) \/\/ ('.*'|\{.*\}|\[.*\]|true|false|undefined)(;.*)?$/mg, (line, expression, value) => {
      checks++
      return `assert.deepStrictEqual(${expression}, ${value})`
    })
  const run = new Function('require', 'console', 'assert', `return (async () => { ${code} })()`) // eslint-disable-line no-new-func
  const printed = []
  await run(() => ({ SepalLevel }), { log: (...words) => printed.push(words.join(' ')) }, assert)
  t.same(printed, ['apple red', 'grape blue'])
  t.is(checks, 9)
})
