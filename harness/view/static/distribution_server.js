// Questions to the server, and what the page says while it waits or when something is wrong.

const page = document.getElementById("distribution");
const trouble = document.getElementById("trouble");
const happened = document.getElementById("happened");
const WAITING = "Computing…";

export async function request(path, fields = null) {
  const options = { headers: { accept: "application/json" } };
  if (fields) {
    options.method = "POST";
    options.body = new URLSearchParams({ form_token: page.dataset.formToken, ...fields });
  }
  let answer;
  try {
    answer = await fetch(path, options);
  } catch {
    throw new Error("The server does not answer. Start bat-harness view again, and reload the page.");
  }
  const record = await answer.json();
  if (!answer.ok) throw new Error(record.problem);
  return record;
}

// Whatever is asked may fail, with a sentence to show.
export async function attempt(action) {
  page.setAttribute("aria-busy", "true");
  say(WAITING);
  try {
    await action();
    showTrouble("");
  } catch (error) {
    showTrouble(error.message);
  } finally {
    page.removeAttribute("aria-busy");
    if (happened.textContent === WAITING) say("");
  }
}

export function say(words) {
  happened.textContent = words;
}

export function showTrouble(sentence) {
  trouble.textContent = sentence;
  trouble.hidden = !sentence;
}
