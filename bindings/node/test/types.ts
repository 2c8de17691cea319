// Compiled, and not run.
import { SepalLevel, ClassicLevel, OpenOptions } from '..'

async function example (): Promise<void> {
  const options: OpenOptions = { memoryLimit: 1 << 28, compression: 'zstd', multithreading: true }
  const db = new SepalLevel<string, { n: number }>('location', { valueEncoding: 'json', ...options })
  await db.open({ readOnly: false })
  await db.put('a', { n: 1 }, { sync: true })
  const value: { n: number } | undefined = await db.get('a')
  const same: { n: number } | undefined = db.getSync('a', { fillCache: false })
  const many: Array<{ n: number } | undefined> = await db.getMany(['a', 'b'])
  const exists: boolean = await db.has('a')
  await db.batch([{ type: 'put', key: 'b', value: { n: 2 } }, { type: 'del', key: 'a' }], { sync: true })
  await db.batch().put('c', { n: 3 }).del('b').write({ sync: false })
  for await (const [key, entry] of db.iterator({ gte: 'a', highWaterMarkBytes: 1024 })) key.concat(String(entry.n))
  const keys: string[] = await db.keys({ reverse: true, limit: 2 }).all()
  const snapshot = db.snapshot()
  await db.get('a', { snapshot })
  await snapshot.close()
  const size: number = await db.approximateSize('a', 'z')
  const bytes: Buffer | undefined = await db.get<string, Buffer>('a', { valueEncoding: 'buffer' })
  await db.compactRange('a', 'z')
  await db.clear({ gt: 'a' })
  const text: string = db.getProperty('sepal.stats') + await SepalLevel.repair(db.location)
  await SepalLevel.destroy(db.location)
  // @ts-expect-error: keys are strings
  await db.put(1, { n: 1 })
  // @ts-expect-error: no such codec
  const wrong: OpenOptions = { compression: 'brotli' }
  const classic: ClassicLevel = new ClassicLevel('location')
  console.log(value, same, many, exists, keys, size, bytes, text, wrong, classic)
}

example().catch(console.error)
