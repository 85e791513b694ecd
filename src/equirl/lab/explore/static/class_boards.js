// The classes of a world: on boards, one panel per action on a map, otherwise a matrix of states and actions; in words.

import { BoardCanvas } from "./board_canvas.js";
import { chip, el } from "./dom.js";
import { pairBoards, sortedStates } from "./layout.js";
import { number } from "./numbers.js";
import { ink, themeColour } from "./palette.js";

const LISTED = 14; // classes in words
const VEIL = "99"; // the opacity of what covers pairs of other classes

export class ClassBoards {
  constructor(world, colours, { onPoint, onPick }) {
    Object.assign(this, { world, colours });
    const order = world.map || world.S <= 60 ? null : sortedStates(world);
    this.canvases = pairBoards(world, "classes of pairs", 50, order).map((board) =>
      new BoardCanvas(board, {
        label: `Classes of the pairs, ${board.title}. Arrow keys move, Enter keeps a pair.`,
        most: world.map ? 30 : 24,
        onPoint: (pair) => onPoint(pair),
        onPick: (pair) => pair >= 0 && onPick(pair),
      }));
    const wide = !world.map || (world.map.words && world.map.rows[0].length > 25);
    this.element = el("div", { class: wide ? "panels wide" : this.canvases.length === 4 ? "panels mapped" : "panels" }, ...this.canvases.map((canvas) =>
      el("figure", { class: "panel" }, el("figcaption", { text: canvas.board.title }), canvas.element)));
    if (!world.map) {
      const rows = `rows: ${world.actions.join(", ")}`;
      this.element.append(el("p", { class: "note", text: order ? `States sorted by class; ${rows}.` : `A column per state; ${rows}.` }));
    }
    this.canvases.forEach((canvas) => this.#paint(canvas));
  }

  #paint(canvas) {
    const { world, colours } = this;
    canvas.show((context) => {
      canvas.fillAll(context, (pair) => colours[world.label[pair]]);
      if (canvas.size < 14) return;
      for (const pair of canvas.board.members) {
        const [row, column] = canvas.board.place.get(pair);
        canvas.write(context, row, column, String(world.label[pair]), ink(colours[world.label[pair]]), 0.46);
      }
    });
  }

  redraw() {
    this.canvases.forEach((canvas) => canvas.draw());
  }

  // Light up the class of a pair, everywhere; nothing for -1.
  highlight(pair) {
    const { world, colours } = this;
    for (const canvas of this.canvases) {
      canvas.overlay(pair < 0 ? null : (context) => {
        const label = world.label[pair];
        context.fillStyle = themeColour("surface") + VEIL;
        context.fillRect(0, 0, canvas.board.columns * canvas.size, canvas.board.rows * canvas.size);
        for (const mate of canvas.board.members) {
          if (world.label[mate] !== label) continue;
          const [row, column] = canvas.board.place.get(mate);
          canvas.fillCell(context, row, column, colours[label]);
          if (mate === pair) canvas.outline(context, row, column, themeColour("ink"), 3);
        }
      });
    }
  }
}

// The largest classes in words, each with its colour.
export function classLegend(world, colours) {
  const items = world.classes.slice(0, LISTED).map(({ label, profile, more, mean }) => {
    const laws = profile.map((p) => number(p, 3)).join(" ") + (more ? " …" : "");
    return el("tr", {}, el("td", {}, chip(colours[label]), el("span", { text: String(label) })),
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
