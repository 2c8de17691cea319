'use strict'

const test = require('tape')
const fs = require('fs')
const path = require('path')
const { spawnSync } = require('child_process')
const { SepalLevel } = require('..')
const binding = require('../binding')
const { rejects, temporary } = require('./helpers')

// The code of what opening failed with.
const causeOf = db => db.open().then(() => null, error => error.cause.code)

test('locations and options of wrong types', async function (t) {
  for (const location of [undefined, null, '', 1, {}, Buffer.from('x')]) {
    t.throws(() => new SepalLevel(location), TypeError)
    await rejects(t, SepalLevel.destroy(location), TypeError)
    await rejects(t, SepalLevel.repair(location), TypeError)
  }
  const wrong = [{ memoryLimit: 'x' }, { memoryLimit: -1 }, { compression: 'brotli' }, { compression: 1 }, { readOnly: 1 },
    { logDirectory: 1 }, { blockSize: NaN }]
  for (const options of wrong) {
    const db = new SepalLevel(temporary(), options)
    await db.open().then(() => t.fail(), error => t.ok(error.cause instanceof TypeError, error.cause.message))
  }
  t.is(await causeOf(new SepalLevel(temporary(), { blockSize: 1 })), 'LEVEL_INVALID_ARGUMENT')
})

test('databases that cannot be opened', async function (t) {
  const location = temporary()
  t.is(await causeOf(new SepalLevel(location, { createIfMissing: false })), 'LEVEL_NOT_FOUND')
  const db = new SepalLevel(location)
  await db.open()
  t.is(await causeOf(new SepalLevel(location)), 'LEVEL_LOCKED')
  const other = `new (require(${JSON.stringify(path.dirname(__dirname))}).SepalLevel)(${JSON.stringify(location)}).open()
    .catch(error => console.log(error.code, error.cause.code))`
  t.is(spawnSync(process.execPath, ['-e', other], { encoding: 'utf8' }).stdout,
    'LEVEL_DATABASE_NOT_OPEN LEVEL_LOCKED\n')
  await db.close()
  t.is(await causeOf(new SepalLevel(location, { errorIfExists: true })), 'LEVEL_ALREADY_EXISTS')
  const foreign = temporary()
  fs.mkdirSync(foreign)
  fs.writeFileSync(path.join(foreign, 'CURRENT'), 'MANIFEST-000001\n')
  t.is(await causeOf(new SepalLevel(foreign)), 'LEVEL_FAILED_PRECONDITION')
  t.is(fs.readFileSync(path.join(foreign, 'CURRENT'), 'utf8'), 'MANIFEST-000001\n')
})

test('damage is LEVEL_CORRUPTION', async function (t) {
  const location = temporary()
  const db = new SepalLevel(location)
  for (let i = 0; i < 1000; i++) db.put('k' + i, 'v'.repeat(100))
  await db.put('last', 'v')
  await db.compactRange('a', 'z')
  await db.close()
  for (const name of fs.readdirSync(location).filter(name => name.endsWith('.sst'))) {
    const file = path.join(location, name)
    const bytes = fs.readFileSync(file)
    bytes.fill(0x5a, 200, 3000)
    fs.writeFileSync(file, bytes)
  }
  const damaged = new SepalLevel(location)
  await rejects(t, damaged.keys().all(), { code: 'LEVEL_CORRUPTION' })
  t.throws(() => damaged.getSync('k0'), { code: 'LEVEL_CORRUPTION' })
  await rejects(t, damaged.get('k0'), { code: 'LEVEL_CORRUPTION' })
  await rejects(t, damaged.getMany(['k0', 'k1']), { code: 'LEVEL_CORRUPTION' })
  const outcomes = await Promise.allSettled(['k0', 'k1', 'absent'].map(key => damaged.get(key)))
  t.is(outcomes[1].reason.code, 'LEVEL_CORRUPTION')
  await damaged.close()
  t.match(await SepalLevel.repair(location), /dropped|lost/)
  const repaired = new SepalLevel(location)
  t.ok((await repaired.keys().all()).length > 0)
  await repaired.close()
})

test('what the engine refuses', async function (t) {
  const db = new SepalLevel(temporary(), { memoryLimit: 16 << 20 })
  await db.open()
  const refused = { code: 'LEVEL_INVALID_ARGUMENT' }
  await rejects(t, db.put('k'.repeat(17_000_000), 'v'), refused)
  await rejects(t, db.put('k', 'v'.repeat(5 << 20)), refused)
  await rejects(t, db.batch([{ type: 'put', key: 'a', value: 'v' }, { type: 'del', key: 'k'.repeat(17_000_000) }]), refused)
  const [good, bad] = await Promise.allSettled([db.put('good', 'v'), db.put('k'.repeat(17_000_000), 'v'), db.put('more', 'v')])
  t.is(good.status, 'fulfilled')
  t.is(bad.reason.code, 'LEVEL_INVALID_ARGUMENT')
  t.same(await db.keys().all(), ['good', 'more'])
  await rejects(t, db.approximateSize('z'), TypeError)
  await rejects(t, db.compactRange('z', 'a'), refused)
  t.throws(() => db.getProperty(1), TypeError)
  await db.close()
})

test('the addon refuses what its own files never give it', async function (t) {
  const handle = binding.newHandle()
  const batch = binding.newBatch()
  for (const [name, call] of Object.entries(binding)) {
    if (name === 'newHandle' || name === 'newBatch') continue
    for (const first of [undefined, null, 1, 'x', {}, [], batch, handle]) {
      if (typeof first === 'string' && ['destroy', 'repair'].includes(name)) continue
      if (first === batch && name.startsWith('batch')) continue
      if (first === handle && name === 'close') continue
      t.throws(() => call(first, {}, {}, {}, {}), Error, name)
    }
  }
  for (const value of [1, null, undefined, {}, [], Symbol('x'), () => {}]) {
    t.throws(() => binding.batchPut(batch, 'k', value), TypeError)
    t.throws(() => binding.batchDel(batch, value), TypeError)
  }
})

test('after the end', async function (t) {
  const db = new SepalLevel(temporary())
  await db.put('k', 'v')
  const iterator = db.iterator()
  const snapshot = db.snapshot()
  const batch = db.batch().put('x', 'y')
  await iterator.next()
  await db.close()
  const closed = { code: 'LEVEL_DATABASE_NOT_OPEN' }
  await rejects(t, db.get('k'), closed)
  await rejects(t, db.put('k', 'v'), closed)
  await rejects(t, db.clear(), closed)
  await rejects(t, db.compactRange('a', 'b'), closed)
  t.throws(() => db.getSync('k'), closed)
  t.throws(() => db.getProperty('sepal.stats'), closed)
  t.throws(() => db.iterator(), closed)
  t.throws(() => db.snapshot(), closed)
  await rejects(t, iterator.next(), { code: 'LEVEL_ITERATOR_NOT_OPEN' })
  await rejects(t, iterator.nextv(10), { code: 'LEVEL_ITERATOR_NOT_OPEN' })
  iterator.seek('k')
  t.throws(() => snapshot.ref(), { code: 'LEVEL_SNAPSHOT_NOT_OPEN' })
  t.throws(() => batch.put('x', 'y'), { code: 'LEVEL_BATCH_NOT_OPEN' })
  await db.open()
  t.is(await db.get('k'), 'v')
  await rejects(t, iterator.next(), { code: 'LEVEL_ITERATOR_NOT_OPEN' })
  t.throws(() => db.getSync('k', { snapshot }), { code: 'LEVEL_SNAPSHOT_NOT_OPEN' })
  await db.close()
})

test('a snapshot of another database is refused', async function (t) {
  const [one, two] = [new SepalLevel(temporary()), new SepalLevel(temporary())]
  await Promise.all([one.open(), two.open()])
  const snapshot = one.snapshot()
  await rejects(t, two.get('k', { snapshot }), { code: 'LEVEL_INVALID_ARGUMENT' })
  await rejects(t, two.iterator({ snapshot }).next(), { code: 'LEVEL_INVALID_ARGUMENT' })
  await Promise.all([one.close(), two.close()])
})
