"use strict";
// What pages of `bat-harness view` share: parts that change while a page is open, ages of times, shortcuts, copying.
// Tables and the explanations of numbers are page.js, which reports have, too. Nothing here makes HTML of text: what
// the server sends was escaped there.

// Live: the server sends the parts of the page that changed. Browsers allow few connections to one server, so only
// pages that are visible listen.
const live = document.querySelector("[data-live]");
const sign = document.getElementById("live");
let source = null;

function replacePart(name, content) {
  const part = document.getElementById(name);
  if (!part) return;
  if (name === "problem") {
    part.textContent = content;
    part.hidden = !content;
    return;
  }
  const open = new Set([...part.querySelectorAll("details[open][id]")].map((each) => each.id));
  const focused = part.contains(document.activeElement) ? document.activeElement : null;
  const path = focused && [focused.tagName, focused.getAttribute("href"), focused.getAttribute("aria-label")];
  part.innerHTML = content;
  part.querySelectorAll("details[id]").forEach((each) => { each.open = open.has(each.id); });
  if (path) {
    [...part.querySelectorAll(path[0])]
      .find((each) => each.getAttribute("href") === path[1] && each.getAttribute("aria-label") === path[2])
      ?.focus({ preventScroll: true });
  }
  showAges();
}

function say(words, isOn) {
  if (!sign) return;
  sign.textContent = words;
  sign.classList.toggle("on", isOn);
}

function listen() {
  if (source || document.hidden) return;
  source = new EventSource(live.dataset.live);
  source.onopen = () => say("live", true);
  source.onerror = () => say("reconnecting", false);
  source.onmessage = (event) => {
    say("live", true);
    for (const [name, content] of Object.entries(JSON.parse(event.data))) replacePart(name, content);
  };
}

function stopListening() {
  source?.close();
  source = null;
  say("paused", false);
}

if (live) {
  listen();
  document.addEventListener("visibilitychange", () => (document.hidden ? stopListening() : listen()));
  addEventListener("pagehide", () => source?.close());
}

// Ages: "3 min ago" beside moments, by the clock of this machine.
const UNITS = [["d", 86400], ["h", 3600], ["min", 60], ["s", 1]];

function age(seconds) {
  const [unit, size] = UNITS.find(([, size]) => seconds >= size) ?? UNITS[3];
  return `${Math.max(0, Math.floor(seconds / size))} ${unit} ago`;
}

function showAges() {
  for (const time of document.querySelectorAll("time[data-ago]")) {
    time.textContent = age((Date.now() - Date.parse(time.dateTime)) / 1000);
  }
}
showAges();
setInterval(showAges, 1000);

// Shortcuts: an element with data-key="n" is clicked by that key, unless the key is meant for a field.
function isTyping(target) {
  return target.closest("input, textarea, select, [contenteditable]") !== null;
}

addEventListener("keydown", (event) => {
  if (event.target.dataset?.submit && event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
    event.target.form.requestSubmit();
    event.preventDefault();
    return;
  }
  if (event.key === "Escape" && isTyping(event.target)) event.target.blur();
  if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
  const element = document.querySelector(`[data-key~="${CSS.escape(event.key)}"]`);
  if (!element) return;
  event.preventDefault();
  if (element.matches("input, textarea, select")) element.focus();
  else element.click();
});

// Copying, and names of columns that go into a query.
document.addEventListener("click", async (event) => {
  const button = event.target.closest("button");
  if (button?.dataset.copy !== undefined) {
    const label = button.textContent;
    try {
      await navigator.clipboard.writeText(button.dataset.copy);
      button.textContent = "Copied";
    } catch {
      button.textContent = "Not allowed";  // by the browser, on an address that is not local
    }
    setTimeout(() => { button.textContent = label; }, 1500);
  }
  if (button?.dataset.insert !== undefined) {
    const field = document.querySelector("textarea");
    field.setRangeText(button.dataset.insert, field.selectionStart, field.selectionEnd, "end");
    field.focus();
  }
});

// A choice that sends its form at once.
document.addEventListener("change", (event) => {
  if (event.target.dataset?.send !== undefined) event.target.form.requestSubmit();
});
