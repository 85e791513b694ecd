// Learners at work, side by side: start, play, pause, step; what each believes; their curves.

import { Chart, chartLegend } from "./chart.js";
import { clear, el, field, inlineField, say } from "./dom.js";
import { readWorld } from "./layout.js";
import { LearnerCard } from "./learner_card.js";
import { LearnerList } from "./learner_list.js";
import { classPalette, learnerLooks } from "./palette.js";
import { familyOf } from "./world_form.js";

const MEASURES = { regret: "regret", pseudo_regret: "pseudo-regret", reward: "reward", n_classes: "number of classes" };
const USUAL = ["c-psrl", "c-ucrl", "ucrl2-l"];
const FASTEST = 1e9;
const READY = "ready: Play, or Step";

export class LearningView {
  constructor(root, link, catalogue, state, onState) {
    Object.assign(this, { root, link, catalogue, state, onState });
    this.cards = [];
    this.started = false;
    this.playing = false;
    this.frame = null;
    this.#build();
    link.on("frame", (frame) => this.#frame(frame));
  }

  #build() {
    const { state } = this;
    const count = (name, value, least) => el("input", { type: "number", min: least, value, onchange: (event) => this.#number(name, event.target, least) });
    state.learners ??= USUAL.map((name) => ({ name, settings: "" }));
    this.list = new LearnerList(this.link, this.catalogue, state.learners, () => this.#chosen());
    this.horizon = count("T", state.T ?? 20000, 1);
    this.seed = count("seed", state.seed ?? 0, 0);
    this.runs = count("runs", state.runs ?? 3, 1);
    this.common = el("input", { type: "checkbox", checked: Boolean(state.common), onchange: (event) => this.#set("common", event.target.checked) });
    const common = inlineField("same randomness of the world", this.common, "All learners meet the same randomness of the world at the same seed.");
    this.start = el("button", { type: "button", class: "primary", text: "Start", id: "start", title: "Set the learners up at step 0", onclick: () => (this.preparing ? this.#stop() : this.#setUp()) });
    this.error = el("p", { class: "error big", role: "alert", hidden: true });
    this.play = el("button", { type: "button", class: "primary", id: "play", text: "Play", onclick: () => this.#toggle() });
    this.step = el("button", { type: "button", id: "step", text: "Step", title: "To the next plan of each learner", onclick: () => this.#step() });
    this.speed = el("input", { type: "range", min: 1, max: 7, step: 0.25, value: state.speed ?? 7, "aria-label": "Speed", oninput: () => this.#speed() });
    this.speedWords = el("output", {});
    this.bar = el("progress", { max: 1, value: 0, "aria-label": "Steps played" });
    this.where = el("span", { class: "where", id: "where", text: "not started" });
    this.grid = el("div", { class: "cards" });
    this.world = el("p", { class: "note", id: "learning-world" });
    this.log = el("input", { type: "checkbox", checked: Boolean(state.log), onchange: (event) => this.#set("log", event.target.checked, true) });
    const log = inlineField("logarithmic", this.log);
    this.measure = el("select", { "aria-label": "What is drawn", onchange: (event) => this.#set("measure", event.target.value, true) },
      ...Object.entries(MEASURES).map(([value, text]) => el("option", { value, text })));
    this.measure.value = state.measure in MEASURES ? state.measure : "regret";
    this.chart = new Chart("Curves of the learners", "Curves grow here once something is played.");
    this.legend = el("div");
    clear(this.root,
      el("aside", { class: "side" }, el("div", { class: "card" }, el("h2", { text: "Learners" }), this.world, this.list.element,
        el("div", { class: "two" }, field("steps", this.horizon, "The horizon of each run."), field("runs", this.runs, "Of each learner, at consecutive seeds; the first is shown.")),
        el("div", { class: "two" }, field("seed", this.seed, "Of the first run."), el("div")), common, this.start)),
      el("div", { class: "content" }, this.error,
        el("div", { class: "card controls" }, this.play, this.step,
          el("label", { class: "slider" }, el("span", { text: "speed" }), this.speed, this.speedWords), this.bar, this.where),
        this.grid,
        el("div", { class: "card" }, el("div", { class: "chart-head" }, el("h2", { text: "Curves" }), this.measure, log), this.legend, this.chart.element)));
    this.#speed(false);
  }

  #number(name, input, least) {
    const value = Math.max(least, Math.round(Number(input.value)) || least);
    input.value = value;
    this.#set(name, value);
  }

  #set(name, value, redraw = false) {
    this.state[name] = value;
    this.onState();
    if (redraw) this.#curves();
  }

  #chosen() {
    this.#set("learners", this.list.chosen);
  }

  // The world of the other view; a new one ends what was under way.
  setWorld(asked) {
    this.asked = asked;
    const text = asked.text ?? asked.file;
    this.world.textContent = `in ${text.length > 60 ? `${text.slice(0, 57)}…` : text}`;
    if (this.started && JSON.stringify(asked) !== this.startedWith) {
      this.#stop();
      say(this.error, "The world changed; start again.");
    }
  }

  #stop() {
    this.started = this.playing = false;
    this.givenUp = true;
    this.frame = null;
    this.bar.value = 0;
    this.where.textContent = "not started";
    this.link.cancel("learning");
    this.#buttons();
  }

  get #request() {
    return { world: this.asked, learners: this.list.chosen, horizon: Number(this.horizon.value), seed: Number(this.seed.value),
      runs: Number(this.runs.value), common: this.common.checked };
  }

  // Prepare the learners; resolves to whether they are ready.
  async begin() {
    say(this.error, null);
    this.frame = null;
    this.started = this.playing = false;
    this.preparing = true;
    this.givenUp = false;
    this.#buttons();
    const request = this.#request;
    this.startedWith = JSON.stringify(request.world);
    this.state.t = null;
    this.start.textContent = "Preparing … cancel";
    this.where.textContent = "preparing";
    try {
      const shown = readWorld(await this.link.ask("world", { world: request.world, rewards: true }));
      if (this.givenUp) return false;
      const reply = await this.link.ask("learn", request, ({ kind, ready, total }) => {
        if (kind === "preparing") this.where.textContent = `preparing, ${ready} of ${total}`;
      });
      say(this.error, null);
      this.ready = reply;
      const colours = classPalette.colours(shown, familyOf(request.world));
      this.looks = learnerLooks(reply.names, this.catalogue);
      this.cards = reply.labels.map((label, k) => new LearnerCard(label, reply.unsure_by[k], this.looks[k], shown, colours));
      clear(this.grid, ...this.cards.map((card) => card.element));
      this.grid.dataset.count = this.cards.length;
      this.started = true;
      this.#tellWhere(0, READY);
      return true;
    } catch (problem) {
      if (problem.service !== "learning") say(this.error, problem.message);
      return false;
    } finally {
      this.preparing = false;
      if (!this.started) this.where.textContent = "not started";
      this.start.textContent = this.started ? "Start again" : "Start";
      this.#buttons();
    }
  }

  async #setUp() {
    if (await this.begin()) this.play.focus();
  }

  get speedNow() {
    const value = Number(this.speed.value);
    return value >= 7 ? FASTEST : Math.round(10 ** value);
  }

  #speed(tell = true) {
    this.speedWords.textContent = this.speedNow === FASTEST ? "fastest" : `${this.speedNow.toLocaleString("en-GB")} steps/s`;
    if (!tell) return;
    this.#set("speed", Number(this.speed.value));
    if (this.playing) this.#go();
  }

  async #toggle() {
    if (this.playing) this.#tell("pause");
    else if (this.started || (await this.begin())) this.#go();
  }

  #go(until) {
    this.#tell("play", { speed: this.speedNow, ...(until ? { until } : {}) });
  }

  async #step() {
    if (this.started || (await this.begin())) this.#tell("step");
  }

  async #tell(what, fields = {}) {
    try {
      const reply = await this.link.ask(what, fields);
      this.playing = reply.playing;
      say(this.error, null);
    } catch (problem) {
      this.playing = false;
      say(this.error, problem.message);
    }
    this.#buttons();
  }

  // Play as far as the link says, then rest.
  async restore(t) {
    if (!(await this.begin())) return;
    this.#tell("play", { speed: FASTEST, until: t });
  }

  #frame(frame) {
    this.link.send("ack");
    if (!this.started && !this.cards.length) return;
    this.frame = frame;
    this.playing = frame.playing;
    frame.learners.forEach((news, k) => this.cards[k]?.update(news));
    this.#tellWhere(frame.t, frame.done ? "done" : frame.playing ? "playing" : frame.t ? "paused" : READY);
    if (!frame.playing && frame.t !== (this.state.t ?? 0)) this.#set("t", frame.t || null);
    this.#buttons();
    this.#curves();
  }

  #tellWhere(t, how) {
    this.bar.value = t / this.ready.horizon;
    this.where.textContent = `${t.toLocaleString("en-GB")} of ${this.ready.horizon.toLocaleString("en-GB")} steps, ${how}`;
  }

  #curves() {
    if (!this.frame) return;
    const name = this.measure.value;
    const series = this.ready.labels.flatMap((label, k) => {
      const found = this.frame.curves[label]?.[name];
      return found ? [{ label, t: this.frame.times, ...found, ...this.looks[k] }] : [];
    });
    clear(this.legend, chartLegend(series, this.ready.runs));
    this.chart.show(series, { log: this.log.checked, yTitle: MEASURES[name], xEnd: this.ready.horizon });
  }

  #buttons() {
    const done = this.frame?.done ?? false;
    this.play.disabled = this.preparing || done;
    this.step.disabled = this.preparing || done || this.playing;
    this.play.textContent = this.playing ? "Pause" : "Play";
  }

  redraw() {
    this.cards.forEach((card) => card.redraw());
    this.#curves();
  }
}
