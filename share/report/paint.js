// Draws the rows of a Gantt chart. What is too narrow to be seen alone is added up, pixel by pixel, to the share of the
// time that each kind of work took there, and stacked.

const kNarrow = 3;  // device pixels

function rgb(hex) {
  const value = parseInt(hex.slice(1), 16);
  return [value >> 16 & 255, value >> 8 & 255, value & 255];
}
function mixed(colour, ground, share) {
  return colour.map((part, i) => Math.round(part + (ground[i] - part) * share));
}
const css = (colour) => `rgb(${colour.join()})`;
const pixel = ([r, g, b]) =>
    (255 << 24 | b << 16 | g << 8 | r) >>> 0;  // little-endian, as canvases are here

// Colours of each kind, and behind them the same, pale, for what is not highlighted.
function inks(colours) {
  const ground = rgb(colourOf("--panel"));
  const strong = colours.map(rgb);
  const all = [...strong, ...strong.map((colour) => mixed(colour, ground, 0.8))];
  return {css: all.map(css), pixels: all.map(pixel)};
}

class Coverage {
  constructor(width, kinds) {
    this.width = width;
    this.shares = Array.from({length: kinds}, () => new Float32Array(width));
    this.used = new Uint8Array(kinds);
  }
  clear() {
    this.used.forEach((used, kind) => used && this.shares[kind].fill(0));
    this.used.fill(0);
  }
  add(kind, from, to) {
    const share = this.shares[kind];
    this.used[kind] = 1;
    const first = Math.max(0, Math.floor(from));
    for (let x = first; x < to && x < this.width; ++x) {
      share[x] += Math.min(to, x + 1) - Math.max(from, x);
    }
  }
  // Stacked from the bottom of the row; `scale`: what is a full row.
  draw(image, top, height, pixels, scale) {
    const {width, data} = image;
    for (let x = 0; x < width; ++x) {
      let bottom = top + height;
      let sum = 0;
      for (let kind = 0; kind < this.shares.length; ++kind) {
        if (!this.used[kind]) continue;
        const share = this.shares[kind][x];
        if (share < 0.004) continue;
        sum = Math.min(scale, sum + share);
        const upper = top + height - Math.max(1, Math.round(height * sum / scale));
        for (let y = bottom - 1; y >= upper; --y) data[y * width + x] = pixels[kind];
        bottom = Math.min(bottom, upper);
      }
    }
  }
}

// A picture whose pixels are written one by one.
class PixelImage {
  constructor(width, height) {
    this.canvas = document.createElement("canvas");
    this.canvas.width = this.width = width;
    this.canvas.height = height;
    this.context = this.canvas.getContext("2d");
    this.image = this.context.createImageData(width, height);
    this.data = new Uint32Array(this.image.data.buffer);
  }
  shown() {
    this.context.putImageData(this.image, 0, 0);
    return this.canvas;
  }
}

// What of the overview is seen, as a coverage.
function coverOverview(lane, coverage, from, to, end) {
  const bins = kOverviewBins / end;
  lane.shares.forEach((shares, kind) => {
    if (!shares) return;
    coverage.used[kind] = 1;
    const out = coverage.shares[kind];
    for (let x = 0; x < coverage.width; ++x) {
      const first = (from + (to - from) * x / coverage.width) * bins;
      const last = Math.max(first + 1e-6, (from + (to - from) * (x + 1) / coverage.width) * bins);
      let sum = 0;
      let bin = Math.max(0, Math.floor(first));
      for (; bin < last && bin < kOverviewBins; ++bin) {
        sum += shares[bin] * (Math.min(last, bin + 1) - Math.max(first, bin));
      }
      out[x] = sum / (last - first) / 255;
    }
  });
}

// Items between two moments, in ticks: the wide ones as rectangles, the narrow ones into the coverage.
function coverItems(lane, coverage, from, to, isPale, rectangle) {
  const {items, colours} = lane;
  const scale = coverage.width / (to - from);
  const {number, begin, end, kind, row} = items;
  for (let i = firstAfter(items, from); i < number.length && begin[i] < to; ++i) {
    const x = (begin[i] - from) * scale;
    const last = (end[i] - from) * scale;
    if (last < 0) continue;
    const ink = kind[i] + (isPale && isPale[number[i]] === 0 ? colours.length : 0);
    if (last - x < kNarrow)
      coverage.add(ink, x, Math.max(last, x + 0.02));
    else
      rectangle(Math.max(x, -2), Math.min(last, coverage.width + 2), row[i], ink);
  }
}

// The moments that an axis names: round numbers, about so many pixels apart.
function axisMarks(from, to, pixels, apart) {
  const rough = (to - from) * apart / Math.max(pixels, 1);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((part) => part * power).find((one) => one >= rough);
  const marks = [];
  for (let mark = Math.ceil(from / step) * step; mark <= to; mark += step) {
    marks.push(Math.abs(mark) < step * 1e-6 ? 0 : mark);
  }
  return {step, marks};
}

// Of marks that are so far apart.
function markText(ns, step, most) {
  if (ns === 0) return "0";
  const [size, name] = timeUnit(most);
  const places = Math.min(9, Math.max(0, -Math.floor(Math.log10(step / size) + 1e-9)));
  return `${(ns / size).toFixed(places)} ${name}`;
}
