// Tables of text and numbers. A cell is a text, or {text, note, verdict, back, best, part}; a row may be {heading}.

import { el } from "./dom.js";

export function table(heads, rows, numeric = []) {
  const look = (k) => (numeric.includes(k) ? "num" : null);
  return el("table", { class: "plain" }, el("thead", {}, el("tr", {}, ...heads.map((text, k) => el("th", { text, class: look(k), scope: "col" })))),
    el("tbody", {}, ...rows.map((row) => tableRow(row, heads.length, look))));
}

function tableRow(row, width, look) {
  if (row.heading !== undefined) return el("tr", { class: "heading" }, el("th", { text: row.heading, colspan: width, scope: "rowgroup" }));
  return el("tr", {}, ...row.map((held, k) => cell(held, look(k))));
}

function cell(held, look) {
  if (typeof held === "string") return el("td", { text: held, class: look });
  const inside = held.verdict ? el("span", { class: `verdict ${held.verdict}`, text: held.text }) : document.createTextNode(held.text);
  return el("td", { class: look }, inside, held.note ? el("span", { class: "note", text: held.note }) : null);
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
      const shown = el("td", { class: `num${edge(k + 1) ? " edge" : ""}${held.best ? " best" : ""}`, text: held.text, title: `${head[k + 1]} in ${world.text}` });
      if (held.back) shown.style.background = held.back;
      return shown;
    })));
  return el("table", { class: "plain matrix" }, el("thead", {}, el("tr", {}, el("td"), ...groups), el("tr", {}, el("td"), ...names)), el("tbody", {}, ...body));
}
