#include "tools/sepal/pictures/bench_page.h"

#include <nlohmann/json.hpp>

#include "tools/terminal/cli.h"

namespace sepal::tools {
namespace {

constexpr std::string_view kPage = R"page(<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Sepal: benchmarks</title>
<style>
:root { --bg:#fff; --fg:#1c2024; --dim:#60646c; --line:#d9d9e0; --band:#f4f4f7; --rate:#3e63dd; --flush:#2a8f5c;
        --merge:#ad5700; --throttle:#e5484d }
@media (prefers-color-scheme: dark) { :root { --bg:#111113; --fg:#edeef0; --dim:#b0b4ba; --line:#43484e;
        --band:#1b1d20; --rate:#7d9bff; --flush:#5fd39a; --merge:#ffb169; --throttle:#ff8a8a } }
* { box-sizing:border-box } body { margin:0 auto; max-width:76rem; padding:1rem 1.5rem 3rem; background:var(--bg);
  color:var(--fg); font:14px/1.45 system-ui,sans-serif } h1 { font-size:1.2rem } h2 { font-size:1.05rem;
  margin:2rem 0 .25rem } h3 { font-size:.95rem; margin:1.25rem 0 .25rem } .dim { color:var(--dim); margin:.25rem 0 }
table { border-collapse:collapse; width:100% } .scroll { overflow-x:auto } th,td { padding:.2rem .6rem;
  text-align:right; border-bottom:1px solid var(--line); font-variant-numeric:tabular-nums; white-space:nowrap }
th { color:var(--dim); font-weight:500 } th:first-child,td:first-child { text-align:left }
svg { width:100%; display:block; background:var(--band); border-radius:4px; font:11px system-ui,sans-serif }
svg text { fill:var(--dim) } .axis { stroke:var(--line) } .rate { fill:none; stroke:var(--rate); stroke-width:1.5 }
.under { fill:var(--rate); opacity:.15 } .flush { fill:var(--flush) } .merge { fill:var(--merge) }
.throttle { fill:var(--throttle) } .mark { stroke:var(--dim); stroke-dasharray:2 3 }
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
  while (n >= 1024 && i < 4) { n /= 1024; ++i } return (i ? n.toFixed(1) : n) + " " + u[i] };
const short = n => n >= 1e6 ? (n / 1e6).toFixed(1) + "M" : n >= 1e3 ? (n / 1e3).toFixed(0) + "k" : n.toFixed(0);
const micros = n => n === undefined ? "-" : n >= 1000 ? (n / 1000).toFixed(2) + " ms" : n.toFixed(2) + " us";
function table(head, rows, parent) {
  const t = el("table", undefined, el("div", undefined, parent, "scroll"));
  const h = el("tr", undefined, el("thead", undefined, t)); for (const c of head) el("th", c, h);
  const b = el("tbody", undefined, t);
  for (const r of rows) { const tr = el("tr", undefined, b); for (const c of r) el("td", c, tr) }
}
const lastSample = (run, r) => run.samples.filter(s => s.benchmark === r.benchmark && s.at >= r.began &&
  s.at <= r.ended + 1e-6).at(-1);
function amplification(run, r) {
  const s = lastSample(run, r);
  return s && s.user_bytes ? ((s.flush_bytes + s.compaction_write_bytes) / s.user_bytes).toFixed(2) : "-";
}
function results(run) {
  const l = r => r.latency_micros || {};
  table(["benchmark", "threads", "operations", "seconds", "ops a second", "p50", "p99", "p99.9", "p99.99", "max",
         "write amplification"],
    run.results.map(r => [r.benchmark, r.threads, count(r.operations), r.seconds.toFixed(2), count(r.ops_per_second),
      micros(l(r).p50), micros(l(r).p99), micros(l(r)["p99.9"]), micros(l(r)["p99.99"]), micros(l(r).max),
      amplification(run, r)]), page);
}
// Rates between samples of one benchmark.
function steps(run, r) {
  let before = {at: r.began, operations: 0, flush_bytes: 0, compaction_write_bytes: 0, throttle_micros: 0};
  const out = [];
  for (const s of run.samples.filter(s => s.benchmark === r.benchmark && s.at > r.began && s.at <= r.ended + 1e-6)) {
    const dt = s.at - before.at;
    if (dt > 1e-3) out.push({from: before.at, to: s.at, rate: (s.operations - before.operations) / dt,
      flush: (s.flush_bytes - before.flush_bytes) / dt,
      merge: (s.compaction_write_bytes - before.compaction_write_bytes) / dt,
      throttle: (s.throttle_micros - before.throttle_micros) / 1e6 / dt / r.threads});
    before = s;
  }
  return out;
}
function chart(run, r) {
  const list = steps(run, r); if (!list.length) return;
  el("h3", r.benchmark, page);
  const W = 1100, H = 210, left = 66, right = 8, top = 10, bottom = 132;
  const svg = svgel("svg", {viewBox: `0 0 ${W} ${H}`, role: "img", "aria-label":
    `${r.benchmark}: operations a second over time, with flushes, compactions and throttling`}, page);
  const most = Math.max(...list.map(s => s.rate), 1), span = Math.max(r.ended - r.began, 1e-6);
  const x = t => left + (t - r.began) / span * (W - left - right), y = v => bottom - v / most * (bottom - top);
  for (const share of [0, .5, 1]) {
    svgel("line", {class: "axis", x1: left, x2: W - right, y1: y(most * share), y2: y(most * share)}, svg);
    svgel("text", {x: left - 6, y: y(most * share) + 4, "text-anchor": "end"}, svg, short(most * share));
  }
  let path = ""; for (const s of list) path += `${path ? "L" : "M"}${x(s.from)},${y(s.rate)}L${x(s.to)},${y(s.rate)}`;
  svgel("path", {class: "under", d: `${path}L${x(list.at(-1).to)},${bottom}L${x(list[0].from)},${bottom}Z`}, svg);
  svgel("path", {class: "rate", d: path}, svg);
  const bands = [["flush", "flushes", 140], ["merge", "merges", 158], ["throttle", "held back", 176]];
  for (const [key, name, at] of bands) {
    const peak = key === "throttle" ? 1 : Math.max(...list.map(s => s[key]));
    svgel("text", {x: left - 6, y: at + 11, "text-anchor": "end"}, svg, name);
    for (const s of list) if (s[key] > 0 && peak > 0) {
      const n = svgel("rect", {class: key, x: x(s.from), y: at, width: Math.max(1, x(s.to) - x(s.from)), height: 14,
        opacity: .15 + .85 * Math.min(1, s[key] / peak)}, svg);
      svgel("title", {}, n, key === "throttle" ? `${(100 * s[key]).toFixed(0)} % of the time`
        : `${human(s[key])} a second`);
    }
  }
  for (let i = 0; i <= 5; ++i) svgel("text", {x: x(r.began + span * i / 5), y: H - 4, "text-anchor":
    i === 0 ? "start" : i === 5 ? "end" : "middle"}, svg, (span * i / 5).toFixed(1) + " s");
}
function latencies(run) {
  const list = run.results.filter(r => r.latency_micros); if (!list.length) return;
  el("h3", "Latencies", page);
  el("p", "Each line runs from p50 to the maximum on a logarithmic scale; the ticks are p99, p99.9 and p99.99.", page,
     "dim");
  const W = 1100, left = 150, H = list.length * 22 + 26;
  const svg = svgel("svg", {viewBox: `0 0 ${W} ${H}`, role: "img", "aria-label": "latency distributions"}, page);
  const all = list.flatMap(r => [r.latency_micros.p50, r.latency_micros.max]).map(v => Math.max(v, .01));
  const low = Math.floor(Math.log10(Math.min(...all))), high = Math.ceil(Math.log10(Math.max(...all)) + 1e-9);
  const x = v => left + (Math.log10(Math.max(v, .01)) - low) / Math.max(1, high - low) * (W - left - 20);
  for (let e = low; e <= high; ++e) {
    svgel("line", {class: "axis", x1: x(10 ** e), x2: x(10 ** e), y1: 4, y2: H - 20}, svg);
    svgel("text", {x: x(10 ** e), y: H - 6, "text-anchor": e === high ? "end" : "middle"}, svg, micros(10 ** e));
  }
  list.forEach((r, i) => {
    const y = 15 + i * 22, l = r.latency_micros;
    svgel("text", {x: left - 8, y: y + 4, "text-anchor": "end"}, svg, r.benchmark);
    svgel("line", {class: "rate", x1: x(l.p50), x2: x(l.max), y1: y, y2: y}, svg);
    svgel("circle", {class: "under", style: "opacity:1", cx: x(l.p50), cy: y, r: 4}, svg);
    for (const p of ["p99", "p99.9", "p99.99"]) {
      const n = svgel("line", {class: "rate", x1: x(l[p]), x2: x(l[p]), y1: y - 6, y2: y + 6}, svg);
      svgel("title", {}, n, `${p}: ${micros(l[p])}`);
    }
  });
}
if (data.runs.length > 1) {
  el("h2", "Side by side: operations a second", page);
  const names = [...new Set(data.runs.flatMap(run => run.results.map(r => r.benchmark)))];
  table(["benchmark", ...data.runs.map(run => run.name)], names.map(n => {
    const rates = data.runs.map(run => (run.results.find(r => r.benchmark === n) || {}).ops_per_second);
    return [n, ...rates.map((v, i) => v === undefined ? "-" : count(v) + (i && rates[0] ? ` (${(v / rates[0]).toFixed(2)}x)`
      : ""))];
  }), page);
}
for (const run of data.runs) {
  const e = run.environment;
  el("h2", run.name, page);
  el("p", `Sepal ${e.version}, ${new Date(e.unix_micros / 1000).toISOString()}. ${e.machine}.`, page, "dim");
  el("p", `${count(e.entries)} entries of ${e.key_bytes} + ${e.value_bytes} bytes, ${e.threads} thread${e.threads === 1
    ? "" : "s"}, memory limit ${human(e.memory_limit)}, compression ${e.compression}, ${e.sync ? "synced writes"
    : "writes not synced"}, seed ${e.seed}.`, page, "dim");
  results(run); latencies(run);
  for (const r of run.results) chart(run, r);
}
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
