// What the page shows, kept in the address after #, so that a link restores it.

import { lessonView } from "./lesson.js";

const NUMBERS = new Set(["T", "seed", "runs", "speed", "t", "pair", "lesson"]);
const FLAGS = new Set(["laws", "common", "log"]);
const NAMES = ["lesson", "view", "world", "file", "laws", "pair", "learners", "T", "seed", "runs", "common", "speed", "log",
  "measure", "t", "part", "place"];

export function readState() {
  const held = new URLSearchParams(location.hash.slice(1));
  const state = {};
  for (const name of NAMES) {
    const value = held.get(name);
    if (value === null) continue;
    if (name === "learners") state.learners = readLearners(value);
    else if (NUMBERS.has(name)) Number.isFinite(Number(value)) && (state[name] = Number(value));
    else state[name] = FLAGS.has(name) ? value === "1" : value;
  }
  return { ...lessonView(state.lesson), ...state };
}

function readLearners(text) {
  return text.split("|").filter(Boolean).slice(0, 6).map((entry) => {
    const [name, ...rest] = entry.split(";");
    return { name, settings: rest.join(", ") };
  });
}

function writeLearners(learners) {
  return learners.map(({ name, settings }) => [name, ...splitSettings(settings)].join(";")).join("|");
}

const splitSettings = (text) => text.split(",").map((part) => part.trim()).filter(Boolean);

export function writeState(state) {
  const held = new URLSearchParams();
  for (const name of NAMES) {
    const value = state[name];
    if (value === undefined || value === null || value === "" || value === false) continue;
    if (name === "learners") held.set(name, writeLearners(value));
    else held.set(name, value === true ? "1" : String(value));
  }
  history.replaceState(null, "", `${location.pathname}${location.search}#${held}`);
}
