// A grid drawn by hand: walls, start, goal and rewards; undo and redo; rows and columns.

import { el, field } from "./dom.js";

const TOOLS = [
  ["#", "Wall", "w"], [".", "Floor", "f"], ["S", "Start", "s"], ["G", "Goal", "g"], ["reward", "Reward", "r"],
];
const MOST_UNDO = 300;
const MOST_SIDE = 100;

export class GridEditor {
  // onChange(rows) after every change.
  constructor(onChange) {
    this.onChange = onChange;
    this.rows = [];
    this.tool = "#";
    this.past = [];
    this.future = [];
    this.before = null;
    this.brush = null;
    this.buttons = TOOLS.map(([tool, name, key]) => el("button", {
      type: "button", class: "tool", "aria-pressed": String(tool === this.tool), text: name, title: `${name} (${key})`,
      onclick: () => this.choose(tool),
    }));
    this.reward = el("input", { type: "range", min: 1, max: 9, step: 1, value: 5, "aria-label": "Reward to draw", oninput: () => this.#tell() });
    this.rewardValue = el("output", { text: "0.5" });
    this.undoButton = el("button", { type: "button", text: "Undo", title: "Ctrl+Z", onclick: () => this.undo() });
    this.redoButton = el("button", { type: "button", text: "Redo", title: "Ctrl+Shift+Z", onclick: () => this.redo() });
    this.height = el("input", { type: "number", min: 2, max: MOST_SIDE, onchange: () => this.#resize() });
    this.width = el("input", { type: "number", min: 2, max: MOST_SIDE, onchange: () => this.#resize() });
    this.element = el("div", { class: "editor" },
      el("div", { class: "tool-row", role: "group", "aria-label": "What to draw" }, ...this.buttons),
      el("label", { class: "slider" }, el("span", { text: "reward" }), this.reward, this.rewardValue),
      el("div", { class: "two" }, field("rows", this.height), field("columns", this.width)),
      el("div", { class: "tool-row" }, this.undoButton, this.redoButton,
        el("button", { type: "button", text: "Clear", title: "Take all walls away", onclick: () => this.#whole((cell) => (cell === "#" ? "." : cell)) })));
    document.addEventListener("keydown", (event) => this.#key(event));
  }

  get isShown() {
    return this.element.isConnected && this.element.offsetParent !== null;
  }

  #key(event) {
    if (!this.isShown || /^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement?.tagName)) return;
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "z") {
      if (event.shiftKey) this.redo();
      else this.undo();
      event.preventDefault();
    } else if (!event.ctrlKey && !event.metaKey && !event.altKey) {
      const found = TOOLS.find(([, , key]) => key === event.key);
      if (found) this.choose(found[0]);
    }
  }

  choose(tool) {
    this.tool = tool;
    TOOLS.forEach(([name], k) => this.buttons[k].setAttribute("aria-pressed", String(name === tool)));
  }

  load(rows) {
    this.past = [];
    this.future = [];
    this.rows = rows.map((row) => row.padEnd(Math.max(...rows.map((r) => r.length)), "#"));
    this.#tell();
  }

  #tell() {
    this.height.value = this.rows.length;
    this.width.value = this.rows[0]?.length ?? 0;
    this.rewardValue.textContent = (Number(this.reward.value) / 10).toFixed(1);
    this.undoButton.disabled = !this.past.length;
    this.redoButton.disabled = !this.future.length;
  }

  // The first cell of a stroke decides what it paints: a wall drawn on a wall takes walls away.
  begin(row, column) {
    const cell = this.rows[row]?.[column];
    if (cell === undefined) return;
    this.before = this.rows.slice();
    const drawn = this.tool === "reward" ? this.reward.value : this.tool;
    this.brush = drawn === cell && !"SG".includes(drawn) ? "." : drawn;
    this.stroke(row, column);
  }

  stroke(row, column) {
    if (this.brush === null || this.rows[row]?.[column] === undefined) return;
    if ("SG".includes(this.brush)) this.rows = this.rows.map((text) => text.replaceAll(this.brush, "."));
    const paint = (text) => text.slice(0, column) + this.brush + text.slice(column + 1);
    this.rows = this.rows.map((text, k) => (k === row ? paint(text) : text));
    this.onChange(this.rows);
  }

  end() {
    if (this.before && this.before.join("\n") !== this.rows.join("\n")) this.#remember(this.before);
    this.before = this.brush = null;
    this.#tell();
  }

  #remember(rows) {
    this.past.push(rows);
    if (this.past.length > MOST_UNDO) this.past.shift();
    this.future = [];
  }

  #whole(change) {
    this.#remember(this.rows);
    this.rows = this.rows.map((row) => Array.from(row, change).join(""));
    this.#tell();
    this.onChange(this.rows);
  }

  #resize() {
    const clamp = (input) => Math.min(MOST_SIDE, Math.max(2, Math.round(Number(input.value)) || 2));
    const [height, width] = [clamp(this.height), clamp(this.width)];
    this.#remember(this.rows);
    this.rows = Array.from({ length: height }, (_, k) => (this.rows[k] ?? "").slice(0, width).padEnd(width, "."));
    this.#tell();
    this.onChange(this.rows);
  }

  undo() {
    this.#swap(this.past, this.future);
  }

  redo() {
    this.#swap(this.future, this.past);
  }

  #swap(from, to) {
    if (!from.length) return;
    to.push(this.rows);
    this.rows = from.pop();
    this.#tell();
    this.onChange(this.rows);
  }
}
