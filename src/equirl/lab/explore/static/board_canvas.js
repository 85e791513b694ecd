// A board on a canvas: cells filled with colours, drawn sharp at any size, pointed at with mouse or keys.

import { el } from "./dom.js";
import { themeColour } from "./palette.js";

const GAP = 0.06; // of a cell, between cells that are large enough
// Where actions point, by their names.
const STEPS = {
  up: [-1, 0], down: [1, 0], left: [0, -1], right: [0, 1],
  north: [-1, 0], south: [1, 0], west: [0, -1], east: [0, 1], stay: [0, 0],
};

export class BoardCanvas {
  // onPoint(member or -1, row, column), onPick(member, row, column, event) and onDrag are optional.
  constructor(board, { label, most = 26, least = 2, onPoint, onPick, onDrag, onDrop } = {}) {
    Object.assign(this, { board, most, least, onPoint, onPick, onDrag, onDrop });
    this.canvas = el("canvas", { role: onPoint || onPick ? "application" : "img", "aria-label": label || board.title });
    if (onPoint || onPick) this.#listen();
    this.cursor = null;
    this.base = document.createElement("canvas");
    this.paint = () => {};
    this.over = null;
    this.observer = new ResizeObserver(() => this.#fit() && this.draw());
    this.element = el("div", { class: "board" }, this.canvas);
    this.observer.observe(this.element);
  }

  // Draw anew: paint(context, cell) fills cells into a picture that is kept; over(context, cell) goes on top of it.
  show(paint, over = null) {
    this.paint = paint;
    this.over = over;
    this.draw();
  }

  overlay(over) {
    this.over = over;
    this.#compose();
  }

  draw() {
    if (!this.size && !this.#fit()) return;
    this.base.width = this.canvas.width;
    this.base.height = this.canvas.height;
    const context = this.base.getContext("2d");
    context.setTransform(this.scale, 0, 0, this.scale, 0, 0);
    this.paint(context, this);
    this.#compose();
  }

  rect(row, column) {
    const inset = this.size >= 8 ? this.size * GAP : 0;
    return [column * this.size + inset, row * this.size + inset, this.size - 2 * inset, this.size - 2 * inset];
  }

  fillCell(context, row, column, colour) {
    context.fillStyle = colour;
    context.fillRect(...this.rect(row, column));
  }

  // Fill all members: colour(member); walls and what is no member in the colours of the theme.
  fillAll(context, colour) {
    const { rows, columns, at, wall } = this.board;
    const [brick, absent] = [themeColour("wall"), themeColour("absent")];
    for (let row = 0; row < rows; row++) {
      for (let column = 0; column < columns; column++) {
        const member = at[row * columns + column];
        if (member >= 0) this.fillCell(context, row, column, colour(member));
        else if (wall) {
          context.fillStyle = wall(row, column) ? brick : absent;
          context.fillRect(column * this.size, row * this.size, this.size, this.size);
        }
      }
    }
  }

  write(context, row, column, text, colour, share = 0.5, weight = 500) {
    if (this.size < 11) return;
    context.fillStyle = colour;
    context.font = `${weight} ${Math.min(15, this.size * share)}px system-ui, sans-serif`;
    context.textAlign = "center";
    context.textBaseline = "middle";
    context.fillText(text, (column + 0.5) * this.size, (row + 0.53) * this.size);
  }

  arrow(context, row, column, [down, right], colour, share = 0.34) {
    const [x, y, r] = [(column + 0.5) * this.size, (row + 0.5) * this.size, this.size * share];
    if (this.size < 5) return;
    context.strokeStyle = context.fillStyle = colour;
    context.lineWidth = Math.max(1, this.size * 0.09);
    context.beginPath();
    if (!down && !right) {
      context.arc(x, y, Math.max(1, r * 0.4), 0, 7);
      context.fill();
      return;
    }
    context.moveTo(x - right * r, y - down * r);
    context.lineTo(x + right * r * 0.5, y + down * r * 0.5);
    context.stroke();
    context.beginPath();
    context.moveTo(x + right * r, y + down * r);
    context.lineTo(x + right * r * 0.2 + down * r * 0.6, y + down * r * 0.2 + right * r * 0.6);
    context.lineTo(x + right * r * 0.2 - down * r * 0.6, y + down * r * 0.2 - right * r * 0.6);
    context.fill();
  }

  outline(context, row, column, colour, width = 2) {
    context.strokeStyle = colour;
    context.lineWidth = Math.min(width, Math.max(1, this.size / 6));
    context.strokeRect(column * this.size + 1, row * this.size + 1, this.size - 2, this.size - 2);
  }

  #fit() {
    const room = this.element.clientWidth;
    if (!room) return false;
    const { rows, columns } = this.board;
    const size = Math.max(this.least, Math.min(this.most, Math.floor(room / columns) || room / columns));
    const scale = window.devicePixelRatio || 1;
    if (size === this.size && scale === this.scale && this.canvas.width) return false;
    this.size = size;
    this.scale = scale;
    this.canvas.width = Math.round(columns * size * scale);
    this.canvas.height = Math.round(rows * size * scale);
    this.canvas.style.width = `${columns * size}px`;
    this.canvas.style.height = `${rows * size}px`;
    return true;
  }

  #compose() {
    if (!this.size) return;
    const context = this.canvas.getContext("2d");
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, this.canvas.width, this.canvas.height);
    if (this.base.width) context.drawImage(this.base, 0, 0);
    context.setTransform(this.scale, 0, 0, this.scale, 0, 0);
    this.over?.(context, this);
    if (this.cursor && document.activeElement === this.canvas) this.outline(context, ...this.cursor, themeColour("focus"), 3);
  }

  #member(row, column) {
    const { rows, columns, at } = this.board;
    return row >= 0 && column >= 0 && row < rows && column < columns ? at[row * columns + column] : -1;
  }

  #where(event) {
    const box = this.canvas.getBoundingClientRect();
    return [Math.floor((event.clientY - box.top) / this.size), Math.floor((event.clientX - box.left) / this.size)];
  }

  #listen() {
    const canvas = this.canvas;
    canvas.tabIndex = 0;
    let held = null;
    canvas.addEventListener("pointerdown", (event) => {
      const [row, column] = this.#where(event);
      this.cursor = [row, column];
      if (this.onDrag) {
        held = `${row},${column}`;
        canvas.setPointerCapture(event.pointerId);
      }
      this.onPick?.(this.#member(row, column), row, column, event);
    });
    canvas.addEventListener("pointermove", (event) => {
      const [row, column] = this.#where(event);
      if (held !== null && held !== `${row},${column}`) {
        held = `${row},${column}`;
        this.onDrag(row, column);
      }
      this.onPoint?.(this.#member(row, column), row, column);
    });
    const drop = () => {
      if (held !== null) this.onDrop?.();
      held = null;
    };
    canvas.addEventListener("pointerup", drop);
    canvas.addEventListener("pointercancel", drop);
    canvas.addEventListener("pointerleave", () => this.onPoint?.(-1, -1, -1));
    canvas.addEventListener("keydown", (event) => this.#key(event));
    canvas.addEventListener("blur", () => {
      this.onPoint?.(-1, -1, -1);
      this.#compose();
    });
    canvas.addEventListener("focus", () => {
      this.cursor ??= this.board.place.values().next().value ?? [0, 0];
      this.#compose();
    });
  }

  #key(event) {
    const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    const { rows, columns } = this.board;
    if (step) {
      const [row, column] = this.cursor ?? [0, 0];
      this.cursor = [Math.min(Math.max(row + step[0], 0), rows - 1), Math.min(Math.max(column + step[1], 0), columns - 1)];
      this.onPoint?.(this.#member(...this.cursor), ...this.cursor);
      this.#compose();
    } else if (event.key === "Enter" || event.key === " ") {
      this.onPick?.(this.#member(...this.cursor), ...this.cursor, event);
      this.onDrop?.();
    } else return;
    event.preventDefault();
  }
}

// One letter per action where these differ, else its number.
function actionSigns({ actions }) {
  const letters = actions.map((name) => name[0]);
  return new Set(letters).size === actions.length ? letters : actions.map((_, a) => String(a));
}

// What a policy (a pair per state) does in each state: an arrow where the action has a direction, else a sign.
export function drawPolicy(context, canvas, world, policy, colourAt, skip = () => false) {
  const signs = actionSigns(world);
  for (const s of canvas.board.members) {
    const [row, column] = canvas.board.place.get(s);
    if (skip(row, column)) continue;
    const colour = colourAt(s);
    const action = world.action[policy[s]];
    const step = STEPS[world.actions[action].toLowerCase()];
    if (step) canvas.arrow(context, row, column, step, colour);
    else canvas.write(context, row, column, signs[action], colour, 0.55, 600);
  }
}
