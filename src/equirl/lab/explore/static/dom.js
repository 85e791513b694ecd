// Elements in few words.

const SVG = "http://www.w3.org/2000/svg";

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "text") node.textContent = value;
    else if (name === "value" || name === "checked" || name === "hidden" || name === "disabled") node[name] = value;
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

export function el(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

export function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

export function clear(node, ...children) {
  node.replaceChildren(...children.filter(Boolean));
  return node;
}

let ids = 0;

// A labelled control: the label above, a note as its title, an error below.
export function field(label, control, note = "") {
  const id = `f${++ids}`;
  control.id = id;
  const error = el("p", { class: "error", id: `${id}-error`, hidden: true, role: "status" });
  control.setAttribute("aria-describedby", error.id);
  const box = el("div", { class: "field", title: note }, el("label", { for: id, text: label }), control, error);
  box.say = (message) => {
    say(error, message);
    control.toggleAttribute("aria-invalid", Boolean(message));
  };
  return box;
}

// A checkbox, or the like, beside its label.
export function inlineField(label, control, note = "") {
  const box = field(label, control, note);
  box.classList.add("inline");
  return box;
}

// Show a message in its place; none hides the place.
export function say(place, message) {
  place.textContent = message ?? "";
  place.hidden = !message;
}

// A spot of colour, in front of what it stands for.
export function chip(colour) {
  const spot = el("span", { class: "chip" });
  spot.style.background = colour;
  return spot;
}

export function debounced(wait, action) {
  let timer = 0;
  return (...given) => {
    clearTimeout(timer);
    timer = setTimeout(() => action(...given), wait);
  };
}
