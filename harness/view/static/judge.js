// The page of a comparison: keys, the time it took, and answers that survive a server that is away.
// Without this script the page works, too: forms are sent as forms, and no time is measured.
"use strict";

const form = document.getElementById("answer");
const RETRY_MILLISECONDS = 2000;

// Only while the page can be seen, and counted on when it is loaded again.
class Stopwatch {
  constructor(name) {
    this.name = `seconds ${location.pathname} ${name}`;
    this.before = Number(sessionStorage.getItem(this.name)) || 0;
    this.since = document.hidden ? null : performance.now();
    document.addEventListener("visibilitychange", () => this.pause(document.hidden));
    window.addEventListener("pagehide", () => this.pause(true));
  }

  pause(isHidden) {
    this.before = this.seconds();
    this.since = isHidden ? null : performance.now();
    sessionStorage.setItem(this.name, String(this.before));
  }

  seconds() {
    return this.before + (this.since === null ? 0 : (performance.now() - this.since) / 1000);
  }
}

function say(sentence) {
  const notice = document.getElementById("notice");
  notice.textContent = sentence;
  notice.hidden = !sentence;
}

// Sends an answer until the server has stored it. The same answer twice counts once.
async function send(body) {
  for (;;) {
    let reply;
    try {
      reply = await fetch(form.action, { method: "POST", body, headers: { accept: "application/json" } });
    } catch {
      say("The server cannot be reached. Keep this page open: your answer is sent again as soon as it can be.");
      await new Promise((resolve) => setTimeout(resolve, RETRY_MILLISECONDS));
      continue;
    }
    if (reply.ok) {
      location.replace(location.pathname);
      return;
    }
    const { problem } = await reply.json().catch(() => ({ problem: "The answer could not be stored. Reload the page." }));
    say(problem);
    if (reply.status !== 429 && reply.status !== 503) return;
    await new Promise((resolve) => setTimeout(resolve, RETRY_MILLISECONDS));
  }
}

if (form) {
  const watch = new Stopwatch(form.dataset.key);
  const buttons = [...form.querySelectorAll("button[name=choice]")];
  let isSending = false;

  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (isSending || !event.submitter || event.submitter.name !== "choice") return;
    isSending = true;
    event.submitter.classList.add("chosen");
    document.getElementById("seconds").value = watch.seconds().toFixed(2);
    const body = new URLSearchParams(new FormData(form, event.submitter));
    for (const button of buttons) button.disabled = true;
    await send(body);
    isSending = false;
    for (const button of buttons) button.disabled = false;
  });

  document.addEventListener("keydown", (event) => {
    if (event.repeat || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest("textarea")) return;
    const button = buttons.find((each) => each.value === event.key);
    if (button) button.click();
  });
}

document.documentElement.dataset.ready = "";
