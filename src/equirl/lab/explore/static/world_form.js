// The parameters of a world as form fields, made from what the registry says of them.

import { clear, debounced, el, field } from "./dom.js";
import { KernelSliders } from "./kernel_sliders.js";

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
      box.say = (message) => {
        box.lastChild.textContent = message || "";
        box.lastChild.hidden = !message;
      };
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

export function parseWorld(text) {
  const [name, ...rest] = text.split(":");
  const values = {};
  for (const part of rest.join(":").split(",").filter(Boolean)) {
    const at = part.indexOf("=");
    if (at > 0) values[part.slice(0, at).trim()] = part.slice(at + 1).trim();
  }
  return { name: name.trim(), values };
}
