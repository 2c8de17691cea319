// The page of `sepal lsm html`: markup, style and script, with a place for the data.
#include <nlohmann/json.hpp>

#include "tools/sepal/pictures/bench_page.h"
#include "tools/sepal/pictures/lsm_picture.h"

namespace sepal::tools {
namespace {

constexpr std::string_view kLsmPage = R"page(<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Sepal: LSM tree</title>
<style>
:root { --bg:#fff; --fg:#1c2024; --dim:#60646c; --line:#d9d9e0; --band:#f4f4f7; --table:#0072b2; --dead:#e69f00;
        --new:#009e73; --gone:#cc79a7; --flush:#56b4e9; --move:#8d8d8d; --compaction:#d55e00 }
@media (prefers-color-scheme: dark) { :root { --bg:#111113; --fg:#edeef0; --dim:#b0b4ba; --line:#43484e;
        --band:#1b1d20; --table:#4aa3df; --dead:#f5c04a; --new:#2ec99b; --gone:#e39cc3; --flush:#8ccbf2; --move:#a0a0a0;
        --compaction:#ff8a3d } }
* { box-sizing:border-box } body { margin:0; padding:1rem 1.5rem; background:var(--bg); color:var(--fg);
  font:14px/1.45 system-ui,sans-serif } h1 { font-size:1.1rem; margin:0; overflow-wrap:anywhere } .dim { color:var(--dim) }
p { margin:.25rem 0 .5rem } h2 { font-size:.95rem; margin:0 0 .25rem }
form { display:flex; flex-wrap:wrap; gap:.5rem 1.25rem; align-items:center; margin:.5rem 0 }
label { display:flex; gap:.5rem; align-items:center } input[type=range] { width:min(40vw,20rem) }
input,select,button { font:inherit; color:inherit; accent-color:var(--table) } select,button { background:var(--band);
  border:1px solid var(--line); border-radius:4px; padding:.1rem .5rem }
output { min-width:4ch; font-variant-numeric:tabular-nums }
main { display:grid; grid-template-columns:minmax(0,1fr) 20rem; gap:1rem 1.5rem; align-items:start }
@media (max-width:60rem) { main { grid-template-columns:minmax(0,1fr) } body { padding:.75rem } aside { position:static } }
aside { position:sticky; top:.5rem }
dl { display:grid; grid-template-columns:1fr auto; gap:.1rem .75rem; margin:0 0 1rem } dt { color:var(--dim) }
dd { margin:0; font-variant-numeric:tabular-nums; text-align:right }
svg { width:100%; display:block; font:12px system-ui,sans-serif } svg text { fill:var(--fg) }
svg .dim { fill:var(--dim) } rect.band { fill:var(--band) } rect.table { fill:var(--table); stroke:var(--bg); }
rect.table:focus,rect.table:hover { stroke:var(--fg); stroke-width:2; outline:none } line.tick { stroke:var(--line) }
rect.added { fill:var(--new) } rect.removed { fill:none; stroke:var(--gone); stroke-width:2; stroke-dasharray:3 2 }
rect.size { fill:var(--dim) } rect.dead { fill:var(--dead); pointer-events:none }
.edit { cursor:pointer } .edit.flush { fill:var(--flush) } .edit.compaction { fill:var(--compaction) }
.edit.move { fill:var(--move) } .edit.other { fill:var(--line) } .now { fill:none; stroke:var(--fg); stroke-width:2 }
.legend { display:flex; flex-wrap:wrap; gap:.15rem 1rem; padding:0; margin:.25rem 0 .75rem; list-style:none }
.legend li { display:flex; align-items:center; gap:.4rem } .legend i { width:1.1rem; height:.7rem; display:inline-block;
  border-radius:2px } #detail { white-space:pre-wrap; font:13px/1.5 ui-monospace,monospace; overflow-wrap:anywhere }
</style></head><body>
<h1>LSM tree of <span id="directory"></span></h1>
<p class="dim">as of <span id="date"></span></p>
<form onsubmit="return false">
  <label>Column family <select id="family"></select></label>
  <label>Key axis <select id="scale"><option value="rank">by rank</option><option value="bytes">by bytes</option></select>
  </label>
  <label>Edit <input type="range" id="edit" min="0" step="1"> <output id="editshown"></output></label>
  <label>Compare with <input type="checkbox" id="compare"> <input type="range" id="other" min="0" step="1" disabled>
    <output id="othershown"></output></label>
  <button type="button" id="play">Play</button>
</form>
<main><div>
<h2>Edits of the manifest, by time</h2>
<svg id="times" role="img" aria-label="Edits of the manifest by time"></svg>
<ul class="legend"><li><i style="background:var(--flush)"></i>flush (short)</li><li><i
  style="background:var(--compaction)"></i>compaction (tall)</li><li><i style="background:var(--move)"></i>move</li><li><i
  style="background:var(--line)"></i>other</li></ul>
<p id="editkind"></p>
<h2>Tables, by the keys that they span</h2>
<svg id="tree" role="img" aria-label="Levels, runs and tables by the keys they span"></svg>
<ul class="legend"><li><i style="background:var(--table)"></i>table</li><li><i style="background:var(--dead)"></i>its share
of tombstones</li><li><i style="background:var(--new)"></i>added since the compared edit</li><li><i
style="border:2px dashed var(--gone)"></i>removed since</li></ul>
<p class="dim">Arrow keys step through the edits, P plays, C compares, Tab walks the tables. The bar under a level is its
size.</p>
</div><aside><h2>Figures</h2><dl id="figures"></dl><h2>Table</h2>
<div id="detail" aria-live="polite">Point at a table, or Tab to it.</div></aside></main>
<script type="application/json" id="data">@DATA@</script>
<script>
"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const $ = id => document.getElementById(id);
const human = n => { const u = ["B","KiB","MiB","GiB","TiB"]; let i = 0;
  while (n >= 1024 && i < 4) { n /= 1024; ++i } return (i ? n.toFixed(1) : n) + " " + u[i] };
const count = n => n.toLocaleString("en"), iso = micros => new Date(micros / 1000).toISOString();
const counted = (n, noun) => `${n} ${noun}${n === 1 ? "" : "s"}`;
// The state that the manifest begins with.
const first = data.snapshot_edits - 1;
// What each edit did, and when: it has no time of its own, but its tables have.
let latest = 0;
for (const e of data.edits) {
  const gone = new Set(e.remove.map(r => r.number)), moved = e.add.filter(a => gone.has(a.number)).length;
  e.kind = !e.add.length && !e.remove.length ? "other" : !e.remove.length ? "flush" : moved === e.add.length &&
    moved === e.remove.length ? "move" : "compaction";
  latest = e.at = Math.max(latest, ...e.add.map(a => data.tables[a.number].created));
}
data.edits.slice(0, data.snapshot_edits).forEach(e => e.kind = "other");
const begin = (data.edits.find(e => e.at) || {at: 0}).at, span = Math.max(1, latest - begin);
function stateAt(edit) {
  const state = new Map();  // number -> {level, run}
  let flushed = 0, compacted = 0;
  for (let i = 0; i <= edit; ++i) {
    const e = data.edits[i], gone = new Set(e.remove.map(r => r.number));
    for (const r of e.remove) state.delete(r.number);
    for (const a of e.add) {
      const moved = gone.has(a.number), bytes = data.tables[a.number].bytes;
      if (!moved && i > first) e.remove.length ? compacted += bytes : flushed += bytes;
      state.set(a.number, {level: a.level, run: a.run});
    }
  }
  return {tables: state, flushed, compacted};
}
const family = () => Number($("family").value);
const of = state => [...state.tables].map(([n, p]) => ({...data.tables[n], ...p})).filter(t => t.family === family());
function figures(state, list) {
  const sum = f => list.reduce((a, t) => a + f(t), 0);
  const runs = new Set(list.map(t => t.level + "/" + t.run)).size;
  const raw = sum(t => t.raw_bytes), bytes = sum(t => t.bytes), tomb = sum(t => t.tombstones);
  const rows = [["Tables", count(list.length)], ["Runs (tables a read may ask)", runs], ["Bytes", human(bytes)],
    ["Entries", count(sum(t => t.entries))], ["Tombstones", count(tomb)],
    ["Stored / raw bytes", raw ? (bytes / raw).toFixed(2) : "-"], ["Flushed *", human(state.flushed)],
    ["Write amplification *", state.flushed ? ((state.flushed + state.compacted) / state.flushed).toFixed(2) : "-"],
    ["* since this manifest began", ""]];
  $("figures").replaceChildren(...rows.flatMap(([k, v]) => [Object.assign(document.createElement("dt"),
    {textContent: k}), Object.assign(document.createElement("dd"), {textContent: v})]));
}
function detail(t) {
  const fill = data.fills[t.number];
  let s = `${String(t.number).padStart(6, "0")}.sst\nlevel ${t.level}, run ${t.run}\n` +
    `${human(t.bytes)} stored, ${human(t.raw_bytes)} raw\n${count(t.entries)} entries, ${count(t.tombstones)} tombstones\n` +
    `keys ${t.smallest}\n  to ${t.largest}\nsequences ${t.sequences[0]} .. ${t.sequences[1]}`;
  if (t.created) s += `\nwritten ${iso(t.created)}`;
  if (fill) s += `\nguard ${fill.guard_bytes ? human(fill.guard_bytes) + ", " + (100 * fill.guard_fill).toFixed(1) +
    " % of its bits set" : "none"}\nlanes ${human(fill.lane_bytes)}\nfalse positives ` +
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
// Where each key that a table begins or ends with lies, from 0 to 1. By rank they are evenly apart; by bytes, what the
// tables hold lies between them, each table's spread evenly over its own.
function positions(list, keys) {
  const gaps = new Array(Math.max(0, keys.length - 1)).fill($("scale").value === "rank" ? 1 : 0);
  if ($("scale").value === "bytes") for (const t of list)
    for (let i = t.from; i < t.to; ++i) gaps[i] += t.bytes / (t.to - t.from);
  const total = gaps.reduce((a, g) => a + g, 0) || 1, out = [0];
  for (const gap of gaps) out.push(out.at(-1) + gap / total);
  return out;
}
function drawTimes(edit) {
  const svg = $("times"), W = Math.max(300, svg.clientWidth), H = 46, x = t => 8 + (t - begin) / span * (W - 16);
  svg.replaceChildren(); svg.setAttribute("viewBox", `0 0 ${W} ${H}`); svg.setAttribute("height", H);
  node("rect", {class: "band", x: 0, y: 0, width: W, height: 28, rx: 4}, svg);
  data.edits.forEach((e, i) => {
    if (i < first || !e.at) return;
    const tall = e.kind === "compaction" ? 20 : e.kind === "flush" ? 12 : 6;
    const n = node("rect", {class: `edit ${e.kind}`, x: x(e.at) - 2, y: 26 - tall, width: 4, height: tall}, svg);
    node("title", {}, n, `edit ${i}: ${e.kind}, ${iso(e.at)}`);
    n.addEventListener("click", () => { $("edit").value = i; draw() });
    if (i === edit) node("rect", {class: "now", x: x(e.at) - 4, y: 2, width: 8, height: 26}, svg);
  });
  if (!latest) { node("text", {class: "dim", x: 8, y: 18}, svg, "No table was written yet."); return }
  node("text", {class: "dim", x: 0, y: 43}, svg, iso(begin).slice(0, 19) + "Z");
  node("text", {class: "dim", x: W, y: 43, "text-anchor": "end"}, svg, iso(latest).slice(0, 19) + "Z");
}
function draw() {
  const edit = Number($("edit").value), comparing = $("compare").checked, other = Number($("other").value);
  $("editshown").value = `${edit} of ${data.edits.length - 1}`;
  $("othershown").value = comparing ? other : "";
  const e = data.edits[edit];
  $("editkind").textContent = edit === first ? `Edit ${edit}: what there was when this manifest began` :
    `Edit ${edit}: ${e.kind}` + (e.kind === "other" ? "" : `, ${e.remove.length ? counted(e.remove.length, "table") +
    " to " : ""}${counted(e.add.length, "table")}`) + (e.at && e.kind !== "other" ? `, ${iso(e.at)}` : "");
  const state = stateAt(edit), list = of(state);
  const before = comparing ? of(stateAt(other)) : [], had = new Set(before.map(t => t.number));
  const has = new Set(list.map(t => t.number));
  figures(state, list); drawTimes(edit);
  const all = list.concat(before.filter(t => !has.has(t.number)).map(t => ({...t, removed: true})));
  const keys = (data.families.find(f => f.id === family()) || {keys: []}).keys, place = positions(all, keys);
  const svg = $("tree"), W = Math.max(300, svg.clientWidth), left = W < 600 ? 76 : 150;
  const x = key => left + 4 + place[key] * (W - left - 12), focused = document.activeElement.dataset.number;
  svg.replaceChildren();
  const levels = [...new Set(all.map(t => t.level))].sort((a, b) => a - b);
  const levelBytes = level => all.filter(t => t.level === level && !t.removed).reduce((a, t) => a + t.bytes, 0);
  const most = Math.max(1, ...levels.map(levelBytes));
  let y = 4;
  for (const level of levels) {
    const here = all.filter(t => t.level === level), runs = [...new Set(here.map(t => t.run))].sort((a, b) => b - a);
    const height = Math.max(32, runs.length * 20 + 12);
    node("rect", {class: "band", x: 0, y, width: W, height, rx: 4}, svg);
    node("text", {x: 8, y: y + 18}, svg, `level ${level}`);
    if (left > 100) node("text", {class: "dim", x: 62, y: y + 18}, svg, human(levelBytes(level)));
    node("rect", {class: "size", x: 8, y: y + 23, width: (left - 20) * levelBytes(level) / most, height: 4, rx: 2}, svg);
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
  else {
    // Keys as ticks, as many as there is room for.
    const ticks = Math.max(2, Math.min(keys.length, Math.floor((W - left) / 170)));
    for (let i = 0; i < ticks; ++i) {
      const share = i / (ticks - 1);
      const key = place.findIndex(p => p >= share - 1e-9), anchor = i === 0 ? "start" : i === ticks - 1 ? "end" : "middle";
      node("line", {class: "tick", x1: x(key), x2: x(key), y1: y - 4, y2: y + 4}, svg);
      const name = keys[key].length > 22 ? "\u2026" + keys[key].slice(-21) : keys[key];
      node("title", {}, node("text", {class: "dim", x: x(key), y: y + 18, "text-anchor": anchor}, svg, name), keys[key]);
    }
    y += 26;
  }
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
$("directory").textContent = data.directory; $("date").textContent = iso(data.unix_micros).slice(0, 19) + "Z";
document.title = `LSM tree of ${data.directory}, ${iso(data.unix_micros).slice(0, 10)}`;
for (const f of data.families) $("family").append(new Option(f.name, f.id));
for (const id of ["edit", "other"]) { $(id).min = first; $(id).max = data.edits.length - 1 }
$("edit").value = data.edits.length - 1; $("other").value = first;
$("compare").addEventListener("change", () => { $("other").disabled = !$("compare").checked; draw() });
for (const id of ["edit", "other", "family", "scale"]) $(id).addEventListener("input", draw);
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
