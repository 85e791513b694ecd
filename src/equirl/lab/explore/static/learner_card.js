// One learner at work: visits as heat with its policy, how unsure it is, and the classes it believes in beside the true.

import { BoardCanvas, drawPolicy } from "./board_canvas.js";
import { chip, el } from "./dom.js";
import { pairBoards, stateBoard } from "./layout.js";
import { counted, number, unpack } from "./numbers.js";
import { classColours, heat, ink, isDark, lineColour, plainTint, themeColour } from "./palette.js";

const WIDEST = 17; // states in a line, where there is no map

export class LearnerCard {
  constructor(label, unsureBy, look, world, colours) {
    Object.assign(this, { world, look, colours });
    this.line = el("p", { class: "status", text: "ready" });
    const fit = { most: 26, least: 1 };
    this.visits = new BoardCanvas(stateBoard(world, "visits and policy", WIDEST), { ...fit, label: `${label}: visits and policy` });
    this.width = new BoardCanvas(stateBoard(world, "", WIDEST), { ...fit, label: `${label}: how unsure it is` });
    this.widthTitle = el("figcaption", { text: unsureBy, title: "L1 distance between plausible transition probabilities, mean over the actions of a state; from 0 to 2" });
    this.found = this.#pairs(`${label}: classes it believes in`);
    this.true = this.#pairs("true classes");
    this.believes = el("figcaption", { text: "classes it believes in" });
    this.trueTitle = el("figcaption", { text: "true classes" });
    this.keys = [new HeatKey("visits"), new HeatKey("", 2)];
    const mini = (canvas) => (world.map ? el("figure", {}, canvas.element, el("figcaption", { text: canvas.board.title })) : canvas.element);
    const group = (title, canvases) => el("figure", { class: "panel minis" }, title, el("div", { class: world.map ? "minis-row" : "" }, ...canvases.map(mini)));
    this.element = el("article", { class: "card learner" },
      el("h3", {}, chip(lineColour(look.colour)), label), this.line,
      el("div", { class: world.map ? "pair-of" : "" },
        el("figure", { class: "panel" }, el("figcaption", { text: "visits and policy" }), this.visits.element, this.keys[0].element),
        el("figure", { class: "panel" }, this.widthTitle, this.width.element, this.keys[1].element)),
      group(this.believes, this.found), group(this.trueTitle, this.true));
    this.seen = {};
    for (const canvas of this.true) paint(canvas, (pair) => colours[world.label[pair]]);
  }

  #pairs(label) {
    return pairBoards(this.world, label, WIDEST).map((board) => new BoardCanvas(board, { most: 18, least: 1, label: `${label}, ${board.title}` }));
  }

  // news: what a frame says of this learner, of the run that is shown.
  update(news) {
    const { seen } = this;
    seen.t = news.t;
    seen.visits = unpack(news.visits);
    seen.policy = unpack(news.policy);
    if ("classes" in news) this.#classes(news.classes);
    if ("width" in news) this.#width(news.width);
    const words = [`t = ${news.t.toLocaleString("en-GB")}`, news.episodes ? counted(news.episodes, "plan") : null,
      news.regret === undefined ? null : `regret ${number(news.regret, 4)}`];
    this.line.textContent = words.filter(Boolean).join(" · ");
    this.#visits();
  }

  #visits() {
    const { world, seen, visits } = this;
    const byState = new Float64Array(world.S);
    for (let k = 0; k < world.M; k++) byState[world.state[k]] += seen.visits[k];
    const most = Math.max(1, byState.reduce((a, b) => Math.max(a, b), 0));
    this.keys[0].show(most);
    const colour = (s) => (byState[s] ? heat(0.05 + 0.95 * Math.sqrt(byState[s] / most)) : themeColour("floor"));
    const inkAt = (s) => (byState[s] ? ink(colour(s)) : isDark() ? "#fff" : "#111");
    visits.show((context) => {
      visits.fillAll(context, colour);
      if (seen.policy.length === world.S) drawPolicy(context, visits, world, seen.policy, inkAt, (i, j) => visits.board.mark?.(i, j) === "G");
      for (const [s, [row, column]] of visits.board.place) {
        if (visits.board.mark?.(row, column) === "G") visits.write(context, row, column, "G", inkAt(s), 0.62, 700);
      }
    });
  }

  #width(held) {
    const { world, width } = this;
    const values = unpack(held);
    if (!values) {
      this.widthTitle.textContent = "says nothing of how unsure it is";
      this.keys[1].element.hidden = true;
      width.element.hidden = true;
      return;
    }
    const mean = new Float64Array(world.S);
    for (let k = 0; k < world.M; k++) mean[world.state[k]] += values[k] / (world.ptr[world.state[k] + 1] - world.ptr[world.state[k]]);
    width.show((context) => width.fillAll(context, (s) => heat(Math.min(1, mean[s] / 2))));
  }

  #classes(held) {
    if (!held) {
      this.believes.textContent = "forms no classes";
      for (const canvas of this.found) (this.world.map ? canvas.element.parentElement : canvas.element).hidden = true;
      return;
    }
    const shown = unpack(held.shown);
    const truth = unpack(held.true);
    const colours = held.rewards ? this.colours : this.#coloursOf(truth, held.n_true);
    const wrong = held.wrong > 0 ? `, ${number(100 * held.wrong, 2)} % misplaced` : "";
    this.believes.textContent = held.n === this.world.M ? "treats each pair on its own" : `believes in ${counted(held.n, "class", "classes")}${wrong}`;
    for (const canvas of this.found) paint(canvas, (pair) => (shown[pair] >= 0 ? colours[shown[pair]] : plainTint(-1 - shown[pair])));
    this.trueTitle.textContent = `${counted(held.n_true, "true class", "true classes")}${held.rewards ? "" : ", rewards aside"}`;
    for (const canvas of this.true) paint(canvas, (pair) => colours[truth[pair]]);
  }

  #coloursOf(labels, n) {
    const sizes = new Array(n).fill(0);
    for (const label of labels) sizes[label]++;
    return classColours(sizes);
  }

  redraw() {
    for (const canvas of [this.visits, this.width, ...this.found, ...this.true]) canvas.draw();
    this.keys.forEach((key) => key.draw());
  }
}

// What the colours of a heat stand for, from 0 to the most.
class HeatKey {
  constructor(noun, most = null) {
    this.noun = noun;
    this.bar = el("i", { "aria-hidden": true });
    this.end = el("span");
    this.element = el("div", { class: "heat-key", hidden: most === null }, el("span", { text: "0" }), this.bar, this.end);
    if (most !== null) this.show(most);
  }

  show(most) {
    this.element.hidden = false;
    this.end.textContent = `${number(most, 3)} ${this.noun}`.trim();
    this.draw();
  }

  draw() {
    this.bar.style.background = `linear-gradient(to right, ${[0, 0.25, 0.5, 0.75, 1].map(heat).join(", ")})`;
  }
}

function paint(canvas, colour) {
  canvas.show((context) => canvas.fillAll(context, colour));
}
