"use strict";
// The state of the page is in its address (#dataset=usps&sort=tiny.0:2:desc&cell=tiny.5): a view can be sent as a link.

let data = { cells: {}, runs: [], groups: [], kinds: {} };
const form = document.getElementById("filter");
const box = document.getElementById("provenance");
const tables = [...document.querySelectorAll(".hashbench-table table")];
const rowsTable = document.querySelector("table[data-rows]");
const more = document.getElementById("more");
const FILTERS = ["dataset", "method", "bits", "features", "kinds"];
const LISTS = ["bits", "kinds"]; // of these an element may have several
const STEP = 100; // rows that are shown at a time
const state = { sorts: new Map(), cell: "", see: "", rows: STEP };
let opened = null; // the cell whose provenance is shown

// ---- the address

function readAddress() {
  const asked = new URLSearchParams(location.hash.slice(1));
  for (const key of FILTERS) form.elements[key].value = asked.get(key) ?? "";
  for (const key of FILTERS) if (form.elements[key].selectedIndex < 0) form.elements[key].value = "";
  form.elements.measured.checked = asked.has("measured");
  state.sorts = new Map(asked.getAll("sort").map((text) => text.split(":")).map(([id, ...how]) => [id, how]));
  state.cell = asked.get("cell") ?? "";
  state.see = asked.get("see") ?? ""; // the part of the page that is scrolled into sight
}

function writeAddress() {
  const said = new URLSearchParams();
  for (const key of FILTERS) if (form.elements[key].value) said.set(key, form.elements[key].value);
  if (form.elements.measured.checked) said.set("measured", "yes");
  for (const [id, how] of state.sorts) said.append("sort", [id, ...how].join(":"));
  if (state.cell) said.set("cell", state.cell);
  history.replaceState(null, "", `#${said}`);
}

// ---- the filter

function matches(element) {
  const has = element.dataset;
  if (has.dataset === undefined) return false;
  if (form.elements.measured.checked && element.matches("td.missing")) return false;
  return FILTERS.every((key) => {
    const wanted = form.elements[key].value;
    return !wanted || (LISTS.includes(key) ? (has[key] ?? "").split(" ").includes(wanted) : has[key] === wanted);
  });
}

function filterTable(table, all) {
  const columns = new Set([0]);
  for (const row of table.tBodies[0].rows) {
    const cells = [...row.cells].slice(1);
    const found = cells.filter((cell) => all || matches(cell));
    found.forEach((cell) => columns.add(cell.cellIndex));
    cells.forEach((cell) => cell.classList.toggle("other", !found.includes(cell)));
    row.hidden = found.length === 0;
  }
  for (const row of table.rows) for (const cell of row.cells) cell.hidden = !columns.has(cell.cellIndex);
  table.parentElement.hidden = columns.size === 1;
}

let wasFiltered = false;

function filter() {
  const all = !form.elements.measured.checked && FILTERS.every((key) => !form.elements[key].value);
  if (!all || wasFiltered) filterTables(all); // at the start nothing is hidden
  wasFiltered = !all;
  showRows();
  const cells = [...document.querySelectorAll(".hashbench-table td[id]")];
  const shown = all ? cells.length : cells.filter(matches).length;
  form.querySelector("output").value = `${shown.toLocaleString("en")} of ${cells.length.toLocaleString("en")} cells`;
}

function filterTables(all) {
  tables.forEach((table) => filterTable(table, all));
  for (const section of document.querySelectorAll(".hashbench-table")) {
    section.hidden = !section.querySelector(".scroll:not([hidden])");
    const line = document.querySelector(`#tables a[href="#${CSS.escape(section.id)}"]`);
    if (line) line.closest("tr").hidden = section.hidden;
  }
  for (const line of document.querySelectorAll("li[data-dataset], tr[data-dataset]")) line.hidden = !all && !matches(line);
  for (const group of document.querySelectorAll("#missing details"))
    group.hidden = !group.querySelector("li:not([hidden])");
}

// ---- tables that are wider than their box: a shadow at the edge behind which there is more

const boxes = [...document.querySelectorAll(".scroll")];
const showEdges = (box) => {
  box.classList.toggle("more-right", box.scrollLeft + box.clientWidth < box.scrollWidth - 1);
};
const inSight = new IntersectionObserver((seen) => seen.forEach(({ target }) => showEdges(target)));
boxes.forEach((box) => {
  inSight.observe(box);
  box.addEventListener("scroll", () => showEdges(box), { passive: true });
});
addEventListener("resize", () => boxes.forEach((box) => box.checkVisibility({ contentVisibilityAuto: true }) && showEdges(box)));

// ---- rows

const OF_GROUP = { method: 0, dataset: 1, bits: 2, features: 4 }; // what the filter knows of a row
const cellsOf = (run) => [...data.groups[run[4]].slice(0, 3), run[1], run[5], ...data.groups[run[4]].slice(3, 5)];
const [SEED, AP] = [3, 4]; // columns of numbers
function rowMatches(run) {
  const group = data.groups[run[4]];
  const kind = form.elements.kinds.value;
  if (kind && !(data.kinds[group[0]] ?? "").split(" ").includes(kind)) return false;
  return Object.entries(OF_GROUP).every(([key, at]) => !form.elements[key].value || group[at] === form.elements[key].value);
}

function showRows() {
  const [column, direction] = state.sorts.get(rowsTable.dataset.sort) ?? [];
  const sign = direction === "desc" ? -1 : 1;
  const text = (a, b) => String(a).localeCompare(String(b), "en", { numeric: true });
  const compare = (a, b) => (typeof a === "number" && typeof b === "number" ? a - b : text(a, b));
  const found = data.runs.filter(rowMatches);
  if (column) found.sort((a, b) => sign * compare(cellsOf(a)[column], cellsOf(b)[column]));
  const at = found.findIndex((run) => `run.${run[0]}` === state.cell);
  const shown = found.slice(0, Math.max(state.rows, at + 1)).map((run, n) => {
    const [method, ...values] = cellsOf(run);
    const texts = values.map((value) => (value === run[5] && typeof value === "number" ? value.toFixed(4) : String(value)));
    const cells = [element("td", method), ...texts.map((text) => element("td", text))];
    cells[SEED].className = cells[AP].className = "number";
    cells[AP].id = `run.${run[0]}`; // what opens the row
    cells[AP].tabIndex = n ? -1 : 0;
    return element("tr", "", ...cells);
  });
  rowsTable.tBodies[0].replaceChildren(...shown);
  more.hidden = shown.length === found.length;
  more.textContent = `Show more of ${found.length.toLocaleString("en")} rows`;
}

// ---- sorting

const sortable = [...tables, ...document.querySelectorAll("table.sortable")];
sortable.forEach((table) => {
  const section = table.closest("section");
  table.dataset.sort = `${section.id}.${[...section.querySelectorAll("table")].indexOf(table)}`;
  for (const heading of table.tHead.rows[0].cells) {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...heading.childNodes);
    if (!button.textContent) button.textContent = "row";
    heading.append(button);
  }
});

function mark(table, column, direction) {
  const headings = [...table.tHead.rows[0].cells];
  headings.forEach((cell) => cell.removeAttribute("aria-sort"));
  headings[column]?.setAttribute("aria-sort", direction === "desc" ? "descending" : "ascending");
}

// what a column is sorted by: what was measured, else what was published, else its text
function keyOf(table, column) {
  const cells = [...table.tBodies[0].rows].map((row) => row.cells[column]);
  return ["measured", "published"].find((key) => cells.some((cell) => cell.dataset[key] !== undefined));
}

function valueOf(cell, key) {
  const value = cell?.dataset[key];
  return value === undefined ? null : Number(value);
}

const places = new Map(); // the rows of each table that was sorted, as they were written

function sort(table) {
  const [column, direction] = state.sorts.get(table.dataset.sort) ?? [];
  mark(table, column, direction);
  if (table === rowsTable) return showRows();
  if (!places.has(table)) {
    if (column === undefined) return; // it is as it was written
    places.set(table, [...table.tBodies[0].rows]);
  }
  const rows = [...places.get(table)];
  if (table.tHead.rows[0].cells[column]) {
    const key = keyOf(table, column);
    const sign = direction === "desc" ? -1 : 1;
    rows.sort((a, b) => {
      const [left, right] = [a.cells[column], b.cells[column]];
      if (!key) return sign * left.textContent.localeCompare(right.textContent, "en", { numeric: true });
      const [x, y] = [valueOf(left, key), valueOf(right, key)];
      return x === null || y === null ? (x === null) - (y === null) : sign * (x - y); // empty ones stay below
    });
  }
  table.tBodies[0].append(...rows);
}

// numbers from the greatest, texts from a to z; then the other way round; then as in the paper
function sortBy(heading) {
  const table = heading.closest("table");
  const [column, direction] = state.sorts.get(table.dataset.sort) ?? [];
  const isNumber = table === rowsTable ? heading.cellIndex === AP : keyOf(table, heading.cellIndex);
  const order = isNumber ? ["desc", "asc"] : ["asc", "desc"];
  const next = order[order.indexOf(Number(column) === heading.cellIndex ? direction : "") + 1];
  if (next) state.sorts.set(table.dataset.sort, [String(heading.cellIndex), next]);
  else state.sorts.delete(table.dataset.sort);
  sort(table);
  writeAddress();
}

// ---- provenance

function element(name, text, ...children) {
  const made = document.createElement(name);
  made.append(...(text ? [text] : []), ...children);
  return made;
}

function link(text, address) {
  const made = element("a", text);
  made.href = address;
  return made;
}

function line(label, ...content) {
  return [element("dt", label), element("dd", "", ...content)];
}

// what is said of a cell: of one of the rows, its settings
function aboutOf(id) {
  if (!id.startsWith("run.")) return data.cells[id];
  const place = data.runs.findIndex((run) => run[0] === id.slice(4));
  if (place < 0) return undefined;
  const [method, dataset, bits, protocol, input, settings] = data.groups[data.runs[place][4]];
  const facts = { method: `${method} on ${dataset}, protocol ${protocol}`, input, settings };
  return { facts, runs: [place], of: { dataset, method, bits } };
}

function describe(cell) {
  const { facts, runs = [], missing, of = cell.dataset } = aboutOf(cell.id);
  const list = element("dl", "");
  for (const [label, text] of Object.entries(facts)) if (text) list.append(...line(label, text));
  if (missing !== undefined) {
    const [why, command] = data.missing[missing];
    list.append(...line("missing", why));
    if (command) list.append(...line("command", element("code", command)));
  }
  let said = null; // runs of one maker follow each other
  for (const [name, seed, how, maker] of runs.map((place) => data.runs[place])) {
    if (maker !== said) list.append(...line("made by", data.makers[maker]));
    list.append(...line(`seed ${seed}`, element("code", name), element("span", ` ${how}`)));
    said = maker;
  }
  const rows = new URLSearchParams({ dataset: of.dataset, method: of.method });
  if (of.bits) rows.set("bits", of.bits);
  rows.set("see", "rows");
  if (runs.length) list.append(...line("see", link("rows alike", `#${rows}`)));
  const row = cell.parentElement.cells[0].textContent;
  const column = cell.closest("table").tHead.rows[0].cells[cell.cellIndex].textContent;
  const close = element("button", "Close");
  close.type = "button";
  close.className = "close";
  box.replaceChildren(close, element("b", `${row}, ${column}`), list);
}

function show(cell) {
  opened?.classList.remove("open");
  opened = cell;
  box.hidden = !cell;
  box.style.maxHeight = "";
  box.classList.toggle("pinned", Boolean(cell) && cell.id === state.cell);
  if (!cell || !aboutOf(cell.id)) return void (box.hidden = true); // the data may not be here yet
  cell.classList.add("open");
  describe(cell);
  if (matchMedia("(max-width: 640px)").matches) return keepAbove(cell);
  const at = cell.getBoundingClientRect();
  const [above, below] = [at.top - 12 - form.offsetHeight, innerHeight - at.bottom - 12];
  const isBelow = box.offsetHeight <= below || below >= above;
  box.style.maxHeight = `${isBelow ? below : above}px`;
  box.style.top = `${isBelow ? at.bottom + 6 : at.top - 6 - box.offsetHeight}px`;
  box.style.left = `${Math.max(6, Math.min(at.left, document.documentElement.clientWidth - box.offsetWidth - 6))}px`;
}

// on a phone the box is at the bottom of the window, and may not cover the cell that was tapped
function keepAbove(cell) {
  const covered = cell.getBoundingClientRect().bottom + 12 - (innerHeight - box.offsetHeight);
  if (covered > 0 && cell.id === state.cell) scrollBy(0, covered);
}

const pinned = () => (state.cell && aboutOf(state.cell) ? document.getElementById(state.cell) : null);
const cellOf = (event) => event.target.closest?.("td[id]");

function pin(cell) {
  state.cell = cell ? cell.id : "";
  show(cell);
  writeAddress();
}

document.addEventListener("pointerover", (event) => {
  if (event.pointerType === "mouse" && cellOf(event) && !pinned()) show(cellOf(event));
});
document.addEventListener("pointerout", (event) => {
  if (event.pointerType === "mouse" && cellOf(event) && !pinned()) show(null);
});
document.addEventListener("focusin", (event) => {
  if (cellOf(event) && !pinned()) show(cellOf(event));
});
document.addEventListener("focusout", (event) => {
  if (cellOf(event) && !pinned()) show(null);
});
document.addEventListener("click", (event) => {
  const cell = cellOf(event);
  if (event.target.closest("a")) return;
  if (cell) pin(cell.id === state.cell ? null : cell);
  else if (event.target.closest("thead button")) sortBy(event.target.closest("th, td"));
  else if (event.target.closest(".close") || (pinned() && !box.contains(event.target))) pin(null);
});

// one cell of each table is reached by the tab key, the others from there by the arrows
tables.forEach((table) => table.querySelector("td[id]")?.setAttribute("tabindex", "0"));
const STEPS = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };

function neighbour(cell, [down, right]) {
  const inRow = (row) => [...row.cells].filter((each) => each.id && each.checkVisibility());
  const beside = inRow(cell.parentElement);
  if (right) return beside[beside.indexOf(cell) + right];
  const rows = [...cell.closest("tbody").rows].filter((row) => !row.hidden && inRow(row).length);
  const away = (each) => Math.abs(each.cellIndex - cell.cellIndex); // a gap leads to the nearest column
  return inRow(rows[rows.indexOf(cell.parentElement) + down] ?? { cells: [] }).sort((a, b) => away(a) - away(b))[0];
}

function focusOn(cell) {
  if (!cell) return;
  cell.tabIndex = cell.tabIndex === 0 ? 0 : -1;
  cell.focus();
}

document.addEventListener("keydown", (event) => {
  const cell = cellOf(event);
  if (event.key === "Escape") return pinned() ? pin(null) : show(null);
  if (!cell) return;
  if (event.key === "Enter" || event.key === " ") pin(cell.id === state.cell ? null : cell);
  else if (STEPS[event.key]) focusOn(neighbour(cell, STEPS[event.key]));
  else return;
  event.preventDefault();
});

// ---- start

function apply() {
  filter();
  sortable.forEach(sort);
  show(pinned());
  pinned()?.scrollIntoView({ block: "center" });
  document.getElementById(state.see)?.scrollIntoView();
  show(pinned());
}

function begin(found) {
  data = found;
  apply();
  performance.mark("ready");
}

form.addEventListener("input", () => {
  state.rows = STEP;
  filter();
  writeAddress();
});
form.addEventListener("reset", () => {
  state.sorts.clear();
  state.cell = "";
  setTimeout(() => (writeAddress(), apply())); // once the form is empty
});
form.addEventListener("submit", (event) => event.preventDefault());
addEventListener("hashchange", () => {
  if (document.getElementById(location.hash.slice(1))) return; // a link to a part of the page
  readAddress();
  apply();
});

more.addEventListener("click", () => {
  state.rows += STEP;
  showRows();
});

form.hidden = false;
readAddress();
begin(JSON.parse(document.getElementById("data").textContent));
