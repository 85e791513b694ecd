// Colours: Okabe and Ito's for classes, told apart by colour-blind eyes, and viridis where these run out; light or dark.

const THEME = "equirl-theme"; // under which a reader's choice is kept
const NAMED = ["#56B4E9", "#E69F00", "#009E73", "#CC79A7", "#F0E442", "#0072B2", "#D55E00", "#999999"];
const VIRIDIS = [
  [68, 1, 84], [72, 40, 120], [62, 74, 137], [49, 104, 142], [38, 130, 142],
  [31, 158, 137], [53, 183, 121], [110, 206, 88], [181, 222, 43], [253, 231, 37],
];
const HEAT = { light: [[247, 247, 244], [253, 224, 160], [242, 142, 60], [190, 50, 50], [90, 20, 60]],
  dark: [[38, 46, 58], [74, 48, 110], [150, 50, 110], [225, 100, 80], [252, 220, 140]] };

function blend(stops, share) {
  const at = Math.min(Math.max(share, 0), 1) * (stops.length - 1);
  const k = Math.min(Math.floor(at), stops.length - 2);
  const mixed = stops[k].map((c, i) => Math.round(c + (at - k) * (stops[k + 1][i] - c)));
  return `rgb(${mixed.join(",")})`;
}

const viridis = (share) => blend(VIRIDIS, share);
export const isDark = () => getComputedStyle(document.documentElement).colorScheme.trim() === "dark";
export const heat = (share) => blend(HEAT[isDark() ? "dark" : "light"], share);

// A colour per class, the largest class first: the named ones, then lighter and darker ones, and where all these would
// run out, a scale from light to dark.
export function classColours(sizes) {
  const order = Array.from(sizes.keys()).sort((a, b) => sizes[b] - sizes[a] || a - b);
  const colours = new Array(sizes.length);
  order.forEach((label, place) => {
    colours[label] = sizes.length <= 3 * NAMED.length ? shade(place) : viridis(1 - place / (sizes.length - 1));
  });
  return colours;
}

// The colours of the world on screen. A class that was there before an edit, by its profile and reward, keeps its own.
class ClassPalette {
  #family = null;
  #kept = new Map();

  colours(world, family) {
    if (family !== this.#family) this.#kept.clear();
    this.#family = family;
    const colours = classColours(world.sizes);
    const keys = world.classes.map(({ profile, more, mean }) => JSON.stringify([profile, more, world.rewards ? mean : null]));
    const taken = new Set();
    const news = world.classes.filter(({ label }, k) => {
      const old = this.#kept.get(keys[k]);
      if (!old || taken.has(old)) return true;
      taken.add(old);
      colours[label] = old;
      return false;
    });
    const spare = Array.from({ length: 3 * NAMED.length }, (_, place) => shade(place));
    for (const { label } of news) {
      if (taken.has(colours[label])) colours[label] = spare.find((colour) => !taken.has(colour)) ?? colours[label];
      taken.add(colours[label]);
    }
    world.classes.forEach(({ label }, k) => this.#kept.set(keys[k], colours[label]));
    return colours;
  }
}

export const classPalette = new ClassPalette();

function shade(place) {
  const named = NAMED[place % NAMED.length];
  const [towards, share] = [[0, 0], [255, 0.5], [0, 0.45]][Math.floor(place / NAMED.length)];
  const parts = [1, 3, 5].map((k) => parseInt(named.slice(k, k + 2), 16));
  return `#${parts.map((c) => Math.round(c + share * (towards - c)).toString(16).padStart(2, "0")).join("")}`;
}

// A tint without meaning, for classes that stand for no true one.
export function plainTint(number) {
  const level = (isDark() ? 58 : 196) + ((number * 37) % 5) * 9;
  return `rgb(${level},${level},${level + 6})`;
}

export function ink(colour) {
  const [r, g, b] = colour.startsWith("#")
    ? [1, 3, 5].map((k) => parseInt(colour.slice(k, k + 2), 16))
    : colour.match(/\d+/g).map(Number);
  return 0.299 * r + 0.587 * g + 0.114 * b > 140 ? "#111" : "#fff";
}

export function themeColour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

// Colour and dashes of each learner; one shown twice gets another look the second time.
export function learnerLooks(names, catalogue) {
  const looks = [];
  const taken = new Set();
  for (const name of names) {
    const spare = catalogue.other_styles.find((style) => !taken.has(style[0])) ?? catalogue.other_styles[0];
    const own = catalogue.styles[name];
    const style = own && !taken.has(own[0]) ? own : spare;
    taken.add(style[0]);
    looks.push({ colour: style[0], dashes: style[1] === "solid" ? "" : style[1][1].map((d) => d * 1.6).join(" ") });
  }
  return looks;
}

// On a dark page black lines are seen as light ones; the style sheet's theme decides, so nothing is drawn anew.
export function lineColour(colour) {
  const light = { "#000000": "#e8eaee", "#0072B2": "#4aa3df", "#C00000": "#ff6b5e", "#117733": "#44b06a", "#6A3D9A": "#a987d8",
    "#882255": "#d0649b", "#D55E00": "#ff8a3d", "#C800C8": "#ee6bee", "#2A2AE5": "#8f8fff", "#666633": "#b3b36b" }[colour];
  return light ? `light-dark(${colour}, ${light})` : colour;
}

// Light or dark: as the system has it, until the reader says otherwise.
export function startTheme(button, onChange) {
  const system = matchMedia("(prefers-color-scheme: dark)");
  const kept = () => {
    try {
      return localStorage.getItem(THEME);
    } catch {
      return null;
    }
  };
  const apply = () => {
    document.documentElement.dataset.theme = kept() ?? (system.matches ? "dark" : "light");
    onChange();
  };
  button.addEventListener("click", () => {
    const next = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
    try {
      localStorage.setItem(THEME, next);
    } catch {
      document.documentElement.dataset.theme = next;
    }
    apply();
  });
  system.addEventListener("change", apply);
  apply();
}
