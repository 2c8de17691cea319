// The reader against files that the C++ library wrote, in Node (test.js) and in a browser (test_browser.py).
import { Filter, FilterError, xxh3 } from "./index.js";

function goldenKey(i) {
  return Uint8Array.from({ length: i < 300 ? i : 1000 + i * 37 }, (_, j) => (i * 131 + j * 7 + (j >> 8)) & 255);
}

function check(condition, what) {
  if (!condition) throw new Error(what);
}

function checkRefused(bytes, name, what) {
  try {
    new Filter(bytes, name);
  } catch (error) {
    check(error instanceof FilterError && error.message.includes(name), `${what}: ${error}`);
    return;
  }
  check(false, `${what} is read`);
}

function checkDamage(bytes, name) {
  const flipped = Array.from({ length: 64 }, (_, i) => i).concat([bytes.length >> 1, bytes.length - 1]);
  for (const at of flipped) {
    const damaged = bytes.slice();
    damaged[at] ^= 16;
    checkRefused(damaged, name, `byte ${at} damaged`);
  }
  for (const size of [0, 7, 63, 64, bytes.length - 1]) checkRefused(bytes.subarray(0, size), name, `cut to ${size}`);
}

// A file with a right checksum and contradictory fields.
function checkContradiction(filter, bytes, name) {
  const changed = { generations: bytes.slice(0, 64), scalable: bytes.slice(0, 64) }[filter.kind] ?? bytes.slice();
  if (changed.length === 64) changed.fill(0, 48, 56);
  else if (filter.kind === "blocked") changed[11] = 9;
  else if (filter.kind !== "partitioned" && filter.kind !== "counting") return;
  else do ++changed[11]; while (filter.size % changed[11] === 0);
  const checksum = xxh3(changed.subarray(64), xxh3(changed.subarray(0, 56), 0n));
  new DataView(changed.buffer).setBigUint64(56, checksum, true);
  checkRefused(changed, name, "what contradicts itself");
}

/** `golden` is answers.json, and read(name) gives the bytes of a file. Returns what was checked. */
export function checkAll(golden, read) {
  const keys = Array.from({ length: 320 }, (_, i) => goldenKey(i));
  keys.forEach((key, i) => {
    const hash = xxh3(key, 0x123456789abcdef0n).toString(16).padStart(16, "0");
    check(hash === golden.hashes[i], `the hash of ${key.length} bytes`);
  });
  const asked = keys.concat(Array.from({ length: 680 }, (_, i) => `absent${i}`));
  const names = Object.keys(golden).filter((name) => name !== "hashes");
  for (const name of names) {
    const bytes = read(name);
    const filter = new Filter(bytes, name);
    check(filter.kind === golden[name].kind, `${name}: ${filter.kind}`);
    checkDamage(bytes, name);
    checkContradiction(filter, bytes, name);
    if (filter.kind === "hyperloglog") continue;
    for (const key of [5, null, undefined, ["k"]]) {
      let refused = "";
      try {
        filter.mayContain(key);
      } catch (error) {
        refused = error.message;
      }
      check(refused.includes("a key is a string or a Uint8Array"), `${name}: ${key} as a key: ${refused}`);
    }
    const counts = filter.kind === "counting" || filter.kind === "count-min";
    const answers = asked.map((key) => (counts ? filter.estimateCount(key) : Number(filter.mayContain(key)))).join("");
    check(answers === golden[name].answers, `${name}: the answers`);
  }
  return `${keys.length} hashes and ${names.length} files are read as the C++ library does`;
}
