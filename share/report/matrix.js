// Tiled algorithms: in which order tasks work on the tiles of a matrix, how often tiles are loaded, which are in memory
// at a moment. After figures 8, 9 and 13 of Gonthier, Marchal and Thibault.

// Dark to light for increasing values, the same for any colour vision (viridis, in steps).
const kRamp = [
  "#440154", "#472d7b", "#3b528b", "#2c728e", "#21918c", "#28ae80", "#5ec962", "#addc30", "#fde725"
].map(rgb);
function rampColour(share) {
  const at = Math.min(Math.max(share, 0), 1) * (kRamp.length - 1);
  const low = Math.min(Math.floor(at), kRamp.length - 2);
  return mixed(kRamp[low], kRamp[low + 1], at - low);
}

const kPanels = 4;  // steps that are drawn beside each other

class MatrixView {
  constructor(run, view) {
    this.run = run;
    this.view = view;
    this.matrix = 0;
    this.mode = "order";
    this.node = -1;
    this.bands = false;
    this.step = 1;
    this.at = 0.5;
    this.panels = make("div", {class: "panels"});
    this.legend = make("div", {class: "matrix-legend"});
    this.controls = make("div", {class: "toolbar"});
    this.element = make("div", {}, this.controls, this.panels, this.legend);
    theme.listeners.push(() => this.draw());
    this.tiles = this.tilesOf();
    this.makeControls();
    this.draw();
  }

  choice(label, values, chosen, act) {
    const select = make(
        "select", {onchange: () => act(select.value)},
        values.map(
            ([value, text]) =>
                make("option", {value, selected: String(value) === String(chosen)}, text)));
    return make("label", {}, `${label} `, select);
  }

  makeControls() {
    const {run} = this;
    const {matrices} = run.head;
    const nodes = [...new Set(run.workers.map((worker) => worker.node))];
    const again = (change) => {
      change();
      this.makeControls();
      this.draw();
    };
    const steps = Math.max(1, this.orders().steps);
    const slider = make("input", {
      type: "range",
      min: 0,
      max: 1000,
      value: this.at * 1000,
      "aria-label": "Moment",
      oninput: () => {
        this.at = slider.value / 1000;
        this.draw();
      }
    });
    const first = make("input", {
      type: "number",
      min: 1,
      max: steps,
      value: this.step,
      onchange: () => {
        this.step = Math.min(Math.max(1, Number(first.value) || 1), steps);
        this.draw();
      }
    });
    refill(
        this.controls,
        matrices.length > 1 ?
            this.choice(
                "Matrix", matrices.map((matrix, m) => [m, matrix.name || "(no name)"]), this.matrix,
                (value) => again(() => {
                  this.matrix = Number(value);
                  this.tiles = this.tilesOf();
                  this.ordered = null;
                })) :
            make("span", {}, `Matrix ${matrices[0].name}`),
        this.choice(
            "Show",
            [
              ["order", "order of tasks"], ["loads", "how often tiles are loaded"],
              ["first", "when tiles are loaded first"], ["there", "tiles in memory at a moment"]
            ],
            this.mode, (value) => again(() => this.mode = value)),
        this.choice(
            "on",
            [
              [-1, this.mode === "order" ? "all workers" : "each memory"],
              ...nodes.map((node) => [node, run.nodeName(node)])
            ],
            this.node, (value) => again(() => this.node = Number(value))),
        this.mode === "order" ?
            this.choice(
                "in",
                [
                  ["ramp", "one range of colours"], ["bands", "a colour for each part of the tasks"]
                ],
                this.bands ? "bands" : "ramp",
                (value) => again(() => this.bands = value === "bands")) :
            null,
        this.mode === "order" ? make("label", {}, "from step ", first, ` of ${steps}`) : null,
        this.mode === "there" ? make("label", {}, "at ", slider) : null);
  }

  // Datum by place of the matrix; -1: no tile there.
  tilesOf() {
    const {rows, columns} = this.run.head.matrices[this.matrix];
    const data = new Int32Array(rows * columns).fill(-1);
    const {matrix, row, column} = this.run.data;
    for (let d = 0; d < matrix.length; ++d) {
      if (matrix[d] === this.matrix + 1) data[row[d] * columns + column[d]] = d;
    }
    return {rows, columns, data};
  }

  // Of the tasks that write a tile: [task, place, step, rank]. The n-th that writes a tile belongs to step n. Results that
  // come home, acquisitions and other work beside the kernels are none.
  orders() {
    if (this.ordered) return this.ordered;
    const {run, tiles} = this;
    const written = new Uint32Array(tiles.data.length);
    const placeOf = new Int32Array(run.head.data).fill(-1);
    tiles.data.forEach((datum, place) => datum >= 0 && (placeOf[datum] = place));
    const found = [];
    const {starts, datum, mode} = run.accesses;
    for (let task = 0; task < run.tasks.worker.length; ++task) {
      if ((run.tasks.flags[task] & 7) !== 0) continue;
      for (let i = starts[task + 1] - 1; i >= starts[task]; --i) {
        const place = leavesContent(mode[i]) && datum[i] > 0 ? placeOf[datum[i] - 1] : -1;
        if (place < 0) continue;
        if (run.tasks.ended[task] >= 0) found.push({task, place, step: written[place], rank: 0});
        ++written[place];
        break;
      }
    }
    const order =
        sortedByMoment(Uint32Array.from(found, (_, i) => i), (i) => run.tasks.ended[found[i].task]);
    order.forEach((i, rank) => found[i].rank = rank);
    const steps = found.reduce((most, one) => Math.max(most, one.step + 1), 0);
    return this.ordered = {found, steps};
  }

  // {title, value by place or NaN, item by place} for each panel.
  contents() {
    if (this.mode === "order") return this.orderPanels();
    const {run} = this;
    const nodes = this.node >= 0 ?
        [this.node] :
        run.nodes.map((_, n) => n).filter((n) => run.links.some((link) => link.to === n));
    const make = {
      loads: (n) => this.loads(n),
      first: (n) => this.firstLoads(n),
      there: (n) => this.there(n)
    }[this.mode];
    return nodes.map((n) => ({title: run.nodeName(n), values: make(n)}))
        .filter(({values}) => this.mode === "there" || values.some((value) => value > 0))
        .slice(0, 8);
  }

  orderPanels() {
    const {run, tiles, node} = this;
    const {found, steps} = this.orders();
    const panels = [];
    for (let s = this.step - 1; s < Math.min(steps, this.step - 1 + kPanels); ++s) {
      panels.push({
        title: `step ${s + 1}`,
        step: s,
        values: new Float64Array(tiles.data.length).fill(NaN),
        tasks: new Int32Array(tiles.data.length).fill(-1)
      });
    }
    for (const {task, place, step, rank} of found) {
      const panel = panels[step - this.step + 1];
      const worker = run.tasks.worker[task] - 1;
      if (!panel || node >= 0 && (worker < 0 || run.workers[worker].node !== node)) continue;
      panel.values[place] = rank;
      panel.tasks[place] = task;
    }
    // The colours go from the first to the last task that is shown.
    const ranks =
        panels.flatMap((panel) => [...panel.values].filter((rank) => !Number.isNaN(rank)));
    this.ranks = [
      ranks.reduce((a, b) => Math.min(a, b), Infinity), ranks.reduce((a, b) => Math.max(a, b), 0)
    ];
    const span = Math.max(1, this.ranks[1] - this.ranks[0]);
    for (const panel of panels) {
      panel.ranks = panel.values;
      panel.values = panel.values.map((rank) => (rank - this.ranks[0]) / span);
    }
    return panels;
  }

  eachLoad(node, act) {
    const {run, tiles} = this;
    if (!run.copies) return;
    const rows = run.byDatum("copies");
    tiles.data.forEach((datum, place) => {
      if (datum < 0) return;
      for (const copy of rows(datum)) {
        const link = run.copies.link[copy] - 1;
        if (link >= 0 && run.links[link].to === node && run.copies.ended[copy] >= 0)
          act(place, copy);
      }
    });
  }
  emptyValues(value) {
    return Float64Array.from(this.tiles.data, (datum) => (datum < 0 ? NaN : value));
  }
  loads(node) {
    const values = this.emptyValues(0);
    this.eachLoad(node, (place) => ++values[place]);
    return values;
  }
  firstLoads(node) {
    const values = new Float64Array(this.tiles.data.length).fill(NaN);
    this.eachLoad(node, (place, copy) => {
      const share = this.run.copies.ended[copy] / this.run.end;
      if (!(values[place] <= share)) values[place] = share;
    });
    return values;
  }
  // 1 where the node holds the tile's content at the moment: a copy or a writer brought it, and neither an eviction nor
  // a writer elsewhere came since.
  there(node) {
    const {run, tiles} = this;
    const moment = this.at * run.end;
    const values = this.emptyValues(0);
    const evictions = run.evictions ? run.byDatum("evictions") : () => [];
    const uses = run.byDatum("tasks");
    const since = new Float64Array(values.length).fill(-1);
    tiles.data.forEach((datum, place) => {
      if (datum < 0) return;
      if (run.data.home[datum] - 1 === node) since[place] = 0;
      let gone = -1;
      for (const row of evictions(datum)) {
        if (run.evictions.node[row] - 1 === node && run.evictions.time[row] <= moment)
          gone = Math.max(gone, run.evictions.time[row]);
      }
      for (const use of uses(datum)) {
        if (!leavesContent(run.accesses.mode[use])) continue;
        const task = lastAtMost(run.accesses.starts, use);
        const ended = run.tasks.ended[task];
        const worker = run.tasks.worker[task] - 1;
        if (ended < 0 || ended > moment || worker < 0) continue;
        if (run.workers[worker].node === node)
          since[place] = Math.max(since[place], ended);
        else
          gone = Math.max(gone, ended);
      }
      since[place] = since[place] > gone ? since[place] : -1;
      tiles.gone ??= new Float64Array(values.length);
      tiles.gone[place] = gone;
    });
    this.eachLoad(node, (place, copy) => {
      const ended = run.copies.ended[copy];
      if (ended <= moment && ended > tiles.gone[place])
        since[place] = Math.max(since[place], ended);
    });
    since.forEach((from, place) => from >= 0 && values[place] === 0 && (values[place] = 1));
    return values;
  }

  colour(value, most) {
    if (this.mode === "loads")
      return value === 0 ? rgb(colourOf("--track")) : rampColour(1 - value / most * 0.9);
    if (this.mode === "there") return value === 0 ? rgb(colourOf("--track")) : rgb("#3b7fb6");
    if (this.mode === "order" && this.bands) {
      const band = Math.min(6, Math.floor(value * 7));
      return mixed(rgb(kKindColours[band]), rgb(colourOf("--panel")), 0.65 * (value * 7 - band));
    }
    return rampColour(value);
  }

  draw() {
    const panels = this.contents();
    const most = panels.reduce(
        (high, {values}) => values.reduce((one, value) => (value > one ? value : one), high), 1);
    const side = Math.max(
        150,
        Math.min(
            330,
            (this.panels.clientWidth || 1100) / Math.max(1, Math.min(panels.length, kPanels)) -
                20));
    const cell = Math.max(1, Math.floor(side / Math.max(this.tiles.rows, this.tiles.columns)));
    this.panels.replaceChildren(...panels.map((panel) => this.panel(panel, cell, most)));
    this.drawLegend(most);
  }

  panel(panel, cell, most) {
    const {rows, columns, data} = this.tiles;
    const canvas = make("canvas", {
      width: columns * cell,
      height: rows * cell,
      role: "img",
      "aria-label": `${panel.title}: ${this.controls.textContent}`
    });
    const context = canvas.getContext("2d");
    panel.values.forEach((value, place) => {
      if (Number.isNaN(value)) return;
      context.fillStyle = css(this.colour(value, most));
      const gap = cell > 4 ? 1 : 0;
      context.fillRect(
          place % columns * cell, Math.floor(place / columns) * cell, cell - gap, cell - gap);
    });
    if (this.mode === "order") this.drawRoom(context, cell, columns);
    const placeAt = (event) => {
      const column = Math.floor(event.offsetX / cell);
      const row = Math.floor(event.offsetY / cell);
      return column < columns && row < rows ? row * columns + column : -1;
    };
    canvas.addEventListener("pointermove", (event) => this.tip(event, panel, placeAt(event)));
    canvas.addEventListener("pointerleave", hideTip);
    canvas.addEventListener("click", (event) => {
      const place = placeAt(event);
      if (place < 0 || data[place] < 0) return;
      const isTask = panel.tasks && panel.tasks[place] >= 0;
      chooseItem(
          this.view,
          isTask ? {run: this.run, kind: "task", number: panel.tasks[place]} :
                   {run: this.run, kind: "datum", number: data[place]},
          true);
      document.getElementById("timeline").scrollIntoView();
    });
    return make("figure", {class: "panel"}, canvas, make("figcaption", {}, panel.title));
  }

  // As many tiles as fit into memory, as a square in the upper right corner.
  drawRoom(context, cell, columns) {
    const {run, tiles} = this;
    const datum = tiles.data.find((one) => one >= 0);
    const node = this.node >= 0 ? this.node : run.workers[0].node;
    const {limit} = run.nodes[node];
    this.room =
        limit === null || datum === undefined ? 0 : Math.floor(limit / run.data.bytes[datum]);
    const side = Math.sqrt(this.room);
    if (this.room === 0 || side > columns / 2) return;
    context.fillStyle = colourOf("--muted");
    context.fillRect((columns - side) * cell, 0, side * cell, side * cell);
  }

  tip(event, panel, place) {
    const datum = place < 0 ? -1 : this.tiles.data[place];
    if (datum < 0) return hideTip();
    const value = panel.values[place];
    const {run} = this;
    const texts = {
      order: () =>
          (panel.tasks[place] < 0 ? "no task" :
                                    `${run.taskName(panel.tasks[place])} on ${
                                        run.workerName(
                                            run.tasks.worker[panel.tasks[place]] -
                                            1)}, number ${count(panel.ranks[place] + 1)}`),
      loads: () => plural(value, "load"),
      first: () =>
          (Number.isNaN(value) ?
               "never loaded" :
               `first loaded at ${moment(run.ns(value * run.end), run.length(run.end))}`),
      there: () => (value > 0 ? "in memory" : "not in memory"),
    };
    const tip = document.getElementById("tip");
    tip.textContent = `${run.datumName(datum)}: ${texts[this.mode]()}`;
    tip.hidden = false;
    Object.assign(tip.style, {
      left: `${Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8)}px`,
      top: `${event.clientY + 18}px`
    });
  }

  drawLegend(most) {
    const {run} = this;
    const all = run.length(run.end);
    const bandColours = Array.from({length: 7}, (_, i) => kKindColours[i]);
    const scale = (from, to, colours) =>
        [from,
         make(
             "span",
             {class: "scale", style: {background: `linear-gradient(to right, ${colours.join()})`}}),
         to];
    const ramp = kRamp.map(css);
    const texts = {
      order: () => (
          this.bands ?
              [
                "each seventh of these tasks has its colour, and becomes paler: ",
                bandColours.map((colour) => make("span", {class: "swatch", style: {color: colour}}))
              ] :
              scale(
                  `task ${count(this.ranks[0] + 1)} in the order of their ends `,
                  ` task ${count(this.ranks[1] + 1)}`, ramp)),
      loads: () => scale("1 load ", ` ${plural(most, "load")}`, ramp.toReversed()),
      first: () => scale("0 ", ` ${duration(all)}`, ramp),
      there: () => [`at ${moment(run.ns(this.at * run.end), all)}`],
    };
    this.legend.replaceChildren(...texts[this.mode]().flat());
    if (this.mode === "order" && this.room > 0)
      this.legend.append(
          `; the grey square has the area of the ${count(this.room)} tiles that fit into memory`);
  }
}
