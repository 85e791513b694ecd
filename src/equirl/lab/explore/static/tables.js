// Tables of text and numbers. A cell is a text, or {text, note, verdict, back, best, part}; a row may be {heading}.

import { el } from "./dom.js";

// A table of words is stacked on a narrow page, cell below cell.
export function table(heads, rows, numeric = [], stacked = false) {
  const look = (k) => (numeric.includes(k) ? "num" : null);
  return el("table", { class: stacked ? "plain stacked" : "plain" }, el("thead", {}, el("tr", {}, ...heads.map((text, k) => el("th", { text, class: look(k), scope: "col" })))),
    el("tbody", {}, ...rows.map((row) => tableRow(row, heads, look))));
}

function tableRow(row, heads, look) {
  if (row.heading !== undefined) return el("tr", { class: "heading" }, el("th", { text: row.heading, colspan: heads.length, scope: "rowgroup" }));
  return el("tr", {}, ...row.map((held, k) => cell(held, look(k), heads[k])));
}

function cell(held, look, head) {
  if (typeof held === "string") return el("td", { text: held, class: look, "data-head": head });
  const inside = held.verdict ? el("span", { class: `verdict ${held.verdict}`, text: held.text }) : document.createTextNode(held.text);
  return el("td", { class: look, "data-head": head }, inside, held.note ? el("span", { class: "note", text: held.note }) : null);
}

// Worlds by learners, in the colours of their regret; onPart(part) where the name of a world is chosen.
export function matrix({ head, rows, given }, onPart) {
  const edge = (k) => k === 1 || (k > 1 && given[k - 1] !== given[k - 2]);
  const kinds = Array.from(new Set(given));
  const groups = kinds.map((kind) => el("th", { text: kind, class: "given edge", colspan: given.filter((g) => g === kind).length, scope: "colgroup" }));
  const names = head.slice(1).map((name, k) => el("th", { class: edge(k + 1) ? "tall edge" : "tall", scope: "col" }, el("span", { text: name })));
  const body = rows.map(([world, ...cells]) => el("tr", {},
    el("th", { scope: "row" }, el("button", { type: "button", class: "link", text: world.text, title: "Its curves and standings", onclick: () => onPart(world.part) })),
    ...cells.map((held, k) => {
      const shown = el("td", { class: `num${edge(k + 1) ? " edge" : ""}${held.best ? " best" : held.undecided ? " undecided" : ""}`, text: held.text, title: `${head[k + 1]} in ${world.text}` });
      if (held.back) shown.style.background = held.back;
      return shown;
    })));
  return el("table", { class: "plain matrix" }, el("thead", {}, el("tr", {}, el("td"), ...groups), el("tr", {}, el("td"), ...names)), el("tbody", {}, ...body));
}
