// --- the arithmetic of Bloom filters; docs: include/sepal/filter/bloom.h ---

const LINE_BITS = 512,
  MOST_BLOCKED_PROBES = 8,
  MOST_PROBES = 32;

// The logarithm of the gamma function, by Stirling's series.
function logGamma(x) {
  let shift = 0;
  for (; x < 8; ++x) shift -= Math.log(x);
  const square = 1 / (x * x);
  return shift + (x - 0.5) * Math.log(x) - x + 0.9189385332046727 + (1 / 12 - square * (1 / 360 - square / 1260)) / x;
}

// Of a line with so many keys. The share of set bits varies between lines, which the second term brings in.
function lineRate(keys, k) {
  const m = LINE_BITS,
    balls = keys * k,
    empty = (1 - 1 / m) ** balls,
    fill = 1 - empty;
  if (fill <= 0) return 0;
  const variance = (empty + (m - 1) * (1 - 2 / m) ** balls - m * empty * empty) / m;
  return Math.min(1, fill ** k * (1 + ((k * (k - 1)) / 2) * (variance / (fill * fill))));
}

// The keys of a line are Poisson-distributed.
function poissonSum(mean, term) {
  if (mean <= 0) return term(0);
  const spread = 12 * Math.sqrt(mean) + 30,
    first = Math.max(0, Math.floor(mean - spread));
  let chance = Math.exp(first * Math.log(mean) - mean - logGamma(first + 1)),
    sum = 0;
  for (let keys = first; keys <= mean + spread; ++keys) {
    sum += chance * term(keys);
    chance *= mean / (keys + 1);
  }
  return sum;
}

// The rate of false positives of n keys in m bits with k hashes.
function rateAt(layout, n, m, k) {
  if (n <= 0) return 0;
  if (layout === "classic") return (-Math.expm1((-k * n) / m)) ** k;
  if (layout === "partitioned") return (-Math.expm1(n * Math.log1p(-Math.min(1, k / m)))) ** k;
  const perLine = n / Math.max(1, m / LINE_BITS);
  return perLine > 20 * LINE_BITS
    ? 1
    : Math.min(
        1,
        poissonSum(perLine, (keys) => lineRate(keys, k)),
      );
}

// The share of bits that are set.
function fillAt(layout, n, m, k) {
  if (layout === "partitioned") return -Math.expm1(n * Math.log1p(-Math.min(1, k / m)));
  return -Math.expm1(n * k * Math.log1p(-1 / m));
}

const mostProbes = (layout) => (layout === "blocked" ? MOST_BLOCKED_PROBES : MOST_PROBES);

function bestProbes(layout, n, m) {
  if (layout !== "blocked") {
    const ideal = (m / n) * Math.LN2,
      near = [Math.floor(ideal), Math.ceil(ideal)];
    const [low, high] = near.map((k) => Math.min(MOST_PROBES, Math.max(1, k)));
    return rateAt(layout, n, m, low) <= rateAt(layout, n, m, high) ? low : high;
  }
  let best = 1;
  for (let k = 2; k <= MOST_BLOCKED_PROBES; ++k) if (rateAt(layout, n, m, k) < rateAt(layout, n, m, best)) best = k;
  return best;
}

// Where a rising or falling function crosses: `holds` is true from the result on.
function leastWhere(low, high, holds) {
  if (!holds(high)) return Infinity;
  for (let i = 0; i < 60 && high / low > 1 + 1e-9; ++i) {
    const middle = Math.sqrt(low * high);
    if (holds(middle)) high = middle;
    else low = middle;
  }
  return high;
}

// The fewest bits for n keys at the rate p with k hashes; infinite where no number of bits does.
function bitsFor(layout, n, p, k) {
  const bits = leastWhere(Math.max(1, n / 64), Math.max(LINE_BITS, n * 4096), (m) => rateAt(layout, n, m, k) <= p);
  return layout === "blocked" ? Math.ceil(bits / LINE_BITS) * LINE_BITS : Math.ceil(bits);
}

// The most keys of m bits at the rate p.
function keysFor(layout, m, p, probesFor) {
  const tooMany = leastWhere(1, 64 * m, (n) => rateAt(layout, n, m, probesFor(n)) > p);
  return Math.max(1, Math.floor(tooMany === Infinity ? 64 * m : tooMany));
}

// The cells that a hash has, of m, and its line where there are some.
function placesOf(layout, h, m, k) {
  const places = [];
  if (layout === "blocked") {
    const first = Number((h * BigInt(m / LINE_BITS)) >> 64n) * LINE_BITS,
      low = Number(h & 0xffffffffn);
    for (const by of LINE_MULTIPLIERS.slice(0, k)) places.push(first + (Math.imul(low, by) >>> 23));
    return places;
  }
  const slice = layout === "partitioned" ? m / k : 0;
  everyProbe(h, k, BigInt(slice || m), (i, at) => places.push(i * slice + at));
  return places;
}

// As many cells as the layout can have, at least `wanted`.
function roundedCells(layout, wanted, k) {
  const unit = layout === "blocked" ? LINE_BITS : layout === "partitioned" ? k : 1;
  return Math.max(unit, Math.ceil(wanted / unit) * unit);
}

// Numbers below 2^32 that look random (Mulberry32).
function randomNumbers(seed) {
  return () => {
    seed = (seed + 0x6d2b79f5) | 0;
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return (t ^ (t >>> 14)) >>> 0;
  };
}

// Words of eight bytes, of which no two are alike.
function randomKeys(seed) {
  const next = randomNumbers(seed),
    bytes = new Uint8Array(8),
    view = new DataView(bytes.buffer);
  let count = 0;
  return () => {
    view.setUint32(0, next());
    view.setUint32(4, count++);
    return bytes;
  };
}

// --- numbers for people, and drawing ---

const $ = (id) => document.getElementById(id);
const counted = (n, noun) => `${n.toLocaleString("en")} ${noun}${n === 1 ? "" : "s"}`;
const share = (x) =>
  x === 0
    ? "0"
    : x >= 0.0995
      ? `${(100 * x).toFixed(1)} %`
      : x >= 1e-4
        ? `${(100 * x).toPrecision(3)} %`
        : x.toExponential(2).replace("e-", "\u00b710^-");
const short = (n) => {
  for (const [by, unit] of [
    [1e12, "T"],
    [1e9, "G"],
    [1e6, "M"],
    [1e3, "k"],
  ]) {
    if (n >= by * 0.9995) return `${+(n / by).toPrecision(3)}${unit}`;
  }
  return String(+n.toPrecision(3));
};
const human = (bytes) => {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let i = 0;
  for (; bytes >= 1024 && i < 4; ++i) bytes /= 1024;
  return `${i ? bytes.toFixed(1) : Math.ceil(bytes)} ${units[i]}`;
};
// An element with properties and children.
function el(name, properties = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (key in node && key !== "style") node[key] = value;
    else node.setAttribute(key, value);
  }
  node.append(...children);
  return node;
}
function svgEl(name, attributes, parent, text) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const key in attributes) node.setAttribute(key, attributes[key]);
  if (text !== undefined) node.textContent = text;
  parent.append(node);
  return node;
}
const rows = (pairs) => pairs.flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]);
