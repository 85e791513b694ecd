// A world without a map as nodes and links: a disc per state, cut into its actions, each in the colour of its class.

import { clear, el, svg } from "./dom.js";
import { stateName } from "./layout.js";

const [WIDTH, HEIGHT] = [900, 520];

// Places of the nodes: springs along links, all nodes pushing each other off; the same every time.
function settle(world) {
  const n = world.S;
  const x = new Float64Array(n);
  const y = new Float64Array(n);
  for (let s = 0; s < n; s++) {
    const angle = (2 * Math.PI * s) / n - Math.PI;
    x[s] = Math.cos(angle) * (1 + 0.13 * ((s * 7) % 5));
    y[s] = Math.sin(angle) * (1 + 0.13 * ((s * 3) % 7));
  }
  const links = linksOf(world);
  const ideal = 2.2 / Math.sqrt(n);
  const rounds = n > 150 ? 160 : 320;
  const dx = new Float64Array(n);
  const dy = new Float64Array(n);
  for (let round = 0; round < rounds; round++) {
    dx.fill(0);
    dy.fill(0);
    for (let i = 0; i < n; i++) {
      for (let j = i + 1; j < n; j++) {
        const [ex, ey] = [x[i] - x[j], y[i] - y[j]];
        const push = (ideal * ideal) / Math.max(ex * ex + ey * ey, 1e-4);
        dx[i] += ex * push; dy[i] += ey * push;
        dx[j] -= ex * push; dy[j] -= ey * push;
      }
    }
    for (const [i, j, weight] of links) {
      const [ex, ey] = [x[i] - x[j], y[i] - y[j]];
      const pull = (Math.hypot(ex, ey) / ideal) * (0.3 + 0.7 * weight);
      dx[i] -= ex * pull; dy[i] -= ey * pull;
      dx[j] += ex * pull; dy[j] += ey * pull;
    }
    const heat = 0.25 * (1 - round / rounds) ** 1.5 + 0.002;
    for (let i = 0; i < n; i++) {
      const length = Math.hypot(dx[i], dy[i]) || 1;
      x[i] += (dx[i] / length) * Math.min(length * 0.1, heat);
      y[i] += (dy[i] / length) * Math.min(length * 0.1, heat);
    }
  }
  return upright(x, y);
}

function linksOf(world) {
  const weight = new Map();
  const { ptr, succ, prob } = world.edges;
  for (let k = 0; k < world.M; k++) {
    for (let i = ptr[k]; i < ptr[k + 1]; i++) {
      const [a, b] = [Math.min(world.state[k], succ[i]), Math.max(world.state[k], succ[i])];
      if (a !== b) weight.set(a * world.S + b, Math.max(weight.get(a * world.S + b) || 0, prob[i]));
    }
  }
  return Array.from(weight, ([key, w]) => [Math.floor(key / world.S), key % world.S, w]);
}

// Turned so that the longest way lies across, and state 0 at the left.
function upright(x, y) {
  const n = x.length;
  const mean = (v) => v.reduce((sum, value) => sum + value, 0) / n;
  const [mx, my] = [mean(x), mean(y)];
  let [xx, xy, yy] = [0, 0, 0];
  for (let i = 0; i < n; i++) {
    xx += (x[i] - mx) ** 2; xy += (x[i] - mx) * (y[i] - my); yy += (y[i] - my) ** 2;
  }
  const angle = 0.5 * Math.atan2(2 * xy, xx - yy);
  const [c, s] = [Math.cos(angle), Math.sin(angle)];
  let places = Array.from(x, (_, i) => [(x[i] - mx) * c + (y[i] - my) * s, (y[i] - my) * c - (x[i] - mx) * s]);
  if (places[0][0] > 0) places = places.map(([a, b]) => [-a, b]);
  const span = (axis) => [Math.min(...places.map((p) => p[axis])), Math.max(...places.map((p) => p[axis]))];
  const [[x0, x1], [y0, y1]] = [span(0), span(1)];
  const scale = Math.min((WIDTH - 120) / (x1 - x0 || 1), (HEIGHT - 120) / (y1 - y0 || 1));
  return places.map(([a, b]) => [WIDTH / 2 + (a - (x0 + x1) / 2) * scale, HEIGHT / 2 + (b - (y0 + y1) / 2) * scale]);
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
    this.places = inRows(world) ?? settle(world);
    this.radius = Math.max(3, Math.min(24, 300 / Math.sqrt(world.S * 6), 0.46 * nearest(this.places)));
    this.flows = svg("g", { class: "flows" });
    this.slices = [];
    const links = svg("g", { class: "links" }, ...linksOf(world).map(([a, b]) => {
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
