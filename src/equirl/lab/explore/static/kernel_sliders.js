// The probabilities of a move on a grid: forward, to each side, stay; always summing to 1.

import { el } from "./dom.js";

const PRESETS = { main: [70, 10], appendix: [80, 10] }; // forward and stay, in hundredths

export class KernelSliders {
  constructor(onChange) {
    this.onChange = onChange;
    this.forward = this.#slider("forward", () => this.#moved(this.forward, this.stay));
    this.stay = this.#slider("stay", () => this.#moved(this.stay, this.forward));
    this.words = el("p", { class: "note" });
    this.element = el("fieldset", { class: "kernel" }, el("legend", { text: "Probabilities of a move" }),
      this.forward.row, this.stay.row, this.words);
    this.set("main");
  }

  #slider(name, onMove) {
    const input = el("input", { type: "range", min: 0, max: 100, step: 1, "aria-label": `Probability: ${name}`, oninput: onMove });
    const value = el("output", {});
    return { input, value, row: el("label", { class: "slider" }, el("span", { text: name }), input, value) };
  }

  #moved(moved, other) {
    const over = Number(moved.input.value) + Number(other.input.value) - 100;
    if (over > 0) other.input.value = Number(other.input.value) - over;
    this.#tell();
    this.onChange(this.text);
  }

  set(text) {
    const parts = PRESETS[text] ?? text.split("/").map((part) => Math.round(100 * Number(part)));
    const [forward, stay] = PRESETS[text] ? parts : [parts[0], parts[2]];
    if (!Number.isFinite(forward) || !Number.isFinite(stay)) return;
    this.forward.input.value = forward;
    this.stay.input.value = stay;
    this.#tell();
  }

  get side() {
    return (100 - Number(this.forward.input.value) - Number(this.stay.input.value)) / 200;
  }

  get text() {
    const [forward, stay] = [Number(this.forward.input.value), Number(this.stay.input.value)];
    const preset = Object.entries(PRESETS).find(([, [f, s]]) => f === forward && s === stay);
    return preset ? preset[0] : `${forward / 100}/${this.side}/${stay / 100}`;
  }

  #tell() {
    for (const { input, value } of [this.forward, this.stay]) value.textContent = (Number(input.value) / 100).toFixed(2);
    this.words.textContent = `${this.side.toFixed(3).replace(/0$/, "")} to each side`;
  }
}
