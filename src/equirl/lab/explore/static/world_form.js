// The parameters of a world as form fields, made from what the registry says of them.

import { clear, debounced, el, field, say } from "./dom.js";

const PRESETS = { main: [70, 10], appendix: [80, 10] }; // forward and stay, in hundredths

export class WorldForm {
  // onChange(text of the world) whenever it changes.
  constructor(onChange) {
    this.onChange = onChange;
    this.name = null;
    this.values = {};
    this.fields = new Map();
    this.element = el("div", { class: "form" });
    this.soon = debounced(120, () => this.onChange(this.text));
  }

  load(name, about, values) {
    this.name = name;
    this.about = about;
    this.values = { ...values };
    this.fields.clear();
    const own = about.fields.filter((f) => !f.common && f.kind !== "map");
    const common = about.fields.filter((f) => f.common);
    clear(this.element, el("p", { class: "note", text: about.about }), ...own.map((f) => this.#control(f)),
      el("details", { open: common.some((f) => this.values[f.name] !== undefined) }, el("summary", { text: "Rewards and numbering" }), ...common.map((f) => this.#control(f))));
  }

  #control(about) {
    const value = this.values[about.name] ?? about.default;
    const changed = (text) => {
      this.values[about.name] = text;
      this.soon();
    };
    if (about.name === "kernel") {
      const sliders = new KernelSliders(changed);
      sliders.set(value);
      const box = el("div", {}, sliders.element, el("p", { class: "error", role: "status", hidden: true }));
      box.say = (message) => say(box.lastChild, message);
      this.fields.set(about.name, box);
      return box;
    }
    const control = this.#input(about, value, changed);
    const box = field(about.name.replaceAll("_", " "), control, about.note);
    if (about.kind === "flag") box.classList.add("inline");
    this.fields.set(about.name, box);
    return box;
  }

  #input(about, value, changed) {
    if (about.kind === "flag") {
      return el("input", { type: "checkbox", checked: value === "true", onchange: (event) => changed(String(event.target.checked)) });
    }
    if (about.kind === "choice") {
      const options = about.choices.map((text) => el("option", { value: text, text }));
      return el("select", { onchange: (event) => changed(event.target.value) }, ...options.map((option) => {
        option.selected = option.value === value;
        return option;
      }));
    }
    const mode = { whole: "numeric", number: "decimal" }[about.kind] ?? "text";
    return el("input", { type: "text", inputmode: mode, value, spellcheck: "false", autocomplete: "off", oninput: (event) => changed(event.target.value.trim()) });
  }

  set(name, value) {
    this.values[name] = value;
  }

  // The world as text, with the parameters that are not at their defaults.
  get text() {
    const parts = this.about.fields
      .filter((f) => this.values[f.name] !== undefined && this.values[f.name] !== f.default && this.values[f.name] !== "")
      .map((f) => `${f.name}=${this.values[f.name]}`);
    return parts.length ? `${this.name}:${parts.join(",")}` : this.name;
  }

  // Show a complaint at the field it names; false where there is no such field.
  complain(name, message) {
    for (const [key, box] of this.fields) box.say(key === name ? message : "");
    const box = this.fields.get(name);
    box?.closest("details")?.setAttribute("open", "");
    return Boolean(box);
  }
}

// The probabilities of a move on a grid: forward, to each side, stay; always summing to 1.
class KernelSliders {
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

export function parseWorld(text) {
  const [name, ...rest] = text.split(":");
  const values = {};
  for (const part of rest.join(":").split(",").filter(Boolean)) {
    const at = part.indexOf("=");
    if (at > 0) values[part.slice(0, at).trim()] = part.slice(at + 1).trim();
  }
  return { name: name.trim(), values };
}

// What a world is one of, whatever its parameters.
export const familyOf = (asked) => asked.file ?? parseWorld(asked.text).name;
