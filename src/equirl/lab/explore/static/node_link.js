// A world without a map as nodes and links: a disc per state, cut into its actions, each in the colour of its class.

import { clear, el, svg } from "./dom.js";
import { stateName } from "./layout.js";

const [WIDTH, HEIGHT] = [900, 520];

// Places of the nodes by flow: a column per number of steps from a first state; a tall one is split.
function byFlow(world) {
  const layers = layersOf(world);
  if (layers.length > 2 && layers.every((layer) => layer.length === 1)) return onRing(layers.flat());
  const { before } = neighbours(world);
  const rank = new Float64Array(world.S);
  const columns = [];
  const tall = Math.max(5, Math.ceil(Math.sqrt(0.6 * world.S)));
  for (const layer of layers) {
    const height = (s) => {
      const known = before[s].filter((x) => rank[x] > 0);
      return known.length ? known.reduce((sum, x) => sum + rank[x], 0) / known.length : 0.5;
    };
    const order = layer.map((s) => [height(s), s]).sort((a, b) => a[0] - b[0] || a[1] - b[1]).map(([, s]) => s);
    order.forEach((s, k) => { rank[s] = (k + 1) / (order.length + 1); });
    const parts = Math.ceil(order.length / tall);
    for (let part = 0; part < parts; part++) columns.push(order.filter((_, k) => k % parts === part));
  }
  const most = Math.max(...columns.map((column) => column.length));
  const [across, down] = [(WIDTH - 120) / Math.max(1, columns.length - 1), Math.min(110, (HEIGHT - 100) / most)];
  const places = [];
  columns.forEach((column, k) => column.forEach((s, row) => {
    const lift = columns.length > 2 ? ((k % 2) - 0.5) * 0.4 : 0; // so that no link runs straight through the next disc
    places[s] = [columns.length > 1 ? 60 + across * k : WIDTH / 2, HEIGHT / 2 + down * (row - (column.length - 1) / 2 + lift)];
  }));
  return places;
}

function onRing(order) {
  const places = [];
  order.forEach((s, k) => {
    const angle = (2 * Math.PI * k) / order.length - Math.PI;
    places[s] = [WIDTH / 2 + (WIDTH / 2 - 90) * Math.cos(angle), HEIGHT / 2 + (HEIGHT / 2 - 70) * Math.sin(angle)];
  });
  return places;
}

// States by the fewest steps that lead to them from a first state; those that none lead to are last.
function layersOf(world) {
  const { after } = neighbours(world);
  const seen = new Set(world.starts);
  const layers = [[...seen]];
  while (layers[layers.length - 1].length) {
    const next = [];
    for (const s of layers[layers.length - 1]) for (const x of after[s]) if (!seen.has(x)) { seen.add(x); next.push(x); }
    layers.push(next);
  }
  layers[layers.length - 1] = Array.from({ length: world.S }, (_, s) => s).filter((s) => !seen.has(s));
  return layers.filter((layer) => layer.length);
}

// The states that each state leads to, and those that lead to it.
function neighbours(world) {
  const after = Array.from({ length: world.S }, () => new Set());
  const before = Array.from({ length: world.S }, () => []);
  const { ptr, succ } = world.edges;
  for (let k = 0; k < world.M; k++) {
    for (let i = ptr[k]; i < ptr[k + 1]; i++) {
      if (succ[i] === world.state[k] || after[world.state[k]].has(succ[i])) continue;
      after[world.state[k]].add(succ[i]);
      before[succ[i]].push(world.state[k]);
    }
  }
  return { after, before };
}

function linksOf(world) {
  const found = new Set();
  const { ptr, succ } = world.edges;
  for (let k = 0; k < world.M; k++) {
    for (let i = ptr[k]; i < ptr[k + 1]; i++) {
      const [a, b] = [Math.min(world.state[k], succ[i]), Math.max(world.state[k], succ[i])];
      if (a !== b) found.add(a * world.S + b);
    }
  }
  return Array.from(found, (key) => [Math.floor(key / world.S), key % world.S]);
}

// The distance between the two nodes that are closest to each other.
function nearest(places) {
  let found = Infinity;
  places.forEach(([x, y], i) => {
    for (let j = 0; j < i; j++) found = Math.min(found, Math.hypot(x - places[j][0], y - places[j][1]));
  });
  return found;
}

// A world in which states lead to their neighbours alone, such as a river: in rows, to and fro.
function inRows(world) {
  if (linksOf(world).some(([a, b]) => b - a !== 1)) return null;
  const wide = Math.max(9, Math.ceil(Math.sqrt(2 * world.S)));
  const across = Math.ceil(world.S / Math.ceil(world.S / wide));
  const step = (WIDTH - 120) / Math.max(1, across - 1);
  return Array.from({ length: world.S }, (_, s) => {
    const [row, k] = [Math.floor(s / across), s % across];
    return [60 + step * (row % 2 ? across - 1 - k : k), 60 + Math.min(step, 120) * row];
  });
}

export class NodeLink {
  constructor(world, colours, { onPoint, onPick }) {
    Object.assign(this, { world, colours, onPoint, onPick });
    this.places = inRows(world) ?? byFlow(world);
    this.radius = Math.max(3, Math.min(24, 300 / Math.sqrt(world.S * 6), 0.46 * nearest(this.places)));
    this.flows = svg("g", { class: "flows" });
    this.slices = [];
    const joined = linksOf(world);
    const links = svg("g", { class: joined.length > 4 * world.S ? "links many" : "links" }, ...joined.map(([a, b]) => {
      const [[x1, y1], [x2, y2]] = [this.places[a], this.places[b]];
      return svg("line", { x1, y1, x2, y2 });
    }));
    const nodes = svg("g", {}, ...this.places.map((_, s) => this.#node(s)));
    const [low, high] = [Math.min(...this.places.map((p) => p[1])), Math.max(...this.places.map((p) => p[1]))];
    const margin = 2.2 * this.radius + 26;
    this.svg = svg("svg", {
      viewBox: `0 ${low - margin} ${WIDTH} ${high - low + 2 * margin}`, class: "node-link", role: "img", tabindex: 0,
      "aria-label": "States as discs, cut into their actions. Arrow keys go from pair to pair, Enter keeps one.",
    }, this.#head(), links, this.flows, nodes);
    this.svg.addEventListener("keydown", (event) => this.#key(event));
    this.at = 0;
    this.element = el("div", { class: "panels wide" }, this.svg,
      el("p", { class: "note", text: `Each disc is a state, cut into its actions (${world.actions.slice(0, 6).join(", ")}${world.actions.length > 6 ? ", …" : ""}), clockwise from the top.` }));
  }

  #head() {
    const tip = svg("path", { d: "M0,0 L8,4 L0,8 z", fill: "context-stroke" });
    return svg("defs", {}, svg("marker", { id: "tip", viewBox: "0 0 8 8", refX: 7, refY: 4, markerUnits: "userSpaceOnUse", markerWidth: 11, markerHeight: 11, orient: "auto-start-reverse" }, tip));
  }

  #node(s) {
    const [x, y] = this.places[s];
    const group = svg("g", { transform: `translate(${x},${y})` });
    const [first, last] = [this.world.ptr[s], this.world.ptr[s + 1]];
    for (let k = first; k < last; k++) {
      const slice = svg("path", { d: sector(this.radius, (k - first) / (last - first), (k + 1 - first) / (last - first)), fill: this.colours[this.world.label[k]], class: "slice" });
      slice.addEventListener("pointerenter", () => this.onPoint(k));
      slice.addEventListener("pointerleave", () => this.onPoint(-1));
      slice.addEventListener("click", () => this.onPick(k));
      this.slices[k] = slice;
      group.append(slice);
    }
    if (this.world.S <= 80) {
      const name = stateName(this.world, s);
      group.append(svg("text", { y: this.radius + 12, class: "name", text: name.length > 12 ? `${name.slice(0, 11)}…` : name }));
    }
    group.append(svg("title", { text: stateName(this.world, s) }));
    return group;
  }

  #key(event) {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (step) {
      this.at = (this.at + step + this.world.M) % this.world.M;
      this.onPoint(this.at);
    } else if (event.key === "Enter") this.onPick(this.at);
    else return;
    event.preventDefault();
  }

  highlight(pair) {
    const label = pair < 0 ? -1 : this.world.label[pair];
    this.slices.forEach((slice, k) => {
      slice.classList.toggle("dim", pair >= 0 && this.world.label[k] !== label);
      slice.classList.toggle("chosen", k === pair);
    });
    this.svg.classList.toggle("pointed", pair >= 0);
    clear(this.flows);
    if (pair < 0) return;
    const { ptr, succ, prob } = this.world.edges;
    for (let i = ptr[pair]; i < ptr[pair + 1]; i++) this.flows.append(this.#flow(this.world.state[pair], succ[i], prob[i]));
  }

  #flow(from, to, mass) {
    const [[x1, y1], [x2, y2]] = [this.places[from], this.places[to]];
    const width = 1.5 + 5 * mass;
    const look = { fill: "none", "stroke-width": width, "marker-end": "url(#tip)" };
    const r = this.radius + 3;
    if (from === to) {
      const d = `M${x1 - r * 0.7},${y1 - r * 0.7} C${x1 - 2.4 * r},${y1 - 3 * r} ${x1 + 2.4 * r},${y1 - 3 * r} ${x1 + r * 0.7},${y1 - r * 0.7}`;
      return svg("path", { ...look, d });
    }
    const [dx, dy] = [x2 - x1, y2 - y1];
    const length = Math.hypot(dx, dy) || 1;
    const [ux, uy] = [dx / length, dy / length];
    const bend = Math.min(40, length * 0.22);
    const [cx, cy] = [(x1 + x2) / 2 - uy * bend, (y1 + y2) / 2 + ux * bend];
    return svg("path", { ...look, d: `M${x1 + ux * r},${y1 + uy * r} Q${cx},${cy} ${x2 - ux * r},${y2 - uy * r}` });
  }

  // Colours come from the style sheet: nothing to draw anew.
  redraw() {}
}

function sector(radius, from, to) {
  if (to - from >= 1) return `M0,${-radius} A${radius},${radius} 0 1 1 -0.01,${-radius} z`;
  const at = (share) => [radius * Math.sin(2 * Math.PI * share), -radius * Math.cos(2 * Math.PI * share)];
  const [[x0, y0], [x1, y1]] = [at(from), at(to)];
  return `M0,0 L${x0},${y0} A${radius},${radius} 0 ${to - from > 0.5 ? 1 : 0} 1 ${x1},${y1} z`;
}
