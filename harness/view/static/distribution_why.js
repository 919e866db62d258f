// Why a token is accepted or rejected: what every method needs to reject it, and the proof for one of them.

import { element } from "./distribution_chart.js";
import { ACCEPTED, REJECTED, shown } from "./distribution_methods.js";

const WORDS = { [ACCEPTED]: "accepted", [REJECTED]: "rejected", u: "undecided" };
const WIDTH = 160;
const DECADES = 7;  // of the bars: probabilities below are drawn as nothing

export function make(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

// A table of the methods: the verdict at this parameter, and at which others the token is rejected.
export function verdictTable(rows, token, constraints) {
  const body = rows.map(({ method, parameter, verdicts }) => make("tr", {},
    make("th", { scope: "row" }, method.name),
    make("td", { className: "number" }, shown(parameter)),
    make("td", { className: `verdict ${verdicts[token]}` }, WORDS[verdicts[token]]),
    make("td", {}, method.limit(token, constraints))));
  const heading = make("tr", {}, ...["method", "parameter", "token is", "rejected"].map((text, column) => (
    make("th", { scope: "col", className: column === 1 ? "number" : "" }, text))));
  return make("table", { className: "list" }, make("thead", {}, heading), make("tbody", {}, ...body));
}

// What the server says about a token under the chosen method.
export function explanation(answer) {
  const parts = answer.words.map((line) => make("p", {}, line));
  if (answer.changes.length) parts.push(answer.verdict === "reject" ? witness(answer.changes) : weights(answer.changes));
  return parts;
}

function witness(changes) {
  const rows = changes.map((change) => make("tr", {},
    make("th", { scope: "row" }, make("code", {}, change.text)),
    make("td", { className: "number" }, shown(change.probability)),
    make("td", { className: "number" }, shown(change.replacement)),
    make("td", {}, pair(logarithm(change.probability), logarithm(change.replacement)))));
  return table(["token", "model", "witness", "both, logarithmic"], rows);
}

function weights(changes) {
  const most = Math.max(...changes.map((change) => change.replacement));
  const rows = changes.map((change) => make("tr", {},
    make("th", { scope: "row" }, make("code", {}, change.text)),
    make("td", { className: "number" }, shown(change.probability)),
    make("td", { className: "number" }, `${shown(100 * change.replacement)}%`),
    make("td", {}, pair(null, change.replacement / most))));
  return table(["token", "probability", "weighs", ""], rows);
}

function table(headings, rows) {
  const heading = make("tr", {}, ...headings.map((text, column) => (
    make("th", { scope: "col", className: column === 1 || column === 2 ? "number" : "" }, text))));
  return make("div", { className: "scroll" },
    make("table", { className: "list" }, make("thead", {}, heading), make("tbody", {}, ...rows)));
}

function logarithm(probability) {
  return Math.max(0, 1 + Math.log10(Math.max(probability, 1e-300)) / DECADES);
}

// One bar above the other, as shares of the width; the first may be missing.
function pair(first, second) {
  const svg = element("svg", { class: "pair", viewBox: `0 0 ${WIDTH} 14`, width: WIDTH, height: 14, "aria-hidden": "true" });
  if (first !== null) svg.append(element("rect", { class: "model", y: 1, height: 5, width: WIDTH * first }));
  svg.append(element("rect", { class: "other", y: first === null ? 3 : 8, height: 5, width: WIDTH * second }));
  return svg;
}
