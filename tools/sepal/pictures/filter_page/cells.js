// --- one filter, bit by bit ---

const MOST_COUNT = 15;
const STORY_WORDS = ["apple", "pear", "plum", "cherry", "quince"];
const SYLLABLES = [..."bdfgklmnprstv"].flatMap((first) => [..."aeio"].map((second) => first + second));

const demo = { layout: "classic", counters: false, m: 128, k: 3, words: [], cells: new Uint8Array(128), past: [] };
const nextSyllable = randomNumbers(7);
const randomWord = () => Array.from({ length: 3 }, () => SYLLABLES[nextSyllable() % SYLLABLES.length]).join("");
const hashOf = (word) => xxh3(typeof word === "string" ? new TextEncoder().encode(word) : word, 0n);
const placesIn = (word) => placesOf(demo.layout, hashOf(word), demo.m, demo.k);
const mayContain = (word) => placesIn(word).every((i) => demo.cells[i] > 0);
const unit = () => (demo.counters ? "counter" : "bit");
const list = (names) =>
  names.length > 3 ? `${names.slice(0, 3).join(", ")} and ${names.length - 3} more` : names.join(", ");

function setCells(word) {
  for (const i of placesIn(word)) demo.cells[i] = demo.counters ? Math.min(MOST_COUNT, demo.cells[i] + 1) : 1;
}
function remember() {
  demo.past.push({ words: [...demo.words], cells: demo.cells.slice(), counters: demo.counters });
  if (demo.past.length > 50) demo.past.shift();
}
// The same words in cells of another form.
function rebuild() {
  demo.m = roundedCells(demo.layout, demo.m, demo.k);
  demo.cells = new Uint8Array(demo.m);
  demo.past = [];
  demo.words.forEach(setCells);
}
function addWord(word) {
  if (demo.words.includes(word)) return;
  remember();
  demo.words.push(word);
  setCells(word);
}
const lostWords = () => demo.words.filter((word) => !mayContain(word));

// Which words need each cell, and by which hash.
function owners() {
  const of = new Map();
  for (const word of demo.words) {
    placesIn(word).forEach((cell, hash) => of.set(cell, [...(of.get(cell) || []), { word, hash }]));
  }
  return of;
}

function say(...parts) {
  $("told").replaceChildren(...parts);
}
const strong = (text, kind = "") => el("strong", { className: kind }, text);

// What the filter says of a word, and why.
function explain(word, before = []) {
  showProbes(word);
  if (word === "") return say(...before);
  const places = placesIn(word),
    empty = [...new Set(places.filter((i) => demo.cells[i] === 0))],
    added = demo.words.includes(word);
  const quoted = `\u201c${word}\u201d `;
  if (empty.length > 0) {
    const cells =
      empty.length === 1
        ? `${unit()} ${empty[0]} is`
        : `${unit()}s ${empty.slice(0, -1).join(", ")} and ${empty.at(-1)} are`;
    say(
      ...before,
      quoted,
      "is ",
      strong("absent", added ? "bad" : "good"),
      `, for ${cells} 0. `,
      added ? strong("Yet it was added: a false negative.", "bad") : "That is certain.",
    );
  } else {
    say(
      ...before,
      quoted,
      strong("may be there", added ? "good" : "bad"),
      `: ${places.length === 1 ? "its" : "all of its"} `,
      `${unit()}s are above 0. `.replace("bits are above 0", "bits are 1"),
      added ? "It was added." : strong("It was not: a false positive.", "bad"),
    );
  }
}

function showProbes(word) {
  const of = owners(),
    places = word === "" ? [] : placesIn(word);
  $("probes").replaceChildren(
    ...places.map((cell, hash) => {
      const others = [...new Set((of.get(cell) || []).map((o) => o.word))],
        value = demo.cells[cell];
      const why =
        value === 0
          ? others.length > 0
            ? `cleared, though ${list(others)} set it`
            : "set by no word"
          : others.length > 0
            ? `set by ${list(others)}`
            : "set, by no word of the list";
      return el(
        "li",
        { style: `--hash:var(--h${hash})` },
        el("i", {}, String(hash + 1)),
        `${unit()} ${cell}: `,
        strong(String(value)),
        `, ${why}`,
      );
    }),
  );
  drawCells(places);
}

function cellTold(cell, of) {
  const those = (of.get(cell) || []).map((o) => `${o.word} (hash ${o.hash + 1})`);
  return `${unit()} ${cell}: ${demo.cells[cell]}${those.length > 0 ? `, of ${list(those)}` : ""}`;
}

function drawCells(places) {
  const grid = $("grid"),
    of = owners(),
    focused = document.activeElement?.dataset?.cell;
  const slices = demo.layout === "classic" ? 1 : demo.layout === "partitioned" ? demo.k : demo.m / LINE_BITS;
  grid.replaceChildren();
  for (let slice = 0; slice < slices; ++slice) {
    if (demo.layout !== "classic") {
      grid.append(
        el(
          "p",
          { className: "slice-name" },
          demo.layout === "partitioned" ? `Slice of hash ${slice + 1}` : `Line ${slice}`,
        ),
      );
    }
    const row = el("div", { className: "slice" });
    for (let i = (slice * demo.m) / slices; i < ((slice + 1) * demo.m) / slices; ++i) {
      const hashes = places.flatMap((cell, hash) => (cell === i ? [hash] : [])),
        value = demo.cells[i];
      const cell = el(
        "button",
        {
          type: "button",
          className: `cell${value > 0 ? " on" : ""}${hashes.length > 0 ? " asked" : ""}`,
          tabIndex: i === Number(focused || 0) ? 0 : -1,
          "data-cell": i,
          "aria-label": cellTold(i, of),
        },
        String(value),
      );
      if (hashes.length > 0) {
        cell.style.setProperty("--hash", `var(--h${hashes[0]})`);
        cell.dataset.hashes = hashes.map((hash) => hash + 1).join(",");
      }
      row.append(cell);
    }
    grid.append(row);
  }
  if (focused !== undefined) grid.querySelector(`[data-cell="${focused}"]`)?.focus({ preventScroll: true });
}

function drawWords(selected) {
  const lost = new Set(lostWords());
  $("words").replaceChildren(
    ...demo.words.map((word) => {
      const pick = el(
        "button",
        { type: "button", "aria-pressed": String(word === selected), "data-word": word },
        lost.has(word) ? `${word} (lost)` : word,
      );
      const remove = el("button", { type: "button", "aria-label": `Delete ${word}`, "data-remove": word }, "\u00d7");
      return el("li", { className: lost.has(word) ? "lost" : "" }, pick, remove);
    }),
  );
  if (demo.words.length === 0) $("words").append(el("li", { className: "dim" }, "none yet"));
}

function drawFigures() {
  const n = demo.words.length,
    set = demo.cells.reduce((sum, value) => sum + (value > 0), 0),
    fill = set / demo.m;
  const lines = demo.layout === "blocked" ? demo.m / LINE_BITS : 1;
  let ofBits = 0;
  for (let line = 0; line < lines; ++line) {
    const cells = demo.cells.subarray((line * demo.m) / lines, ((line + 1) * demo.m) / lines);
    ofBits += (cells.reduce((sum, value) => sum + (value > 0), 0) / cells.length) ** demo.k / lines;
  }
  const asked = 4000,
    key = randomKeys(11);
  let maybe = 0;
  for (let i = 0; i < asked; ++i) maybe += mayContain(key());
  $("figures").replaceChildren(
    ...rows([
      [`Words, ${unit()}s, hashes`, `${n}, ${demo.m}, ${demo.k}`],
      ["Bytes", String(Math.ceil((demo.m * (demo.counters ? 4 : 1)) / 8))],
      ["Fill", `${set} of ${demo.m}: ${share(fill)}`],
      ["Fill in theory", share(fillAt(demo.layout, n, demo.m, demo.k))],
      ["False positives, by these cells", share(ofBits)],
      ["False positives, in theory", share(rateAt(demo.layout, n, demo.m, demo.k))],
      [`Measured with ${asked.toLocaleString("en")} random words`, `${maybe}: ${share(maybe / asked)}`],
    ]),
  );
}

function draw(word = $("word").value, before = []) {
  const blocked = demo.layout === "blocked",
    slider = $("cellcount");
  [slider.min, slider.max, slider.step] = blocked ? [LINE_BITS, 4 * LINE_BITS, LINE_BITS] : [32, 512, 16];
  slider.value = demo.m;
  $("hashcount").value = demo.k;
  $("layout").value = demo.layout;
  $("cells").value = demo.counters ? "counters" : "bits";
  $("cellcount-shown").value = demo.m;
  $("hashcount-shown").value = demo.k;
  $("undo").disabled = demo.past.length === 0;
  explain(word, before);
  drawWords(word);
  drawFigures();
}

// Deletes as each form of cells can: bits are cleared, counters fall.
function deleteWord(word) {
  const known = demo.words.includes(word),
    lostBefore = new Set(lostWords());
  const touches = placesIn(word).some((i) => demo.cells[i] > 0);
  if (demo.counters ? !mayContain(word) : !known && !touches) {
    return draw(word, [`\u201c${word}\u201d is certainly not there: nothing is changed. `]);
  }
  remember();
  for (const i of placesIn(word)) {
    if (!demo.counters) demo.cells[i] = 0;
    else if (demo.cells[i] > 0 && demo.cells[i] < MOST_COUNT) --demo.cells[i];
  }
  demo.words = demo.words.filter((other) => other !== word);
  const lost = lostWords().filter((other) => !lostBefore.has(other)),
    told = [`\u201c${word}\u201d is deleted. `];
  if (!known) told.push("It was never added: its cells were those of others. ");
  if (lost.length > 0) {
    told.push(
      strong(`${list(lost)} vanished with it: ${lost.length === 1 ? "it" : "they"} shared a ${unit()}. `, "bad"),
    );
  } else {
    told.push(strong("No other word is lost. ", "good"));
  }
  $("word").value = word;
  draw(word, told);
}

// How many words would be lost with this one.
function harmOf(word) {
  const mine = new Set(placesIn(word));
  return demo.words.filter((other) => other !== word && placesIn(other).some((i) => mine.has(i))).length;
}

// A word that shares a cell with others; more words are added until there is one.
function wordWithNeighbours() {
  for (let tries = 0; tries < 500; ++tries) {
    const best = demo.words.reduce((most, word) => (harmOf(word) > harmOf(most) ? word : most), demo.words[0]);
    if (best !== undefined && harmOf(best) > 0) return best;
    addWord(randomWord());
  }
  return demo.words[0];
}

function show(word, before) {
  $("word").value = word;
  draw(word, before);
}

function provoke() {
  const most = 20000;
  for (let tries = 1; tries <= most; ++tries) {
    const word = randomWord();
    if (demo.words.includes(word) || !mayContain(word)) continue;
    const expected = 1 / rateAt(demo.layout, demo.words.length, demo.m, demo.k);
    return show(word, [`Found at try ${tries}; theory says one of ${short(expected)}. `]);
  }
  say(`None of ${most.toLocaleString("en")} random words is a false positive: add words, or take fewer cells.`);
}

function addStoryWords() {
  STORY_WORDS.forEach(addWord);
  show("cherry", ["Five words are there. "]);
}
function askAbsent() {
  if (demo.words.length === 0) STORY_WORDS.forEach(addWord);
  let word = "melon";
  for (let tries = 0; tries < 1000 && (mayContain(word) || demo.words.includes(word)); ++tries) word = randomWord();
  show(word, []);
}
function provokeAnyway() {
  while (rateAt(demo.layout, demo.words.length, demo.m, demo.k) < 0.002) addWord(randomWord());
  provoke();
}
function deleteFrom(counters) {
  // The word that was deleted from bits is deleted from counters too. What an earlier deletion broke is whole again.
  if (counters && demo.deleted !== undefined && !demo.words.includes(demo.deleted)) demo.words.push(demo.deleted);
  demo.counters = counters;
  rebuild();
  const again = counters && demo.words.includes(demo.deleted) && harmOf(demo.deleted) > 0;
  demo.deleted = again ? demo.deleted : wordWithNeighbours();
  deleteWord(demo.deleted);
}

function walkCells(event) {
  const cell = event.target.closest(".cell");
  if (!cell) return;
  const row = Number(getComputedStyle(cell.parentElement).gridTemplateColumns.split(" ").length);
  const step = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -row, ArrowDown: row, Home: -Infinity, End: Infinity }[
    event.key
  ];
  if (step === undefined) return;
  event.preventDefault();
  const next = Math.min(demo.m - 1, Math.max(0, Number(cell.dataset.cell) + step)),
    target = $("grid").querySelector(`[data-cell="${next}"]`);
  cell.tabIndex = -1;
  target.tabIndex = 0;
  target.focus();
}

function startCells() {
  $("layout").addEventListener("change", () => {
    demo.layout = $("layout").value;
    rebuild();
    draw();
  });
  $("cells").addEventListener("change", () => {
    demo.counters = $("cells").value === "counters";
    rebuild();
    draw();
  });
  $("cellcount").addEventListener("input", () => {
    demo.m = Number($("cellcount").value);
    rebuild();
    draw();
  });
  $("hashcount").addEventListener("input", () => {
    demo.k = Number($("hashcount").value);
    rebuild();
    draw();
  });
  $("shape").addEventListener("submit", (event) => event.preventDefault());
  $("ask").addEventListener("submit", (event) => {
    event.preventDefault();
    const word = $("word").value;
    if (word === "") return say("Write a word first.");
    const known = demo.words.includes(word),
      was = !known && mayContain(word);
    addWord(word);
    draw(word, [known ? "It was there already. " : was ? "All of its cells were set before it came. " : ""]);
    $("word").select();
  });
  $("word").addEventListener("input", () => draw());
  $("test").addEventListener("click", () => ($("word").value === "" ? say("Write a word first.") : draw()));
  $("delete").addEventListener("click", () =>
    $("word").value === "" ? say("Write a word first.") : deleteWord($("word").value),
  );
  $("more").addEventListener("click", () => {
    remember();
    const before = demo.past.length;
    for (let i = 0; i < 10; ++i) addWord(randomWord());
    demo.past.length = before;
    draw();
  });
  $("undo").addEventListener("click", () => {
    Object.assign(demo, demo.past.pop());
    draw(undefined, ["Undone. "]);
  });
  $("clear").addEventListener("click", () => {
    remember();
    demo.words = [];
    demo.cells = new Uint8Array(demo.m);
    show("", ["The filter is empty."]);
  });
  $("words").addEventListener("click", (event) => {
    const { word, remove } = event.target.dataset;
    if (word !== undefined) {
      show(word, []);
      $("words")
        .querySelector(`[data-word="${CSS.escape(word)}"]`)
        ?.focus();
    } else if (remove !== undefined) {
      const at = demo.words.indexOf(remove);
      deleteWord(remove);
      ($("words").querySelectorAll("[data-remove]")[at] || $("word")).focus();
    }
  });
  $("grid").addEventListener("keydown", walkCells);
  for (const kind of ["focusin", "mouseover"]) {
    $("grid").addEventListener(kind, (event) => {
      const cell = event.target.dataset?.cell;
      if (cell !== undefined) $("celltold").textContent = cellTold(Number(cell), owners());
    });
  }
  const steps = [addStoryWords, askAbsent, provokeAnyway, () => deleteFrom(false), () => deleteFrom(true)];
  steps.forEach((step, i) => $(`step${i + 1}`).addEventListener("click", step));
  rebuild();
  addStoryWords();
}
