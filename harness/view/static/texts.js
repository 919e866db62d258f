"use strict";
// The tokens of the texts on this page: coloured by how they were accepted, and what each says about itself. They
// arrive after the page, because a tokenizer may have to be loaded. All text is set as text, never as HTML.

const texts = document.getElementById("texts");
const tokenPanel = document.getElementById("token");
const shared = texts.dataset.shared === undefined ? null : Number(texts.dataset.shared);

const WAYS = {
  certified: "certified",
  greedy_fallback: "fallback",
  exact_fallback: "fallback",
};
const WORDS = {
  certified: "below the threshold, accepted with a certificate",
  greedy_fallback: "every candidate was rejected: the most likely token",
  exact_fallback: "every candidate was rejected: a draw from the exact candidate set",
};

const made = (name, text, className = "") => {
  const element = document.createElement(name);
  if (text !== undefined) element.textContent = text;
  if (className) element.className = className;
  return element;
};

// Spaces and line breaks of a marked token would not be seen.
function visible(text) {
  const lines = text.replace(/\r?\n/g, "↵\n");
  return lines.trim() ? lines : lines.replaceAll(" ", "␣");
}

function tokenElement(token, step) {
  const text = step ? token.text : token.text.trimStart();
  const element = made("span", token.how ? visible(text) : text, "token");
  if (token.how) element.classList.add(WAYS[token.how]);
  if (shared !== null && step < shared) element.classList.add("shared");
  if (shared !== null && step === shared) element.classList.add("parting");
  element.tabIndex = step === 0 ? 0 : -1;
  element.token = { ...token, step };
  return element;
}

function show(paragraph, tokens) {
  if (!tokens?.length) return;
  paragraph.textContent = "";
  tokens.forEach((token, step) => {
    if (token.rejected) paragraph.append(made("span", String(token.rejected.length), "rejected"));
    paragraph.append(tokenElement(token, step));
  });
}

function fact(list, name, value) {
  if (value === undefined || value === null) return;
  list.append(made("dt", name), made("dd", value));
}

function explain(element) {
  const token = element.token;
  const list = made("dl", undefined, "facts");
  fact(list, "token", `${token.step + 1}, “${token.text}”`);
  fact(list, "probability", token.p === null ? "not known" : String(token.p));
  fact(list, "threshold", token.threshold === undefined ? undefined : String(token.threshold));
  const above = token.threshold === undefined || token.p >= token.threshold;
  fact(list, "accepted", WORDS[token.how] ?? (above ? "at or above the threshold" : "by the rule"));
  if (token.rejected) {
    const count = token.rejected.length;
    fact(list, "tries", `${count + 1}, the first ${count} rejected${token.undecided ? ` (${token.undecided} undecided)` : ""}`);
    fact(list, "rejected", token.rejected.map((text) => `“${text}”`).join(", "));
  }
  tokenPanel.replaceChildren(list);
  tokenPanel.hidden = false;
  texts.querySelector(".token.current")?.classList.remove("current");
  element.classList.add("current");
}

// A text is one stop of the Tab key; arrow keys move inside it.
function move(event) {
  const element = event.target.closest(".token");
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (event.key === "Escape") tokenPanel.hidden = true;
  if (!element || !step) return;
  event.preventDefault();
  event.stopPropagation();  // not the next prefix
  const all = [...element.parentElement.querySelectorAll(".token")];
  all[all.indexOf(element) + step]?.focus();
}

texts.addEventListener("pointerover", (event) => {
  const element = event.target.closest(".token");
  if (element) explain(element);
});
texts.addEventListener("click", (event) => event.target.closest(".token")?.focus());
texts.addEventListener("focusin", (event) => {
  if (!event.target.token) return;
  event.target.parentElement.querySelectorAll(".token").forEach((each) => { each.tabIndex = -1; });
  event.target.tabIndex = 0;
  explain(event.target);
});
texts.addEventListener("keydown", move);

async function load() {
  const response = await fetch(texts.dataset.tokens, { headers: { accept: "application/json" } });
  const answer = await response.json();
  if (!response.ok) {
    const problem = document.getElementById("tokens-problem");
    problem.textContent = answer.problem;
    problem.hidden = false;
    return;
  }
  for (const paragraph of texts.querySelectorAll(".tokens")) show(paragraph, answer[paragraph.dataset.job]);
  document.getElementById("legend").hidden = false;
  texts.dataset.ready = "";
}
load();
