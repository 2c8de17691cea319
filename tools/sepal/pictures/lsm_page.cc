// The page of `sepal lsm html`: markup, style and script, with a place for the data.
#include <nlohmann/json.hpp>

#include "tools/sepal/pictures/bench_page.h"
#include "tools/sepal/pictures/lsm_picture.h"

namespace sepal::tools {
namespace {

constexpr std::string_view kLsmPage = R"page(<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Sepal: the tree</title>
<style>
:root { --bg:#fff; --fg:#1c2024; --dim:#60646c; --line:#d9d9e0; --band:#f4f4f7; --few:#3e63dd; --dead:#e5484d;
        --new:#2a8f5c; --gone:#ad5700; }
@media (prefers-color-scheme: dark) { :root { --bg:#111113; --fg:#edeef0; --dim:#b0b4ba; --line:#43484e;
        --band:#1b1d20; --few:#7d9bff; --dead:#ff8a8a; --new:#5fd39a; --gone:#ffb169; } }
* { box-sizing:border-box } body { margin:0; padding:1rem 1.5rem; background:var(--bg); color:var(--fg);
  font:14px/1.45 system-ui,sans-serif } h1 { font-size:1.1rem; margin:0 0 .5rem } .dim { color:var(--dim) }
form { display:flex; flex-wrap:wrap; gap:.5rem 1.25rem; align-items:center; margin:.5rem 0 }
label { display:flex; gap:.5rem; align-items:center } input[type=range] { width:min(40vw,26rem) }
input,select,button { font:inherit; color:inherit; accent-color:var(--few) } select,button { background:var(--band);
  border:1px solid var(--line); border-radius:4px; padding:.1rem .5rem }
output { min-width:4ch; font-variant-numeric:tabular-nums }
dl { display:grid; grid-template-columns:repeat(auto-fit,minmax(8rem,1fr)); gap:.25rem 1rem; margin:.75rem 0 }
dt { color:var(--dim) } dd { margin:0; font-variant-numeric:tabular-nums } dl>div { border-left:3px solid var(--line);
  padding-left:.5rem }
svg { width:100%; display:block; font:12px system-ui,sans-serif } svg text { fill:var(--fg) }
svg .dim { fill:var(--dim) } rect.band { fill:var(--band) } rect.table { fill:var(--few); stroke:var(--bg); }
rect.table:focus,rect.table:hover { stroke:var(--fg); stroke-width:2; outline:none }
rect.added { fill:var(--new) } rect.removed { fill:none; stroke:var(--gone); stroke-dasharray:3 2 }
rect.size { fill:var(--dim) } rect.dead { fill:var(--dead); pointer-events:none }
#detail { min-height:5.5rem; border-top:1px solid var(--line); padding-top:.5rem; white-space:pre-wrap;
  font:13px/1.5 ui-monospace,monospace; overflow-wrap:anywhere }
</style></head><body>
<h1>The tree of <span id="directory"></span></h1>
<form onsubmit="return false">
  <label>Family <select id="family"></select></label>
  <label>Edit <input type="range" id="edit" min="0" step="1"> <output id="editshown"></output></label>
  <label>Compare with <input type="checkbox" id="compare"> <input type="range" id="other" min="0" step="1" disabled>
    <output id="othershown"></output></label>
  <button type="button" id="play">Play</button>
</form>
<p class="dim">Left and right arrows go through the edits of the manifest, P plays, C compares. A table is as wide as
the keys that it spans; the bar under a level is its size; red is the share of deletions. Tab walks the tables.
Comparing, green is new and dashed is gone.</p>
<dl id="figures"></dl>
<svg id="tree" role="img" aria-label="Levels, runs and tables by the keys they span"></svg>
<div id="detail" aria-live="polite">Point at a table, or Tab to it.</div>
<script type="application/json" id="data">@DATA@</script>
<script>
"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const $ = id => document.getElementById(id);
const human = n => { const u = ["B","KiB","MiB","GiB","TiB"]; let i = 0;
  while (n >= 1024 && i < 4) { n /= 1024; ++i } return (i ? n.toFixed(1) : n) + " " + u[i] };
const count = n => n.toLocaleString("en");
function stateAt(edit) {
  const state = new Map();  // number -> {level, run}
  let flushed = 0, merged = 0;
  for (let i = 0; i <= edit; ++i) {
    const e = data.edits[i], gone = new Set(e.remove.map(r => r.number));
    for (const r of e.remove) state.delete(r.number);
    for (const a of e.add) {
      const moved = gone.has(a.number), bytes = data.tables[a.number].bytes;
      if (!moved && i > first) e.remove.length ? merged += bytes : flushed += bytes;
      state.set(a.number, {level: a.level, run: a.run});
    }
  }
  return {tables: state, flushed, merged};
}
// The state that the manifest begins with.
const first = data.snapshot_edits - 1;
const family = () => Number($("family").value);
const of = state => [...state.tables].map(([n, p]) => ({...data.tables[n], ...p})).filter(t => t.family === family());
function figures(state, list) {
  const sum = f => list.reduce((a, t) => a + f(t), 0);
  const runs = new Set(list.map(t => t.level + "/" + t.run)).size;
  const raw = sum(t => t.raw_bytes), bytes = sum(t => t.bytes), tomb = sum(t => t.tombstones);
  const rows = [["Tables", count(list.length)], ["Runs (tables a read may ask)", runs], ["Bytes", human(bytes)],
    ["Entries", count(sum(t => t.entries))], ["Deletions", count(tomb)],
    ["Stored / raw bytes", raw ? (bytes / raw).toFixed(2) : "-"],
    ["Flushed since the manifest began", human(state.flushed)],
    ["Write amplification since then", state.flushed ? ((state.flushed + state.merged) / state.flushed).toFixed(2) : "-"]];
  $("figures").replaceChildren(...rows.map(([k, v]) => { const d = document.createElement("div");
    d.append(Object.assign(document.createElement("dt"), {textContent: k}),
             Object.assign(document.createElement("dd"), {textContent: v})); return d }));
}
function detail(t) {
  const fill = data.fills[t.number];
  let s = `${String(t.number).padStart(6, "0")}.sst  level ${t.level}, run ${t.run}\n` +
    `${human(t.bytes)} stored, ${human(t.raw_bytes)} raw, ${count(t.entries)} entries, ${count(t.tombstones)} deletions\n` +
    `keys ${t.smallest} .. ${t.largest}\nsequences ${t.sequences[0]} .. ${t.sequences[1]}`;
  if (t.created) s += `, written ${new Date(t.created / 1000).toISOString()}`;
  if (fill) s += `\nguard ${fill.guard_bytes ? human(fill.guard_bytes) + ", " + (100 * fill.guard_fill).toFixed(1) +
    " % of its bits set" : "none"}; lanes ${human(fill.lane_bytes)}; an absent key reaches a block with ` +
    `${(100 * fill.expected_rate).toFixed(3)} %`;
  $("detail").textContent = s;
}
const NS = "http://www.w3.org/2000/svg";
function node(name, attributes, parent, text) {
  const n = document.createElementNS(NS, name);
  for (const k in attributes) n.setAttribute(k, attributes[k]);
  if (text !== undefined) n.textContent = text;
  parent.append(n); return n;
}
function draw() {
  const edit = Number($("edit").value), comparing = $("compare").checked, other = Number($("other").value);
  $("editshown").value = `${edit} of ${data.edits.length - 1}`;
  $("othershown").value = comparing ? other : "";
  const state = stateAt(edit), list = of(state);
  const before = comparing ? of(stateAt(other)) : [], had = new Set(before.map(t => t.number));
  const has = new Set(list.map(t => t.number));
  figures(state, list);
  const all = list.concat(before.filter(t => !has.has(t.number)).map(t => ({...t, removed: true})));
  const everything = Object.values(data.tables).filter(t => t.family === family());
  const low = Math.min(...everything.map(t => t.from)), high = Math.max(...everything.map(t => t.to));
  const W = Math.max(480, $("tree").clientWidth), left = 150, x = k => left + (high > low ? (k - low) / (high - low) : .5)
    * (W - left - 12);
  const svg = $("tree"), focused = document.activeElement.dataset.number; svg.replaceChildren();
  const levels = [...new Set(all.map(t => t.level))].sort((a, b) => a - b);
  const levelBytes = level => all.filter(t => t.level === level && !t.removed).reduce((a, t) => a + t.bytes, 0);
  const most = Math.max(1, ...levels.map(levelBytes));
  let y = 4;
  for (const level of levels) {
    const here = all.filter(t => t.level === level), runs = [...new Set(here.map(t => t.run))].sort((a, b) => b - a);
    const height = runs.length * 20 + 12;
    node("rect", {class: "band", x: 0, y, width: W, height, rx: 4}, svg);
    node("text", {x: 8, y: y + 18}, svg, `level ${level}`);
    node("text", {class: "dim", x: 62, y: y + 18}, svg, human(levelBytes(level)));
    node("rect", {class: "size", x: 8, y: y + 23, width: 130 * levelBytes(level) / most, height: 4, rx: 2}, svg);
    runs.forEach((run, i) => {
      for (const t of here.filter(t => t.run === run)) {
        const a = x(t.from), w = Math.max(3, x(t.to) - a), top = y + 6 + i * 20;
        const kind = t.removed ? "removed" : comparing && !had.has(t.number) ? "added" : "";
        const r = node("rect", {class: "table " + kind, x: a, y: top, width: w, height: 16, rx: 2, tabindex: 0,
          role: "button", "data-number": t.number, "aria-label": `table ${t.number}, level ${t.level}`}, svg);
        r.addEventListener("mouseenter", () => detail(t)); r.addEventListener("focus", () => detail(t));
        if (t.entries && t.tombstones && !t.removed)
          node("rect", {class: "dead", x: a, y: top + 12, width: w * t.tombstones / t.entries, height: 4}, svg);
      }
    });
    y += height + 6;
  }
  if (!levels.length) { node("text", {class: "dim", x: 8, y: 24}, svg, "No tables: all is in the log and in memory."); y = 36 }
  svg.setAttribute("viewBox", `0 0 ${W} ${y}`); svg.setAttribute("height", y);
  // Tab goes on from the table where it was.
  if (focused) svg.querySelector(`rect[data-number="${focused}"]`)?.focus({preventScroll: true});
}
let timer = 0;
function play() {
  if (timer) { clearInterval(timer); timer = 0; $("play").textContent = "Play"; return }
  if (Number($("edit").value) === data.edits.length - 1) $("edit").value = first;
  $("play").textContent = "Stop";
  timer = setInterval(() => { const e = $("edit"); if (Number(e.value) >= data.edits.length - 1) return play();
    e.value = Number(e.value) + 1; draw() }, 150);
}
$("directory").textContent = data.directory;
for (const f of data.families) $("family").append(new Option(f.name, f.id));
for (const id of ["edit", "other"]) { $(id).min = first; $(id).max = data.edits.length - 1 }
$("edit").value = data.edits.length - 1; $("other").value = first;
$("compare").addEventListener("change", () => { $("other").disabled = !$("compare").checked; draw() });
for (const id of ["edit", "other", "family"]) $(id).addEventListener("input", draw);
$("play").addEventListener("click", play);
addEventListener("resize", draw);
addEventListener("keydown", e => {
  // Letters choose from a list, arrows move a slider.
  if (e.target.matches("select") || e.ctrlKey || e.metaKey || e.altKey) return;
  const key = e.key.toLowerCase();
  if (e.key === "ArrowLeft" || e.key === "ArrowRight") {
    if (e.target.matches("input[type=range]")) return;
    $("edit").value = Number($("edit").value) + (e.key === "ArrowRight" ? 1 : -1); draw();
  } else if (key === "p") play();
  else if (key === "c") $("compare").click();
});
draw();
</script></body></html>
)page";

}  // namespace

std::string PicturePage(const nlohmann::json& data) { return PageWithData(kLsmPage, data); }

}  // namespace sepal::tools
