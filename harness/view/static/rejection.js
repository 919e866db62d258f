"use strict";
// Parameters against rejection rates: a chart for each rule and its basis-aware form, one rate for all of them.

const rejection = document.getElementById("rejection");
const slider = document.getElementById("rate");
const SIZE = { width: 320, height: 220, left: 52, right: 10, top: 12, bottom: 26 };
let data = null;
let charts = [];

function svg(name, attributes = {}, text) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text !== undefined) element.textContent = text;
  return element;
}

const short = (value) => {
  const number = Number(value.toPrecision(3));
  return number !== 0 && Math.abs(number) < 1e-4 ? number.toExponential() : String(number);
};
// YAML takes 1.0e-7 for a number, and 1e-7 for a text.
const yamlNumber = (value) => String(Number(value.toPrecision(6))).replace(/^(\d+)e/, "$1.0e");
const percent = (rate) => `${(100 * rate).toFixed(1)}%`;
const nameOf = (curve) => (curve.constraints === null ? curve.rule : `${curve.rule} (c=${curve.constraints})`);

// Small parameters that span more than a factor of twenty are drawn on a logarithmic scale.
function yScale(values) {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const isLog = low > 0 && low < 0.01 && high / low > 20;
  const to = isLog ? Math.log10 : (value) => value;
  const [from, span] = [to(low), to(high) - to(low) || 1];
  const range = SIZE.height - SIZE.top - SIZE.bottom;
  const at = (value) => SIZE.top + range * (1 - (to(value) - from) / span);
  let ticks;
  if (isLog) {
    ticks = [];
    for (let power = Math.ceil(from - 1e-9); power <= to(high) + 1e-9; power += 1) ticks.push(10 ** power);
  } else {
    const steps = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000];
    const step = steps.find((each) => span / each <= 5) ?? span / 4;
    ticks = [];
    for (let tick = Math.ceil(low / step) * step; tick <= high + 1e-12; tick += step) ticks.push(tick);
  }
  return { at, ticks };
}

const xAt = (rate) => {
  const last = data.rates[data.rates.length - 1];
  return SIZE.left + (SIZE.width - SIZE.left - SIZE.right) * (rate / last);
};

function drawCurve(curve, scale) {
  const group = svg("g", { class: curve.aware ? "aware" : "plain" });
  const known = curve.points.map((point, index) => [point, xAt(data.rates[index])]).filter(([point]) => point);
  const band = known.filter(([point]) => point[1] !== null);
  if (band.length) {
    const upper = band.map(([point, x]) => `${x},${scale.at(point[2])}`);
    const lower = band.map(([point, x]) => `${x},${scale.at(point[1])}`).reverse();
    group.append(svg("polygon", { class: "band", points: [...upper, ...lower].join(" ") }));
  }
  group.append(svg("polyline", { class: "curve", points: known.map(([point, x]) => `${x},${scale.at(point[0])}`).join(" ") }));
  return group;
}

function drawChart(name, curves) {
  const values = curves.flatMap((curve) => curve.points.flatMap((point) => (point ? point.filter((each) => each !== null) : [])));
  if (!values.length) return null;
  const scale = yScale(values);
  const picture = svg("svg", { viewBox: `0 0 ${SIZE.width} ${SIZE.height}`, class: "chart-of-rule", role: "img",
                               "aria-label": `parameter of ${curves.map(nameOf).join(" and ")} against the rejection rate` });
  for (const tick of scale.ticks) {
    picture.append(svg("line", { class: "tick", x1: SIZE.left, x2: SIZE.width - SIZE.right, y1: scale.at(tick), y2: scale.at(tick) }));
    picture.append(svg("text", { x: SIZE.left - 6, y: scale.at(tick) + 3.5, "text-anchor": "end" }, short(tick)));
  }
  for (const rate of [0.1, 0.2, 0.3, 0.4, 0.5]) {
    picture.append(svg("text", { x: xAt(rate), y: SIZE.height - 8, "text-anchor": rate === 0.5 ? "end" : "middle" }, `${100 * rate}%`));
  }
  for (const curve of curves) picture.append(drawCurve(curve, scale));
  const cursor = svg("line", { class: "cursor", y1: SIZE.top, y2: SIZE.height - SIZE.bottom });
  picture.append(cursor);
  const dots = curves.map((curve) => {
    const dot = svg("circle", { r: 4, class: curve.aware ? "aware" : "plain" });
    picture.append(dot);
    return { curve, dot };
  });
  picture.addEventListener("pointermove", (event) => {
    const box = picture.getBoundingClientRect();
    const x = ((event.clientX - box.left) / box.width) * SIZE.width;
    const share = (x - SIZE.left) / (SIZE.width - SIZE.left - SIZE.right);
    choose(nearest(share * data.rates[data.rates.length - 1]) + 1);
  });
  const figure = document.createElement("figure");
  const caption = document.createElement("figcaption");
  caption.textContent = name;
  figure.append(caption, picture);
  return { figure, cursor, dots, scale };
}

function nearest(rate) {
  const distances = data.rates.map((each) => Math.abs(each - rate));
  return distances.indexOf(Math.min(...distances));
}

function choose(number) {
  slider.value = Math.min(Math.max(number, 1), data.rates.length);
  showRate();
}

function row(cells) {
  const line = document.createElement("tr");
  cells.forEach(([text, className], index) => {
    const cell = document.createElement(index ? "td" : "th");
    cell.textContent = text;
    cell.className = className;
    line.append(cell);
  });
  return line;
}

function showRate() {
  const index = Number(slider.value) - 1;
  document.getElementById("rate-shown").textContent = percent(data.rates[index]);
  slider.setAttribute("aria-valuetext", percent(data.rates[index]));
  for (const { cursor, dots, scale } of charts) {
    cursor.setAttribute("x1", xAt(data.rates[index]));
    cursor.setAttribute("x2", xAt(data.rates[index]));
    for (const { curve, dot } of dots) {
      const point = curve.points[index];
      dot.setAttribute("visibility", point ? "visible" : "hidden");
      if (!point) continue;
      dot.setAttribute("cx", xAt(data.rates[index]));
      dot.setAttribute("cy", scale.at(point[0]));
    }
  }
  const lines = data.curves.map((curve) => {
    const point = curve.points[index];
    const interval = point && point[1] !== null ? `[${short(point[1])}, ${short(point[2])}]` : "–";
    return row([[nameOf(curve), ""], [point ? short(point[0]) : "out of reach", "number"], [interval, "number soft"]]);
  });
  document.getElementById("at-rate").replaceChildren(...lines);
  const yaml = ["methods:", ...data.curves.filter((curve) => curve.points[index]).map((curve) => {
    const size = curve.constraints === null ? "" : `, constraints: ${curve.constraints}`;
    return `  - {rule: ${curve.rule}, parameter: ${yamlNumber(curve.points[index][0])}${size}}`;
  })].join("\n");
  document.getElementById("yaml").textContent = yaml;
  document.getElementById("copy-yaml").dataset.copy = yaml;
}

async function loadCurves() {
  const number = document.getElementById("text")?.value ?? 0;
  const response = await fetch(`${rejection.dataset.curves}?text=${number}`, { headers: { accept: "application/json" } });
  const answer = await response.json();
  if (!response.ok) {
    const problem = document.getElementById("curves-problem");
    problem.textContent = answer.problem;
    problem.hidden = false;
    return;
  }
  data = answer;
  document.getElementById("measured").textContent = `${data.tokens.toLocaleString("en")} tokens measured`;
  const names = [...new Set(data.curves.map((curve) => curve.chart))];
  charts = names.map((name) => drawChart(name, data.curves.filter((curve) => curve.chart === name))).filter(Boolean);
  document.getElementById("charts").replaceChildren(...charts.map((chart) => chart.figure));
  showRate();
}

if (rejection) {
  slider.addEventListener("input", showRate);
  document.getElementById("text")?.addEventListener("change", loadCurves);
  loadCurves();
}
