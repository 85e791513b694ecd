// The facts of a world in a row: sizes, gain, diameter, kind of chain.

import { clear, el } from "./dom.js";
import { number } from "./numbers.js";

const FACTS = [
  ["S", "states"], ["M", "pairs"], ["C", "classes"], ["gain", "optimal gain"], ["diameter", "diameter"], ["chain", "chain"],
];

export class FactStrip {
  constructor(onDiameter, onCancel) {
    this.onDiameter = onDiameter;
    this.onCancel = onCancel;
    this.values = Object.fromEntries(FACTS.map(([name]) => [name, el("dd", { id: `fact-${name}` })]));
    this.element = el("dl", { class: "facts" }, ...FACTS.map(([name, words]) =>
      el("div", {}, el("dt", { text: words }), this.values[name])));
  }

  // another: whether what stands here belongs to another world, not to this one before an edit.
  world(world, another) {
    for (const name of ["S", "M", "C"]) this.values[name].textContent = world[name].toLocaleString("en-GB");
    this.values.chain.textContent = world.chain;
    this.units = world.reward_map;
    for (const name of ["gain", "diameter"]) {
      this.values[name].classList.add("old");
      if (another) this.values[name].textContent = "…";
    }
  }

  busy() {
    clearTimeout(this.slow);
    this.slow = setTimeout(() => {
      if (this.values.gain.classList.contains("old")) clear(this.values.diameter, document.createTextNode("… "), this.#cancel());
    }, 700);
    for (const name of ["gain", "diameter"]) {
      if (!this.values[name].textContent) this.values[name].textContent = "…";
    }
  }

  gain(reply) {
    const own = this.units[0] !== 1 || this.units[1] !== 0;
    this.values.gain.textContent = number(own ? reply.own_gain : reply.gain, 5);
    this.values.gain.title = `within ${number(reply.accuracy, 2)}${own ? `; ${number(reply.gain, 5)} with rewards in [0, 1]` : ""}`;
    this.values.gain.classList.remove("old");
    clear(this.values.diameter, document.createTextNode("… "), this.#cancel());
  }

  #cancel() {
    return el("button", { class: "link", type: "button", text: "cancel", onclick: this.onCancel });
  }

  diameter(reply) {
    this.values.diameter.classList.remove("old");
    this.values.diameter.title = reply.why;
    if (!reply.offered) this.values.diameter.textContent = number(reply.diameter, 4);
    else clear(this.values.diameter, el("button", { class: "link", type: "button", text: "compute", title: reply.why, onclick: this.onDiameter }));
  }

  failed(message) {
    clearTimeout(this.slow);
    for (const name of ["gain", "diameter"]) {
      this.values[name].textContent = "none";
      this.values[name].title = message;
      this.values[name].classList.remove("old");
    }
  }

  stopped() {
    clearTimeout(this.slow);
    for (const name of ["gain", "diameter"]) {
      if (this.values[name].classList.contains("old") || this.values[name].textContent.startsWith("…")) {
        clear(this.values[name], el("button", { class: "link", type: "button", text: "compute", onclick: this.onDiameter }));
      }
    }
  }
}
