// Reads the sections: tables of numbers, column by column. src/reports/page/columns.hpp says how they are written.

const head = JSON.parse(document.getElementById("head").textContent);

async function unpack(text) {
  let bytes;
  if (Uint8Array.fromBase64) {
    bytes = Uint8Array.fromBase64(text);
  } else {
    const raw = atob(text);
    bytes = new Uint8Array(raw.length);
    for (let i = 0; i < raw.length; ++i) bytes[i] = raw.charCodeAt(i);
  }
  if (head.packing === "plain") return bytes;
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

// A number of up to 53 bits.
class Numbers {
  constructor(bytes, at) {
    this.bytes = bytes;
    this.at = at;
  }
  next() {
    const bytes = this.bytes;
    let byte = bytes[this.at++];
    if (byte < 0x80) return byte;
    let value = byte & 0x7f;
    let shift = 7;
    do {
      byte = bytes[this.at++];
      value = shift < 28 ? value | (byte & 0x7f) << shift : value + (byte & 0x7f) * 2 ** shift;
      shift += 7;
    } while (byte >= 0x80);
    return value;
  }
  nextSigned() {
    const value = this.next();
    return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
  }
}

// In 32 bits where they all have room there.
function fill(count, next) {
  const values = new Int32Array(count);
  for (let i = 0; i < count; ++i) {
    const value = next();
    if (value > 0x7fffffff || value < -0x80000000) return fillWide(values, i, value, next);
    values[i] = value;
  }
  return values;
}
function fillWide(narrow, from, value, next) {
  const values = Float64Array.from(narrow);
  values[from] = value;
  for (let i = from + 1; i < values.length; ++i) values[i] = next();
  return values;
}

const kReaders = {
  plain(numbers, count) { return fill(count, () => numbers.next()); },
  deltas(numbers, count) {
    let last = 0;
    return fill(count, () => last += numbers.nextSigned());
  },
  // -1: not known. `last` is what is known of each row so far.
  moments(numbers, count, last) {
    const values = new Int32Array(count);
    let before = 0;
    for (let i = 0; i < count; ++i) {
      if (numbers.bytes[numbers.at] === 0) {
        ++numbers.at;
        values[i] = -1;
        continue;
      }
      const value = numbers.next() - 1;
      const step = value % 2 === 0 ? value / 2 : -(value + 1) / 2;
      values[i] = before = last[i] = (last[i] >= 0 ? last[i] : before) + step;
    }
    return values;
  },
};

// A moment for the browser to draw and to listen.
const pause = () => new Promise((resolve) => setTimeout(resolve));

// The columns of a section by their names, or null if the page has none of that name. Read once.
async function readSection(run, name) {
  const columns = head.runs[run].columns[name];
  const element = document.querySelector(`script[data-run="${run}"][data-section="${name}"]`);
  if (!columns || !element) return null;
  const bytes = await unpack(element.textContent);
  element.remove();
  const table = {};
  const chains = [];
  let since = performance.now();
  for (const column of columns) {
    if (column.kind === "bytes") {
      table[column.name] = bytes.subarray(column.at, column.at + column.bytes);
      continue;
    }
    if (column.kind === "moments") chains[column.chain] ??= new Int32Array(column.count).fill(-1);
    table[column.name] =
        kReaders[column.kind](new Numbers(bytes, column.at), column.count, chains[column.chain]);
    if (performance.now() - since > 30) {
      await pause();
      since = performance.now();
    }
  }
  return table;
}

// Texts of a column that was written with their lengths; made when they are asked for.
class Texts {
  constructor(bytes, lengths) {
    this.bytes = bytes;
    this.starts = new Uint32Array(lengths.length + 1);
    for (let i = 0; i < lengths.length; ++i) this.starts[i + 1] = this.starts[i] + lengths[i];
    this.decoder = new TextDecoder();
  }
  get length() { return this.starts.length - 1; }
  at(i) { return this.decoder.decode(this.bytes.subarray(this.starts[i], this.starts[i + 1])); }
  // Numbers of the texts that hold the word: first texts equal to the word, then texts that begin with the word.
  find(word, most) {
    const sought = new TextEncoder().encode(word);
    const found = [[], [], []];
    const {bytes, starts} = this;
    if (sought.length === 0) return [];
    let text = 0;
    for (let at = bytes.indexOf(sought[0]); at >= 0; at = bytes.indexOf(sought[0], at + 1)) {
      let k = 1;
      while (k < sought.length && bytes[at + k] === sought[k]) ++k;
      if (k < sought.length) continue;
      if (at >= starts[text + 1]) text = lastAtMost(starts, at);
      if (at + k > starts[text + 1]) continue;
      const begins = at === starts[text];
      const rank = begins && at + k === starts[text + 1] ? 0 : begins ? 1 : 2;
      if (found[rank].length < most && found[rank].at(-1) !== text) found[rank].push(text);
      if (found[0].length >= most) break;
    }
    return [...new Set(found.flat())].slice(0, most);
  }
}

// The last place of the sorted numbers whose value is at most that; -1: there is none.
function lastAtMost(numbers, value) {
  let low = 0;
  let high = numbers.length;
  while (low < high) {
    const middle = low + high >> 1;
    if (numbers[middle] <= value)
      low = middle + 1;
    else
      high = middle;
  }
  return low - 1;
}
