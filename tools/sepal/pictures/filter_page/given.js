// --- a filter file, and the filters of a database's tables ---

// A share as a color between the page's ground and the accent.
const shade = (x) => `color-mix(in srgb, var(--accent) ${(8 + 92 * x).toFixed(1)}%, var(--bg))`;

// Which cells a key has in a filter of bits or counters, with what they hold; undefined for other kinds.
function cellsOfKey(filter, body, key) {
  const layout = {
    bloom: "classic",
    ageing: "classic",
    blocked: "blocked",
    partitioned: "partitioned",
    counting: "partitioned",
  }[filter.kind];
  if (!layout) return undefined;
  const h = xxh3(new TextEncoder().encode(key), filter.seed);
  return placesOf(layout, h, filter.size, filter.probes).map((cell) => {
    if (filter.kind !== "counting") return [cell, (body[Math.floor(cell / 8)] >> (cell % 8)) & 1];
    return [cell, filter.width === 8 ? body[cell] : (body[Math.floor(cell / 2)] >> ((cell % 2) * 4)) & 15];
  });
}

function answerOf(filter, body, key) {
  const cells = cellsOfKey(filter, body, key),
    maybe = filter.mayContain(key),
    parts = [`\u201c${key}\u201d is `];
  parts.push(strong(maybe ? "perhaps there" : "absent", maybe ? "" : "good"));
  if (cells === undefined) parts.push(maybe ? ". What the filter has of it agrees." : ", for certain.");
  else if (maybe) parts.push(`: all of its ${filter.kind === "counting" ? "counters are above 0" : "bits are 1"}.`);
  else {
    const [empty] = cells.find(([, value]) => value === 0);
    parts.push(
      `, for certain: ${filter.kind === "counting" ? "counter" : "bit"} ${empty.toLocaleString("en")} is 0.`,
    );
  }
  const items = (cells || []).map(([cell, value], hash) =>
    el(
      "li",
      { style: `--hash:var(--h${hash % 8})` },
      el("i", {}, String(hash + 1)),
      `${filter.kind === "counting" ? "counter" : "bit"} ${cell.toLocaleString("en")}: `,
      strong(String(value)),
    ),
  );
  return [parts, items];
}

function drawMap(svg, map) {
  const columns = Math.min(map.fills.length, svg.clientWidth < 600 ? 32 : 64),
    size = Math.max(300, svg.clientWidth) / columns;
  const height = Math.min(size, 22),
    lines = Math.ceil(map.fills.length / columns);
  svg.setAttribute("viewBox", `0 0 ${columns * size} ${lines * height}`);
  svg.setAttribute("height", lines * height);
  svg.setAttribute("class", "map");
  map.fills.forEach((fill, i) => {
    const rect = svgEl(
      "rect",
      {
        x: (i % columns) * size,
        y: Math.floor(i / columns) * height,
        width: size,
        height,
        style: `fill:${shade(fill)}`,
      },
      svg,
    );
    svgEl("title", {}, rect, `part ${i + 1} of ${map.fills.length}: ${share(fill)} set`);
  });
}

function showGiven(given) {
  const section = $("given"),
    info = given.info;
  section.hidden = false;
  const figures = [
    ["Kind", info.kind],
    ["Keys added", info.keys],
    [
      "Different keys, estimated",
      info.estimated_keys === null ? "every bit is set" : Math.round(info.estimated_keys),
    ],
    ...["bits", "counters", "slots", "registers", "hashes", "width"]
      .filter((name) => name in info)
      .map((name) => [name === "width" ? "Bits of each" : name[0].toUpperCase() + name.slice(1), info[name]]),
    ["Memory", human(info.bytes)],
    ["Seed", info.seed],
    ...(info.fill > 0 ? [["Fill", share(info.fill)]] : []),
    ...("rate" in info ? [["Rate of false positives now", share(info.rate)]] : []),
  ];
  section.append(
    el("h2", {}, `The filter ${given.name}`),
    el(
      "dl",
      { className: "figures" },
      ...rows(figures.map(([name, value]) => [name, typeof value === "number" ? value.toLocaleString("en") : value])),
    ),
  );
  for (const map of given.maps) {
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    svg.setAttribute("role", "img");
    svg.setAttribute("aria-label", `Fill of ${map.name}`);
    section.append(
      el("h3", {}, map.name),
      el(
        "p",
        { className: "dim" },
        `From first to last, in ${map.fills.length} parts: the stronger the color, the more is set; ` +
          `${share(Math.min(...map.fills))} to ${share(Math.max(...map.fills))}.`,
      ),
      svg,
    );
    drawMap(svg, map);
  }
  if (!given.asks) return;
  if (given.bytes === null) {
    section.append(
      el("p", {}, "The file is too large for its bits to be in this page: ask it with sepal filter test."),
    );
    return;
  }
  const bytes = Uint8Array.from(atob(given.bytes), (c) => c.charCodeAt(0)),
    filter = new Filter(bytes, given.name),
    body = bytes.subarray(HEADER_BYTES);
  const input = el("input", {
    type: "text",
    id: "given-word",
    className: "ask-word",
    autocomplete: "off",
    spellcheck: false,
  });
  const told = el("div", { className: "told", "aria-live": "polite", id: "given-told" }, "Write a key."),
    probes = el("ol", { className: "probes", id: "given-probes" });
  const form = el(
    "form",
    {},
    el("label", { htmlFor: "given-word" }, "Ask it for a key"),
    input,
    el("button", {}, "Test"),
  );
  const ask = () => {
    const [parts, items] = answerOf(filter, body, input.value);
    told.replaceChildren(...parts);
    probes.replaceChildren(...items);
  };
  input.addEventListener("input", ask);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    ask();
  });
  section.append(form, told, probes);
}

// Fill as bars, the rate as a line on a scale of decades, block by block.
function drawBlocks(svg, table) {
  const W = Math.max(300, svg.clientWidth),
    H = 200,
    left = 44,
    right = 48,
    top = 14,
    bottom = 24,
    groups = table.groups;
  svg.replaceChildren();
  svg.setAttribute("viewBox", `0 0 ${W} ${H}`);
  svg.setAttribute("height", H);
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", `Fill and rate of the ${table.blocks} blocks of table ${table.number}`);
  const x = (block) => left + (block / table.blocks) * (W - left - right),
    height = H - top - bottom;
  const decades = Math.max(
    1,
    Math.ceil(-Math.log10(Math.min(0.5, ...groups.map((g) => g.rate).filter((rate) => rate > 0)))),
  );
  const y = (rate) => top + Math.min(1, -Math.log10(Math.max(rate, 1e-12)) / decades) * height;
  for (const tick of [0, 0.25, 0.5, 0.75, 1]) {
    const at = top + (1 - tick) * height;
    svgEl("line", { class: "axis", x1: left, x2: W - right, y1: at, y2: at }, svg);
    svgEl("text", { x: left - 5, y: at + 4, "text-anchor": "end" }, svg, `${100 * tick} %`);
  }
  for (let tick = 0; tick <= decades; tick += Math.ceil(decades / 4))
    svgEl("text", { x: W - right + 5, y: y(10 ** -tick) + 4 }, svg, tick ? `10^-${tick}` : "1");
  for (const g of groups) {
    const bar = svgEl(
      "rect",
      {
        class: "bar",
        x: x(g.first),
        y: top + (1 - g.fill) * height,
        width: Math.max(0.5, x(g.first + g.blocks) - x(g.first) - (groups.length < 200 ? 1 : 0)),
        height: g.fill * height,
      },
      svg,
    );
    svgEl(
      "title",
      {},
      bar,
      `${g.blocks === 1 ? `block ${g.first}` : `blocks ${g.first} to ${g.first + g.blocks - 1}`}: ` +
        `${counted(g.keys, "key")}, ${g.bits.toLocaleString("en")} bits, ${share(g.fill)} set, rate ${share(g.rate)}`,
    );
  }
  svgEl(
    "path",
    {
      class: "rate-line",
      d: groups
        .map((g, i) => `${i ? "L" : "M"}${x(g.first + g.blocks / 2).toFixed(1)} ${y(g.rate).toFixed(1)}`)
        .join(""),
    },
    svg,
  );
  svgEl("text", { x: left, y: H - 6 }, svg, "block 0");
  svgEl("text", { x: W - right, y: H - 6, "text-anchor": "end" }, svg, `block ${table.blocks - 1}`);
}

function showDatabase(database) {
  const section = $("database");
  section.hidden = false;
  section.append(
    el("h2", {}, `The filters of ${database.directory}`),
    el(
      "p",
      { className: "dim" },
      "A table has a guard, which is one filter of all its keys, and a lane for each of its blocks. An absent key " +
        "reads a block only where both say \u201cmaybe\u201d. Rates are those of theory, for its keys and bits.",
    ),
  );
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg"),
    title = el("h3", {}),
    all = [];
  svg.id = "blocks";
  const choose = (table, row) => {
    for (const other of all) {
      other.row.classList.toggle("chosen", other.row === row);
      other.row.querySelector("button").setAttribute("aria-pressed", String(other.row === row));
    }
    title.textContent = `${table.name}, block by block`;
    drawBlocks(svg, table);
    sectionTable = table;
  };
  let sectionTable;
  for (const family of database.families) {
    section.append(el("h3", {}, `Column family ${family.name}`));
    if (family.tables.length === 0) {
      section.append(el("p", { className: "dim" }, "No tables: all is in the log and in memory."));
      continue;
    }
    section.append(
      el(
        "p",
        {},
        `A lookup of an absent key asks ${counted(family.runs, "run")}, and reads ` +
          `${+family.absent_reads.toPrecision(3)} blocks in vain.`,
      ),
    );
    const body = el("tbody");
    for (const table of family.tables) {
      const pick = el("button", { type: "button", "data-table": table.number }, table.name);
      const row = el(
        "tr",
        {},
        el("td", {}, pick),
        ...[
          table.level,
          table.keys.toLocaleString("en"),
          table.guard ? (table.guard.bits / table.keys).toFixed(1) : "none",
          table.guard ? share(table.guard.fill) : "",
          table.guard ? share(table.guard.rate) : "",
          table.blocks.toLocaleString("en"),
          (table.lane_bits / Math.max(1, table.keys)).toFixed(1),
          share(table.lane_rate),
          share(table.rate),
        ].map((text) => el("td", {}, String(text))),
      );
      pick.addEventListener("click", () => choose(table, row));
      all.push({ table, row });
      body.append(row);
    }
    const names = [
      "table",
      "level",
      "keys",
      "guard: bits a key",
      "fill",
      "rate",
      "blocks",
      "lanes: bits a key",
      "rate",
      "both",
    ];
    section.append(
      el(
        "div",
        { className: "scroll", tabIndex: 0, role: "region", "aria-label": `Tables of ${family.name}` },
        el(
          "table",
          {},
          el("thead", {}, el("tr", {}, ...names.map((name) => el("th", { scope: "col" }, name)))),
          body,
        ),
      ),
    );
  }
  if (all.length === 0) return;
  section.append(
    title,
    el(
      "ul",
      { className: "legend" },
      el(
        "li",
        {},
        el("i", { className: "box", style: "background:var(--accent)" }),
        "fill of the blocks\u2019 lanes (left)",
      ),
      el("li", {}, el("i", { style: "border-top:2px solid var(--h1)" }), "their rate of false positives (right)"),
    ),
    svg,
  );
  choose(all[0].table, all[0].row);
  addEventListener("resize", () => drawBlocks(svg, sectionTable));
}

// --- the page ---

const data = JSON.parse($("data").textContent);
if (data.filter) showGiven(data.filter);
if (data.database) showDatabase(data.database);
if (data.filter || data.database)
  document.title = `Sepal: filters of ${data.filter ? data.filter.name : data.database.directory}`;
startCells();
startSizes();
addEventListener("resize", () => drawCharts(sizes.seen));
