// --- how large, how many, how often wrong ---

// Sliders are logarithmic.
const SIZES = {
  n: { name: "n: keys", low: 1, high: 1e9, whole: true },
  m: { name: "m: bits", low: 8, high: 2 ** 38, whole: true },
  k: { name: "k: hashes", low: 1, high: MOST_PROBES, whole: true, linear: true },
  p: { name: "p: rate of false positives", low: 1e-9, high: 0.9, whole: false },
};
const sizes = { layout: "classic", n: 1000, m: 9586, k: 7, p: 0.01, seen: [], timer: 0, run: 0 };
const STEPS = 1000;

function toSlider({ low, high, linear }, value) {
  if (linear) return value;
  return Math.round((STEPS * Math.log(value / low)) / Math.log(high / low));
}
function fromSlider({ low, high, linear, whole }, at) {
  if (linear) return at;
  const value = low * (high / low) ** (at / STEPS);
  return whole ? Math.round(+value.toPrecision(3)) : +value.toPrecision(2);
}
// "10M", "1e-6", "0.1 %"; undefined for what is no number.
function numberFrom(text) {
  const match = /^\s*([0-9.]+(?:e[+-]?[0-9]+)?)\s*([kKMGT%]?)\s*$/.exec(text);
  if (!match) return undefined;
  const by = { "": 1, k: 1e3, K: 1e3, M: 1e6, G: 1e9, T: 1e12, "%": 0.01 }[match[2]],
    value = Number(match[1]) * by;
  return Number.isFinite(value) && value > 0 ? value : undefined;
}
const shown = (key) => (key === "p" ? String(+sizes.p.toPrecision(4)) : String(sizes[key]));

// Brings m, p or n up to what the others say. Returns why that cannot be.
function follow() {
  const { layout } = sizes,
    follows = $("follows").value,
    best = $("best").checked;
  if (follows === "m") {
    if (!best) sizes.m = bitsFor(layout, sizes.n, sizes.p, sizes.k);
    else {
      const ideal = Math.max(1, -Math.log2(sizes.p)),
        tried = layout === "blocked" ? [1, 2, 3, 4, 5, 6, 7, 8] : [Math.floor(ideal), Math.ceil(ideal)];
      sizes.m = Infinity;
      for (const k of tried) {
        const bits = bitsFor(layout, sizes.n, sizes.p, k);
        if (bits < sizes.m) [sizes.m, sizes.k] = [bits, k];
      }
    }
    if (!Number.isFinite(sizes.m)) {
      sizes.m = SIZES.m.high;
      return `A ${layout} filter does not reach that rate${best ? "" : " with so many hashes"}.`;
    }
    return "";
  }
  if (follows === "n") {
    sizes.n = keysFor(layout, sizes.m, sizes.p, (n) => (best ? bestProbes(layout, n, sizes.m) : sizes.k));
  }
  if (best) sizes.k = bestProbes(layout, sizes.n, sizes.m);
  if (follows === "p") sizes.p = rateAt(layout, sizes.n, sizes.m, sizes.k);
  return "";
}

function updateSizes(moved) {
  if (sizes.layout === "blocked") sizes.m = roundedCells("blocked", sizes.m, sizes.k);
  sizes.k = Math.min(sizes.k, mostProbes(sizes.layout));
  const why = follow(),
    follows = $("follows").value;
  for (const [key, range] of Object.entries(SIZES)) {
    const slider = $(`slide-${key}`),
      field = $(`field-${key}`),
      fixed = key === follows || (key === "k" && $("best").checked);
    if (key === "k") slider.max = mostProbes(sizes.layout);
    slider.value = toSlider(range, Math.min(range.high, Math.max(range.low, sizes[key])));
    slider.disabled = field.disabled = fixed;
    slider.setAttribute("aria-valuetext", shown(key));
    if (moved !== field) field.value = shown(key);
    field.setAttribute("aria-invalid", "false");
    slider.previousElementSibling.classList.toggle("follows", fixed);
  }
  const { n, m, k, layout } = sizes,
    rate = rateAt(layout, n, m, k);
  $("sizes-told").replaceChildren(
    ...(why
      ? [strong(why, "bad")]
      : [
          `${short(n)} keys in ${human(m / 8)}: ${short(m / n)} bits a key, `,
          `${k} ${k === 1 ? "hash" : "hashes"}, `,
          `one of ${short(1 / rate)} absent keys is a false positive (${share(rate)}); `,
          `${share(fillAt(layout, n, m, k))} of the bits are set.`,
        ]),
  );
  sizes.seen = [];
  drawCharts(sizes.seen);
  clearTimeout(sizes.timer);
  ++sizes.run;
  if (!why) sizes.timer = setTimeout(() => measure(sizes.run), 300);
}

// A few round numbers of a range.
function roundNumbers(least, most) {
  const rough = (most - least) / 5,
    power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((by) => by * power).find((by) => by >= rough * 0.999),
    numbers = [];
  for (let i = Math.ceil(least / step); i * step <= most * 1.0001; ++i) numbers.push(+(i * step).toPrecision(12));
  return numbers;
}

// A chart of lines over x. y is a rate on a scale of decades, or a share.
function chart(svg, { title, most, unit, decades, lines, dots, now, least = 0 }) {
  const W = Math.max(220, svg.clientWidth || 300),
    H = 210,
    left = 44,
    right = 12,
    top = 28,
    bottom = 34;
  svg.replaceChildren();
  svg.setAttribute("viewBox", `0 0 ${W} ${H}`);
  svg.setAttribute("height", H);
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", `${title}, over ${unit}`);
  const x = (value) => left + ((value - least) / (most - least)) * (W - left - right);
  const down = (y) => (decades ? Math.min(1, -Math.log10(Math.max(y, 1e-300)) / decades) : 1 - y);
  const y = (value) => top + down(value) * (H - top - bottom);
  svgEl("text", { class: "title", x: 8, y: 17 }, svg, title);
  const ticks = decades
    ? Array.from({ length: decades + 1 }, (_, i) => i).filter((i) => i % Math.ceil(decades / 5) === 0)
    : [0, 0.25, 0.5, 0.75, 1];
  for (const tick of ticks) {
    const value = decades ? 10 ** -tick : tick;
    svgEl("line", { class: "axis", x1: left, x2: W - right, y1: y(value), y2: y(value) }, svg);
    svgEl(
      "text",
      { x: left - 5, y: y(value) + 4, "text-anchor": "end" },
      svg,
      decades ? (tick === 0 ? "1" : `10^-${tick}`) : `${100 * tick} %`,
    );
  }
  for (const value of roundNumbers(least, most)) {
    svgEl(
      "text",
      { x: x(value), y: H - 18, "text-anchor": value === least ? "start" : value > most * 0.97 ? "end" : "middle" },
      svg,
      short(value),
    );
  }
  svgEl("text", { x: W - right, y: H - 4, "text-anchor": "end" }, svg, unit);
  for (const { kind, at } of lines) {
    const points = at.filter(
      ([, value]) => Number.isFinite(value) && value > 0 && (!decades || value >= 10 ** -decades),
    );
    svgEl(
      "path",
      {
        class: `theory ${kind}`,
        d: points.map(([a, b], i) => `${i ? "L" : "M"}${x(a).toFixed(1)} ${y(b).toFixed(1)}`).join(""),
      },
      svg,
    );
  }
  for (const [a, b, told] of dots) {
    if (decades && b < 10 ** -decades) continue;
    svgEl("title", {}, svgEl("circle", { class: "seen", cx: x(a), cy: y(b), r: 3.5 }, svg), told);
  }
  if (now && now[0] >= least && now[0] <= most) {
    svgEl("line", { class: "now", x1: x(now[0]), x2: x(now[0]), y1: top, y2: H - bottom }, svg);
    svgEl("circle", { class: "now", cx: x(now[0]), cy: y(now[1]), r: 5 }, svg);
  }
}

const steps = (low, high, count) => Array.from({ length: count + 1 }, (_, i) => low + ((high - low) * i) / count);

function drawCharts(seen) {
  const { n, m, k, layout } = sizes,
    rate = rateAt(layout, n, m, k),
    fill = fillAt(layout, n, m, k);
  const decades = Math.min(12, Math.max(2, Math.ceil(-Math.log10(rate)) + 1));
  const both = (at) =>
    (layout === "classic" ? [] : [{ kind: "other", at: at("classic") }]).concat({ kind: "", at: at(layout) });
  chart($("by-n"), {
    title: "rate of false positives, over keys",
    unit: "keys",
    most: 2 * n,
    decades,
    now: [n, rate],
    lines: both((of) => steps(n / 32, 2 * n, 63).map((x) => [x, rateAt(of, x, m, k)])),
    dots: seen
      .filter((s) => s.maybe >= 5)
      .map((s) => [s.load * n, s.rate, `${s.maybe} of ${s.asked}: ${share(s.rate)}; in theory ${share(s.theory)}`]),
  });
  chart($("by-fill"), {
    title: "fill, over keys",
    unit: "keys",
    most: 2 * n,
    now: [n, fill],
    lines: [{ kind: "", at: steps(0, 2 * n, 64).map((x) => [x, fillAt(layout, x, m, k)]) }],
    dots: seen.map((s) => [s.load * n, s.fill, `${share(s.fill)}; in theory ${share(s.fillTheory)}`]),
  });
  const most = Math.min(mostProbes(layout), Math.max(8, 2 * k));
  chart($("by-k"), {
    title: "rate, over hashes",
    unit: "hashes, in the same bits",
    least: 1,
    most,
    decades,
    now: [k, rate],
    dots: [],
    lines: both((of) => steps(1, most, most - 1).map((x) => [x, rateAt(of, n, m, x)])),
  });
  const bits = Math.max(24, Math.ceil((1.5 * m) / n));
  chart($("by-bits"), {
    title: "rate, over bits a key",
    unit: "bits a key, with the best hashes",
    least: 1,
    most: bits,
    decades,
    now: [m / n, rate],
    dots: [],
    lines: both((of) => steps(1, bits, 46).map((x) => [x, rateAt(of, 1e5, 1e5 * x, bestProbes(of, 1e5, 1e5 * x))])),
  });
}

// Fills a filter of the same bits a key with random words, and asks for others, in slices that leave the page usable.
function measure(run) {
  const { layout, k } = sizes,
    bitsPerKey = sizes.m / sizes.n;
  const n = Math.max(1, Math.min(sizes.n, 2000, Math.floor(4e6 / bitsPerKey)));
  const m = roundedCells(layout, n === sizes.n ? sizes.m : Math.round(n * bitsPerKey), k),
    cells = new Uint8Array(Math.min(m, 2 ** 27));
  if (m > cells.length) return;
  const key = randomKeys(run),
    asked = 10000,
    loads = [0.25, 0.5, 0.75, 1, 1.25, 1.5, 1.75, 2],
    seen = [];
  const placesOfKey = () => placesOf(layout, xxh3(key(), 0n), m, k);
  let added = 0,
    set = 0;
  const go = () => {
    if (run !== sizes.run) return;
    const load = loads[seen.length],
      upTo = Math.max(1, Math.round(load * n));
    for (; added < upTo; ++added) for (const i of placesOfKey()) set += cells[i] === 0 ? (cells[i] = 1) : 0;
    let maybe = 0;
    for (let i = 0; i < asked; ++i) maybe += placesOfKey().every((cell) => cells[cell] > 0);
    seen.push({
      load,
      maybe,
      asked,
      rate: maybe / asked,
      theory: rateAt(layout, upTo, m, k),
      fill: set / m,
      fillTheory: fillAt(layout, upTo, m, k),
    });
    if (seen.length < loads.length) return void setTimeout(go, 0);
    sizes.seen = seen;
    drawCharts(seen);
    const at = seen[3];
    $("measured").textContent =
      `Measured: ${counted(n, "random word")} in ${counted(m, "bit")} fill ${share(at.fill)} of them ` +
      `(in theory ${share(at.fillTheory)}); ${at.maybe} of ${asked.toLocaleString("en")} other words are ` +
      `false positives: ${share(at.rate)} (in theory ${share(at.theory)}). ` +
      `Rates of fewer than five false positives are not drawn.`;
  };
  go();
}

function refuse({ value }, { name, low, high, whole }, stays) {
  const example = whole ? "1000, 10k or 1.5M" : "0.01, 1e-6 or 0.1 %";
  const what = `${whole ? "number of " : ""}${name.slice(3)}`,
    range = `${short(low)} to ${short(high)}`;
  const told = `\u201c${value}\u201d is no ${what}: ${range}, as in ${example}. It stays ${stays}.`;
  $("sizes-told").replaceChildren(strong(told, "bad"));
}

function startSizes() {
  for (const [key, range] of Object.entries(SIZES)) {
    const slider = el("input", {
      type: "range",
      id: `slide-${key}`,
      min: range.linear ? range.low : 0,
      max: range.linear ? range.high : STEPS,
      step: 1,
    });
    const field = el("input", {
      type: "text",
      id: `field-${key}`,
      inputMode: "decimal",
      autocomplete: "off",
      "aria-label": range.name,
    });
    slider.addEventListener("input", () => {
      sizes[key] = fromSlider(range, Number(slider.value));
      updateSizes(slider);
    });
    field.addEventListener("input", () => {
      const value = numberFrom(field.value),
        fits = value !== undefined && value >= range.low && value <= range.high;
      field.setAttribute("aria-invalid", String(!fits));
      if (!fits) return refuse(field, range, shown(key));
      sizes[key] = range.whole ? Math.round(value) : value;
      updateSizes(field);
    });
    field.addEventListener("change", () => {
      const { value } = field,
        fits = field.getAttribute("aria-invalid") !== "true";
      updateSizes();
      if (!fits) refuse({ value }, range, shown(key));
    });
    $("sliders").append(el("label", { htmlFor: slider.id }, range.name), slider, field);
  }
  $("sizes").addEventListener("submit", (event) => event.preventDefault());
  $("size-layout").addEventListener("change", () => {
    sizes.layout = $("size-layout").value;
    updateSizes();
  });
  $("follows").addEventListener("change", () => updateSizes());
  $("best").addEventListener("change", () => updateSizes());
  updateSizes();
}
