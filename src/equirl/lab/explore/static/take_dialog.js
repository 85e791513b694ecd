// What can be taken away: figures, tables, the world, code that reproduces the numbers, and a link.

import { clear, el, say } from "./dom.js";

const FIGURE = [["svg", "Figure, SVG"], ["png", "Figure, PNG"], ["csv", "Table, CSV"]];
const WORLD = [["npz", "World, NPZ"]];
const REPORT = [["html", "Report, HTML"]]; // as the study's own command writes it
const [PYTHON, STUDY] = [["py", "Python"], ["toml", "Study, TOML"]];
const OFFERS = {
  world: { ask: "take", groups: [{ title: "Classes and world", files: [...FIGURE, ...WORLD] }], texts: [PYTHON] },
  learning: {
    ask: "take-learning", texts: [PYTHON, STUDY],
    groups: [{ title: "Curves", files: FIGURE }, { title: "Learners: visits, policy, classes", of: "learners", files: FIGURE }, { title: "World", files: WORLD }],
  },
  study: { ask: "take-study", groups: [{ title: "The world on screen", files: [...FIGURE, ...WORLD] }], texts: [PYTHON, STUDY] },
};

export class TakeDialog {
  // details(view): what else to send with a request.
  constructor(link, details) {
    Object.assign(this, { link, details });
    this.body = el("div");
    this.error = el("p", { class: "error", role: "alert", hidden: true });
    this.dialog = el("dialog", { class: "take", "aria-label": "Take away" },
      el("div", { class: "take-head" }, el("h2", { text: "Take away" }), el("button", { type: "button", class: "quiet", text: "Close", onclick: () => this.dialog.close() })),
      this.error, this.body);
    document.body.append(this.dialog);
  }

  open(view) {
    const offer = OFFERS[view];
    const groups = [...offer.groups, ...(view === "study" && this.details(view).shipped ? [{ title: "The whole study", files: REPORT }] : [])];
    say(this.error, null);
    clear(this.body, ...groups.map((group) => this.#files(offer.ask, group, view)), ...offer.texts.map(([what, text]) => this.#text(offer.ask, what, text, view)), this.#link());
    this.#tellWriting();
    this.dialog.showModal();
  }

  // The dialog may be closed and opened again while the report is written.
  #tellWriting() {
    const button = this.body.querySelector("[data-take=html]");
    if (button) button.textContent = this.writing ? "Writing … cancel" : REPORT[0][1];
  }

  #files(ask, { title, of, files }, view) {
    return el("section", {}, el("h3", { text: title }), el("div", { class: "tool-row" }, ...files.map(([what, text]) =>
      el("button", { type: "button", "data-take": what, "data-of": of, text, onclick: (event) => this.#save(ask, what, view, event.target, of) }))));
  }

  async #get(ask, what, view, of) {
    const reply = await this.link.ask(ask, { what, of, ...this.details(view) });
    const bytes = Uint8Array.from(atob(reply.base64), (c) => c.charCodeAt(0));
    return { name: reply.name, type: reply.type, bytes };
  }

  async #save(ask, what, view, button, of) {
    if (what === "html") {
      this.#report(view);
      return;
    }
    const words = button.textContent;
    button.disabled = true;
    button.textContent = `${words} …`;
    await this.#try(() => this.#get(ask, what, view, of));
    button.textContent = words;
    button.disabled = false;
  }

  // A minute's work, by a process of its own; asked for again, it is given up.
  async #report(view) {
    if (this.writing) {
      this.link.cancel("report");
      return;
    }
    this.writing = true;
    this.#tellWriting();
    await this.#try(() => this.#get("take-report", "html", view));
    this.writing = false;
    this.#tellWriting();
  }

  async #try(get) {
    try {
      download(await get());
      say(this.error, null);
    } catch (problem) {
      say(this.error, problem.message);
    }
  }

  #text(ask, what, title, view) {
    const pre = el("pre", { tabindex: 0, "data-text": what, text: "…" });
    const box = el("section", {}, el("div", { class: "take-head" }, el("h3", { text: title }), copyButton(() => pre.textContent),
      el("button", { type: "button", class: "quiet", text: "Save", onclick: (event) => this.#save(ask, what, view, event.target) })), pre);
    this.#get(ask, what, view).then(({ bytes }) => {
      pre.textContent = new TextDecoder().decode(bytes);
    }).catch((problem) => {
      pre.textContent = problem.message;
    });
    return box;
  }

  #link() {
    const address = el("input", { type: "text", readonly: true, value: location.href, "aria-label": "Link to this view", id: "link-here", onfocus: (event) => event.target.select() });
    return el("section", {}, el("div", { class: "take-head" }, el("h3", { text: "Link to this view" }), copyButton(() => address.value)), address,
      el("p", { class: "note" }, "It works while this server runs. Later, and elsewhere: ", el("code", { text: "equirl explore 'LINK'" })));
  }
}

function copyButton(text) {
  const button = el("button", { type: "button", class: "quiet", text: "Copy" });
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(text());
      button.textContent = "Copied";
    } catch {
      button.textContent = "Select it and press Ctrl+C";
    }
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  });
  return button;
}

function download({ name, type, bytes }) {
  const address = URL.createObjectURL(new Blob([bytes], { type }));
  el("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}
