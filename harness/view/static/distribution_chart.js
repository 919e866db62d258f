// The chart: a bar for each token on a logarithmic scale, a line for each threshold, and below it a strip for each
// method. Each kind of token is one path, so that a move of a slider changes a few attributes and no elements.

import { ACCEPTED, REJECTED, UNDECIDED } from "./distribution_methods.js";

const SVG = "http://www.w3.org/2000/svg";
const LEFT = 40;  // of the scale; strips leave it free, too
const RIGHT = 118;  // of the names of lines
const NARROW = 560;  // where there is less room for these
const RIGHT_IF_NARROW = 66;
const TOP = 8;
const BARS = 230;
const LABELS = 76;
const STRIP = 16;
const LEAST_LABEL = 9.5;  // pixels between tokens from which on there is room for their names
const LETTERS = 12;
const LEAST_GAP = 12;  // between names of lines

export function element(name, attributes = {}, text = null) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== null) made.textContent = text;
  return made;
}

export class Chart {
  constructor(svg) {
    this.svg = svg;
    this.count = 0;
    this.scale = element("g", { class: "scale" });
    this.band = element("rect", { class: "band", y: 0, height: TOP + BARS });
    this.bars = paths();
    this.lines = element("g", { class: "lines" });
    this.labels = element("g", { class: "labels" });
    this.svg.replaceChildren(this.band, this.scale, ...Object.values(this.bars), this.lines, this.labels);
  }

  // Called for another distribution, another number of tokens, or another width.
  layout(record, count) {
    this.record = record;
    this.count = Math.min(count, record.ids.length);
    this.width = this.svg.clientWidth || 600;
    this.end = this.width - (this.width < NARROW ? RIGHT_IF_NARROW : RIGHT);
    this.step = (this.end - LEFT) / this.count;
    const hasLabels = this.step >= LEAST_LABEL;
    const height = TOP + BARS + (hasLabels ? LABELS : 6);
    this.svg.setAttribute("viewBox", `0 0 ${this.width} ${height}`);
    this.svg.setAttribute("height", height);
    const least = Math.max(record.probabilities[this.count - 1], 1e-30);
    this.lowest = Math.log10(least) - 0.5;
    this.#drawScale();
    this.labels.replaceChildren(...(hasLabels ? this.#labels() : []));
  }

  x(token) {
    return LEFT + token * this.step;
  }

  y(probability) {
    const height = Math.log10(Math.max(probability, 1e-300)) / this.lowest;
    return TOP + BARS * Math.min(Math.max(height, 0), 1);
  }

  tokenAt(clientX) {
    const token = Math.floor((clientX - this.svg.getBoundingClientRect().left - LEFT) / this.step);
    return token >= 0 && token < this.count ? token : null;
  }

  #drawScale() {
    const parts = [];
    const step = Math.max(1, Math.ceil(-this.lowest / 6));
    for (let power = 0; power > this.lowest; power -= step) {
      const y = this.y(10 ** power);
      parts.push(element("line", { x1: LEFT, x2: this.end, y1: y, y2: y }));
      parts.push(element("text", { x: LEFT - 6, y: y + 4, "text-anchor": "end" }, power === 0 ? "1" : `1e${power}`));
    }
    this.scale.replaceChildren(...parts);
  }

  #labels() {
    return this.record.texts.slice(0, this.count).map((text, token) => {
      const letters = text.length > LETTERS ? `${text.slice(0, LETTERS - 1)}…` : text;
      const x = this.x(token) + this.step / 2;
      return element("text", { transform: `translate(${x + 3.5} ${TOP + BARS + 6}) rotate(90)` }, letters);
    });
  }

  // Colour the bars by the verdicts of a method.
  draw(verdicts) {
    const parts = { [ACCEPTED]: "", [REJECTED]: "", [UNDECIDED]: "" };
    const gap = this.step > 4 ? 1 : this.step * 0.15;
    const width = (this.step - gap).toFixed(2);
    for (let token = 0; token < this.count; token += 1) {
      const y = this.y(this.record.probabilities[token]).toFixed(1);
      parts[verdicts[token]] += `M${this.x(token).toFixed(2)} ${TOP + BARS}V${y}h${width}V${TOP + BARS}z`;
    }
    for (const [letter, path] of Object.entries(this.bars)) path.setAttribute("d", parts[letter]);
  }

  // A line for each method that has a threshold; names that would overlap move apart.
  drawLines(methods) {
    const placed = methods
      .filter((method) => method.threshold !== null)
      .map((method) => ({ ...method, y: this.y(method.threshold) }))
      .sort((one, other) => one.y - other.y);
    let last = -Infinity;
    for (const method of placed) {
      method.labelY = Math.max(method.y + 4, last + LEAST_GAP);
      last = method.labelY;
    }
    let next = TOP + BARS + LEAST_GAP;
    for (const method of placed.reverse()) {
      method.labelY = Math.min(method.labelY, next - LEAST_GAP);
      next = method.labelY;
    }
    while (this.lines.children.length < 2 * placed.length) this.lines.append(element("path"), element("text"));
    while (this.lines.children.length > 2 * placed.length) this.lines.lastChild.remove();
    placed.forEach((method, index) => {
      const [line, name] = [this.lines.children[2 * index], this.lines.children[2 * index + 1]];
      const kind = `${method.basisAware ? "aware" : "plain"}${method.isChosen ? " chosen" : ""}`;
      const { end } = this;
      line.setAttribute("d", `M${LEFT} ${method.y}H${end}L${end + 6} ${method.labelY - 4}`);
      line.setAttribute("class", kind);
      name.setAttribute("x", end + 8);
      name.setAttribute("y", method.labelY);
      name.setAttribute("class", kind);
      if (name.textContent !== method.name) name.textContent = method.name;
    });
  }

  mark(token) {
    this.band.setAttribute("x", this.x(token));
    this.band.setAttribute("width", this.step);
    [...this.labels.children].forEach((label, index) => label.classList.toggle("marked", index === token));
  }
}

// The verdicts of one method: tall where it accepts, low where it rejects, so that colour is not needed.
export class Strip {
  constructor(svg) {
    this.svg = svg;
    this.paths = paths();
    svg.replaceChildren(...Object.values(this.paths));
  }

  layout(chart) {
    this.chart = chart;
    this.svg.setAttribute("viewBox", `0 0 ${chart.width} ${STRIP}`);
  }

  draw(verdicts) {
    const parts = { [ACCEPTED]: "", [REJECTED]: "", [UNDECIDED]: "" };
    const heights = { [ACCEPTED]: STRIP, [REJECTED]: 5, [UNDECIDED]: 10 };
    const { count } = this.chart;
    for (let start = 0; start < count;) {
      const letter = verdicts[start];
      let end = start + 1;
      while (end < count && verdicts[end] === letter) end += 1;
      const [x, width] = [this.chart.x(start), (end - start) * this.chart.step];
      const top = STRIP - heights[letter];
      parts[letter] += `M${x.toFixed(2)} ${STRIP}V${top}h${width.toFixed(2)}V${STRIP}z`;
      start = end;
    }
    for (const [letter, path] of Object.entries(this.paths)) path.setAttribute("d", parts[letter]);
  }
}

function paths() {
  return Object.fromEntries(
    [ACCEPTED, REJECTED, UNDECIDED].map((letter) => [letter, element("path", { class: letter })]),
  );
}
