// The largest classes in words, each with its colour.

import { el } from "./dom.js";
import { number } from "./numbers.js";

const LISTED = 14;

export function classLegend(world, colours) {
  const items = world.classes.slice(0, LISTED).map(({ label, profile, more, mean }) => {
    const chip = el("span", { class: "chip" });
    chip.style.background = colours[label];
    const laws = profile.map((p) => number(p, 3)).join(" ") + (more ? " …" : "");
    return el("tr", {}, el("td", {}, chip, el("span", { text: String(label) })),
      el("td", { class: "num", text: world.sizes[label].toLocaleString("en-GB") }),
      el("td", { class: "profile", text: laws }), el("td", { class: "num", text: world.rewards ? number(mean, 3) : "any" }));
  });
  const rest = world.C - items.length;
  return el("section", { class: "card" }, el("h2", { text: "Classes" }),
    el("div", { class: "scroll" }, el("table", { class: "plain" },
      el("thead", {}, el("tr", {}, ...["class", "pairs", "profile", "reward"].map((text, k) => el("th", { text, class: k === 1 || k === 3 ? "num" : null })))),
      el("tbody", {}, ...items))),
    rest > 0 ? el("p", { class: "note", text: `and ${rest.toLocaleString("en-GB")} smaller ones` }) : null);
}
