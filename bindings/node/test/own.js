'use strict'

const test = require('tape')
const { SepalLevel } = require('..')
const { rejects, temporary } = require('./helpers')

// The name, a function of a database that is open, and its options.
function testOpen (name, run, options) {
  test(name, async function (t) {
    const db = new SepalLevel(temporary(), options)
    await db.open()
    await run(t, db)
    await db.close()
  })
}

const number = i => String(i).padStart(8, '0')
const range = (count, make) => Array.from({ length: count }, (_, i) => make(i))

testOpen('writes that are not awaited keep their order', async function (t, db) {
  const writes = []
  for (let i = 0; i < 2000; i++) {
    writes.push(db.put('k', number(i)), i % 2 === 0 ? db.del('odd') : db.put('odd', number(i)))
  }
  writes.push(db.batch([{ type: 'del', key: 'odd' }]), db.put('k', 'last'))
  await Promise.all(writes)
  t.is(await db.get('k'), 'last')
  t.is(await db.get('odd'), undefined)
})

testOpen('synced writes beside others', async function (t, db) {
  await Promise.all(range(300, i => db.put(number(i), 'v', { sync: i % 3 === 0 })))
  await db.batch([{ type: 'put', key: 'b', value: 'v' }], { sync: true })
  await db.batch().put('c', 'v').write({ sync: true })
  await db.del('b', { sync: true })
  t.is((await db.keys().all()).length, 301)
})

testOpen('reads that are not awaited', async function (t, db) {
  await db.batch(range(3000, i => ({ type: 'put', key: number(i), value: 'v' + i })))
  const values = await Promise.all(range(4000, i => db.get(number(i))))
  t.same(values, range(4000, i => i < 3000 ? 'v' + i : undefined))
  const found = await Promise.all(range(4000, i => db.has(number(i), { fillCache: i % 2 === 0 })))
  t.same(found, range(4000, i => i < 3000))
  t.same(await db.getMany(range(4000, number)), values)
  t.same(await db.hasMany(range(4000, number)), found)
})

testOpen('text, buffers and views', async function (t, db) {
  const texts = ['', 'a', 'é', '漢字', '😀', 'x'.repeat(507), 'x'.repeat(508), 'é'.repeat(255), '漢'.repeat(171), '漢'.repeat(5000)]
  for (const text of texts) {
    await db.put('k' + text, text)
    const bytes = Buffer.from(text)
    t.is(db.getSync('k' + text), text)
    t.same(await db.get('k' + text, { valueEncoding: 'buffer' }), bytes)
    const view = await db.get(new Uint8Array(Buffer.from('k' + text)), { keyEncoding: 'view', valueEncoding: 'view' })
    t.is(view.constructor, Uint8Array)
    t.same(Buffer.from(view), bytes)
  }
  const all = await db.iterator().all()
  t.same(new Map(all), new Map(texts.map(text => ['k' + text, text])))
  t.same(await db.values({ valueEncoding: 'buffer' }).all(), all.map(([, value]) => Buffer.from(value)))
  await db.put(Buffer.from([0, 255]), Buffer.from([255, 0]), { keyEncoding: 'buffer', valueEncoding: 'buffer' })
  t.same(await db.iterator({ keyEncoding: 'buffer', valueEncoding: 'buffer', limit: 1 }).all(),
    [[Buffer.from([0, 255]), Buffer.from([255, 0])]])
})

testOpen('nextv() stops at the high-water mark', async function (t, db) {
  await db.batch(range(500, i => ({ type: 'put', key: number(i), value: 'v'.repeat(92) })))
  for (const [bytes, most] of [[0, 1], [1000, 10], [1e9, 500]]) {
    const iterator = db.iterator({ highWaterMarkBytes: bytes })
    t.is((await iterator.nextv(1000)).length, most)
    await iterator.close()
    const seen = []
    for await (const key of db.keys({ highWaterMarkBytes: bytes })) seen.push(key)
    t.same(seen, range(500, number))
  }
})

testOpen('next() and nextv() by turns, and seeks in between', async function (t, db) {
  await db.batch(range(100, i => ({ type: 'put', key: number(i), value: 'v' + i })))
  for (const reverse of [false, true]) {
    const at = i => reverse ? 99 - i : i
    const iterator = db.iterator({ reverse })
    t.same(await iterator.next(), [number(at(0)), 'v' + at(0)])
    t.same(await iterator.next(), [number(at(1)), 'v' + at(1)])
    t.same((await iterator.nextv(3)).map(([key]) => key), [2, 3, 4].map(i => number(at(i))))
    t.is((await iterator.next())[0], number(at(5)))
    iterator.seek(number(50))
    t.is((await iterator.nextv(2))[1][0], number(reverse ? 49 : 51))
    iterator.seek(reverse ? number(0) + 'x' : number(98) + 'x')
    t.is((await iterator.nextv(10)).length, 1)
    t.is(await iterator.next(), undefined)
    await iterator.close()
  }
})

testOpen('clear() of ranges, in one update', async function (t, db) {
  const fill = () => db.batch(range(10, i => ({ type: 'put', key: 'k' + i, value: 'v' })))
  const left = async options => {
    await fill()
    await db.clear(options)
    return (await db.keys().all()).join('')
  }
  t.is(await left({ gt: 'k2', lt: 'k8' }), 'k0k1k2k8k9')
  t.is(await left({ gte: 'k2', lte: 'k8' }), 'k0k1k9')
  t.is(await left({ gte: 'k5' }), 'k0k1k2k3k4')
  t.is(await left({ gt: 'k8', lt: 'k2' }), 'k0k1k2k3k4k5k6k7k8k9')
  t.is(await left({ limit: 3, reverse: true }), 'k0k1k2k3k4k5k6')
  t.is(await left({ gte: 'x'.repeat(17_000_000) }), 'k0k1k2k3k4k5k6k7k8k9')
  t.is(await left({}), '')
  await fill()
  const snapshot = db.snapshot()
  await db.put('k5x', 'later')
  await db.clear({ snapshot, gt: 'k4' })
  t.is((await db.keys().all()).join(''), 'k0k1k2k3k4k5x')
  await snapshot.close()
})

testOpen('sizes, compactions and properties', async function (t, db) {
  await db.batch(range(20000, i => ({ type: 'put', key: number(i), value: 'v' + i })))
  await db.compactRange(number(0), number(30000))
  t.ok(await db.approximateSize(number(0), number(30000)) > 10000)
  t.is(await db.approximateSize('x', 'y'), 0)
  t.ok(await db.approximateSize(Buffer.from('0'), Buffer.from('1'), { keyEncoding: 'buffer' }) > 10000)
  t.ok(db.getProperty('sepal.stats').length > 0)
  t.is(db.getProperty('leveldb.num-entries'), '20000')
  t.is(db.getProperty('sepal.unknown'), '')
})

test('calls before the database is open wait for it', async function (t) {
  const db = new SepalLevel(temporary())
  t.is(await db.approximateSize('a', 'z'), 0)
  await db.close()
  t.end()
})

test('options of the engine', async function (t) {
  const location = temporary()
  const options = {
    compression: 'zstd', blockSize: 16384, memoryLimit: 64 << 20, backgroundThreads: 1, infoLog: false, cacheSize: 1, maxFileSize: 1
  }
  const db = new SepalLevel(location, options)
  await db.put('k', 'v')
  t.match(db.getProperty('sepal.options'), /block_bytes: 16384/)
  await db.close()
  const reader = new SepalLevel(location, { readOnly: true })
  t.is(await reader.get('k'), 'v')
  await rejects(t, reader.put('k', 'w'), { code: 'LEVEL_FAILED_PRECONDITION' })
  await reader.close()
})

test('a view follows its writer', async function (t) {
  const location = temporary()
  const db = new SepalLevel(location)
  await db.put('k', 'v')
  const view = new SepalLevel(location, { readOnly: true, followMilliseconds: 1 })
  await view.open()
  await db.put('k', 'w')
  while (await view.get('k') !== 'w') await new Promise(resolve => setTimeout(resolve, 1))
  t.is(await view.get('k'), 'w')
  await view.close()
  await db.close()
})

test('destroy() and repair()', async function (t) {
  const location = temporary()
  const db = new SepalLevel(location)
  await db.put('k', 'v')
  await rejects(t, SepalLevel.destroy(location), { code: 'LEVEL_LOCKED' })
  await db.close()
  t.match(await SepalLevel.repair(location), /nothing was wrong/)
  await SepalLevel.destroy(location)
  t.is(require('fs').existsSync(location), false)
})

test('a database is closed when nothing refers to it', async function (t) {
  const location = temporary()
  await (async () => {
    const db = new SepalLevel(location)
    await db.put('k', 'v')
    const iterator = db.iterator()
    await iterator.next()
    db.snapshot()
    db.batch().put('never', 'written')
  })()
  let opened = null
  for (let i = 0; i < 100 && opened === null; i++) {
    global.gc()
    await new Promise(resolve => setTimeout(resolve, 20))
    const db = new SepalLevel(location)
    opened = await db.open().then(() => db, () => null)
  }
  t.is(await opened.get('k'), 'v')
  t.is(await opened.get('never'), undefined)
  await opened.close()
})

testOpen('garbage is collected while calls run', async function (t, db) {
  await db.batch(range(2000, i => ({ type: 'put', key: number(i), value: 'v' })))
  const calls = []
  for (let i = 0; i < 200; i++) {
    calls.push(db.get(number(i)), db.put(number(i), 'w'), db.getMany([number(i), 'x']), db.keys({ limit: 20 }).all())
    if (i % 20 === 0) global.gc()
  }
  const results = await Promise.all(calls)
  t.is(results[3].length, 20)
})
