import {
  AbstractLevel,
  AbstractDatabaseOptions,
  AbstractOpenOptions,
  AbstractGetOptions,
  AbstractGetManyOptions,
  AbstractHasOptions,
  AbstractHasManyOptions,
  AbstractPutOptions,
  AbstractDelOptions,
  AbstractBatchOperation,
  AbstractBatchOptions,
  AbstractChainedBatch,
  AbstractChainedBatchWriteOptions,
  AbstractClearOptions,
  AbstractIterator,
  AbstractIteratorOptions,
  AbstractKeyIterator,
  AbstractKeyIteratorOptions,
  AbstractSnapshot,
  AbstractValueIterator,
  AbstractValueIteratorOptions,
  Transcoder
} from 'abstract-level'

/** The options of opening. docs/reference/options.md of Sepal explains those of the engine. */
export interface OpenOptions extends AbstractOpenOptions {
  /** A view as of the opening, also beside a process that writes. Default: false. */
  readOnly?: boolean | undefined
  /** With `readOnly`: the view comes to what its writer has written by itself, so many milliseconds after each time.
      Default: 0, never. */
  followMilliseconds?: number | undefined
  /** Share the database with others of this process that open it with this option, in any thread. Default: false. */
  multithreading?: boolean | undefined
  /** Bytes of memory for everything. Default: 256 MiB. */
  memoryLimit?: number | undefined
  /** The directory of the logs. Default: that of the database. */
  logDirectory?: string | undefined
  /** True is snappy. Default: true. */
  compression?: boolean | 'none' | 'snappy' | 'lz4' | 'zstd' | undefined
  /** Bytes of a block before compression. Default: 4096. */
  blockSize?: number | undefined
  backgroundThreads?: number | undefined
  directReads?: boolean | undefined
  infoLog?: boolean | undefined
  /** LevelDB's. Where it and four of `writeBufferSize` come to more than 256 MiB, that is the memory limit. */
  cacheSize?: number | undefined
  writeBufferSize?: number | undefined
  /** LevelDB's, without effect. */
  maxOpenFiles?: number | undefined
  blockRestartInterval?: number | undefined
  maxFileSize?: number | undefined
}

export interface DatabaseOptions<K, V> extends AbstractDatabaseOptions<K, V>, Omit<OpenOptions, 'passive'> {}

export interface ReadOptions {
  /** Keep blocks that are read in the cache. Default: true. */
  fillCache?: boolean | undefined
}

export interface WriteOptions {
  /** Return only once the write is durable against power loss. Default: false. */
  sync?: boolean | undefined
}

export interface AdditionalIteratorOptions extends ReadOptions {
  /** About how many bytes are read ahead. Default: 64 KiB. */
  highWaterMarkBytes?: number | undefined
}

export interface StartEndOptions<K> {
  keyEncoding?: string | Transcoder.PartialEncoder<K> | undefined
}

export interface GetOptions<K, V> extends AbstractGetOptions<K, V>, ReadOptions {}
export interface GetManyOptions<K, V> extends AbstractGetManyOptions<K, V>, ReadOptions {}
export interface HasOptions<K> extends AbstractHasOptions<K>, ReadOptions {}
export interface HasManyOptions<K> extends AbstractHasManyOptions<K>, ReadOptions {}
export interface PutOptions<K, V> extends AbstractPutOptions<K, V>, WriteOptions {}
export interface DelOptions<K> extends AbstractDelOptions<K>, WriteOptions {}
export interface BatchOptions<K, V> extends AbstractBatchOptions<K, V>, WriteOptions {}
export interface ChainedBatchWriteOptions extends AbstractChainedBatchWriteOptions, WriteOptions {}
export type IteratorOptions<K, V> = AbstractIteratorOptions<K, V> & AdditionalIteratorOptions
export type KeyIteratorOptions<K> = AbstractKeyIteratorOptions<K> & AdditionalIteratorOptions
export type ValueIteratorOptions<K, V> = AbstractValueIteratorOptions<K, V> & AdditionalIteratorOptions

export type BatchOperation<TDatabase, K, V> = AbstractBatchOperation<TDatabase, K, V>
export type Iterator<TDatabase, K, V> = AbstractIterator<TDatabase, K, V>
export type KeyIterator<TDatabase, K> = AbstractKeyIterator<TDatabase, K>
export type ValueIterator<TDatabase, K, V> = AbstractValueIterator<TDatabase, K, V>
export type Snapshot = AbstractSnapshot
export type ClearOptions<K> = AbstractClearOptions<K>

export interface ChainedBatch<TDatabase, KDefault, VDefault> extends AbstractChainedBatch<TDatabase, KDefault, VDefault> {
  write (): Promise<void>
  write (options: ChainedBatchWriteOptions): Promise<void>
}

/**
 * An abstract-level database that is backed by Sepal.
 *
 * @template KDefault The type of keys, unless an operation has another.
 * @template VDefault The type of values, unless an operation has another.
 */
export class SepalLevel<KDefault = string, VDefault = string>
  extends AbstractLevel<string | Buffer | Uint8Array, KDefault, VDefault> {
  /** @param location The directory of the database. */
  constructor (location: string, options?: DatabaseOptions<KDefault, VDefault> | undefined)

  get location (): string

  open (): Promise<void>
  open (options: OpenOptions): Promise<void>

  get (key: KDefault): Promise<VDefault | undefined>
  get<K = KDefault, V = VDefault> (key: K, options: GetOptions<K, V>): Promise<V | undefined>
  getSync (key: KDefault): VDefault | undefined
  getSync<K = KDefault, V = VDefault> (key: K, options: GetOptions<K, V>): V | undefined
  getMany (keys: KDefault[]): Promise<(VDefault | undefined)[]>
  getMany<K = KDefault, V = VDefault> (keys: K[], options: GetManyOptions<K, V>): Promise<(V | undefined)[]>
  has (key: KDefault): Promise<boolean>
  has<K = KDefault> (key: K, options: HasOptions<K>): Promise<boolean>
  hasMany (keys: KDefault[]): Promise<boolean[]>
  hasMany<K = KDefault> (keys: K[], options: HasManyOptions<K>): Promise<boolean[]>

  put (key: KDefault, value: VDefault): Promise<void>
  put<K = KDefault, V = VDefault> (key: K, value: V, options: PutOptions<K, V>): Promise<void>
  del (key: KDefault): Promise<void>
  del<K = KDefault> (key: K, options: DelOptions<K>): Promise<void>
  batch (operations: Array<BatchOperation<typeof this, KDefault, VDefault>>): Promise<void>
  batch<K = KDefault, V = VDefault> (
    operations: Array<BatchOperation<typeof this, K, V>>, options: BatchOptions<K, V>): Promise<void>
  batch (): ChainedBatch<typeof this, KDefault, VDefault>

  iterator (): Iterator<typeof this, KDefault, VDefault>
  iterator<K = KDefault, V = VDefault> (options: IteratorOptions<K, V>): Iterator<typeof this, K, V>
  keys (): KeyIterator<typeof this, KDefault>
  keys<K = KDefault> (options: KeyIteratorOptions<K>): KeyIterator<typeof this, K>
  values (): ValueIterator<typeof this, KDefault, VDefault>
  values<K = KDefault, V = VDefault> (options: ValueIteratorOptions<K, V>): ValueIterator<typeof this, K, V>

  snapshot (options?: any | undefined): Snapshot

  /** About how many bytes the keys from `start` up to, and without, `end` take. */
  approximateSize (start: KDefault, end: KDefault): Promise<number>
  approximateSize<K = KDefault> (start: K, end: K, options: StartEndOptions<K>): Promise<number>
  /** Drops what is overwritten or deleted from `start` through `end`. */
  compactRange (start: KDefault, end: KDefault): Promise<void>
  compactRange<K = KDefault> (start: K, end: K, options: StartEndOptions<K>): Promise<void>
  /** A property of the engine's, as sepal.stats; '' for one that it does not know. `leveldb.` in it means `sepal.`. */
  getProperty (property: string): string

  /** Deletes a database that is not open, with its files alone. */
  static destroy (location: string): Promise<void>
  /** Restores a damaged database that is not open. Resolves to a report of what was done and dropped. */
  static repair (location: string): Promise<string>
}

export { SepalLevel as ClassicLevel }
