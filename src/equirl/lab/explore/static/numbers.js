// Numbers as people write them, and arrays as messages hold them.

export function number(value, digits = 4) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (value === "infinite" || value === Infinity) return "infinite";
  const rounded = Number(Number(value).toPrecision(digits));
  const size = Math.abs(rounded);
  if (size !== 0 && (size < 1e-4 || size >= 1e15)) return rounded.toExponential();
  return rounded.toLocaleString("en-GB", { maximumFractionDigits: 10 });
}

export function counted(n, noun, plural = `${noun}s`) {
  return `${n.toLocaleString("en-GB")} ${n === 1 ? noun : plural}`;
}

// Ticks at round numbers, about so many.
export function niceTicks(low, high, about = 5) {
  if (!(high > low)) return [low];
  const raw = (high - low) / about;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((k) => k * power).find((k) => k >= raw);
  const ticks = [];
  for (let k = Math.ceil(low / step); k * step <= high * (1 + 1e-9); k++) ticks.push(Number((k * step).toPrecision(12)));
  return ticks;
}

// The ticks of an axis in few characters, all in the unit that suits the largest.
export function shortened(values) {
  const size = Math.max(...values.map(Math.abs));
  const [unit, letter] = size >= 1e6 ? [1e6, "M"] : size >= 1e4 ? [1e3, "k"] : [1, ""];
  return values.map((value) => (value === 0 || unit === 1 ? number(value, 3) : `${number(value / unit, 3)}${letter}`));
}

const KINDS = { i4: Int32Array, f4: Float32Array };

// What messages.py packed.
export function unpack(held) {
  if (!held) return null;
  const [kind] = Object.keys(held);
  const text = atob(held[kind]);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return new KINDS[kind](bytes.buffer);
}
