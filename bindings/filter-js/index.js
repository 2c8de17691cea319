// Reads the filters of Sepal: sets of keys in a few bits each, whose answer "absent" is certain.
//
//   import { Filter } from "sepal-filter";
//   const weak = new Filter(new Uint8Array(await (await fetch("weak-passwords.filter")).arrayBuffer()));
//   if (weak.mayContain("password1")) askTheServer();
//
// Without dependencies, for browsers and Node. The file format is docs/reference/filter-format.md of Sepal. A key is a
// Uint8Array, or a string, which is taken as UTF-8. 64-bit numbers are BigInt.

const MASK = (1n << 64n) - 1n;
const MAGIC = [0x89, 0x53, 0x46, 0x4c, 0x54, 0x0d, 0x0a, 0x1a];
const HEADER_BYTES = 64;
const KINDS = [
  null, "bloom", "blocked", "partitioned", "counting", "ageing", "generations", "scalable", "fingerprints", "static",
  "count-min", "hyperloglog",
];

/** The bytes are no filter, are damaged, or are of a version, kind or hash that this reader does not know. */
export class FilterError extends Error {}

const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");

// --- XXH3-64 (https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md) ---

const SECRET = Uint8Array.from(
  ("b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671f" +
    "cb79e64eccc0e578825ad07dccff7221b8084674f743248ee03590e6813a264c" +
    "3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8" +
    "a8fa763fe39c343ff9dcbbc7c70b4f1d8a51e04bcdb45931c89f7ec9d9787364" +
    "eac5ac8334d3ebc3c581a0fffa1363eb170ddd51b7f0da49d316552629d4689e" +
    "2b16be587d47a1fc8ff8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e").match(/../g),
  (digits) => parseInt(digits, 16),
);
const PRIME32 = [0x9e3779b1n, 0x85ebca77n, 0xc2b2ae3dn];
const PRIME64 = [
  0x9e3779b185ebca87n, 0xc2b2ae3d27d4eb4fn, 0x165667b19e3779f9n, 0x85ebca77c2b2ae63n, 0x27d4eb2f165667c5n,
];

const viewOf = (bytes) => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
const secretView = viewOf(SECRET);
const secret64 = (at) => secretView.getBigUint64(at, true);
const secret32 = (at) => BigInt(secretView.getUint32(at, true));

function fold(a, b) {
  const product = a * b;
  return (product ^ (product >> 64n)) & MASK;
}

function avalanche(h) {
  h ^= h >> 37n;
  h = (h * 0x165667919e3779f9n) & MASK;
  return h ^ (h >> 32n);
}

function avalancheShort(h) {
  h ^= h >> 33n;
  h = (h * PRIME64[1]) & MASK;
  h ^= h >> 29n;
  h = (h * PRIME64[2]) & MASK;
  return h ^ (h >> 32n);
}

const rotate = (h, bits) => ((h << bits) | (h >> (64n - bits))) & MASK;

function swapped(value, bytes) {
  let result = 0n;
  for (let i = 0; i < bytes; ++i) result = (result << 8n) | ((value >> BigInt(8 * i)) & 255n);
  return result;
}

function hashUpTo16(bytes, view, seed) {
  const size = bytes.length;
  if (size > 8) {
    const low = view.getBigUint64(0, true) ^ (((secret64(24) ^ secret64(32)) + seed) & MASK);
    const high = view.getBigUint64(size - 8, true) ^ (((secret64(40) ^ secret64(48)) - seed) & MASK);
    return avalanche((BigInt(size) + swapped(low, 8) + high + fold(low, high)) & MASK);
  }
  if (size >= 4) {
    seed ^= swapped(seed & 0xffffffffn, 4) << 32n;
    const flip = ((secret64(8) ^ secret64(16)) - seed) & MASK;
    let h = (BigInt(view.getUint32(size - 4, true)) + (BigInt(view.getUint32(0, true)) << 32n)) ^ flip;
    h ^= rotate(h, 49n) ^ rotate(h, 24n);
    h = (h * 0x9fb21c651e98df25n) & MASK;
    h ^= (h >> 35n) + BigInt(size);
    h = (h * 0x9fb21c651e98df25n) & MASK;
    return h ^ (h >> 28n);
  }
  if (size > 0) {
    const combined = (bytes[0] << 16) | (bytes[size >> 1] << 24) | bytes[size - 1] | (size << 8);
    return avalancheShort(BigInt(combined >>> 0) ^ (((secret32(0) ^ secret32(4)) + seed) & MASK));
  }
  return avalancheShort(seed ^ secret64(56) ^ secret64(64));
}

function mix16(view, at, secretAt, seed) {
  return fold(
    view.getBigUint64(at, true) ^ ((secret64(secretAt) + seed) & MASK),
    view.getBigUint64(at + 8, true) ^ ((secret64(secretAt + 8) - seed) & MASK),
  );
}

function hashUpTo240(view, seed) {
  const size = view.byteLength;
  let h = BigInt(size) * PRIME64[0];
  if (size <= 128) {
    for (let i = (size - 1) >> 5; i >= 0; --i) {
      h += mix16(view, 16 * i, 32 * i, seed) + mix16(view, size - 16 * (i + 1), 32 * i + 16, seed);
    }
    return avalanche(h & MASK);
  }
  for (let i = 0; i < 8; ++i) h += mix16(view, 16 * i, 16 * i, seed);
  h = avalanche(h & MASK);
  for (let i = 8; i < size >> 4; ++i) h += mix16(view, 16 * i, 16 * (i - 8) + 3, seed);
  return avalanche((h + mix16(view, size - 16, 136 - 17, seed)) & MASK);
}

function accumulate(acc, view, at, secret, secretAt) {
  for (let i = 0; i < 8; ++i) {
    const value = view.getBigUint64(at + 8 * i, true);
    const key = value ^ secret.getBigUint64(secretAt + 8 * i, true);
    acc[i ^ 1] = (acc[i ^ 1] + value) & MASK;
    acc[i] = (acc[i] + (key & 0xffffffffn) * (key >> 32n)) & MASK;
  }
}

function hashLong(view, seed) {
  const size = view.byteLength;
  const secret = new DataView(new ArrayBuffer(192));
  for (let i = 0; i < 24; ++i) secret.setBigUint64(8 * i, (secret64(8 * i) + (i % 2 ? -seed : seed)) & MASK, true);
  const acc = [PRIME32[2], PRIME64[0], PRIME64[1], PRIME64[2], PRIME64[3], PRIME32[1], PRIME64[4], PRIME32[0]];
  const blocks = Math.floor((size - 1) / 1024);
  for (let block = 0; block < blocks; ++block) {
    for (let stripe = 0; stripe < 16; ++stripe) accumulate(acc, view, 1024 * block + 64 * stripe, secret, 8 * stripe);
    for (let i = 0; i < 8; ++i) {
      acc[i] = ((acc[i] ^ (acc[i] >> 47n) ^ secret.getBigUint64(128 + 8 * i, true)) * PRIME32[0]) & MASK;
    }
  }
  const stripes = Math.floor((size - 1 - 1024 * blocks) / 64);
  for (let stripe = 0; stripe < stripes; ++stripe) {
    accumulate(acc, view, 1024 * blocks + 64 * stripe, secret, 8 * stripe);
  }
  accumulate(acc, view, size - 64, secret, 192 - 64 - 7);
  let h = BigInt(size) * PRIME64[0];
  for (let i = 0; i < 4; ++i) {
    h += fold(
      acc[2 * i] ^ secret.getBigUint64(11 + 16 * i, true),
      acc[2 * i + 1] ^ secret.getBigUint64(19 + 16 * i, true),
    );
  }
  return avalanche(h & MASK);
}

/** XXH3-64 of a Uint8Array, as a BigInt. */
export function xxh3(bytes, seed = 0n) {
  const view = viewOf(bytes);
  if (bytes.length <= 16) return hashUpTo16(bytes, view, seed);
  return bytes.length <= 240 ? hashUpTo240(view, seed) : hashLong(view, seed);
}

// --- filters ---

function mix64(h) {
  h ^= h >> 33n;
  h = (h * 0xff51afd7ed558ccdn) & MASK;
  h ^= h >> 33n;
  h = (h * 0xc4ceb9fe1a85ec53n) & MASK;
  return h ^ (h >> 33n);
}

// Calls take(i, probe) until one answers false.
function everyProbe(h, count, range, take) {
  for (let i = 0; i < count; ++i) {
    if (!take(i, Number((h * range) >> 64n))) return false;
    h = (h * 0xd1342543de82ef95n) & MASK;
  }
  return true;
}

const LINE_MULTIPLIERS = [
  0x47b6137b, 0x44974d91, 0x8824ad5b, 0xa2b7289d, 0x705495c7, 0x2df1424b, 0x9efc4947, 0x5c6bfb31,
];

/** A filter that was read. `kind`, `seed`, `keys` and the other fields are those of the file's header. */
export class Filter {
  #body;
  #parts = [];

  /** Throws a FilterError that names `name` for bytes that are no whole filter. */
  constructor(bytes, name = "filter") {
    if (bytes.length === 0 || MAGIC.slice(0, bytes.length).some((byte, i) => byte !== bytes[i])) {
      const begin = hex(bytes.subarray(0, 8));
      throw new FilterError(`${name} is no filter file: it begins with ${begin}, and not with ${hex(MAGIC)}`);
    }
    if (bytes.length < HEADER_BYTES) {
      throw new FilterError(`${name}: header: expected ${HEADER_BYTES} bytes, got ${bytes.length}`);
    }
    const header = viewOf(bytes);
    if (bytes[8] !== 1) throw new FilterError(`${name}: version ${bytes[8]} is not known here`);
    this.#readHeader(header);
    this.#body = bytes.subarray(HEADER_BYTES);
    const expected = header.getBigUint64(48, true);
    if (expected !== BigInt(this.#body.length)) {
      throw new FilterError(`${name}: body: expected ${expected} bytes, got ${this.#body.length}`);
    }
    const checksum = header.getBigUint64(56, true);
    const computed = xxh3(this.#body, xxh3(bytes.subarray(0, 56)));
    if (checksum !== computed) {
      throw new FilterError(`${name}: checksum: expected ${checksum.toString(16)}, got ${computed.toString(16)}`);
    }
    if (!this.kind || bytes[10] !== 1) {
      throw new FilterError(`${name}: kind ${bytes[9]} with hash ${bytes[10]} is not known here`);
    }
    if (this.kind === "generations" || this.kind === "scalable") this.#split(name);
    this.#checkSize(name);
  }

  /** False is certain. */
  mayContain(key) {
    const h = this.#hash(key);
    if (this.#parts.length > 0) return this.#parts.some((part) => part.#bits(h));
    switch (this.kind) {
      case "bloom":
      case "ageing":
      case "partitioned":
        return this.#bits(h);
      case "blocked":
        return this.#line(h);
      case "counting":
      case "count-min":
        return this.estimateCount(key) > 0;
      case "fingerprints":
        return this.#table(h);
      case "static":
        return this.#static(h);
      default:
        throw new FilterError(`a ${this.kind} filter cannot say which keys it has seen`);
    }
  }

  /** How often the key was added, of a counting filter or a count-min sketch. */
  estimateCount(key) {
    const counting = this.kind === "counting";
    if (!counting && this.kind !== "count-min") throw new FilterError(`a ${this.kind} filter cannot count a key`);
    const span = counting ? this.size / this.probes : this.size;
    const body = viewOf(this.#body);
    let least = Infinity;
    everyProbe(this.#hash(key), this.probes, BigInt(span), (i, at) => {
      const cell = i * span + at;
      const count = counting ? this.#cell(cell) : Number(body.getBigUint64(8 * cell, true));
      least = Math.min(least, count);
      return true;
    });
    return least;
  }

  #readHeader(header) {
    this.kind = KINDS[header.getUint8(9)];
    this.probes = header.getUint8(11);
    this.width = header.getUint32(12, true);
    this.seed = header.getBigUint64(16, true);
    this.keys = header.getBigUint64(24, true);
    this.size = Number(header.getBigUint64(32, true));
    this.extra = header.getBigUint64(40, true);
  }

  #hash(key) {
    if (typeof key === "string") return xxh3(new TextEncoder().encode(key), this.seed);
    if (key instanceof Uint8Array) return xxh3(key, this.seed);
    throw new TypeError(`a key is a string or a Uint8Array, not ${key === null ? "null" : typeof key}`);
  }

  #bit(i) {
    return ((this.#body[Math.floor(i / 8)] >> (i % 8)) & 1) === 1;
  }

  #cell(i) {
    if (this.width === 4) return (this.#body[Math.floor(i / 2)] >> ((i % 2) * 4)) & 15;
    return this.width === 8 ? this.#body[i] : this.#body[2 * i] | (this.#body[2 * i + 1] << 8);
  }

  #bits(h) {
    const stride = this.kind === "partitioned" ? this.size / this.probes : 0;
    return everyProbe(h, this.probes, BigInt(stride || this.size), (i, at) => this.#bit(i * stride + at));
  }

  #line(h) {
    const first = Number((h * BigInt(this.size / 512)) >> 64n) * 512;
    const low = Number(h & 0xffffffffn);
    return LINE_MULTIPLIERS.slice(0, this.probes).every((by) => this.#bit(first + (Math.imul(low, by) >>> 23)));
  }

  #table(h) {
    const wanted = 1 + Number((mix64(h) * BigInt(2 ** this.width - 1)) >> 64n);
    let bucket = Number((h * BigInt(this.size)) >> 64n);
    for (let passed = 0; passed < this.size; ++passed, bucket = (bucket + 1) % this.size) {
      for (let i = 0; i < 7; ++i) {
        if (this.#cell(8 * bucket + i) === wanted) return true;
      }
      if (this.#cell(8 * bucket + 7) === 0) return false;
    }
    return false;
  }

  #static(h) {
    const mixed = mix64((h + this.extra) & MASK);
    const segment = 2 ** this.probes;
    const first = Number((mixed * BigInt(this.size)) >> 64n);
    // A segment is a power of two: what is changed lies within it.
    const within = (slot, bits) => slot - (slot % segment) + ((slot % segment) ^ Number(bits & BigInt(segment - 1)));
    const slots = [first, within(first + segment, mixed >> 18n), within(first + 2 * segment, mixed)];
    const wanted = Number((mixed ^ (mixed >> 32n)) & BigInt(2 ** this.width - 1));
    return slots.reduce((found, slot) => found ^ this.#cell(slot), 0) === wanted;
  }

  #split(name) {
    for (let at = 0; at < this.#body.length; ) {
      const rest = this.#body.subarray(at);
      const size = rest.length < HEADER_BYTES ? rest.length : HEADER_BYTES + Number(viewOf(rest).getBigUint64(48, true));
      this.#parts.push(new Filter(rest.subarray(0, size), name));
      at += size;
    }
  }

  #checkSize(name) {
    const bits = {
      bloom: this.size,
      blocked: this.size,
      partitioned: this.size,
      ageing: this.size,
      counting: this.size * this.width,
      fingerprints: 8 * this.size * this.width,
      static: (this.size + 2 * 2 ** this.probes) * this.width,
      "count-min": this.size * this.probes * 64,
      hyperloglog: this.size * 8,
    }[this.kind];
    if (bits === undefined) {
      const read = this.#parts.length > 0 && this.#parts.every((part) => part.kind === "bloom");
      if (!read) throw new FilterError(`${name}: parts: expected filters of kind bloom`);
      return;
    }
    if (bits === 0 || Math.ceil(bits / 64) * 8 !== this.#body.length) {
      throw new FilterError(`${name}: size: expected ${this.#body.length} bytes, got ${bits} bits`);
    }
    const asked = !["fingerprints", "static", "hyperloglog"].includes(this.kind);
    if (asked && this.probes === 0) throw new FilterError(`${name}: probes: expected at least 1, got 0`);
    const slices = ["partitioned", "counting"].includes(this.kind) ? this.probes : 1;
    const lines = this.kind === "blocked" ? 512 : 1;
    if (this.size % slices !== 0 || this.size % lines !== 0 || (lines > 1 && this.probes > LINE_MULTIPLIERS.length)) {
      throw new FilterError(`${name}: ${this.size} bits and ${this.probes} probes contradict each other`);
    }
  }
}
