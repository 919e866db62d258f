"use strict";
// What the page does beyond showing itself: tables are sorted by their headings, and how a number was computed is
// shown for touch and keyboard, not only where a pointer hovers. Nothing is loaded; the page works without it.

// Sorting: first click, the largest number or the first letter on top; then the other way; then as written.
const AFTER = { number: { none: "descending", descending: "ascending", ascending: "none" },
                text: { none: "ascending", ascending: "descending", descending: "none" } };

function keyOf(cell) {
  return "value" in cell.dataset ? Number(cell.dataset.value) : cell.textContent.trim();
}

function compare(first, second) {
  if (typeof first === "number" && typeof second === "number") return first - second;
  return String(first).localeCompare(String(second), undefined, { numeric: true });
}

function sorted(rows, column, direction) {
  if (direction === "none") return rows;
  const sign = direction === "ascending" ? 1 : -1;
  const isNumber = rows.some((row) => "value" in row.cells[column].dataset);
  const isEmpty = (key) => key === "" || (isNumber && typeof key !== "number");
  return [...rows].sort((one, other) => {
    const [first, second] = [keyOf(one.cells[column]), keyOf(other.cells[column])];
    if (isEmpty(first) || isEmpty(second)) return isEmpty(first) - isEmpty(second);  // below, either way
    return sign * compare(first, second);
  });
}

function makeSortable(table) {
  const body = table.tBodies[0];
  const headings = [...table.tHead.rows[0].cells];
  const asWritten = [...body.rows];
  if (asWritten.length < 2) return;
  headings.forEach((heading, column) => {
    if ("unsorted" in heading.dataset) return;
    const button = document.createElement("button");
    button.type = "button";
    button.append(...heading.childNodes);
    heading.append(button);
    button.addEventListener("click", () => {
      const kind = asWritten.some((row) => "value" in row.cells[column].dataset) ? "number" : "text";
      const direction = AFTER[kind][heading.getAttribute("aria-sort") ?? "none"];
      headings.forEach((each) => each.removeAttribute("aria-sort"));
      if (direction !== "none") heading.setAttribute("aria-sort", direction);
      body.append(...sorted(asWritten, column, direction));
    });
  });
}

// Explanations: each table and each text is one stop of the Tab key; arrow keys move inside it.
const panel = document.getElementById("how");

function show(item) {
  panel.textContent = item.title;
  panel.hidden = false;
}

function hide() {
  panel.hidden = true;
}

function makeReachable(group) {
  const items = () => [...group.querySelectorAll("[title]")];
  items().forEach((item, index) => { item.tabIndex = index === 0 ? 0 : -1; });
  group.addEventListener("click", (event) => event.target.closest("[title]")?.focus());
  group.addEventListener("focusin", (event) => {
    if (!event.target.title) return;
    items().forEach((item) => { item.tabIndex = item === event.target ? 0 : -1; });
    show(event.target);
  });
  group.addEventListener("focusout", hide);
  group.addEventListener("keydown", (event) => {
    if (event.key === "Escape") hide();
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (!step || !event.target.title) return;
    const upright = event.key === "ArrowDown" || event.key === "ArrowUp";
    const line = items().filter((item) => !upright || item.cellIndex === event.target.cellIndex);
    const next = line[line.indexOf(event.target) + step];
    if (next) next.focus();
    event.preventDefault();
  });
}

function openTarget() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (target instanceof HTMLDetailsElement) target.open = true;
}

document.querySelectorAll("table.results").forEach(makeSortable);
document.querySelectorAll("table.results tbody, .continuation").forEach(makeReachable);
addEventListener("hashchange", openTarget);
addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((each) => { each.open = true; }));
openTarget();
