// Lines over time, drawn by uPlot. They show the same time as the Gantt charts, and stand below them.

const kChartHeight = 150;

// One chart: {title, note, series: [{label, colour, dash, fill, steps, width}], data: [x, y, ...], format, highest}.
class TimeChart {
  constructor(spec, view, parent) {
    this.spec = spec;
    this.view = view;
    this.values = spec.series.map(() => make("span", {class: "value"}));
    const legend = make(
        "ul", {class: "legend"},
        spec.series.map(
            (series, i) => make(
                "li", {}, make("span", {
                  class: `swatch${series.dash ? " dashed" : ""}`,
                  style: {color: series.colour}
                }),
                `${series.label} `, this.values[i])));
    this.place = make(
        "div", {class: "plot", role: "img", "aria-label": `${spec.title}. ${spec.summary ?? ""}`});
    parent.append(make(
        "figure", {class: "chart"},
        make(
            "figcaption", {}, make("strong", {}, spec.title),
            spec.note ? make("span", {class: "muted"}, ` ${spec.note}`) : null, legend),
        this.place));
    this.build();
    view.moved.push(() => this.follow());
    theme.listeners.push(() => this.build());
    new ResizeObserver(() => this.resize()).observe(this.place);
  }

  get width() { return Math.max(this.place.clientWidth, 120); }

  build() {
    if (this.plot) this.plot.destroy();
    const {spec, view} = this;
    const ink = colourOf("--muted");
    const grid = {stroke: colourOf("--line"), width: 1};
    const font = `11px ${getComputedStyle(document.body).fontFamily}`;
    this.plot =
        new uPlot(
            {
              width: this.width,
              height: kChartHeight,
              padding: [8, kRightMargin, 0, 0],
              legend: {show: false},
              cursor: {
                drag: {x: true, y: false, setScale: false},
                sync: {key: "time"},
                points: {show: false}
              },
              scales: {
                x: {
                  time: false,
                  min: view.from,
                  max: view.to,
                  range: (_, low, high) => [low, high]
                },
                y: {range: () => [0, spec.highest()]}
              },
              axes:
                  [
                    {
                      stroke: ink,
                      grid,
                      ticks: grid,
                      font,
                      size: 26,
                      space: 110,
                      values: (_, marks) => marks.map(
                          (mark) => markText(
                              mark, marks.length > 1 ? marks[1] - marks[0] : view.length,
                              Math.max(Math.abs(view.from), Math.abs(view.to))))
                    },
                    {
                      stroke: ink,
                      grid,
                      ticks: grid,
                      font,
                      size: gutterWidth(),
                      space: 34,
                      incrs: spec.format === bytesText ? kByteSteps : undefined,
                      values: (_, marks) => marks.map(spec.format)
                    },
                  ],
              series: [
                {}, ...spec.series.map((series) => ({
                                         stroke: series.colour,
                                         width: series.width ?? 1.4,
                                         dash: series.dash,
                                         fill: series.fill,
                                         points: {show: false},
                                         paths: series.steps === false ?
                                             undefined :
                                             uPlot
                                                 .paths
                                                 .stepped({align: 1}),
                                       }))
              ],
              hooks:
                  {
                    setSelect: [(plot) => {
                      const {left, width} = plot.select;
                      if (width < 4) return;
                      plot.setSelect({left: 0, width: 0, top: 0, height: 0}, false);
                      view.show(plot.posToVal(left, "x"), plot.posToVal(left + width, "x"));
                    }],
                    setCursor: [(plot) => this.showValues(plot.cursor.idx)],
                  },
            },
            spec.data(), this.place);
    this.plot.root.ariaHidden = "true";  // the place around it has a name
    this.plot.over.addEventListener("dblclick", () => view.all());
  }

  showValues(index) {
    this.spec.series.forEach((series, i) => {
      const value = index === null || index === undefined ?
          null :
          (series.value ?? this.plot.data[i + 1])[index];
      this.values[i].textContent =
          value === null || value === undefined ? "" : this.spec.format(value);
    });
  }

  follow() {
    if (this.spec.detail) this.plot.setData(this.spec.detail(), false);
    this.plot.setScale("x", {min: this.view.from, max: this.view.to});
  }

  resize() {
    if (this.plot && this.plot.width !== this.width)
      this.plot.setSize({width: this.width, height: kChartHeight});
  }
}

// --- what is drawn

const kByteSteps = Array.from({length: 52}, (_, i) => 2 ** i);

// Lines of their own moments on the moments of all: each holds its value until its next.
function onOneAxis(lines) {
  const all = Float64Array.from(new Set(lines.flatMap((line) => Array.from(line.x)))).sort();
  return [
    Array.from(all), ...lines.map((line) => {
      const values = new Array(all.length);
      for (let i = 0, at = -1; i < all.length; ++i) {
        while (at + 1 < line.x.length && line.x[at + 1] <= all[i]) ++at;
        values[i] = at < 0 ? (line.before ?? null) : line.y[at];
      }
      return values;
    })
  ];
}

function lineOf(run, name) {
  const x = Float64Array.from(run.series[`${name}.time`], (ticks) => run.ns(ticks));
  const y = run.series[`${name}.value`];
  const last = y.length > 0 ? y[y.length - 1] : 0;
  return {x: Float64Array.from([run.ns(0), ...x, run.ns(run.end)]), y: [0, ...y, last], before: 0};
}

const highestOf = (columns) => {
  let highest = 0;
  for (const column of columns)
    for (const value of column)
      if (value > highest) highest = value;
  return highest;
};

// Of one run the nodes of equal limits are lines of one chart; of two, each node has its own.
function memoryGroups(runs) {
  const groups = new Map();
  for (const run of runs) {
    run.nodes.forEach((node, n) => {
      if (!run.series[`memory${n}.time`]) return;
      const key = runs.length > 1 ? node.name : `${node.limit}`;
      groups.set(key, [...(groups.get(key) ?? []), [run, n]]);
    });
  }
  return [...groups.values()];
}

function memoryCharts(runs) {
  return memoryGroups(runs).map((ones) => {
    const data = onOneAxis(ones.map(([run, n]) => lineOf(run, `memory${n}`)));
    const limits = ones.map(([run, n]) => run.nodes[n].limit);
    const names = [...new Set(ones.map(([run, n]) => run.nodeName(n)))];
    const series =
        ones.map(([run, n], i) => ({
                   label: runs.length > 1 ? run.name : run.nodeName(n),
                   colour: ones.length > 2 ? kKindColours[i % kKindColours.length] : kRunColours[i],
                   fill: ones.length > 1 ? undefined : `${kRunColours[0]}33`
                 }));
    const peak = highestOf(data.slice(1));
    limits.forEach((limit, i) => {
      // Of a limit that is far away the line would leave no room for what is in use.
      if (limit === null || limits.indexOf(limit) < i || limit > 10 * peak) return;
      data.push(data[0].map(() => limit));
      series.push({label: "limit", colour: "#d1622b", dash: [6, 4], width: 1.2});
    });
    const highest =
        Math.max(
            peak, ...limits.map((limit) => (limit === null || limit > 10 * peak ? 0 : limit))) *
            1.08 ||
        1;
    return {
      title: `Memory of ${names.length > 4 ? plural(names.length, "node") : names.join(", ")}`,
      note: (limits[0] === null ? "no limit" : `limit ${bytesText(limits[0])}`) +
          (runs.some((run) => run.head.rank_rows.length > 0) ? ", of the fullest" : ""),
      summary: `Peak ${bytesText(peak)}.`,
      series,
      data: () => data,
      format: bytesText,
      highest: () => highest
    };
  });
}

function readyChart(runs) {
  const data = onOneAxis(runs.map((run) => lineOf(run, "ready")));
  const highest = highestOf(data.slice(1));
  return {
    title: "Ready tasks",
    note: "that have not begun",
    summary: `At most ${count(highest)}.`,
    data: () => data,
    highest: () => highest * 1.08 || 1,
    format: (value) => count(Math.round(value * 10) / 10),
    series: runs.map((run, i) => ({
                       label: runs.length > 1 ? run.name : "tasks",
                       colour: kRunColours[i],
                       fill: runs.length > 1 ? undefined : `${kRunColours[0]}33`
                     }))
  };
}

const kBinsSeen = 240;

// Means over so many parts of what is seen, of columns that are means over equal parts of the run.
function meansIn(run, view, columns) {
  const all = columns[0].length;
  const perBin = all / run.length(run.end);
  const bin = view.length / kBinsSeen;
  const x = Array.from({length: kBinsSeen + 1}, (_, i) => view.from + i * bin);
  return [
    x, ...columns.map((column) => x.map((ns) => {
      const first = Math.max(0, (ns + run.offset) * perBin);
      const last = Math.min(all, (ns + bin + run.offset) * perBin);
      let sum = 0;
      for (let at = Math.floor(first); at < last; ++at) {
        sum += column[at] * (Math.min(last, at + 1) - Math.max(first, at));
      }
      return last > first ? sum / (bin * perBin) : 0;
    }))
  ];
}

// Of a small part of the run: from the copies themselves.
function linkRatesIn(run, view) {
  const bin = view.length / kBinsSeen;
  const sums = run.links.map(() => new Float64Array(kBinsSeen + 1));
  const [from, to] = [run.ticks(view.from), run.ticks(view.to)];
  for (const lane of run.lanes) {
    if (lane.kind !== "link") continue;
    const {items} = lane;
    for (let i = firstAfter(items, from); i < items.number.length && items.begin[i] < to; ++i) {
      const begin = (run.ns(items.begin[i]) - view.from) / bin;
      const end = Math.max((run.ns(items.end[i]) - view.from) / bin, begin + 1e-9);
      const perBin = run.copyBytes(items.number[i]) / (end - begin);
      for (let at = Math.max(0, Math.floor(begin)); at < Math.min(end, kBinsSeen); ++at) {
        sums[lane.index][at] += perBin * (Math.min(end, at + 1) - Math.max(begin, at));
      }
    }
  }
  return [
    Array.from({length: kBinsSeen + 1}, (_, i) => view.from + i * bin),
    ...sums.map((sum) => Array.from(sum, (bytes) => bytes / bin * 1e9))
  ];
}

function linkCharts(runs, view) {
  const shown = [];
  return runs.filter((run) => run.links.length > 0 && run.head.rank_rows.length === 0)
      .map((run, r) => {
        const bin = run.length(run.end) / kOverviewBins;
        const rates = run.links.map(
            (_, l) => Array.from(run.series[`link${l}`], (bytes) => bytes / bin * 1e9));
        const seen = () => {
          const fine = run.copies && run.data && view.length < run.length(run.end) / 6;
          const data = fine ? linkRatesIn(run, view) : meansIn(run, view, rates);
          shown[r] = highestOf(data.slice(1));
          return data;
        };
        return {
          title: runs.length > 1 ? `Links of ${run.name}` : "Links",
          note: "bytes per second, means",
          data: seen,
          detail: seen,
          highest: () => Math.max(...shown) * 1.08 || 1,
          format: rateText,
          series: run.links.map(
              (_, l) => ({label: run.linkName(l), colour: kKindColours[l % kKindColours.length]}))
        };
      });
}

// Workers that stand still, stacked by cause: the sums are drawn from the highest, each paints over the one before.
function idleCharts(runs, view) {
  const highest = Math.max(...runs.map((run) => run.workers.length));
  return runs
      .map((run) => {
        const causes = run.idleCauses.filter(({time}) => time > 0);
        const bin = run.length(run.end) / run.idle.cause0.length;
        const workers =
            causes.map(({c}) => Array.from(run.idle[`cause${c}`], (time) => time / bin));
        const series =
            causes
                .map(
                    ({name, c}) =>
                        ({label: name, colour: kIdleColours[c], fill: kIdleColours[c], width: 0}))
                .toReversed();
        const seen = () => {
          const [x, ...own] = meansIn(run, view, workers);
          const sums = [];
          own.forEach(
              (values, i) =>
                  sums.push(i === 0 ? values : values.map((value, k) => value + sums[i - 1][k])));
          series.forEach((one, i) => one.value = own[own.length - 1 - i]);
          return [x, ...sums.toReversed()];
        };
        return {
          title: runs.length > 1 ? `Idle workers of ${run.name}` : "Idle workers",
          note: `of ${run.workers.length}, by cause`,
          data: seen,
          detail: seen,
          highest: () => highest,
          format: (value) => digits(value, 3),
          series
        };
      })
      .filter((spec) => spec.series.length > 0);
}

function makeTimeCharts(runs, view, parent) {
  const specs = [
    ...memoryCharts(runs), ...linkCharts(runs, view), readyChart(runs), ...idleCharts(runs, view)
  ];
  return specs.map((spec) => new TimeChart(spec, view, parent));
}
