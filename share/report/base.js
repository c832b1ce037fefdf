// What all parts share: elements, numbers as text, colours.

// An element with attributes ("on..." are listeners) and children; texts are always text.
function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on"))
      element.addEventListener(name.slice(2), value);
    else if (name === "style")
      Object.assign(element.style, value);
    else
      element.setAttribute(name, value === true ? "" : value);
  }
  element.append(
      ...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return element;
}

// Its children are these, without those that there are not.
function refill(element, ...children) {
  element.replaceChildren(
      ...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
}

function say(text) { document.getElementById("spoken").textContent = text; }

// --- numbers

function digits(value, most = 4) {
  if (!isFinite(value)) return "–";
  if (value === 0) return "0";
  if (Math.abs(value) >= 1e9) return value.toPrecision(most).replace(/\.?0*e\+/, "e");
  const places = Math.max(0, most - 1 - Math.floor(Math.log10(Math.abs(value))));
  return Number(value.toFixed(Math.min(places, 12))).toString();
}

function count(value) { return value.toLocaleString("en").replaceAll(",", "\u202f"); }

const kTimes = [[1, "ns"], [1e3, "µs"], [1e6, "ms"], [1e9, "s"]];

function timeUnit(ns) {
  let unit = kTimes[0];
  for (const next of kTimes)
    if (Math.abs(ns) >= next[0]) unit = next;
  return unit;
}

function duration(ns, most = 4) {
  if (ns === 0) return "0";
  const [size, name] = timeUnit(ns);
  return `${digits(ns / size, most)}\u00a0${name}`;
}

// As fine as moments in so long a range have to be.
function moment(ns, range) {
  const [size, name] = timeUnit(Math.max(Math.abs(ns), range));
  const step = range / 2000 / size;
  const places = step > 0 ? Math.min(9, Math.max(0, Math.ceil(-Math.log10(step)))) : 3;
  return `${(ns / size).toFixed(places)}\u00a0${name}`;
}

const kSizes = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];

function bytesText(bytes) {
  let unit = 0;
  while (Math.abs(bytes) >= 1023.5 && unit + 1 < kSizes.length) {
    bytes /= 1024;
    ++unit;
  }
  return `${digits(bytes)}\u00a0${kSizes[unit]}`;
}

function rateText(bytesPerSecond) {
  const units = ["B/s", "kB/s", "MB/s", "GB/s", "TB/s"];
  let unit = 0;
  while (bytesPerSecond >= 999.5 && unit + 1 < units.length) {
    bytesPerSecond /= 1000;
    ++unit;
  }
  return `${digits(bytesPerSecond, 3)}\u00a0${units[unit]}`;
}

// 12.3 %; what is less than a tenth of it, as that.
function percent(share) {
  const value = 100 * share;
  if (value > 0 && value < 0.1) return "<\u00a00.1\u00a0%";
  return `${value.toFixed(1)}\u00a0%`;
}

function plural(number, one, many = `${one}s`) {
  return `${count(number)} ${number === 1 ? one : many}`;
}

// --- colours: after Okabe and Ito, which people with any colour vision tell apart, and further ones

const kKindColours = [
  "#3b7fb6", "#e69f00", "#2a9d7c", "#cc79a7", "#6cbbe8", "#d1622b", "#c9b82d", "#7a6fd0", "#a8577e",
  "#8f9a3c", "#4fb0ae", "#8b9099"
];
// Of copies by their cause: task, prefetch, eviction, write-behind, application, through RAM, arrival.
const kCauseColours = ["#3b7fb6", "#6cbbe8", "#d1622b", "#e69f00", "#8b9099", "#cc79a7", "#2f9e6e"];
// Of idle times by their cause; no codelet and no copy has one of these.
const kIdleColours = ["#6e7781", "#b3261e", "#7b2d8b", "#1f4fd8", "#a9b1ba", "#c9ced4"];
const kCauses = [
  "for a task that waits", "prefetch", "eviction", "write-behind", "application",
  "on the way through RAM", "on arrival from another rank"
];
// Of two recordings.
const kRunColours = ["#3b7fb6", "#e07b00"];

function colourOf(variable) {
  return getComputedStyle(document.documentElement).getPropertyValue(variable).trim();
}

const theme = {
  listeners: [],
  isDark() {
    const set = document.documentElement.dataset.theme;
    return set ? set === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  },
  toggle() {
    document.documentElement.dataset.theme = this.isDark() ? "light" : "dark";
    this.changed();
  },
  changed() {
    const button = document.getElementById("theme");
    button.textContent = this.isDark() ? "Light" : "Dark";
    button.setAttribute("aria-label", `Switch to ${this.isDark() ? "light" : "dark"} colours`);
    for (const listener of this.listeners) listener();
  },
  start() {
    document.getElementById("theme").addEventListener("click", () => this.toggle());
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.changed());
    this.changed();
  },
};
