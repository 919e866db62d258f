// The contexts that were visited: a tree of the tokens taken after a prompt, each node named by its tokens.

import { make } from "./distribution_why.js";

const LONGEST_ADDRESS = 2000;  // characters of a prompt that fit into the address
const LONGEST_BRANCH = 60;

const keyOf = (taken) => taken.join(",");
const words = (text) => text.replaceAll("␣", " ");

export class Trail {
  // `go` visits the context after these tokens.
  constructor(go) {
    this.go = go;
    this.begin("");
  }

  begin(prompt) {
    this.prompt = prompt;
    this.taken = [];
    this.nodes = new Map();
  }

  // What the server is told about the context.
  get fields() {
    return { prompt: this.prompt, taken: keyOf(this.taken) };
  }

  find(taken) {
    return this.nodes.get(keyOf(taken))?.record;
  }

  arrive(taken, record) {
    this.taken = taken;
    this.nodes.set(keyOf(taken), { taken, record });
    this.#draw(record.taken);
  }

  // Browsers step back and forth through contexts, and an address can be kept.
  remember() {
    const query = new URLSearchParams();
    if (this.prompt.length <= LONGEST_ADDRESS) query.set("prompt", this.prompt);
    if (this.taken.length) query.set("then", keyOf(this.taken));
    const address = `?${query}`;
    const state = { prompt: this.prompt, taken: this.taken };
    if (!history.state) history.replaceState(state, "", address);
    else if (address !== location.search) history.pushState(state, "", address);
  }

  #draw(texts) {
    const steps = texts.map((text, index) => {
      const button = make("button", { type: "button", className: "taken", title: "Go back to before this token" }, words(text));
      button.addEventListener("click", () => this.go(this.taken.slice(0, index)));
      return button;
    });
    const trail = document.getElementById("trail");
    trail.replaceChildren(make("span", { className: "prompt-text" }, this.prompt), ...steps);
    document.getElementById("back").disabled = !this.taken.length;
    const branches = this.#otherLeaves().map((node) => {
      const button = make("button", { type: "button" }, `…${words(node.record.taken.join("")).slice(-LONGEST_BRANCH)}`);
      button.addEventListener("click", () => this.go(node.taken));
      return make("li", {}, button);
    });
    const label = branches.length ? [make("li", { className: "soft" }, "Other branches")] : [];
    document.getElementById("branches").replaceChildren(...label, ...branches);
  }

  #otherLeaves() {
    const nodes = [...this.nodes.values()];
    const isLeaf = (node) => !nodes.some((other) => isBefore(node.taken, other.taken));
    const here = keyOf(this.taken);
    return nodes.filter((node) => node.taken.length && keyOf(node.taken) !== here && isLeaf(node));
  }
}

function isBefore(taken, other) {
  return other.length > taken.length && taken.every((token, index) => token === other[index]);
}
