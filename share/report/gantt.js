// The Gantt chart of a run: a row for each worker and each link.

const kAxisHeight = 24;
const kMarksHeight = 16;  // the row of the application's marks and regions
const kGroupGap = 10;
const gutterWidth = () => (innerWidth < 700 ? 76 : 128);
const kRightMargin = 24;

class Gantt {
  constructor(run, view, parent) {
    this.run = run;
    this.view = view;
    this.cursor = null;  // {lane, place}: where the keyboard is
    this.canvas = make("canvas", {
      class: "gantt",
      tabindex: 0,
      role: "application",
      "aria-roledescription": "Gantt chart",
      "aria-label": `What each worker and each link did, ${
          run.name}. Arrow keys go from item to item, Enter explains, plus and minus zoom.`,
    });
    parent.append(this.canvas);
    this.layOut();
    new ResizeObserver(() => this.layOut()).observe(this.canvas);
    view.moved.push(() => this.draw());
    view.marked.push(() => this.draw());
    theme.listeners.push(() => this.draw());
    listenToPointer(this);
    listenToKeys(this);
  }

  layOut() {
    const lanes = this.run.lanes;
    const high = Math.min(26, Math.max(9, Math.floor(440 / Math.max(lanes.length, 1))));
    let top = kAxisHeight + 2 + (this.run.head.marks.length > 0 ? kMarksHeight : 0);
    this.tops = lanes.map((lane, i) => {
      if (i > 0 && lane.kind !== lanes[i - 1].kind) top += kGroupGap;
      const here = top;
      top += high;
      return here;
    });
    this.laneHeight = high;
    this.height = top + 6;
    this.canvas.style.height = `${this.height}px`;
    this.gutter = gutterWidth();
    this.width = this.canvas.clientWidth;
    this.plot = Math.max(10, this.width - this.gutter - kRightMargin);
    const ratio = devicePixelRatio || 1;
    this.ratio = ratio;
    this.canvas.width = Math.round(this.width * ratio);
    this.canvas.height = Math.round(this.height * ratio);
    this.image = null;
    this.draw();
  }

  x(ns) { return this.gutter + (ns - this.view.from) / this.view.length * this.plot; }
  ns(x) { return this.view.from + (x - this.gutter) / this.plot * this.view.length; }

  draw() {
    if (this.drawing || this.width === 0) return;
    this.drawing = true;
    requestAnimationFrame(() => {
      this.drawing = false;
      this.drawNow();
    });
  }

  drawNow() {
    const context = this.canvas.getContext("2d");
    const {ratio} = this;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, this.width, this.height);
    context.font = `12px ${getComputedStyle(document.body).fontFamily}`;
    this.drawFrame(context);
    this.drawLanes(context);
    this.drawPath(context);
    this.drawSelection(context);
    this.drawCursor(context);
    if (this.canvas.dataset.drawn !== "yes") {
      this.canvas.dataset.drawn = "yes";
      performance.mark("first-chart");
    }
  }

  drawFrame(context) {
    const {view, run} = this;
    context.fillStyle = colourOf("--muted");
    context.strokeStyle = colourOf("--line");
    context.textBaseline = "middle";
    context.textAlign = "center";
    const {step, marks} = axisMarks(view.from, view.to, this.plot, 110);
    const most = Math.max(Math.abs(view.from), Math.abs(view.to));
    for (const mark of marks) {
      const x = Math.round(this.x(mark)) + 0.5;
      context.beginPath();
      context.moveTo(x, kAxisHeight - 5);
      context.lineTo(x, this.height - 4);
      context.stroke();
      context.fillText(markText(mark, step, most), Math.min(x, this.width - 26), 9);
    }
    this.drawMarks(context);
    context.textAlign = "right";
    let last = -99;
    run.lanes.forEach((lane, i) => {
      const middle = this.tops[i] + this.laneHeight / 2;
      context.fillStyle = colourOf("--track");
      context.fillRect(this.gutter, this.tops[i] + 1, this.plot, this.laneHeight - 2);
      if (middle - last < 13) return;
      last = middle;
      context.fillStyle = colourOf(this.cursor && this.cursor.lane === i ? "--ink" : "--muted");
      context.fillText(fitted(context, lane.label, this.gutter - 14), this.gutter - 8, middle);
    });
  }

  // What the application has named: moments as lines, regions as bars.
  drawMarks(context) {
    const {run} = this;
    context.save();
    context.beginPath();
    context.rect(this.gutter, 0, this.plot, this.height);
    context.clip();
    context.textAlign = "left";
    let free = 0;  // texts do not overlap
    for (const [text, from, to] of run.head.marks) {
      const x = this.x(run.ns(from));
      const right = to < 0 ? x : this.x(run.ns(to));
      if (right < this.gutter || x > this.gutter + this.plot) continue;
      context.fillStyle = colourOf("--accent");
      context.globalAlpha = 0.3;
      if (to >= 0) context.fillRect(x, kAxisHeight, right - x, kMarksHeight - 2);
      context.globalAlpha = 1;
      context.fillRect(x, kAxisHeight, 1, to < 0 ? this.height : kMarksHeight - 2);
      const at = Math.max(x, this.gutter) + 4;
      if (at < free) continue;
      context.fillStyle = colourOf("--ink");
      const shown = fitted(context, text, to < 0 ? 160 : Math.max(right - at - 4, 0));
      context.fillText(shown, at, kAxisHeight + kMarksHeight / 2);
      if (shown !== "") free = at + context.measureText(shown).width + 8;
    }
    context.restore();
  }

  isPale(lane) {
    const {emphasis, path} = this.view;
    const shown = path === this.run && this.run.path ? this.run.path : emphasis;
    if (!shown || shown.run !== this.run) return null;
    return lane.kind === "worker" ? shown.tasks : shown.copies;
  }

  drawLanes(context) {
    const {run, view, ratio} = this;
    const width = Math.round(this.plot * ratio);
    if (!this.image) this.image = new PixelImage(width, this.canvas.height);
    this.image.data.fill(0);
    const from = run.ticks(view.from);
    const to = run.ticks(view.to);
    const rectangles = [];
    run.lanes.forEach((lane, i) => {
      const top = Math.round((this.tops[i] + 1) * ratio);
      const height = Math.round((this.laneHeight - 2) * ratio);
      const ink = this.inksOf(lane);
      const coverage = this.coverageOf(width, 2 * lane.colours.length);
      const pale = this.isPale(lane);
      const many = lane.items && lane.items.number.length > 20000;
      if (!lane.items || many && !pale && to - from > run.end / 2) {
        coverOverview(lane, coverage, from, to, run.end);
        coverage.draw(this.image, top, height, ink.pixels, 1);
        return;
      }
      const high = height / lane.rows;
      coverItems(lane, coverage, from, to, pale, (x, end, row, kind) => {
        const gap = end - x > 5 * ratio ? 1 : 0;
        rectangles.push(
            ink.css[kind], this.gutter + x / ratio, (top + row * high) / ratio,
            Math.max(end - x - gap, 1) / ratio,
            Math.max(high - (lane.rows > 1 ? 1 : 0), 1) / ratio);
      });
      coverage.draw(this.image, top, height, ink.pixels, lane.rows);
      if (!pale) this.addGaps(lane, i, from, to, rectangles);
    });
    context.drawImage(this.image.shown(), this.gutter, 0, this.plot, this.height);
    context.save();
    context.beginPath();
    context.rect(this.gutter, 0, this.plot, this.height);
    context.clip();
    for (let i = 0; i < rectangles.length; i += 5) {
      context.fillStyle = rectangles[i];
      context.fillRect(rectangles[i + 1], rectangles[i + 2], rectangles[i + 3], rectangles[i + 4]);
    }
    context.restore();
    this.drawNames(context, from, to);
  }

  // Why the worker was idle, as a line at the foot of its row.
  addGaps(lane, i, from, to, rectangles) {
    if (!lane.gaps) return;
    const scale = this.plot / (to - from);
    const {begin, end, cause} = lane.gaps;
    const high = Math.max(2, Math.round(this.laneHeight / 7));
    for (let k = firstEndingAfter(end, from); k < begin.length && begin[k] < to; ++k) {
      const x = Math.max((begin[k] - from) * scale, 0);
      const width = Math.min((end[k] - from) * scale, this.plot) - x;
      if (width < 2) continue;
      rectangles.push(
          kIdleColours[cause[k]], this.gutter + x, this.tops[i] + this.laneHeight - 1 - high, width,
          high);
    }
  }

  // Of the items that are wide enough.
  drawNames(context, from, to) {
    const {run} = this;
    if (this.laneHeight < 14) return;
    context.textAlign = "left";
    context.fillStyle = "#10151a";
    run.lanes.forEach((lane, i) => {
      if (!lane.items || lane.rows > 1 || this.isPale(lane)) return;
      const {items} = lane;
      const scale = this.plot / (to - from);
      let first = firstAfter(items, from);
      const last = Math.min(items.number.length, first + 400);
      for (; first < last && items.begin[first] < to; ++first) {
        const x = Math.max((items.begin[first] - from) * scale, 0);
        const room = Math.min((items.end[first] - from) * scale, this.plot) - x - 8;
        if (room < 30) continue;
        const name = lane.kind === "worker" ?
            run.taskName(items.number[first]) :
            run.datumName(run.copies.datum[items.number[first]] - 1);
        context.fillText(
            fitted(context, name, room), this.gutter + x + 4,
            this.tops[i] + this.laneHeight / 2 + 0.5);
      }
    });
  }

  inksOf(lane) {
    const key = `${lane.kind}${theme.isDark()}`;
    this.inks ??= {};
    return this.inks[key] ??= inks(lane.colours);
  }
  coverageOf(width, kinds) {
    this.coverages ??= {};
    const one = this.coverages[kinds];
    if (one && one.width === width) {
      one.clear();
      return one;
    }
    return this.coverages[kinds] = new Coverage(width, kinds);
  }

  // Where an item is drawn; null: nowhere.
  boxOf(item) {
    if (item.kind === "gap") {
      const {begin, end} = item.lane.gaps;
      const [from, to] = [this.run.ns(begin[item.number]), this.run.ns(end[item.number])];
      return {
        from,
        to,
        x: this.x(from),
        width: this.x(to) - this.x(from),
        top: this.tops[this.run.lanes.indexOf(item.lane)]
      };
    }
    const lane = laneOfItem(this.run, item);
    const table = item.kind === "task" ? this.run.tasks : this.run.copies;
    if (!lane || !table || table.started[item.number] < 0) return null;
    const begin = item.kind === "task" ? this.run.begins[item.number] : table.started[item.number];
    const from = this.run.ns(begin);
    const to = this.run.ns(table.ended[item.number] < 0 ? this.run.end : table.ended[item.number]);
    const x = this.x(from);
    return {
      from,
      to,
      x,
      width: Math.max(this.x(to) - x, 2),
      top: this.tops[this.run.lanes.indexOf(lane)]
    };
  }

  outline(context, item, colour, width) {
    const box = this.boxOf(item);
    if (!box || box.x > this.width || box.x + box.width < this.gutter) return null;
    const left = Math.max(box.x, this.gutter);
    const right = Math.min(box.x + box.width, this.gutter + this.plot);
    context.strokeStyle = colour;
    context.lineWidth = width;
    context.strokeRect(left - 1, box.top, right - left + 2, this.laneHeight);
    context.lineWidth = 1;
    return box;
  }

  // From the end of each step of the critical path to the beginning of the next, where these can be told apart.
  drawPath(context) {
    const {run, view} = this;
    if (view.path !== run || !run.path) return;
    const boxes = this.boxesOfPath(run.path);
    if (boxes === null) return;
    context.save();
    context.beginPath();
    context.rect(this.gutter - 1, 0, this.plot + 2, this.height);
    context.clip();
    context.strokeStyle = colourOf("--ink");
    context.lineWidth = 1.2;
    context.beginPath();
    let last = null;
    for (const box of boxes) {
      const middle = box.top + this.laneHeight / 2;
      if (last && box.x + box.width >= this.gutter && last.x <= this.gutter + this.plot) {
        context.moveTo(Math.max(last.x + last.width, this.gutter), last.middle);
        context.lineTo(Math.max(box.x, this.gutter), middle);
      }
      last = {x: box.x, width: box.width, middle};
    }
    context.stroke();
    context.restore();
  }

  // Of the steps that are seen, and the next to them; null: there are too many.
  boxesOfPath({items, from}) {
    const first = Math.max(0, lastAtMost(from, this.run.ticks(this.view.from)) - 1);
    const last = lastAtMost(from, this.run.ticks(this.view.to)) + 2;
    if (last - first > this.plot / 4) return null;
    return items.slice(first, last).map((item) => this.boxOf(item)).filter(Boolean);
  }

  drawSelection(context) {
    const {selected} = this.view;
    if (!selected || selected.run !== this.run || selected.kind === "datum") return;
    const box = this.outline(context, selected, colourOf("--ink"), 2);
    for (const item of selected.related ?? []) {
      const other = this.outline(context, item, colourOf("--ink"), 1);
      if (!box || !other) continue;
      context.setLineDash([3, 3]);
      context.beginPath();
      context.moveTo(Math.max(other.x + other.width, this.gutter), other.top + this.laneHeight / 2);
      context.lineTo(Math.max(box.x, this.gutter), box.top + this.laneHeight / 2);
      context.stroke();
      context.setLineDash([]);
    }
  }

  drawCursor(context) {
    const item = this.cursorItem();
    if (item && document.activeElement === this.canvas) {
      this.outline(context, item, colourOf("--accent"), 2);
    }
  }
  cursorItem() {
    if (!this.cursor) return null;
    const lane = this.run.lanes[this.cursor.lane];
    if (!lane || !lane.items || lane.items.number.length === 0) return null;
    return itemOf(this.run, lane, this.cursor.place);
  }

  laneAt(y) { return this.tops.findIndex((top) => y >= top && y < top + this.laneHeight); }
  // What is drawn there, or next to it.
  itemAt(x, y) {
    const number = this.laneAt(y);
    if (number < 0 || x < this.gutter || x > this.gutter + this.plot) return null;
    const lane = this.run.lanes[number];
    if (!lane.items) return null;
    const {items} = lane;
    const at = this.run.ticks(this.ns(x));
    const near = 3 / this.plot * this.view.length / this.run.unit;
    const row =
        Math.min(lane.rows - 1, Math.floor((y - this.tops[number]) / this.laneHeight * lane.rows));
    let best = -1;
    let least = near;
    for (let i = firstAfter(items, at - near);
         i < items.number.length && items.begin[i] <= at + near; ++i) {
      const distance = Math.max(items.begin[i] - at, at - items.end[i], 0) +
          (items.row[i] === row ? 0 : near / 2);
      if (distance < least) {
        best = i;
        least = distance;
      }
    }
    return best < 0 ? gapAt(this.run, lane, at) : itemOf(this.run, lane, best);
  }
}

function itemOf(run, lane, place) {
  return {run, kind: lane.kind === "worker" ? "task" : "copy", number: lane.items.number[place]};
}

function gapAt(run, lane, ticks) {
  if (!lane.gaps) return null;
  const place = firstEndingAfter(lane.gaps.end, ticks);
  return place < lane.gaps.begin.length && lane.gaps.begin[place] <= ticks ?
      {run, kind: "gap", number: place, lane} :
      null;
}

// As much of the text as there is room for.
function fitted(context, text, room) {
  if (text.length * 12 < room || context.measureText(text).width <= room) return text;
  let length = text.length;
  while (length > 1 && context.measureText(`${text.slice(0, length)}…`).width > room) --length;
  return length > 1 ? `${text.slice(0, length)}…` : "";
}
