// The page: opens the socket, builds the views, keeps the state in the address.

import { clear, debounced, el } from "./dom.js";
import { LearningView } from "./learning_view.js";
import { LessonBar } from "./lesson.js";
import { Link } from "./link.js";
import { startTheme } from "./palette.js";
import { StudyView } from "./study_view.js";
import { TakeDialog } from "./take_dialog.js";
import { readState, writeState } from "./url_state.js";
import { WorldView } from "./world_view.js";

const VIEWS = ["world", "learning", "study"];
const state = readState();
const restoreAt = state.t;
const link = new Link(new URLSearchParams(location.search).get("token") ?? "");
const views = {};
const tab = (view) => document.getElementById(`tab-${view}`);
const panel = (view) => document.getElementById(`view-${view}`);
let leaving = false; // for another address, which must stay as it is
const keep = debounced(150, () => leaving || writeState(state));

function changed() {
  keep();
  if (views.learning && views.world?.asked) views.learning.setWorld(askedWorld());
}

function askedWorld() {
  return state.file ? { file: state.file } : { text: state.world ?? "four-room" };
}

function show(view) {
  state.view = view;
  for (const name of VIEWS) {
    tab(name).setAttribute("aria-selected", String(name === view));
    tab(name).tabIndex = name === view ? 0 : -1;
    panel(name).hidden = name !== view;
  }
  if (view === "study") views.study.open();
  views[view]?.redraw();
  keep();
}

function lost(reason) {
  const banner = document.getElementById("lost");
  const why = reason ? `${reason[0].toUpperCase()}${reason.slice(1)}.` : "The server has stopped. What you see stays; nothing new is computed.";
  clear(banner, el("p", {}, `${why} Start it again with `, el("code", { text: `equirl explore '${location.origin}/${location.hash}'` })),
    el("button", { type: "button", text: "Try again", onclick: () => location.reload() }));
  banner.hidden = false;
}

async function start() {
  const slow = setTimeout(() => clear(panel("world"), el("p", { class: "loading", text: "Loading. The very first start compiles inner loops, which can take a minute …" })), 4000);
  const catalogue = await link.ask("catalogue");
  clearTimeout(slow);
  const study = catalogue.files.includes("results");
  tab("study").hidden = !study;
  views.world = new WorldView(panel("world"), link, catalogue, state, changed);
  views.learning = new LearningView(panel("learning"), link, catalogue, state, changed);
  views.learning.setWorld(askedWorld());
  if (study) views.study = new StudyView(panel("study"), link, catalogue, state, changed);
  show(VIEWS.includes(state.view) && (state.view !== "study" || study) ? state.view : "world");
  if (restoreAt > 0) views.learning.restore(restoreAt);
  document.body.dataset.ready = "yes";
}

function steer(event) {
  const shown = VIEWS.filter((view) => !tab(view).hidden);
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (!step) return;
  const next = shown[(shown.indexOf(state.view) + step + shown.length) % shown.length];
  show(next);
  tab(next).focus();
}

startTheme(document.getElementById("theme"), () => Object.values(views).forEach((view) => view.redraw()));
const dialog = new TakeDialog(link, (view) => (view === "study"
  ? { part: state.part, world: state.place, measure: views.study.measure.value || "regret", log: views.study.log.checked, shipped: views.study.overview?.study }
  : { log: views.learning.log.checked, measure: views.learning.measure.value }));
document.getElementById("take").addEventListener("click", () => {
  writeState(state);
  dialog.open(state.view);
});
new LessonBar(document.getElementById("lesson"), state);
for (const view of VIEWS) tab(view).addEventListener("click", () => show(view));
document.querySelector(".tabs").addEventListener("keydown", steer);
addEventListener("hashchange", (event) => {
  leaving = true;
  history.replaceState(null, "", event.newURL);
  location.reload();
});
link.onOpen = start;
link.onLost = lost;
clear(panel("world"), el("p", { class: "loading", text: "Loading …" }));
link.open();
