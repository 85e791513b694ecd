// Curves with their intervals: a chart in SVG, linear or logarithmic, that follows the width it is given.

import { chip, clear, el, svg } from "./dom.js";
import { niceTicks, number, shortened } from "./numbers.js";
import { lineColour } from "./palette.js";

const MARGIN = { left: 58, right: 22, top: 12, bottom: 40 };
const HEIGHT = 320;
let frames = 0; // charts on the page

export class Chart {
  // nothing: what is said where there are no curves yet.
  constructor(label, nothing) {
    this.svg = svg("svg", { class: "chart", role: "img", "aria-label": label });
    this.readout = el("div", { class: "readout", hidden: true });
    this.nothing = el("p", { class: "note nothing", text: nothing });
    this.element = el("div", { class: "chart-box" }, this.nothing, this.svg, this.readout);
    this.series = [];
    this.options = {};
    this.frame = `frame-${++frames}`;
    this.svg.addEventListener("pointermove", (event) => this.#point(event));
    this.svg.addEventListener("pointerleave", () => this.#leave());
    new ResizeObserver(() => this.draw()).observe(this.element);
  }

  // series: {label, t, mean, half or null, colour, dashes, published at the end or null}; options: log, yTitle, xEnd.
  show(series, options) {
    this.series = series.filter(({ t }) => t.length);
    this.options = options;
    this.draw();
  }

  draw() {
    const width = this.element.clientWidth;
    this.nothing.hidden = this.series.length > 0;
    if (!width) return;
    if (!this.series.length) {
      clear(this.svg);
      this.svg.setAttribute("height", 0);
      return;
    }
    const height = Math.min(HEIGHT, Math.max(220, width * 0.62));
    const { log = false, yTitle = "", xEnd = 1 } = this.options;
    Object.assign(this, { width, height });
    this.svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    this.svg.setAttribute("height", height);
    const points = this.series.flatMap(({ t, mean, half }) => Array.from(t.keys(), (k) => [t[k], mean[k], half ? half[k] : 0]));
    points.push(...this.series.flatMap(({ t, published }) => (published ? [[t[t.length - 1], published, 0]] : [])));
    const shown = log ? points.filter(([t, y]) => t > 0 && y > 0) : points;
    const top = Math.max(...shown.map(([, y, h]) => y + h), log ? 10 : 1e-9);
    const bottom = log ? Math.max(Math.min(...shown.map(([, y]) => y), top / 10), top / 1e5) : Math.min(0, ...shown.map(([, y, h]) => y - h));
    const start = log ? Math.min(...shown.map(([t]) => t), xEnd / 10) : 0;
    this.x = scale(start, xEnd, MARGIN.left, width - MARGIN.right, log);
    this.y = scale(bottom, top, height - MARGIN.bottom, MARGIN.top, log);
    const across = log ? powers(start, xEnd) : niceTicks(0, xEnd, width < 500 ? 4 : 6);
    const up = log ? powers(bottom, top) : niceTicks(bottom, top, 5);
    const frame = svg("clipPath", { id: this.frame }, svg("rect", { x: MARGIN.left, y: 0, width: width - MARGIN.left, height: height - MARGIN.bottom }));
    const lines = svg("g", { "clip-path": `url(#${this.frame})` }, ...this.series.flatMap((line) => this.#line(line, log)));
    clear(this.svg, frame, this.#grid(across, up), this.#titles(yTitle, log), lines);
    this.mark = svg("line", { class: "mark", y1: MARGIN.top, y2: height - MARGIN.bottom, visibility: "hidden" });
    this.svg.append(this.mark);
  }

  #grid(across, up) {
    const { x, y, width, height } = this;
    const [words, below] = this.options.log ? [up, across].map((ticks) => ticks.map((v) => shortened([v])[0])) : [up, across].map(shortened);
    return svg("g", { class: "grid" },
      ...up.map((v) => svg("line", { x1: MARGIN.left, x2: width - MARGIN.right, y1: y(v), y2: y(v) })),
      ...up.map((v, k) => svg("text", { x: MARGIN.left - 8, y: y(v), class: "up", text: words[k] })),
      ...across.map((v, k) => svg("text", { x: x(v), y: height - MARGIN.bottom + 18, class: "across", text: below[k] })));
  }

  #titles(yTitle, log) {
    const { width, height } = this;
    return svg("g", { class: "titles" },
      svg("text", { x: (MARGIN.left + width - MARGIN.right) / 2, y: height - 4, "text-anchor": "middle", text: `time step${log ? " (both axes logarithmic)" : ""}` }),
      svg("text", { transform: `translate(12,${(height - MARGIN.bottom + MARGIN.top) / 2}) rotate(-90)`, "text-anchor": "middle", text: yTitle }));
  }

  #line({ t, mean, half, colour, dashes, published }, log) {
    const ok = Array.from(t.keys()).filter((k) => !log || (t[k] > 0 && mean[k] > 0));
    if (!ok.length) return [];
    const at = (k, value) => `${this.x(t[k]).toFixed(1)},${this.y(value).toFixed(1)}`;
    const floor = (k) => (log ? Math.max(mean[k] - half[k], 0.1 * mean[k]) : mean[k] - half[k]);
    const stroke = lineColour(colour);
    const parts = [];
    if (half) {
      const band = [...ok.map((k) => at(k, mean[k] + half[k])), ...ok.toReversed().map((k) => at(k, floor(k)))];
      parts.push(svg("polygon", { points: band.join(" "), fill: stroke, "fill-opacity": 0.16 }));
    }
    parts.push(svg("polyline", { points: ok.map((k) => at(k, mean[k])).join(" "), fill: "none", stroke, "stroke-width": 2, "stroke-dasharray": dashes, "stroke-linejoin": "round" }));
    if (published) {
      const [x, y] = [this.x(t[t.length - 1]), this.y(published)];
      parts.push(svg("rect", { class: "published", x: x - 4.5, y: y - 4.5, width: 9, height: 9, fill: "none", stroke, "stroke-width": 2 }, svg("title", { text: `published: ${number(published, 3)}` })));
    }
    return parts;
  }

  #point(event) {
    if (!this.series.length || !this.x) return;
    const box = this.svg.getBoundingClientRect();
    const across = ((event.clientX - box.left) * this.width) / box.width;
    const { t } = this.series[0];
    let k = 0;
    for (let i = 1; i < t.length; i++) if (Math.abs(this.x(t[i]) - across) < Math.abs(this.x(t[k]) - across)) k = i;
    const at = this.x(t[k]);
    for (const end of ["x1", "x2"]) this.mark.setAttribute(end, at);
    this.mark.setAttribute("visibility", "visible");
    clear(this.readout, el("b", { text: `t = ${number(t[k], 9)}` }), ...this.series.map(({ label, mean, half, colour }) => {
      const words = `${label} ${number(mean[k], 4)}${half ? ` ± ${number(half[k], 2)}` : ""}`;
      return el("span", {}, chip(lineColour(colour)), words);
    }));
    this.readout.hidden = false;
    this.readout.style.left = at > this.width / 2 ? "" : `${at + 12}px`;
    this.readout.style.right = at > this.width / 2 ? `${this.width - at + 12}px` : "";
  }

  #leave() {
    this.readout.hidden = true;
    this.mark?.setAttribute("visibility", "hidden");
  }
}

function scale(low, high, from, to, log) {
  const [a, b] = log ? [Math.log(low), Math.log(high)] : [low, high];
  return (value) => from + (((log ? Math.log(Math.max(value, low * 1e-3)) : value) - a) / (b - a || 1)) * (to - from);
}

function powers(low, high) {
  const ticks = [];
  for (let k = Math.ceil(Math.log10(low) - 1e-9); 10 ** k <= high * 1.000001; k++) ticks.push(10 ** k);
  return ticks.length ? ticks : [low, high];
}

export function chartLegend(series, runs) {
  const published = series.some((line) => line.published) ? " Open squares: published values at T." : "";
  return el("ul", { class: "chart-legend" }, ...series.map(({ label, colour, dashes }) => el("li", {},
    svg("svg", { width: 34, height: 10, "aria-hidden": true }, svg("line", { x1: 0, x2: 34, y1: 5, y2: 5, stroke: lineColour(colour), "stroke-width": 2.5, "stroke-dasharray": dashes })),
    label)), el("li", { class: "note", text: (runs > 1 ? `mean of ${runs} runs, band: 95 % confidence interval.` : runs === 1 ? "one run." : "") + published }));
}
