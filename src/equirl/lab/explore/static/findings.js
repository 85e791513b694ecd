// What the report of a shipped study says: the paper's claims with their verdicts, the leaderboard's advice and failures.

import { clear, el } from "./dom.js";
import { matrix, table } from "./tables.js";

export class Findings {
  // onPart(part): show a world of the study; askMaps(): the class tables of the paper, as a promise.
  constructor(onPart, askMaps) {
    Object.assign(this, { onPart, askMaps });
    this.shut = new Set();
    this.facts = el("div", { class: "findings-facts" });
    this.element = el("div", { class: "findings" });
    this.maps = null;
  }

  show(reply) {
    const now = JSON.stringify(reply.sections);
    clear(this.facts, el("p", { text: reply.facts }), reply.banner ? el("p", { class: "banner", role: "note", text: reply.banner }) : null);
    if (now === this.held) return;
    this.held = now;
    const sections = reply.sections.map((section) => this.#section(section));
    if (reply.study === "paper") sections.push(this.maps ??= this.#classTables());
    clear(this.element, ...sections);
  }

  #section({ name, title, about, table: held, items }) {
    const body = held ? el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": title }, held.given ? matrix(held, this.onPart) : table(held.head, held.rows, held.numeric, true)) : null;
    const box = el("details", { class: "card", id: `found-${name}`, open: !this.shut.has(name) }, el("summary", {}, el("h2", { text: title })),
      about ? el("p", { class: "note", text: about }) : null, body, items.length ? el("ul", {}, ...items.map((text) => el("li", { text }))) : null);
    box.addEventListener("toggle", () => (box.open ? this.shut.delete(name) : this.shut.add(name)));
    return box;
  }

  // Counted when first looked at: it takes a while, and no run changes it.
  #classTables() {
    const inside = el("div", {}, el("p", { class: "note", text: "Counting the classes of some hundred maps …" }));
    const box = el("details", { class: "card", id: "found-maps" }, el("summary", {}, el("h2", { text: "Classes of grid-worlds (appendix F)" })), inside);
    box.addEventListener("toggle", async () => {
      if (!box.open || this.asked) return;
      this.asked = true;
      try {
        const { sections } = await this.askMaps();
        clear(inside, ...sections.flatMap(({ title, about, table: held }) => [el("h3", { text: title }), el("p", { class: "note", text: about }),
          el("div", { class: "scroll" }, table(held.head, held.rows, held.numeric))]));
      } catch (problem) {
        this.asked = false;
        clear(inside, el("p", { class: "error", text: problem.message }));
      }
    });
    return box;
  }
}
