// One pair looked at closely: its class, its profile as bars, and where each mass goes.

import { chip, clear, el } from "./dom.js";
import { counted, number } from "./numbers.js";

const MOST_BARS = 12;

export class PairCard {
  constructor() {
    this.body = el("div", { class: "pair-body" });
    this.element = el("section", { class: "card pair-card", "aria-live": "polite" }, el("h2", { text: "Pair" }), this.body);
    this.empty();
  }

  empty() {
    clear(this.body, el("p", { class: "note", text: "Point at a pair: its class mates light up, and its profile is drawn here. A click keeps it." }));
  }

  show(pair, colour, kept) {
    const bars = pair.goes.slice(0, MOST_BARS).map(({ name, mass }) => {
      const bar = el("span", { class: "mass" });
      bar.style.width = `${(100 * mass).toFixed(2)}%`;
      bar.style.background = colour;
      return el("li", {}, el("span", { class: "to", text: `→ ${name}`, title: name }), el("span", { class: "track" }, bar), el("span", { class: "value", text: number(mass, 4) }));
    });
    const more = pair.goes.length - MOST_BARS;
    const mates = pair.size === 1 ? "alone in its class" : `alike to ${counted(pair.size - 1, "other pair")}`;
    const paid = pair.reward === pair.mean ? number(pair.mean) : `${number(pair.reward)} (${number(pair.mean)} in [0, 1])`;
    clear(this.body,
      el("p", { class: "pair-title" }, chip(colour), el("b", { text: `${pair.state}, ${pair.action}` }), kept ? el("span", { class: "kept", text: "kept" }) : null),
      el("p", { text: `Class ${pair.label}, ${mates}. Mean reward ${paid}.` }),
      el("ol", { class: "bars", "aria-label": "Profile: probabilities, largest first" }, ...bars),
      more > 0 ? el("p", { class: "note", text: `and ${counted(more, "successor")} more` }) : null);
  }
}
