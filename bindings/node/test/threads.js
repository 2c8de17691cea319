'use strict'

const test = require('tape')
const path = require('path')
const { spawnSync } = require('child_process')
const { Worker } = require('worker_threads')
const { SepalLevel } = require('..')
const { temporary } = require('./helpers')

const PACKAGE = JSON.stringify(path.dirname(__dirname))

// Runs the body of an async function in a worker, with SepalLevel and its data, and resolves to what it posts.
function inWorker (body, workerData) {
  const code = `const { parentPort, workerData } = require('worker_threads')
    const { SepalLevel } = require(${PACKAGE});
    (async () => { ${body} })().catch(error => parentPort.postMessage({ code: error.code, cause: error.cause?.code }))`
  const worker = new Worker(code, { eval: true, workerData })
  const message = new Promise((resolve, reject) => {
    worker.once('message', resolve)
    worker.once('error', reject)
  })
  return { worker, message, ended: new Promise(resolve => worker.once('exit', resolve)) }
}

test('threads share one database by its location', async function (t) {
  const location = temporary()
  const db = new SepalLevel(location, { multithreading: true })
  await db.open()
  const write = `const db = new SepalLevel(workerData.location, { multithreading: true })
    for (let i = 0; i < 500; i++) await db.put(workerData.name + i, workerData.name)
    await db.close()
    parentPort.postMessage('done')`
  const workers = ['a', 'b', 'c'].map(name => inWorker(write, { location: location + '/../' + path.basename(location), name }))
  t.same(await Promise.all(workers.map(({ message }) => message)), ['done', 'done', 'done'])
  await Promise.all(workers.map(({ ended }) => ended))
  t.is((await db.keys().all()).length, 1500, 'it stays open')
  const second = new SepalLevel(location, { multithreading: true })
  await second.open()
  await db.close()
  t.is(await second.get('a0'), 'a', 'it stays open for the others')
  await second.close()
  const alone = new SepalLevel(location)
  await alone.open()
  t.pass('the last one closed it')
  await alone.close()
})

test('without the option it is locked', async function (t) {
  const location = temporary()
  const db = new SepalLevel(location, { multithreading: true })
  await db.open()
  const open = 'await new SepalLevel(workerData).open()'
  t.same(await inWorker(open, location).message, { code: 'LEVEL_DATABASE_NOT_OPEN', cause: 'LEVEL_LOCKED' })
  await db.close()
})

test('a worker that is ended gives its databases back', async function (t) {
  const location = temporary()
  const busy = `const db = new SepalLevel(workerData)
    await db.put('first', 'v')
    db.iterator().next(); db.snapshot()
    for (let i = 0; i < 2000; i++) { db.put('k' + i, 'v'); db.get('k' + i); db.getMany(['a', 'b']) }
    parentPort.postMessage('busy')
    while (true) await db.put('k', 'v')`
  for (let i = 0; i < 5; i++) {
    const { worker, message } = inWorker(busy, location)
    t.is(await message, 'busy')
    await worker.terminate()
    const db = new SepalLevel(location)
    t.is(await db.get('first'), 'v')
    await db.close()
  }
})

test('close() waits for what runs and is queued', async function (t) {
  const location = temporary()
  for (let round = 0; round < 5; round++) {
    const db = new SepalLevel(location)
    await db.open()
    const calls = []
    for (let i = 0; i < 500; i++) calls.push(db.put(`${round}-${i}`, 'v'), db.get(`${round}-${i}`), db.getMany(['a']))
    const reads = [db.keys().all(), db.values().all(), db.iterator().nextv(100)]
    await db.close()
    const settled = await Promise.allSettled([...calls, ...reads])
    const failed = settled.slice(0, calls.length).filter(({ status }) => status === 'rejected')
    t.same(failed, [])
  }
  const db = new SepalLevel(location)
  t.is((await db.keys().all()).length, 2500)
  await db.close()
})

test('closing and opening by turns', async function (t) {
  const db = new SepalLevel(temporary())
  for (let i = 0; i < 20; i++) {
    db.close().catch(() => {})
    db.open().catch(() => {})
  }
  await db.open()
  await db.put('k', 'v')
  t.is(await db.get('k'), 'v')
  await db.close()
})

test('a process ends whatever runs', function (t) {
  const code = end => `const { SepalLevel } = require(${PACKAGE})
    const db = new SepalLevel(${JSON.stringify(temporary())});
    (async () => {
      await db.put('first', 'v')
      for (let i = 0; i < 3000; i++) { db.put('k' + i, 'v'); db.get('k' + i); db.keys({ limit: 10 }).all() }
      await db.get('first')
      ${end}
    })()`
  for (const [end, status] of [['process.exit(3)', 3], ['', 0], ['setImmediate(() => process.exit(4))', 4]]) {
    const child = spawnSync(process.execPath, ['-e', code(end)], { encoding: 'utf8' })
    t.same([child.status, child.signal, child.stderr], [status, null, ''])
  }
  t.end()
})
