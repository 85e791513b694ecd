// Which learners play: up to six, each with its settings, checked as they are typed.

import { clear, debounced, el, say } from "./dom.js";

export class LearnerList {
  constructor(link, catalogue, chosen, onChange) {
    Object.assign(this, { link, catalogue, onChange });
    this.rows = [];
    this.list = el("ul", { class: "learners" });
    const options = Object.entries(catalogue.learners).map(([name, { about }]) => el("option", { value: name, text: name, title: about }));
    this.add = el("select", { "aria-label": "Add a learner", onchange: () => this.#added() }, el("option", { value: "", text: "Add a learner …" }), ...options);
    this.element = el("div", {}, this.list, this.add);
    for (const { name, settings } of chosen) this.#row(name, settings);
  }

  get chosen() {
    return this.rows.map(({ name, settings }) => ({ name, settings: settings.value.trim() }));
  }

  #added() {
    if (this.add.value) this.#row(this.add.value, "");
    this.add.value = "";
    this.onChange();
  }

  #row(name, text) {
    if (this.rows.length >= this.catalogue.limits.MOST_LEARNERS) return;
    const about = this.catalogue.learners[name];
    const error = el("p", { class: "error", role: "status", hidden: true });
    const known = Object.entries(about?.settings ?? {}).map(([key, value]) => `${key}=${value}`).join(", ");
    const settings = el("input", {
      type: "text", value: text, placeholder: known ? "settings: key=value, …" : "no settings", title: known, "aria-label": `Settings of ${name}`,
      spellcheck: "false", autocomplete: "off", disabled: !known && !text,
    });
    const row = { name, settings, error };
    const check = debounced(200, () => this.#check(row));
    settings.addEventListener("input", check);
    const remove = el("button", { type: "button", class: "quiet", text: "×", "aria-label": `Remove ${name}`, onclick: () => this.#remove(row) });
    row.element = el("li", {}, el("div", { class: "learner-head" }, el("b", { text: name, title: about?.about }), remove), settings, error);
    this.rows.push(row);
    this.list.append(row.element);
    this.add.disabled = this.rows.length >= this.catalogue.limits.MOST_LEARNERS;
    if (text || !about) this.#check(row);
  }

  #remove(row) {
    this.rows = this.rows.filter((other) => other !== row);
    clear(this.list, ...this.rows.map(({ element }) => element));
    this.add.disabled = false;
    this.onChange();
  }

  async #check({ name, settings, error }) {
    try {
      await this.link.ask("settings", { learner: { name, settings: settings.value } });
      say(error, null);
    } catch (problem) {
      say(error, problem.message);
    }
    settings.toggleAttribute("aria-invalid", !error.hidden);
    this.onChange();
  }
}
