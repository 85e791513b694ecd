// The view of one world: choose or draw it, see its facts and classes, look at its pairs.

import { BoardCanvas, drawPolicy } from "./board_canvas.js";
import { ClassBoards, classLegend } from "./class_boards.js";
import { clear, debounced, el, field, inlineField } from "./dom.js";
import { FactStrip } from "./fact_strip.js";
import { GridEditor } from "./grid_editor.js";
import { readWorld, stateBoard } from "./layout.js";
import { Latest } from "./link.js";
import { NodeLink } from "./node_link.js";
import { number, unpack } from "./numbers.js";
import { PairCard } from "./pair_card.js";
import { classPalette, themeColour } from "./palette.js";
import { WorldForm, familyOf, parseWorld } from "./world_form.js";

export class WorldView {
  constructor(root, link, catalogue, state, onState) {
    Object.assign(this, { root, link, catalogue, state, onState });
    this.world = null;
    this.pointed = -1;
    this.requests = new Latest((asked, newer) => this.#request(asked, newer));
    this.pairs = new Latest((pair) => this.#pair(pair));
    this.factsSoon = debounced(150, () => this.#facts());
    this.#build();
    this.#start();
  }

  #build() {
    const names = Object.keys(this.catalogue.worlds).map((name) => el("option", { value: `world ${name}`, text: name }));
    const files = this.catalogue.files.filter((name) => name !== "results").map((name) => el("option", { value: `file ${name}`, text: name }));
    this.choice = el("select", { onchange: () => this.#choose() }, el("optgroup", { label: "Worlds" }, ...names),
      files.length ? el("optgroup", { label: "Files" }, ...files) : null);
    this.form = new WorldForm((text) => this.ask({ text }));
    this.editor = new GridEditor((rows) => this.#drawn(rows));
    this.laws = el("input", { type: "checkbox", checked: Boolean(this.state.laws), onchange: () => this.#again() });
    const laws = inlineField("transition probabilities alone", this.laws, "Compare transition probabilities, not mean rewards.");
    this.drawIt = el("button", { type: "button", id: "draw-it", text: "Draw on this map", hidden: true, onclick: () => this.#adopt() });
    this.error = el("p", { class: "error big", role: "alert", hidden: true });
    this.working = el("p", { class: "working", role: "status", hidden: true }, "Computing …", el("button", { type: "button", text: "Cancel", onclick: () => this.link.cancel("world") }));
    this.facts = new FactStrip(() => this.#facts(true), () => this.link.cancel("facts"));
    this.pictures = el("div", { class: "pictures" });
    this.card = new PairCard();
    this.legend = el("div");
    this.tools = el("div", { class: "card" }, el("h2", { text: "Draw" }), this.editor.element);
    clear(this.root,
      el("aside", { class: "side" },
        el("div", { class: "card" }, el("h2", { text: "World" }), field("world", this.choice), this.form.element, this.drawIt, laws),
        this.tools),
      el("div", { class: "content" }, this.error, this.working, this.facts.element,
        el("div", { class: "card" }, el("h2", { text: "Which pairs behave alike" }), this.pictures),
        el("div", { class: "pair-row" }, this.card.element, this.legend)));
  }

  #start() {
    if (this.state.file) this.#load({ file: this.state.file });
    else this.#load({ text: this.state.world || "four-room" });
  }

  #load(asked) {
    const isFile = "file" in asked;
    const { name, values } = isFile ? { name: null, values: {} } : parseWorld(asked.text);
    this.choice.value = isFile ? `file ${asked.file}` : `world ${name}`;
    const about = this.catalogue.worlds[name];
    if (about) {
      if (values.map) values.map = values.map.replaceAll("\n", "/");
      this.form.load(name, about, values);
    } else clear(this.form.element, el("p", { class: "note", text: isFile ? "A saved problem." : "" }));
    this.tools.hidden = name !== "grid";
    if (name === "grid") {
      this.editor.load((values.map ?? about.fields.find((f) => f.kind === "map").default).split("/"));
      this.form.set("map", this.editor.rows.join("/"));
      this.ask({ text: this.form.text });
    } else this.ask(asked);
  }

  #choose() {
    const [kind, name] = [this.choice.value.split(" ", 1)[0], this.choice.value.slice(this.choice.value.indexOf(" ") + 1)];
    this.state.pair = null;
    this.#load(kind === "file" ? { file: name } : { text: name });
  }

  #again() {
    this.state.laws = this.laws.checked;
    if (this.asked) this.ask(this.asked);
  }

  // The map on screen becomes one to draw on.
  #adopt() {
    const values = { map: this.world.map.rows.join("/") };
    for (const name of ["kernel", "goal_reward", "walls_are_states", "reward_law"]) {
      if (this.form.values[name] !== undefined) values[name] = this.form.values[name];
    }
    const { fields } = this.catalogue.worlds.grid;
    const given = fields.filter((f) => values[f.name] !== undefined).map((f) => `${f.name}=${values[f.name]}`);
    this.#load({ text: `grid:${given.join(",")}` });
  }

  #drawn(rows) {
    this.form.set("map", rows.join("/"));
    this.mapCanvas?.drawn?.(rows);
    this.ask({ text: this.form.text });
  }

  ask(asked) {
    this.asked = asked;
    this.requests.ask(asked);
  }

  async #request(asked, newer) {
    const slow = setTimeout(() => { this.working.hidden = false; }, 700);
    try {
      const reply = await this.link.ask("world", { world: asked, rewards: !this.laws.checked });
      if (newer()) return;
      this.#complain(null, null);
      this.#show(readWorld(reply), familyOf(asked));
      Object.assign(this.state, { world: asked.text ?? null, file: asked.file ?? null, laws: this.laws.checked });
      this.onState();
      this.factsSoon();
    } catch (problem) {
      if (newer()) return;
      this.#complain(problem.field, problem.message);
      if (!this.tools.hidden && !this.world?.map) this.#showBlank();
    } finally {
      clearTimeout(slow);
      this.working.hidden = true;
    }
  }

  #complain(name, message) {
    const atField = this.form.about ? this.form.complain(name, message) : false;
    this.error.textContent = message ?? "";
    this.error.hidden = !message || (atField && name !== "map");
    for (const shown of [this.pictures, this.facts.element]) shown.classList.toggle("stale", Boolean(message));
  }

  #show(world, family) {
    const another = family !== this.family;
    this.family = family;
    if (this.world && this.world.M !== world.M) this.state.pair = null; // its number means another pair now
    this.world = world;
    this.pointed = -1;
    this.colours = classPalette.colours(world, family);
    this.optimal = null;
    const drawable = world.map?.rows.every((row) => /^[#SG1-9.]*$/.test(row)) && !world.map.words;
    this.drawIt.hidden = !drawable || this.form.name === "grid" || this.choice.value.startsWith("file ");
    this.facts.world(world, another);
    const events = { onPoint: (pair) => this.#point(pair), onPick: (pair) => this.#keep(pair) };
    this.picture = world.edges ? new NodeLink(world, this.colours, events) : new ClassBoards(world, this.colours, events);
    if (world.map) this.#showMap(world);
    else {
      this.mapCanvas = null;
      clear(this.pictures, this.picture.element);
    }
    clear(this.legend, classLegend(world, this.colours));
    if (this.state.pair !== null && this.state.pair !== undefined && this.state.pair < world.M) this.#keep(this.state.pair, true);
    else this.card.empty();
  }

  // A map that is no world yet, to be mended by drawing.
  #showBlank() {
    const { rows } = this.editor;
    this.world = { S: 0, M: 0, map: { rows, cell: new Int32Array(0) }, state: [], label: [], actions: [] };
    this.picture = { element: el("div", { class: "panels mapped" }), highlight() {}, redraw() {} };
    this.#showMap(this.world);
  }

  // The map itself, which stays in place while it is drawn on.
  #showMap(world) {
    const editable = this.form.name === "grid" && !("file" in this.asked);
    const board = stateBoard(world, editable ? "map: draw here" : `${world.map.words ? "states" : "map"} and an optimal policy`);
    const old = this.mapCanvas;
    const stays = old?.editable && editable && old.board.rows === board.rows && old.board.columns === board.columns;
    if (stays) old.board = board;
    else {
      this.mapCanvas = new BoardCanvas(board, editable ? {
        label: "The map. Arrow keys move, Enter draws.", most: 40, onPoint: () => {},
        onPick: (_, row, column) => this.editor.begin(row, column),
        onDrag: (row, column) => this.editor.stroke(row, column),
        onDrop: () => this.editor.end(),
      } : { label: "The states with an optimal policy", most: 40 });
      this.mapCanvas.editable = editable;
      this.mapCanvas.element.classList.toggle("editable", editable);
      this.mapCanvas.drawn = (rows) => this.#paintMap(rows);
      this.mapFigure = el("figure", { class: "panel" }, el("figcaption", { text: board.title }), this.mapCanvas.element);
    }
    if (stays && this.mapFigure.parentElement) this.#replaceBeside(this.mapFigure);
    else {
      this.picture.element.prepend(this.mapFigure);
      clear(this.pictures, this.picture.element, world.map.words ? el("p", { class: "note", text: `${world.map.words}.`.replace(/^s/, "S") }) : null);
    }
    this.#paintMap(editable ? this.editor.rows : world.map.rows);
  }

  // New panels beside the map, which is not moved: it may be held by the pointer or have the focus.
  #replaceBeside(figure) {
    const place = figure.parentElement;
    const panels = Array.from(this.picture.element.children);
    for (const other of Array.from(place.children)) if (other !== figure) other.remove();
    place.append(...panels);
    place.className = this.picture.element.className;
    this.picture.element = place;
  }

  #paintMap(rows) {
    const canvas = this.mapCanvas;
    canvas.show((context) => {
      const { ink, soft, wall, floor, absent, gold } = Object.fromEntries(["ink", "soft", "wall", "floor", "absent", "gold"].map((name) => [name, themeColour(name)]));
      rows.forEach((row, i) => Array.from(row).forEach((cell, j) => {
        if (cell === " ") return;
        const hole = /[A-Z]/.test(cell) && cell !== "S" && cell !== "G";
        context.fillStyle = cell === "#" ? wall : /[1-9]/.test(cell) ? gold : hole ? absent : floor;
        if (cell === "#") context.fillRect(j * canvas.size, i * canvas.size, canvas.size, canvas.size);
        else context.fillRect(...canvas.rect(i, j));
        if (cell === "S" || cell === "G") canvas.write(context, i, j, cell, ink, 0.62, 700);
        else if (hole) canvas.write(context, i, j, cell, soft, 0.5, 500);
        else if (/[1-9]/.test(cell)) canvas.write(context, i, j, `.${cell}`, "#3a2c00", 0.5, 600);
      }));
      if (this.optimal) drawPolicy(context, canvas, this.world, this.optimal, () => themeColour("accent"), (i, j) => /[#A-Z1-9]/.test(rows[i]?.[j] ?? "#"));
    });
  }

  async #facts(diameter = false) {
    const asked = this.asked;
    this.facts.busy();
    try {
      await this.link.ask("facts", { world: asked, diameter }, (reply) => {
        if (asked !== this.asked) return;
        if (reply.part === "gain") {
          this.facts.gain(reply);
          this.optimal = unpack(reply.policy);
          if (this.mapCanvas && this.optimal.length === this.world.S) this.mapCanvas.draw();
        } else this.facts.diameter(reply);
      });
    } catch (problem) {
      if (asked !== this.asked) return;
      if (problem.service) this.facts.stopped();
      else this.facts.failed(problem.message);
    }
  }

  #point(pair) {
    if (pair === this.pointed) return;
    this.pointed = pair;
    const shown = pair >= 0 ? pair : this.state.pair ?? -1;
    this.picture.highlight(shown);
    this.#flowOnMap(null);
    if (shown >= 0) this.pairs.ask(shown);
    else this.card.empty();
  }

  #keep(pair, again = false) {
    this.state.pair = !again && this.state.pair === pair ? null : pair;
    this.pointed = -2;
    this.#point(this.state.pair ?? -1);
    this.onState();
  }

  async #pair(pair) {
    try {
      const reply = await this.link.ask("pair", { pair });
      if (pair !== this.pointed && pair !== this.state.pair) return;
      this.card.show(reply, this.colours[reply.label], pair === this.state.pair);
      this.#flowOnMap(reply);
    } catch {
      this.card.empty();
    }
  }

  // Where each mass of a pair goes, on the map.
  #flowOnMap(reply) {
    const canvas = this.mapCanvas;
    if (!canvas) return;
    canvas.overlay(reply === null ? null : (context) => {
      const from = canvas.board.place.get(this.world.state[reply.pair]);
      for (const { state, mass } of reply.goes) {
        const to = canvas.board.place.get(state);
        if (!to) continue;
        canvas.fillCell(context, ...to, themeColour("floor"));
        context.globalAlpha = 0.25 + 0.7 * mass;
        canvas.fillCell(context, ...to, this.colours[reply.label]);
        context.globalAlpha = 1;
        canvas.write(context, ...to, number(mass, 2), themeColour("ink"), 0.4, 600);
      }
      if (from) canvas.outline(context, ...from, themeColour("ink"), 3);
    });
  }

  redraw() {
    if (!this.world) return;
    this.mapCanvas?.draw();
    this.picture.redraw();
  }
}
