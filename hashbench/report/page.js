"use strict";
// The state of the page is in its address (#dataset=usps&sort=tiny.0:2:desc&cell=tiny.5): a view can be sent as a link.

const data = JSON.parse(document.getElementById("data").textContent);
const form = document.getElementById("filter");
const box = document.getElementById("provenance");
const tables = [...document.querySelectorAll(".hashbench-table table")];
const FILTERS = ["dataset", "method", "bits"];
const state = { sorts: new Map(), cell: "" };
let opened = null; // the cell whose provenance is shown

// ---- the address

function readAddress() {
  const asked = new URLSearchParams(location.hash.slice(1));
  for (const key of FILTERS) form.elements[key].value = asked.get(key) ?? "";
  for (const key of FILTERS) if (form.elements[key].selectedIndex < 0) form.elements[key].value = "";
  form.elements.measured.checked = asked.has("measured");
  state.sorts = new Map(asked.getAll("sort").map((text) => text.split(":")).map(([id, ...how]) => [id, how]));
  state.cell = asked.get("cell") ?? "";
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
    return !wanted || (key === "bits" ? (has.bits ?? "").split(" ").includes(wanted) : has[key] === wanted);
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

function filter() {
  const all = !form.elements.measured.checked && FILTERS.every((key) => !form.elements[key].value);
  tables.forEach((table) => filterTable(table, all));
  for (const section of document.querySelectorAll(".hashbench-table")) {
    section.hidden = !section.querySelector(".scroll:not([hidden])");
    const line = document.querySelector(`#tables a[href="#${CSS.escape(section.id)}"]`);
    if (line) line.closest("tr").hidden = section.hidden;
  }
  for (const line of document.querySelectorAll("li[data-dataset], tr[data-dataset]")) line.hidden = !all && !matches(line);
  for (const group of document.querySelectorAll("#missing details"))
    group.hidden = !group.querySelector("li:not([hidden])");
  const cells = tables.flatMap((table) => [...table.querySelectorAll("td[id]")]);
  const shown = cells.filter((cell) => all || matches(cell)).length;
  form.querySelector("output").value = `${shown.toLocaleString("en")} of ${cells.length.toLocaleString("en")} cells`;
}

// ---- sorting

const sortable = [...tables, ...document.querySelectorAll("table.sortable")];
sortable.forEach((table) => {
  const section = table.closest("section");
  table.dataset.sort = `${section.id}.${[...section.querySelectorAll("table")].indexOf(table)}`;
  [...table.tBodies[0].rows].forEach((row, at) => (row.dataset.at = at));
  for (const heading of table.tHead.rows[0].cells) {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...heading.childNodes);
    if (!button.textContent) button.textContent = "row";
    heading.append(button);
  }
});

// what a column is sorted by: what was measured, else what was published, else its text
function keyOf(table, column) {
  const cells = [...table.tBodies[0].rows].map((row) => row.cells[column]);
  return ["measured", "published"].find((key) => cells.some((cell) => cell.dataset[key] !== undefined));
}

function valueOf(cell, key) {
  const value = cell?.dataset[key];
  return value === undefined ? null : Number(value);
}

function sort(table) {
  const [column, direction] = state.sorts.get(table.dataset.sort) ?? [];
  const rows = [...table.tBodies[0].rows].sort((a, b) => a.dataset.at - b.dataset.at);
  const headings = [...table.tHead.rows[0].cells];
  headings.forEach((cell) => cell.removeAttribute("aria-sort"));
  if (headings[column]) {
    headings[column].setAttribute("aria-sort", direction === "desc" ? "descending" : "ascending");
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
  const order = keyOf(table, heading.cellIndex) ? ["desc", "asc"] : ["asc", "desc"];
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

function line(label, ...content) {
  return [element("dt", label), element("dd", "", ...content)];
}

function describe(cell) {
  const { facts, runs = [], missing } = data.cells[cell.id];
  const list = element("dl", "");
  for (const [label, text] of Object.entries(facts)) list.append(...line(label, text));
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
  if (!cell) return;
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

const pinned = () => (state.cell in data.cells ? document.getElementById(state.cell) : null);
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
  if (cell) pin(cell.id === state.cell ? null : cell);
  else if (event.target.closest("thead button")) sortBy(event.target.closest("th, td"));
  else if (event.target.closest(".close") || (pinned() && !box.contains(event.target))) pin(null);
});

// one cell of each table is reached by the tab key, the others from there by the arrows
tables.forEach((table) => table.querySelectorAll("td[id]").forEach((cell, n) => (cell.tabIndex = n ? -1 : 0)));
const STEPS = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };

function neighbour(cell, [down, right]) {
  const rows = [...cell.closest("tbody").rows].filter((row) => !row.hidden);
  let [y, x] = [rows.indexOf(cell.parentElement), cell.cellIndex];
  do [y, x] = [y + down, x + right];
  while (rows[y]?.cells[x] && (rows[y].cells[x].hidden || !rows[y].cells[x].id));
  return rows[y]?.cells[x];
}

document.addEventListener("keydown", (event) => {
  const cell = cellOf(event);
  if (event.key === "Escape") return pinned() ? pin(null) : show(null);
  if (!cell) return;
  if (event.key === "Enter" || event.key === " ") pin(cell.id === state.cell ? null : cell);
  else if (STEPS[event.key]) neighbour(cell, STEPS[event.key])?.focus();
  else return;
  event.preventDefault();
});

// ---- start

function apply() {
  filter();
  sortable.forEach(sort);
  show(pinned());
  pinned()?.scrollIntoView({ block: "center" });
  show(pinned());
}

form.addEventListener("input", () => {
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

form.hidden = false;
readAddress();
apply();
