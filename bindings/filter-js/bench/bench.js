// Asking a filter in JavaScript: the reader of Sepal's filters beside the npm package bloom-filters, at the same number
// of bits. Prints nanoseconds of processor time a question, and the rate of false positives beside theory.
//
//   npm install --no-save bloom-filters
//   node bench.js SEPAL [KEYS [RATE]]      SEPAL: the sepal program, which builds the file that is read
//
// Status 77, and the reason, where the package is not installed.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Filter } from "../index.js";

const [sepal, keysText = "100000", rateText = "0.01"] = process.argv.slice(2);
const keys = Number(keysText),
  rate = Number(rateText),
  questions = 200000;
if (!sepal || !(keys > 0) || !(rate > 0 && rate < 1)) {
  console.error("usage: node bench.js SEPAL [KEYS [RATE]]");
  process.exit(2);
}
const peer = await import("bloom-filters").catch(() => null);
if (peer === null) {
  console.error("skipped: npm install --no-save bloom-filters");
  process.exit(77);
}

const present = Array.from({ length: keys }, (_, i) => `present/${i}`);
const absent = Array.from({ length: questions }, (_, i) => `absent/${i}`);

/** Nanoseconds of processor time of each of `count` calls. */
function nanosEach(count, run) {
  const before = process.cpuUsage();
  run();
  const { user, system } = process.cpuUsage(before);
  return (1000 * (user + system)) / count;
}

function report(name, bytes, buildNanos, ask) {
  for (const key of present) if (!ask(key)) throw new Error(`${name}: ${key} was added, and is called absent`);
  let maybe = 0;
  const nanos = nanosEach(questions, () => {
    for (const key of absent) maybe += ask(key) ? 1 : 0;
  });
  const build = buildNanos === null ? "" : `, ${buildNanos.toFixed(0)} ns to add a key`;
  console.log(
    `${name}: ${((8 * bytes) / keys).toFixed(2)} bits a key${build}, ${nanos.toFixed(0)} ns a question, ` +
      `rate ${(maybe / questions).toFixed(5)} (asked for: ${rate})`,
  );
}

function readFilter(kind) {
  const directory = mkdtempSync(join(tmpdir(), "sepal-filter-"));
  try {
    const path = join(directory, "keys.filter");
    const words = `filter build - --kind ${kind} --rate ${rate} --keys ${keys} --output`.split(" ");
    execFileSync(sepal, [...words, path], {
      input: present.join("\n"),
      stdio: ["pipe", "ignore", "inherit"],
      maxBuffer: Infinity,
    });
    const bytes = readFileSync(path);
    return [new Filter(new Uint8Array(bytes)), bytes.length];
  } finally {
    rmSync(directory, { recursive: true });
  }
}

console.log(`${keys} keys, ${questions} absent ones, node ${process.version}`);
for (const kind of ["bloom", "blocked"]) {
  const [filter, bytes] = readFilter(kind);
  report(`sepal-filter, ${kind}`, bytes, null, (key) => filter.mayContain(key));
}
const filter = peer.default.BloomFilter.create(keys, rate);
const adding = nanosEach(keys, () => present.forEach((key) => filter.add(key)));
report("bloom-filters, BloomFilter", Math.ceil(filter.size / 8), adding, (key) => filter.has(key));
