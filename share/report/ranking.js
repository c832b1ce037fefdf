// A report of several policies, and bounds alone: what there is without a recording.

function factsList(facts) {
  return make(
      "dl", {class: "facts"},
      Object.entries(facts).map(
          ([name, value]) => [make("dt", {}, name), make("dd", {}, factText(name, value))]));
}

// A value as a bar, with a line where its bound is.
function boundBar(value, bound, most, text) {
  return make(
      "span", {class: "bar-cell"},
      make(
          "span", {
            class: "bar-track",
            role: "img",
            "aria-label":
                `${text}${bound > 0 ? `, ${(value / bound).toFixed(2)} times its bound` : ""}`
          },
          make(
              "span",
              {class: "bar-part", style: {width: `${100 * value / most}%`, background: "#3b7fb6"}}),
          bound > 0 ? make("span", {class: "bar-bound", style: {left: `${100 * bound / most}%`}}) :
                      null));
}

function rankingTable(runs) {
  const most = (name) => Math.max(1e-300, ...runs.map((run) => run[name] ?? 0));
  const [seconds, bytes] = [most("seconds"), most("bytes_in")];
  const ratio = (value) => (value ? `${value.toFixed(2)}×` : "–");
  return makeTable(
      "Runs by policy",
      [
        {name: "policy", value: (run) => run.policy},
        {
          name: "time",
          value: (run) => run.seconds,
          text: (run) => duration(run.seconds * 1e9),
          numeric: true
        },
        {
          name: "beside its bound",
          value: (run) => run.seconds,
          element: (run) =>
              boundBar(run.seconds, run.bound_seconds, seconds, duration(run.seconds * 1e9))
        },
        {
          name: "times",
          title: "times its bound",
          value: (run) => run.seconds_ratio ?? 0,
          text: (run) => ratio(run.seconds_ratio),
          numeric: true
        },
        {
          name: "loaded",
          value: (run) => run.bytes_in,
          text: (run) => bytesText(run.bytes_in),
          numeric: true
        },
        {
          name: "beside its bound",
          value: (run) => run.bytes_in,
          element: (run) => boundBar(run.bytes_in, run.bound_bytes, bytes, bytesText(run.bytes_in))
        },
        {
          name: "times",
          title: "times its bound",
          value: (run) => run.bytes_ratio ?? 0,
          text: (run) => ratio(run.bytes_ratio),
          numeric: true
        },
        {
          name: "written back",
          value: (run) => run.bytes_out,
          text: (run) => bytesText(run.bytes_out),
          numeric: true
        },
        {
          name: "idle",
          value: (run) => idleShare(run),
          text: (run) => percent(idleShare(run)),
          numeric: true
        },
        ...(runs.some((run) => run.gflops > 0) ? [{
          name: "GFlop/s",
          value: (run) => run.gflops,
          text: (run) => digits(run.gflops),
          numeric: true
        }] :
                                                 []),
        ...(runs.some((run) => run.verified !== null) ? [{
          name: "check",
          value: (run) => String(run.verified),
          text: (run) =>
              (run.verified === null ? "–" :
                   run.verified      ? "passed" :
                                       "failed")
        }] :
                                                        []),
      ],
      runs, {sort: 1, descending: false, most: 40});
}

const idleShare = (run) =>
    (run.workers > 0 && run.seconds > 0 ? run.idle_seconds / (run.workers * run.seconds) : 0);

// Time over bytes loaded, a point per policy: the nearer to the lower left corner, the better.
function policyChart(runs, parent) {
  const ones = runs.filter((run) => run.bytes_in > 0).toSorted((a, b) => a.bytes_in - b.bytes_in);
  if (ones.length < 2) return;
  const place = make("div", {
    class: "plot",
    role: "img",
    "aria-label": `Time over bytes loaded of ${plural(ones.length, "policy", "policies")}`
  });
  parent.append(make(
      "figure", {class: "chart"},
      make(
          "figcaption", {}, make("strong", {}, "Time and bytes loaded"),
          make("span", {class: "muted"}, " a point per policy; dashed: their bounds")),
      place));
  const bounds = {
    x: Math.min(...ones.map((run) => run.bound_bytes)),
    y: Math.min(...ones.map((run) => run.bound_seconds))
  };
  const top = Math.max(...ones.map((run) => run.seconds)) * 1.1;
  const right = Math.max(...ones.map((run) => run.bytes_in)) * 1.1;
  let plot = null;
  const build = () => {
    if (plot) plot.destroy();
    const ink = colourOf("--muted");
    const grid = {stroke: colourOf("--line"), width: 1};
    const font = `11px ${getComputedStyle(document.body).fontFamily}`;
    plot = new uPlot(
        {
          width: Math.max(place.clientWidth, 200),
          height: 300,
          padding: [8, 60, 0, 0],
          legend: {show: false},
          cursor: {show: false},
          scales: {x: {time: false, range: () => [0, right]}, y: {range: () => [0, top]}},
          axes: [
            {
              stroke: ink,
              grid,
              ticks: grid,
              font,
              space: 90,
              incrs: kByteSteps,
              values: (_, marks) => marks.map(bytesText)
            },
            {
              stroke: ink,
              grid,
              ticks: grid,
              font,
              size: 80,
              values: (_, marks) => marks.map((mark) => duration(mark * 1e9))
            }
          ],
          series: [
            {},
            {paths: () => null, points: {show: true, size: 8, fill: "#3b7fb6", stroke: "#3b7fb6"}}
          ],
          hooks: {draw: [(chart) => labelPoints(chart, ones, bounds)]},
        },
        [ones.map((run) => run.bytes_in), ones.map((run) => run.seconds)], place);
    plot.root.ariaHidden = "true";  // the place around it has a name
  };
  build();
  theme.listeners.push(build);
  new ResizeObserver(() => plot.width !== place.clientWidth && plot.setSize({
    width: Math.max(place.clientWidth, 200),
    height: 300
  })).observe(place);
}

// Names beside the points, none upon another.
function labelPoints(chart, ones, bounds) {
  const {ctx} = chart;
  const ratio = devicePixelRatio || 1;
  ctx.save();
  ctx.font = `${11 * ratio}px ${getComputedStyle(document.body).fontFamily}`;
  ctx.fillStyle = colourOf("--ink");
  ctx.textAlign = "left";
  ctx.textBaseline = "middle";
  const points = ones.map((run) => ({
                            run,
                            x: chart.valToPos(run.bytes_in, "x", true),
                            y: chart.valToPos(run.seconds, "y", true)
                          }));
  // A label stands where it covers no point and no other label, the fastest policy's first; it is left out where that is
  // nowhere near.
  const [high, gap] = [12 * ratio, 7 * ratio];
  const taken = points.map(({x, y}) => ({x: x - 4 * ratio, y, width: 8 * ratio, high: 8 * ratio}));
  const isFree = (box) => !taken.some(
      (other) => Math.abs(other.y - box.y) < (other.high + box.high) / 2 &&
          box.x < other.x + other.width && other.x < box.x + box.width);
  for (const {run, x, y} of points.toSorted((a, b) => a.run.seconds - b.run.seconds)) {
    const width = ctx.measureText(run.policy).width;
    const lefts = [x + gap, x - gap - width, x - width / 2];
    const boxes = [0, 1, -1, 2, -2, 3, -3].flatMap(
        (step) => lefts.map((left) => ({x: left, y: y + step * high, width, high})));
    const box = boxes.find(isFree);
    if (!box) continue;
    taken.push(box);
    ctx.fillText(run.policy, box.x, box.y);
    if (Math.abs(box.y - y) < 1.5 * high) continue;
    ctx.strokeStyle = colourOf("--line");
    ctx.beginPath();
    ctx.moveTo(x, y);
    ctx.lineTo(box.x > x ? box.x : box.x + width, box.y);
    ctx.stroke();
  }
  ctx.strokeStyle = "#d1622b";
  ctx.setLineDash([6 * ratio, 4 * ratio]);
  ctx.beginPath();
  const {left, top, width, height} = chart.bbox;
  if (bounds.y > 0) {
    ctx.moveTo(left, chart.valToPos(bounds.y, "y", true));
    ctx.lineTo(left + width, chart.valToPos(bounds.y, "y", true));
  }
  if (bounds.x > 0) {
    ctx.moveTo(chart.valToPos(bounds.x, "x", true), top);
    ctx.lineTo(chart.valToPos(bounds.x, "x", true), top + height);
  }
  ctx.stroke();
  ctx.restore();
}

function rankingPart(report) {
  const done = report.runs.filter((run) => !run.error);
  const failed = report.runs.filter((run) => run.error);
  const element = section(
      "policies", done.length === 1 ? "Result" : "Policies",
      done.length > 1 ?
          "Ranked by time, each value beside its lower bound, the line in its bar. A head sorts." :
          null);
  element.append(done.length > 0 ? rankingTable(done) : make("p", {}, "No run has ended well."));
  for (const run of failed)
    element.append(make("p", {class: "notice"}, `${run.policy} failed: ${run.error}`));
  document.getElementById("main").append(element);
  policyChart(done, element);
  const known = done.length > 0 ? done[0].bounds : null;
  if (known) element.append(boundsOfRun(done[0]));
  element.append(make("h3", {}, "What ran"), factsList({
                   ...(report.command ? {command: report.command} : {}),
                   application: report.application,
                   ...report.parameters,
                   ...report.machine
                 }));
}

function boundsOfRun(run) {
  const rows = [
    ["the work, shared evenly", run.bounds.work_seconds],
    ["the work of unlike workers", run.bounds.area_seconds],
    ["the longest path of tasks", run.bounds.path_seconds],
    ["the loads over the links", run.bounds.transfer_seconds]
  ].filter(([, seconds]) => seconds > 0);
  if (rows.length === 0) return null;
  const most = Math.max(...rows.map(([, seconds]) => seconds));
  return make(
      "div", {}, make("h3", {}, `Bounds on the time${run.policy ? `, of ${run.policy}` : ""}`),
      make(
          "div", {class: "bounds"},
          rows.map(
              ([name, seconds]) => make(
                  "div", {class: "bound wide"}, make("span", {class: "bound-name"}, name),
                  bar([[seconds / most, "#3b7fb6"]], `${name}: ${duration(seconds * 1e9)}`),
                  make("span", {class: "muted"}, duration(seconds * 1e9))))));
}

function boundsPart(bounds) {
  const block = (title, lead, list, valueOf, text) => {
    const most = Math.max(1e-300, ...list.map(valueOf));
    return [
      make("h3", {}, title), make("p", {class: "muted"}, lead),
      make(
          "div", {class: "bounds"},
          list.filter((one) => valueOf(one) > 0)
              .map(
                  (one) => make(
                      "div", {class: "bound wide"}, make("span", {class: "bound-name"}, one.name),
                      bar([[valueOf(one) / most, valueOf(one) === most ? "#d1622b" : "#3b7fb6"]],
                          `${one.name}: ${text(valueOf(one))}`),
                      make("span", {}, text(valueOf(one))),
                      make("span", {class: "muted"}, one.source))))
    ];
  };
  const element = section(
      "bounds", `Bounds of ${bounds.graph}`,
      `${plural(bounds.tasks, "task")} on ${plural(bounds.data, "datum", "data")} of ${
          bytesText(bounds.data_bytes)} in all${
          bounds.flops > 0 ? `, ${digits(bounds.flops)} operations` : ""}.`,
      block(
          "Time", "No schedule is faster than the largest of these.", bounds.time,
          (one) => one.seconds, (value) => duration(value * 1e9)),
      block(
          "Loaded into limited memories", "No schedule loads less than the largest of these.",
          bounds.bytes_in, (one) => one.bytes, bytesText),
      bounds.bytes_out.some((one) => one.bytes > 0) ?
          block(
              "Written back from them", "No schedule writes back less.", bounds.bytes_out,
              (one) => one.bytes, bytesText) :
          null);
  document.getElementById("main").append(element);
}
