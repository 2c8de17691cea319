// put, batch, get, getSync, getMany and iteration of sepal-level, and of classic-level where that is installed, in one run.
//
//     node bindings/node/bench.mjs [entries] [rounds]
//
// Both open a database with their default options. Keys have 16 random digits and values 100 letters. The rounds of the
// two alternate, each in a new database. "in turn" awaits each call before the next one; "together" has 100 in flight. All
// figures are medians over the rounds: the rates, how many times classic-level's rate sepal-level's is, and how many times
// sepal-level's processor time classic-level takes, that of all its threads.

import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { createRequire } from 'node:module'

const require = createRequire(import.meta.url)
const { SepalLevel } = require('./index.js')
const engines = new Map([['sepal', SepalLevel]])
try {
  engines.set('classic', require('classic-level').ClassicLevel)
} catch {
  console.error('classic-level is not installed (npm install --no-save classic-level): sepal-level is measured alone')
}

const entries = Number(process.argv[2] ?? 100_000)
const rounds = Number(process.argv[3] ?? 3)

// A generator whose keys are the same in each run.
let state = 1n
function digits () {
  state = (state * 6364136223846793005n + 1442695040888963407n) & 0xffffffffffffffffn
  return String(state % 10_000_000_000_000_000n).padStart(16, '0')
}
const keys = Array.from({ length: entries }, digits)
const some = keys.slice(0, Math.ceil(entries / 10))
const shuffled = keys.map((key, i) => [BigInt(key) * 2654435761n % 1000003n, i]).sort((a, b) => Number(a[0] - b[0]))
  .map(([, i]) => keys[i])
const value = 'v'.repeat(100)

async function together (items, call) {
  for (let i = 0; i < items.length; i += 100) await Promise.all(items.slice(i, i + 100).map(call))
}

// Each has the number of its operations and what it does; the first ones fill the database.
const measures = {
  'put, together': [entries, db => together(keys, key => db.put(key, value))],
  'put, in turn': [some.length, async db => { for (const key of some) await db.put(key, value) }],
  getSync: [entries, db => { for (const key of shuffled) db.getSync(key) }],
  'get, together': [entries, db => together(shuffled, key => db.get(key))],
  'get, in turn': [some.length, async db => { for (const key of some) await db.get(key) }],
  'getMany, 1000 keys': [entries, async db => {
    for (let i = 0; i < entries; i += 1000) await db.getMany(shuffled.slice(i, i + 1000))
  }],
  'iterator, nextv(1000)': [entries, async db => {
    const iterator = db.iterator()
    while ((await iterator.nextv(1000)).length > 0);
    await iterator.close()
  }],
  'iterator, for await': [entries, async db => {
    for await (const [key] of db.iterator()) if (key === '') break // eslint-disable-line no-unused-vars
  }],
  'batch, 1000 puts': [entries, async db => {
    for (let i = 0; i < entries; i += 1000) {
      await db.batch(keys.slice(i, i + 1000).map(key => ({ type: 'put', key, value })))
    }
  }],
  'chained batch, 1000 puts': [entries, async db => {
    for (let i = 0; i < entries; i += 1000) {
      const batch = db.batch()
      for (const key of keys.slice(i, i + 1000)) batch.put(key, value)
      await batch.write()
    }
  }]
}

async function measure (Level) {
  const results = {}
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'bench-'))
  const db = new Level(path.join(directory, 'db'))
  await db.open()
  for (const [name, [operations, run]] of Object.entries(measures)) {
    const begin = process.hrtime.bigint()
    const processor = process.cpuUsage()
    await run(db)
    const { user, system } = process.cpuUsage(processor)
    results[name] = {
      rate: operations * 1e9 / Number(process.hrtime.bigint() - begin), processor: (user + system) / operations
    }
  }
  await db.close()
  fs.rmSync(directory, { recursive: true })
  return results
}

const measured = []
for (let round = 0; round < rounds; round++) {
  const results = []
  for (const Level of engines.values()) results.push(await measure(Level))
  measured.push(results)
}
const median = numbers => {
  const sorted = numbers.sort((a, b) => a - b)
  return (sorted[Math.floor((sorted.length - 1) / 2)] + sorted[Math.floor(sorted.length / 2)]) / 2
}
const column = (number, digits) =>
  number.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits }).padStart(12)
console.log('operations/s'.padEnd(26) + ['sepal', 'classic', 'ratio', 'processor'].map(s => s.padStart(12)).join(''))
for (const name of Object.keys(measures)) {
  const columns = [median(measured.map(([ours]) => ours[name].rate))]
  if (engines.has('classic')) {
    columns.push(median(measured.map(([, theirs]) => theirs[name].rate)),
      median(measured.map(([ours, theirs]) => ours[name].rate / theirs[name].rate)),
      median(measured.map(([ours, theirs]) => theirs[name].processor / ours[name].processor)))
  }
  console.log(name.padEnd(26) + columns.map((number, i) => column(number, i < 2 ? 0 : 1)).join(''))
}
