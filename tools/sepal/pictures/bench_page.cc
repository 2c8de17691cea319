#include "tools/sepal/pictures/bench_page.h"

#include <nlohmann/json.hpp>

#include "tools/terminal/cli.h"

namespace sepal::tools {
namespace {

constexpr std::string_view kPage = R"page(<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Sepal: benchmarks</title>
<style>
:root { --bg:#fff; --fg:#1c2024; --dim:#60646c; --line:#d9d9e0; --band:#f4f4f7; --run0:#0072b2; --run1:#d55e00;
        --run2:#009e73; --run3:#cc79a7; --run4:#56b4e9; --run5:#1c2024; --flush:#6f8797; --compaction:#b58900;
        --throttle:#8d5ba6 }
@media (prefers-color-scheme: dark) { :root { --bg:#111113; --fg:#edeef0; --dim:#b0b4ba; --line:#43484e;
        --band:#1b1d20; --run0:#4aa3df; --run1:#ff8a3d; --run2:#2ec99b; --run3:#e39cc3; --run4:#8ccbf2; --run5:#edeef0;
        --flush:#9fb3c0; --compaction:#f0c94a; --throttle:#c79be0 } }
* { box-sizing:border-box } body { margin:0 auto; max-width:76rem; padding:1rem 1.5rem 3rem; background:var(--bg);
  color:var(--fg); font:14px/1.45 system-ui,sans-serif } h1 { font-size:1.2rem } h2 { font-size:1.05rem;
  margin:2rem 0 .25rem; overflow-wrap:anywhere } h3 { font-size:.95rem; margin:1.25rem 0 .25rem }
.dim { color:var(--dim); margin:.25rem 0 } @media (max-width:40rem) { body { padding:.75rem } }
table { border-collapse:collapse; width:100% } .scroll { overflow-x:auto } th,td { padding:.2rem .6rem;
  text-align:right; border-bottom:1px solid var(--line); font-variant-numeric:tabular-nums; white-space:nowrap }
th { color:var(--dim); font-weight:500 } th:first-child,td:first-child { text-align:left }
svg { width:100%; display:block; background:var(--band); border-radius:4px; font:11px system-ui,sans-serif }
svg text { fill:var(--dim) } .axis { stroke:var(--line) } .rate { fill:none; stroke-width:1.75 }
.flush { fill:var(--flush) } .compaction { fill:var(--compaction) } .throttle { fill:var(--throttle) }
.cursor { stroke:var(--fg); stroke-dasharray:2 3; visibility:hidden }
.legend { display:flex; flex-wrap:wrap; gap:.15rem 1.25rem; padding:0; margin:.25rem 0 .5rem; list-style:none }
.legend li { display:flex; align-items:center; gap:.4rem } .legend i { width:1.3rem; height:.7rem; border-radius:2px }
.told { min-height:1.5em; margin:.15rem 0; font-variant-numeric:tabular-nums; color:var(--dim) }
</style></head><body>
<h1>Benchmarks of Sepal</h1>
<div id="page"></div>
<script type="application/json" id="data">@DATA@</script>
<script>
"use strict";
const data = JSON.parse(document.getElementById("data").textContent), page = document.getElementById("page");
const el = (name, text, parent, cls) => { const n = document.createElement(name); if (text !== undefined)
  n.textContent = text; if (cls) n.className = cls; parent.append(n); return n };
const NS = "http://www.w3.org/2000/svg";
const svgel = (name, attributes, parent, text) => { const n = document.createElementNS(NS, name);
  for (const k in attributes) n.setAttribute(k, attributes[k]); if (text !== undefined) n.textContent = text;
  parent.append(n); return n };
const count = n => Math.round(n).toLocaleString("en");
const human = n => { const u = ["B","KiB","MiB","GiB","TiB"]; let i = 0;
  while (n >= 1024 && i < 4) { n /= 1024; ++i } return (i ? n.toFixed(1) : Math.round(n)) + " " + u[i] };
const short = n => n >= 1e6 ? +(n / 1e6).toFixed(2) + "M" : n >= 1e3 ? +(n / 1e3).toFixed(1) + "k" : String(+n.toFixed(2));
const micros = n => n === undefined ? "-" : n >= 1e6 ? +(n / 1e6).toFixed(2) + " s" : n >= 1000 ?
  +(n / 1000).toFixed(2) + " ms" : +n.toFixed(2) + " us";
const color = i => `var(--run${i % 6})`, dash = i => i < 6 ? "" : "6 3";
// Round numbers from 0 on, up to what is not less than `most`.
function ticks(most, wanted) {
  const rough = most / wanted, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map(f => f * power).find(s => s >= rough * .999), out = [0];
  while (out.at(-1) < most * .999) out.push(+(out.length * step).toPrecision(12));
  return out;
}
function table(head, rows, parent) {
  const t = el("table", undefined, el("div", undefined, parent, "scroll"));
  const h = el("tr", undefined, el("thead", undefined, t)); for (const c of head) el("th", c, h);
  const b = el("tbody", undefined, t);
  for (const r of rows) { const tr = el("tr", undefined, b); for (const c of r) el("td", c, tr) }
}
function legend(items, parent) {
  const list = el("ul", undefined, parent, "legend");
  for (const [fill, name] of items) el("i", undefined, el("li", undefined, list)).style.background = fill,
    list.lastChild.append(name);
}
const lastSample = (run, r) => run.samples.filter(s => s.benchmark === r.benchmark && s.at >= r.began &&
  s.at <= r.ended + 1e-6).at(-1);
function amplification(run, r) {
  const s = lastSample(run, r);
  return s && s.user_bytes ? ((s.flush_bytes + s.compaction_write_bytes) / s.user_bytes).toFixed(2) : "-";
}
function results(run) {
  const l = r => r.latency_micros || {};
  table(["benchmark", "threads", "operations", "seconds", "ops/s", "p50", "p99", "p99.9", "p99.99", "max",
         "write amplification"],
    run.results.map(r => [r.benchmark, r.threads, count(r.operations), r.seconds.toFixed(2), count(r.ops_per_second),
      micros(l(r).p50), micros(l(r).p99), micros(l(r)["p99.9"]), micros(l(r)["p99.99"]), micros(l(r).max),
      amplification(run, r)]), page);
}
// Rates between samples of one benchmark, from its beginning on.
function steps(run, r) {
  let before = {at: r.began, operations: 0, flush_bytes: 0, compaction_write_bytes: 0, throttle_micros: 0};
  const out = [];
  for (const s of run.samples.filter(s => s.benchmark === r.benchmark && s.at > r.began && s.at <= r.ended + 1e-6)) {
    const dt = s.at - before.at;
    if (dt > 1e-3) out.push({from: before.at - r.began, to: s.at - r.began, rate: (s.operations - before.operations) / dt,
      flush: (s.flush_bytes - before.flush_bytes) / dt,
      compaction: (s.compaction_write_bytes - before.compaction_write_bytes) / dt,
      throttle: (s.throttle_micros - before.throttle_micros) / 1e6 / dt / r.threads});
    before = s;
  }
  return out;
}
const BANDS = [["flush", "flushes"], ["compaction", "compactions"], ["throttle", "writers throttled"]];
const shown = (key, s) => key === "throttle" ? `${(100 * s[key]).toFixed(0)} % of the time` : `${human(s[key])}/s`;
// One benchmark of all runs, on one axis: `list` has {run, steps, index}.
function chart(name, list) {
  el("h3", name, page);
  if (data.runs.length > 1) legend(list.map(({run, index}) => [color(index), run.name]), page);
  const W = Math.max(320, page.clientWidth), left = 78, right = 12, top = 22, bottom = 142, rows = list.length * 3;
  const H = bottom + 22 + rows * 13 + 8;
  const svg = svgel("svg", {viewBox: `0 0 ${W} ${H}`, height: H, role: "img", "aria-label":
    `${name}: operations per second over time, with flushes, compactions and throttling`}, page);
  const told = el("p", "Point at the chart for the values at a moment.", page, "told");
  const ys = ticks(Math.max(1, ...list.flatMap(l => l.steps.map(s => s.rate))), 4);
  const xs = ticks(Math.max(1e-3, ...list.map(l => l.steps.at(-1).to)), W < 600 ? 4 : 8);
  const end = Math.max(...list.map(l => l.steps.at(-1).to));
  const x = t => left + t / end * (W - left - right), y = v => bottom - v / ys.at(-1) * (bottom - top);
  svgel("text", {x: 8, y: 13}, svg, "ops/s");
  for (const v of ys) {
    svgel("line", {class: "axis", x1: left, x2: W - right, y1: y(v), y2: y(v)}, svg);
    svgel("text", {x: left - 6, y: y(v) + 4, "text-anchor": "end"}, svg, short(v));
  }
  for (const t of xs.filter(t => t <= end)) {
    svgel("line", {class: "axis", x1: x(t), x2: x(t), y1: bottom, y2: bottom + 4}, svg);
    svgel("text", {x: x(t), y: bottom + 16, "text-anchor": t === 0 ? "start" : x(t) > W - 30 ? "end" : "middle"}, svg,
      `${short(t)} s`);
  }
  BANDS.forEach(([key, band], b) => list.forEach(({run, steps: all, index}, i) => {
    const at = bottom + 24 + (b * list.length + i) * 13, peak = key === "throttle" ? 1 :
      Math.max(1, ...list.flatMap(l => l.steps.map(s => s[key])));
    svgel("rect", {x: left - 8, y: at, width: 4, height: 11, style: `fill:${color(index)}`}, svg);
    if (i === 0) svgel("text", {x: left - 12, y: at + 10, "text-anchor": "end"}, svg, key);
    for (const s of all) if (s[key] > 0) {
      const n = svgel("rect", {class: key, x: x(s.from), y: at, width: Math.max(1, x(s.to) - x(s.from)), height: 11,
        opacity: .2 + .8 * Math.min(1, s[key] / peak)}, svg);
      svgel("title", {}, n, `${run.name}, ${band}: ${shown(key, s)}`);
    }
  }));
  for (const {steps: all, index} of list) {
    let d = ""; for (const s of all) d += `${d ? "L" : "M"}${x(s.from)},${y(s.rate)}L${x(s.to)},${y(s.rate)}`;
    svgel("path", {class: "rate", d, style: `stroke:${color(index)}`, "stroke-dasharray": dash(index)}, svg);
  }
  const cursor = svgel("line", {class: "cursor", y1: top, y2: H - 6}, svg);
  svg.addEventListener("pointermove", e => {
    const box = svg.getBoundingClientRect(), t = ((e.clientX - box.left) / box.width * W - left) / (W - left - right) * end;
    if (t < 0 || t > end) return;
    cursor.setAttribute("x1", x(t)); cursor.setAttribute("x2", x(t)); cursor.style.visibility = "visible";
    told.textContent = `${t.toFixed(2)} s: ` + list.map(({run, steps: all}) => {
      const s = all.find(s => t >= s.from && t <= s.to);
      return (data.runs.length > 1 ? run.name + " " : "") + (s ? `${count(s.rate)} ops/s, ` + BANDS.map(([key, band]) =>
        `${band} ${shown(key, s)}`).join(", ") : "-") }).join("; ");
  });
}
function latencies() {
  const names = [...new Set(data.runs.flatMap(run => run.results.filter(r => r.latency_micros).map(r => r.benchmark)))];
  if (!names.length) return;
  el("h2", "Latencies", page);
  el("p", "A line runs from p50 (dot) to the maximum, on a logarithmic scale; its ticks are p99, p99.9 and p99.99.", page,
     "dim");
  if (data.runs.length > 1) legend(data.runs.map((run, i) => [color(i), run.name]), page);
  const lines = names.flatMap(name => data.runs.flatMap((run, index) => run.results.filter(r => r.benchmark === name &&
    r.latency_micros).map(r => ({name, index, l: r.latency_micros}))));
  const W = Math.max(320, page.clientWidth), left = W < 600 ? 110 : 170, H = lines.length * 18 + 30;
  const svg = svgel("svg", {viewBox: `0 0 ${W} ${H}`, height: H, role: "img", "aria-label": "latency distributions"}, page);
  const all = lines.flatMap(({l}) => [l.p50, l.max]).map(v => Math.max(v, .01));
  const low = Math.floor(Math.log10(Math.min(...all))), high = Math.ceil(Math.log10(Math.max(...all)) + 1e-9);
  const x = v => left + (Math.log10(Math.max(v, .01)) - low) / Math.max(1, high - low) * (W - left - 24);
  for (let e = low; e <= high; ++e) {
    svgel("line", {class: "axis", x1: x(10 ** e), x2: x(10 ** e), y1: 4, y2: H - 20}, svg);
    svgel("text", {x: x(10 ** e), y: H - 6, "text-anchor": e === high ? "end" : "middle"}, svg, micros(10 ** e));
  }
  lines.forEach(({name, index, l}, i) => {
    const y = 14 + i * 18, style = `stroke:${color(index)}`;
    if (!i || lines[i - 1].name !== name) svgel("text", {x: left - 12, y: y + 4, "text-anchor": "end"}, svg, name);
    svgel("line", {class: "rate", x1: x(l.p50), x2: x(l.max), y1: y, y2: y, style}, svg);
    svgel("title", {}, svgel("circle", {cx: x(l.p50), cy: y, r: 4, style: `fill:${color(index)}`}, svg),
      `p50: ${micros(l.p50)}`);
    for (const p of ["p99", "p99.9", "p99.99"])
      svgel("title", {}, svgel("line", {class: "rate", x1: x(l[p]), x2: x(l[p]), y1: y - 5, y2: y + 5, style}, svg),
        `${p}: ${micros(l[p])}`);
  });
}
function drawAll() {
  page.replaceChildren();
  const names = [...new Set(data.runs.flatMap(run => run.results.map(r => r.benchmark)))];
  if (data.runs.length > 1) {
    el("h2", "Operations per second, side by side", page);
    table(["benchmark", ...data.runs.map(run => run.name)], names.map(n => {
      const rates = data.runs.map(run => (run.results.find(r => r.benchmark === n) || {}).ops_per_second);
      return [n, ...rates.map((v, i) => v === undefined ? "-" : count(v) + (i && rates[0] ?
        ` (${(v / rates[0]).toFixed(2)}x)` : ""))];
    }), page);
  }
  el("h2", "Rates over time", page);
  legend(BANDS.map(([key, name]) => [`var(--${key})`, name + (key === "throttle" ? ": stronger for a larger share of the time" :
    ": stronger for more bytes per second")]), page);
  for (const name of names) {
    const rounds = Math.max(...data.runs.map(run => run.results.filter(r => r.benchmark === name).length));
    for (let round = 0; round < rounds; ++round) {
      const list = data.runs.map((run, index) => ({run, index, r: run.results.filter(r => r.benchmark === name)[round]}))
        .filter(l => l.r).map(l => ({...l, steps: steps(l.run, l.r)})).filter(l => l.steps.length);
      if (list.length) chart(rounds > 1 ? `${name} (${round + 1})` : name, list);
    }
  }
  latencies();
  for (const run of data.runs) {
    const e = run.environment;
    el("h2", run.name, page);
    el("p", `Sepal ${e.version}, ${new Date(e.unix_micros / 1000).toISOString()}. ${e.machine}.`, page, "dim");
    el("p", `${count(e.entries)} entries of ${e.key_bytes} + ${e.value_bytes} bytes, ${e.threads} thread${e.threads === 1
      ? "" : "s"}, memory limit ${human(e.memory_limit)}, compression ${e.compression}, ${e.sync ? "synced writes"
      : "writes not synced"}, seed ${e.seed}.`, page, "dim");
    results(run);
  }
}
let width = 0;
addEventListener("resize", () => { if (page.clientWidth !== width) { width = page.clientWidth; drawAll() } });
document.title = `Sepal benchmarks: ${data.runs.map(run => run.name).join(", ")}`;
width = page.clientWidth; drawAll();
</script></body></html>
)page";

}  // namespace

std::string PageWithData(std::string_view page, const nlohmann::json& data) {
  std::string text;
  for (const char c : ToLine(data)) {
    if (c == '<') {
      text += "\\u003c";
    } else {
      text += c;
    }
  }
  const std::string_view mark = "@DATA@";
  std::string whole(page);
  whole.replace(whole.find(mark), mark.size(), text);
  return whole;
}

std::string BenchPage(const nlohmann::json& data) { return PageWithData(kPage, data); }

}  // namespace sepal::tools
