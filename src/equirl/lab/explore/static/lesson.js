// A lesson in five steps: each is a view with a text beside it, and a link (#lesson=2) that can be sent.

import { clear, el } from "./dom.js";

const ROOMS = "four-room:height=9,width=9";

const STEPS = [
  {
    title: "What is alike?",
    view: { view: "world", world: ROOMS },
    text: ["A pair is a state and what is done there. Two pairs are alike if the probabilities of what may follow, sorted from largest to smallest, are the same, and they pay the same.",
      "Four rooms, 160 pairs, and only 6 classes of them. Point at a cell: its class lights up in all four panels."],
    task: "Find the class of pairs that walk straight into a wall. Which pairs are alike to them, and why?",
  },
  {
    title: "What is shared?",
    view: { view: "world", world: ROOMS, pair: 28 },
    text: ["One pair is kept. Its bars are its profile, and the map shows where each mass goes. Its mates have the same bars, and other places that they lead to.",
      "So whoever tries one of them has tried them all, up to where they lead: 56 pairs of the largest class share every observation."],
    task: "Click at a mate of the kept pair. What stayed the same, what changed? What would a learner have to know to use it?",
  },
  {
    title: "Finding it out",
    view: { view: "learning", world: ROOMS, learners: [{ name: "c-psrl", settings: "" }, { name: "psrl", settings: "" }], T: 3000, runs: 1, speed: 2.5 },
    text: ["Two learners that are given nothing. Press Play. c-psrl draws which pairs may be alike, and pools what it saw of them; psrl learns each pair on its own.",
      "Below each learner: the classes it believes in, above the true ones. Above: where it has been, and how unsure it still is."],
    task: "Who reaches the goal first? Where is c-psrl sure of pairs that it has never played?",
  },
  {
    title: "What does it save?",
    view: { view: "learning", world: ROOMS, T: 20000, runs: 3, speed: 7,
      learners: ["c-psrl", "psrl", "c-ucrl", "ucrl2-l"].map((name) => ({ name, settings: "" })) },
    text: ["Regret is what was lost against the best policy, from the first step on. Press Play: two learners with classes (c-), and the same two without.",
      "With seeds 0 to 2 and 20,000 steps c-psrl loses about 140, psrl about 550: a quarter. Of optimistic learners c-ucrl loses 870, ucrl2-l 980: the same idea, and much less of a gain."],
    task: "Make the rooms larger (World, height and width 13). Is more saved, or less? Why?",
  },
  {
    title: "Where does it fail?",
    view: { view: "learning", world: "access-control", T: 50000, runs: 3, speed: 7,
      learners: ["c-psrl", "psrl"].map((name) => ({ name, settings: "" })) },
    text: ["A queue: some pairs are alike here too, but c-psrl loses about twice as much as psrl. The states with all servers free are costly to bring about and nothing special; c-psrl goes there to try each of their actions once, and psrl does not.",
      "Nor is there anything to gain where nothing is alike: the world random has 80 pairs and 80 classes."],
    task: "Would you look for classes in a problem of your own? What would you have to know about it?",
  },
];

// What a step of the lesson shows, where the address says nothing else.
export const lessonView = (number) => STEPS[number - 1]?.view ?? {};

export class LessonBar {
  constructor(place, state) {
    const step = STEPS[state.lesson - 1];
    place.hidden = !step;
    if (!step) return;
    const go = (number, text) => (STEPS[number - 1] ? el("a", { href: `#lesson=${number}`, text }) : null);
    clear(place,
      el("div", { class: "lesson-head" }, el("span", { class: "note", text: `Lesson, ${state.lesson} of ${STEPS.length}` }), el("h2", { text: step.title }),
        el("nav", { "aria-label": "Steps of the lesson" }, go(state.lesson - 1, "← Back"), go(state.lesson + 1, "Next →"), el("a", { href: `#view=${step.view.view}`, text: "Leave" }))),
      el("div", { class: "lesson-text" }, el("div", {}, ...step.text.map((text) => el("p", { text }))), el("p", { class: "task" }, el("b", { text: "Try: " }), step.task)),
      el("p", { class: "note" }, "To send this step: ", el("code", { text: `equirl explore lesson=${state.lesson}` }), ", or the address of this page."));
  }
}
