// A results folder: what is done of a study, its tables and curves, while runs land.

import { Chart, chartLegend } from "./chart.js";
import { clear, el, field, inlineField, say } from "./dom.js";
import { Findings } from "./findings.js";
import { counted, number } from "./numbers.js";
import { learnerLooks } from "./palette.js";
import { table } from "./tables.js";

export class StudyView {
  constructor(root, link, catalogue, state, onState) {
    Object.assign(this, { root, link, catalogue, state, onState });
    this.overview = null;
    this.#build();
    link.on("study", (reply) => this.#overview(reply));
    link.on("curves", (reply) => this.#curves(reply));
    link.on("findings", (reply) => this.findings.show(reply));
  }

  #build() {
    this.title = el("h2", { text: "Study" });
    this.bar = el("progress", { max: 1, value: 0, "aria-label": "Runs done" });
    this.words = el("p", { id: "study-words", text: "reading …" });
    this.error = el("p", { class: "error big", role: "alert", hidden: true });
    this.complaints = el("p", { id: "study-complaints", class: "error", role: "alert", hidden: true });
    this.choice = el("select", { onchange: () => this.#choose() });
    this.measure = el("select", { "aria-label": "What is drawn", hidden: true, onchange: () => {
      this.state.measure = this.measure.value;
      this.#choose();
    } });
    this.log = el("input", { type: "checkbox", checked: Boolean(this.state.log), onchange: () => {
      this.state.log = this.log.checked;
      this.onState();
      this.redraw();
    } });
    const log = inlineField("logarithmic", this.log);
    this.chart = new Chart("Curves of the study", "Curves are drawn here once runs are done.");
    this.legend = el("div");
    this.about = el("p", { class: "note" });
    this.table = el("div", { class: "scroll" });
    this.progress = el("div", { class: "scroll" });
    this.findings = new Findings((part) => this.#goTo(part), () => this.link.ask("maps"));
    this.curvesCard = el("div", { class: "card" }, el("div", { class: "chart-head" }, field("part", this.choice), this.measure, log), this.about,
      this.legend, this.chart.element, this.table);
    clear(this.root, el("div", { class: "content whole" }, this.error,
      el("div", { class: "card" }, this.title, this.bar, this.words, this.complaints, this.findings.facts),
      this.curvesCard, this.findings.element,
      el("details", { class: "card" }, el("summary", { text: "Runs, learner by learner" }), this.progress)));
  }

  async open() {
    if (this.overview) return;
    try {
      await this.link.ask("study");
    } catch (problem) {
      say(this.error, problem.message);
    }
  }

  #overview(reply) {
    const first = !this.overview;
    this.overview = reply;
    this.title.textContent = `Study in ${reply.folder}`;
    this.bar.value = reply.total ? reply.done / reply.total : 0;
    const parts = [`${reply.done.toLocaleString("en-GB")} of ${counted(reply.total, "run")} done`,
      reply.failed ? `${reply.failed} failed` : null, reply.recent && reply.done < reply.total ? `${reply.recent} in the last minute` : null,
      reply.reading ? "reading …" : null];
    this.words.textContent = `${parts.filter(Boolean).join(", ")}.`;
    say(this.complaints, reply.complaints.join(" "));
    const names = reply.places.map(({ part, world }) => (part === world ? world : `${part}: ${world}`));
    if (names.join("|") !== this.names) {
      this.names = names.join("|");
      clear(this.choice, ...names.map((text, k) => el("option", { value: String(k), text })));
      const kept = reply.places.findIndex(({ part, world }) => part === this.state.part && world === this.state.place);
      this.choice.value = String(Math.max(0, kept));
    }
    this.#table();
    clear(this.progress, table(["part", "world", "learner", "done", "of"], reply.progress.map((row) => row.map(String)), [3, 4]));
    if (first && reply.places.length) this.#choose();
  }

  // Another world of the study, chosen elsewhere on the page.
  #goTo(part) {
    const found = this.overview.places.findIndex((place) => place.part === part);
    if (found < 0) return;
    this.choice.value = String(found);
    this.#choose();
    this.curvesCard.scrollIntoView({ block: "start" });
    this.choice.focus({ preventScroll: true });
  }

  get #place() {
    return this.overview.places[Number(this.choice.value)] ?? null;
  }

  async #choose() {
    const place = this.#place;
    if (!place) return;
    Object.assign(this.state, { part: place.part, place: place.world });
    this.onState();
    this.#table();
    try {
      await this.link.ask("look", { part: place.part, world: place.world, measure: this.measure.value || this.state.measure || "regret" });
    } catch (problem) {
      say(this.error, problem.message);
    }
  }

  #table() {
    const place = this.#place;
    if (!place) return;
    if (!place.rows.length) {
      this.about.textContent = "No run of this world is done yet.";
      clear(this.table);
      return;
    }
    this.about.textContent = `T = ${number(place.horizon, 9)}, optimal gain ${number(place.gain, 5)}. Regret at T; relative to the best learner given nothing.`;
    const published = place.rows.some((row) => row.published !== null);
    const heads = ["learner", "given", "rank", "runs", "mean", "95 % interval", "lower quartile", "median", "upper quartile", "relative", "locked in"];
    const rows = place.rows.map((row) => [row.learner, row.given.replace(/^given /, ""), String(row.rank), String(row.runs), number(row.mean, 3),
      row.runs > 1 ? `${number(row.low, 3)} to ${number(row.high, 3)}` : "", ...row.quartiles.map((q) => number(q, 3)),
      number(row.relative, 2), `${Math.round((100 * row.locked) / row.runs)} %`, ...(published ? [number(row.published, 3)] : [])]);
    clear(this.table, table(published ? [...heads, "published"] : heads, rows, [2, 3, 4, 5, 6, 7, 8, 9, 10, 11]));
  }

  #curves(reply) {
    const place = this.#place;
    if (!place || reply.part !== place.part || reply.world !== place.world) return;
    if (reply.measures.join() !== this.measures) {
      this.measures = reply.measures.join();
      clear(this.measure, ...reply.measures.map((name) => el("option", { value: name, text: name.replaceAll("_", " ") })));
      this.measure.value = reply.measure;
      this.measure.hidden = !reply.measures.length;
    }
    this.drawn = reply;
    this.redraw();
  }

  redraw() {
    if (!this.drawn) return;
    const { learners, measure } = this.drawn;
    const looks = learnerLooks(learners.map(({ name }) => name), this.catalogue);
    const series = learners.map((learner, k) => ({ ...learner, ...looks[k] }));
    const runs = Math.min(...learners.map(({ runs: n }) => n));
    clear(this.legend, chartLegend(series, learners.length ? runs : 0));
    this.chart.show(series, { log: this.log.checked, yTitle: measure.replaceAll("_", " "), xEnd: Math.max(1, ...series.map(({ t }) => t[t.length - 1])) });
  }
}
