// The page of one distribution. Moving a slider asks no server: see distribution_methods.js. The server is asked for
// the next tokens of another context, for other values of c, for an explanation, and to sample.

import { Chart, Strip, element } from "./distribution_chart.js";
import { ACCEPTED, Method, shown } from "./distribution_methods.js";
import { attempt, request, say, showTrouble } from "./distribution_server.js";
import { Trail } from "./distribution_trail.js";
import { explanation, make, verdictTable } from "./distribution_why.js";

const page = document.getElementById("distribution");
const part = (id) => document.getElementById(id);
const POLL_MILLISECONDS = 700;
const STEPS = 4;  // of a slider between two points of a method's grid

const chart = new Chart(part("chart"));
const trail = new Trail((taken) => attempt(() => visit(taken)));
const chosen = new Map(page.dataset.chosen.split(" ").map((method) => {
  const [name, parameter] = method.split("=");
  return [name, Number(parameter)];
}));

// What is set; `parameters` by the name of a method, whether it is shown or not.
const state = {
  token: 0, record: null, methods: [], rows: new Map(),
  parameters: new Map(chosen), visible: new Set(chosen.keys()), colour: "ba-eta",
  constraints: "", c: 20, rates: null, rate: null, explained: 0,
};

// The model, and its contexts

async function whenReady() {
  for (;;) {
    const answer = await request("/distribution/model");
    part("model-state").textContent = answer.words;
    if (answer.problem) throw new Error(answer.problem);
    if (answer.ready) return answer;
    await new Promise((resolve) => { setTimeout(resolve, POLL_MILLISECONDS); });
  }
}

async function visit(taken, { isBack = false } = {}) {
  let record = trail.find(taken);
  if (!record || record.constraints.join(",") !== numbers(state.constraints)) {
    const fields = { prompt: trail.prompt, taken: taken.join(","), constraints: state.constraints };
    record = await request("/distribution/next", fields);
  }
  trail.arrive(taken, record);
  if (!isBack) trail.remember();
  receive(record);
}

const numbers = (text) => text.split(",").map((number) => Number(number)).join(",");

function start(prompt, taken = [], options = {}) {
  if (prompt !== trail.prompt) trail.begin(prompt);
  return visit(taken, options);
}

// A distribution arrives

function receive(record) {
  state.record = record;
  state.methods = record.methods.map((method) => new Method(method));
  for (const method of state.methods) {
    if (!state.parameters.has(method.name)) state.parameters.set(method.name, method.start);
  }
  if (!record.constraints.includes(state.c)) state.c = record.constraints.at(-1);
  state.token = 0;
  part("play").hidden = false;
  part("model-state").textContent = `${record.model}, entropy ${record.entropy.toFixed(2)} nats, after ${record.contextTokens} tokens`;
  const c = part("c");
  c.max = record.constraints.length - 1;
  c.value = record.constraints.indexOf(state.c);
  const problems = Object.entries(record.problems).map(([name, problem]) => `${name}: ${problem}`);
  part("why").replaceChildren(...problems.map((problem) => make("p", { className: "problem" }, problem)));
  buildRows();
  layout();
}

// Methods: a row for each that is shown

// Rows are kept from one distribution to the next, so that a slider keeps the focus.
function buildRows() {
  const visible = state.methods.filter(({ name }) => state.visible.has(name));
  state.rows = new Map(visible.map((method) => {
    const row = state.rows.get(method.name) ?? makeRow(method);
    row.method = method;
    return [method.name, row];
  }));
  const elements = [...state.rows.values()].map((row) => row.element);
  const isShown = elements.length === part("methods").children.length && elements.every((each) => each.isConnected);
  if (!isShown) part("methods").replaceChildren(...elements);
  const choices = part("more");
  if (choices.children.length !== 1 + state.methods.length) {
    choices.replaceChildren(choices.firstElementChild, ...state.methods.map(makeChoice));
  }
}

function makeRow(method) {
  const radio = make("input", { type: "radio", name: "colour", value: method.name, checked: method.name === state.colour });
  const label = make("label", { className: "name", title: "Colour the bars, explain and sample by this method" }, radio, method.name);
  const slider = make("input", { type: "range", min: 0, max: method.end, step: 1 / STEPS });
  slider.setAttribute("aria-label", `${method.name}, parameter`);
  slider.dataset.method = method.name;
  const field = make("input", { type: "text", size: 8, inputMode: "decimal", autocomplete: "off" });
  field.setAttribute("aria-label", `${method.name}, exact parameter, which ${method.requirement}`);
  const strip = new Strip(element("svg", { class: "strip", preserveAspectRatio: "none", "aria-hidden": "true" }));
  const count = make("p", { className: "count" });
  const row = { method, slider, field, strip, count, radio };
  row.element = make("div", { className: "lane method" },
    make("div", { className: "settings" }, label, slider, field), count, make("div", { className: "figure" }, strip.svg));
  row.element.dataset.name = method.name;
  slider.addEventListener("input", () => setParameter(row, row.method.parameterAt(Number(slider.value))));
  field.addEventListener("change", () => setParameter(row, Number(field.value)));
  radio.addEventListener("change", () => { state.colour = method.name; update(); });
  return row;
}

function makeChoice(method) {
  const box = make("input", { type: "checkbox", checked: state.visible.has(method.name) });
  box.addEventListener("change", () => {
    if (box.checked) state.visible.add(method.name);
    else state.visible.delete(method.name);
    buildRows();
    layout();
  });
  return make("label", {}, box, method.name);
}

function setParameter(row, parameter) {
  const [least, most] = [row.method.parameters[0], row.method.parameters.at(-1)];
  const [low, high] = row.method.limits;
  const isWhole = row.method.scale !== "whole" || Number.isInteger(parameter);
  const isInvalid = !(parameter > low && parameter <= high && isWhole);
  row.field.setAttribute("aria-invalid", isInvalid);
  if (isInvalid) {
    showTrouble(`${row.method.name} ${row.method.requirement}; got ${JSON.stringify(row.field.value)}. Use a number from ${shown(least)} to ${shown(most)}.`);
    return;
  }
  showTrouble("");
  state.parameters.set(row.method.name, parameter);
  state.rate = null;
  update();
}

// All methods at the same rejection rate

function applyRate() {
  for (const method of state.methods) {
    const parameter = matched(method);
    if (parameter !== null) state.parameters.set(method.name, parameter);
  }
}

// The parameter at the rate that is set; null where none was measured. Without constraints, a basis-aware rule is the
// plain one.
function matched(method) {
  const isPlain = !method.basisAware || state.c === 0;
  const name = isPlain ? method.plainName : method.name;
  const curve = state.rates.curves.find((each) => each.rule === name && each.constraints === (isPlain ? null : state.c));
  return curve?.parameters[state.rate] ?? null;
}

async function loadRates() {
  const rates = await request("/distribution/rates");
  const note = part("rate-note");
  if (!rates.run) {
    note.textContent = "No run of this database has measured human text with this model, so rules cannot be moved together.";
    return;
  }
  state.rates = rates;
  rates.note = `All rules at the same rate, from ${rates.tokens.toLocaleString("en")} tokens measured in ${rates.run}.`;
  note.textContent = rates.note;
  const slider = part("rate");
  slider.max = rates.rates.length - 1;
  slider.disabled = false;
  slider.value = rates.rates.findIndex((rate) => rate >= 0.125);
}

// Drawing: `layout` for another distribution or size, `update` for everything else

function layout() {
  const count = Number(part("shown").value);
  chart.layout(state.record, count);
  part("shown-shown").textContent = chart.count;
  part("cursor").max = chart.count - 1;
  for (const row of state.rows.values()) row.strip.layout(chart);
  update();
}

function update() {
  const { probabilities } = state.record;
  for (const [name, row] of state.rows) {
    const parameter = state.parameters.get(name);
    row.verdicts = row.method.verdicts(parameter, state.c);
    row.parameter = parameter;
    row.strip.draw(row.verdicts);
    row.element.dataset.verdicts = row.verdicts;
    row.element.dataset.parameter = parameter;
    row.slider.value = row.method.positionOf(parameter);
    row.slider.setAttribute("aria-valuetext", shown(parameter));
    if (document.activeElement !== row.field) row.field.value = shown(parameter);
    row.radio.checked = name === state.colour;
    row.isUnmatched = state.rate !== null && matched(row.method) === null;
    row.element.classList.toggle("unmatched", row.isUnmatched);
    let [kept, mass] = [0, 0];
    for (let token = 0; token < probabilities.length; token += 1) {
      if (row.verdicts[token] !== ACCEPTED) continue;
      kept += 1;
      mass += probabilities[token];
    }
    row.count.textContent = `${kept} of ${probabilities.length}, ${(100 * mass).toFixed(mass > 0.999 ? 2 : 1)}%`;
  }
  const rows = [...state.rows.values()];
  const colouring = state.rows.get(state.colour) ?? rows[0];
  if (colouring) chart.draw(colouring.verdicts);
  chart.drawLines(rows.map(({ method, parameter }) => ({
    name: method.name, basisAware: method.basisAware, isChosen: method.name === colouring?.method.name,
    threshold: method.thresholdAt(parameter),
  })));
  part("c-shown").textContent = `c = ${state.c}`;
  part("rate-shown").textContent = state.rate === null ? "each as set" : `${(100 * state.rates.rates[state.rate]).toFixed(1)}%`;
  if (state.rates) {
    const faded = rows.filter((row) => row.isUnmatched).map((row) => row.method.name);
    part("rate-note").textContent = faded.length ? `Not measured at c = ${state.c}: ${faded.join(", ")}.` : state.rates.note;
  }
  point(state.token);
}

// The token under the cursor

function point(token) {
  state.token = Math.min(token, chart.count - 1);
  const { texts, probabilities } = state.record;
  chart.mark(state.token);
  const by = (letter) => [...state.rows.values()].filter((row) => row.verdicts[state.token] === letter).map((row) => row.method.name);
  const [accepted, rejected] = [by("a"), by("r")];
  const words = [
    make("b", {}, `${state.token + 1}. `), make("code", {}, texts[state.token]),
    ` ${shown(probabilities[state.token])}`,
    make("span", { className: "soft" }, accepted.length ? ` accepted by ${accepted.join(", ")}` : " accepted by none",
      rejected.length ? `; rejected by ${rejected.join(", ")}` : ""),
  ];
  part("readout").replaceChildren(...words);
  const cursor = part("cursor");
  cursor.value = state.token;
  cursor.setAttribute("aria-valuetext", part("readout").textContent);
}

async function explain() {
  const { token } = state;
  const row = state.rows.get(state.colour) ?? [...state.rows.values()][0];
  if (!row) return;
  const asked = state.explained += 1;
  const take = make("button", { type: "button", className: "button" }, "Take this token ", make("kbd", {}, "t"));
  take.dataset.key = "t";
  const id = state.record.ids[token];
  take.addEventListener("click", () => trail.go([...trail.taken, id]));
  const proof = make("div", { className: "proof" }, make("p", { className: "note" }, "Asking the solver…"));
  const heading = make("h2", {}, "Why ", make("code", {}, state.record.texts[token]), ` under ${row.method.name}`);
  part("why").replaceChildren(
    make("div", { className: "heading" }, heading, take),
    make("div", { className: "columns" },
      proof, make("div", { className: "scroll" }, verdictTable([...state.rows.values()], token, state.c))));
  const answer = await request("/distribution/explain", {
    ...trail.fields, token: id, rule: row.method.name, parameter: row.parameter, constraints: state.c,
  });
  if (asked === state.explained) proof.replaceChildren(...explanation(answer));
}

async function sample() {
  const row = state.rows.get(state.colour) ?? [...state.rows.values()][0];
  const [draw] = crypto.getRandomValues(new Uint32Array(1));
  const drawn = await request("/distribution/sample", {
    ...trail.fields, rule: row.method.name, parameter: row.parameter, constraints: state.c, draw: draw >>> 3,
  });
  await visit([...trail.taken, drawn.token]);
  const refused = drawn.rejected.length ? ` after rejecting ${drawn.rejected.join(", ")}` : "";
  say(`${row.method.name} sampled ${drawn.text}${refused}`);
}

// What people do

part("ask-next").addEventListener("submit", (event) => {
  event.preventDefault();
  attempt(() => start(part("prompt").value));
});
part("c-form").addEventListener("submit", (event) => {
  event.preventDefault();
  const before = state.constraints;
  state.constraints = part("c-values").value;
  attempt(async () => {
    try {
      await visit(trail.taken);
    } catch (error) {
      state.constraints = before;
      throw error;
    }
  });
});
part("rate").addEventListener("input", () => {
  state.rate = Number(part("rate").value);
  applyRate();
  update();
});
part("c").addEventListener("input", () => {
  state.c = state.record.constraints[Number(part("c").value)];
  if (state.rate !== null) applyRate();
  update();
});
part("shown").addEventListener("input", layout);
part("cursor").addEventListener("input", () => point(Number(part("cursor").value)));
part("cursor").addEventListener("keydown", (event) => {
  if (event.key === "Enter") attempt(explain);
});
part("chart").addEventListener("pointermove", (event) => {
  const token = chart.tokenAt(event.clientX);
  if (token !== null) point(token);
});
part("chart").addEventListener("click", (event) => {
  const token = chart.tokenAt(event.clientX);
  if (token === null) return;
  point(token);
  attempt(explain);
});
part("sample").addEventListener("click", () => attempt(sample));
part("back").addEventListener("click", () => trail.go(trail.taken.slice(0, -1)));
addEventListener("popstate", (event) => {
  if (!event.state) return;
  part("prompt").value = event.state.prompt;
  attempt(() => start(event.state.prompt, event.state.taken, { isBack: true }));
});
new ResizeObserver(() => {
  if (state.record && Math.abs(part("chart").clientWidth - chart.width) >= 1) layout();
}).observe(part("chart").parentElement);

if (matchMedia("(max-width: 40rem)").matches) part("shown").value = 30;
attempt(async () => {
  const { constraints } = await whenReady();
  state.constraints = part("c-values").value = constraints.join(", ");
  part("ask-next").querySelector("button").disabled = false;
  const then = new URLSearchParams(location.search).get("then");
  await start(part("prompt").value, then ? then.split(",").map(Number) : []);
  await loadRates();
});
