// Two recordings: what differs.

function comparedRows([a, b]) {
  const rows = [];
  const add = (name, text, x, y, less = true) => {
    if ((x ?? null) === null && (y ?? null) === null) return;
    rows.push({name, text, x: x ?? null, y: y ?? null, less});
  };
  const [ra, rb] = [resultOf(a), resultOf(b)];
  const seconds = (value) => duration(value * 1e9);
  add("time", seconds, ra.seconds, rb.seconds);
  add("bound on the time", seconds, ra.boundSeconds, rb.boundSeconds);
  add("loaded into limited memory", bytesText, ra.bytesIn, rb.bytesIn);
  add("written back", bytesText, ra.bytesOut, rb.bytesOut);
  add("GFlop/s", digits, ra.gflops, rb.gflops, false);
  add("tasks", count, a.head.computed, b.head.computed);
  add("copies", count, a.head.copies, b.head.copies);
  const travels = (run, i) => run.head.travels.all[i];
  add("bytes moved", bytesText, travels(a, 0), travels(b, 0));
  add("reloads", count, travels(a, 2), travels(b, 2));
  add("evictions", count, travels(a, 3), travels(b, 3));
  add("workers in tasks", duration, a.head.idle.run_ns, b.head.idle.run_ns);
  const addCauses = (what, first, second) => {
    for (const [name, time] of Object.entries(first))
      if (time + second[name] > 0) add(`${what}: ${name}`, duration, time, second[name]);
  };
  addCauses("idle", a.head.idle.idle_ns, b.head.idle.idle_ns);
  addCauses("critical path", a.head.path.by_cause_ns, b.head.path.by_cause_ns);
  return [...rows, ...comparedByName(a, b)];
}

function comparedByName(a, b) {
  const rows = [];
  const each = (name, list, nameOf, valueOf, text) => {
    const values = [a, b].map(
        (run) => new Map(list(run).map((one, i) => [nameOf(run, one, i), valueOf(one)])));
    for (const key of new Set([...values[0].keys(), ...values[1].keys()])) {
      rows.push({
        name: `${name} ${key}`,
        text,
        x: values[0].get(key) ?? null,
        y: values[1].get(key) ?? null,
        less: true
      });
    }
  };
  each(
      "bytes", (run) => run.links, (run, _, l) => run.linkName(l), (link) => link.bytes, bytesText);
  each(
      "mean time of", (run) => run.head.codelets, (_, codelet) => codelet.name,
      (codelet) => codelet.time / codelet.tasks, duration);
  return rows;
}

const kSmall = 0.01;
// Of what differs: times as a share of the whole time, all else of the larger of both.
function sizeOf(row, runs) {
  const [x, y] = [row.x ?? 0, row.y ?? 0];
  const workers = row.name.startsWith("idle: ") || row.name === "workers in tasks";
  const whole = Math.max(
      ...runs.map((run) => run.pathLength * (workers ? Math.max(1, run.workers.length) : 1)));
  const of = row.text === duration && !row.name.startsWith("mean time of") ? whole : Math.max(x, y);
  return of > 0 ? Math.abs(y - x) / of : 0;
}

// The critical paths, whose differences add up to that of the times.
function partsTable(runs) {
  const rows = head.comparison.parts.map(({name, first_ns: x, second_ns: y}) => ({name, x, y}));
  const longer = Math.max(...runs.map((run) => run.pathLength));
  const signed = (value) =>
      (value === 0 ? "none" : `${value > 0 ? "+" : "−"}${duration(Math.abs(value))}`);
  return makeTable(
      "The critical paths by cause",
      [
        {name: "of the critical path", value: (row) => row.name},
        ...["x", "y"].map((one, i) => ({
                            name: runs[i].name,
                            value: (row) => row[one],
                            text: (row) => duration(row[one]),
                            numeric: true
                          })),
        {
          name: "difference",
          value: (row) => Math.abs(row.y - row.x),
          text: (row) => signed(row.y - row.x),
          numeric: true
        },
      ],
      rows,
      {most: 20, rowClass: (row) => (Math.abs(row.y - row.x) < kSmall * longer ? "small" : "")});
}

function comparisonTable(runs) {
  const rows = comparedRows(runs).map((row) => ({...row, size: sizeOf(row, runs)}));
  rows.sort((a, b) => b.size - a.size);
  const change = (row) => (row.x > 0 && row.y !== null ? row.y / row.x - 1 : null);
  return makeTable(
      "Measures of both runs",
      [
        {name: "measure", value: (row) => row.name},
        {
          name: runs[0].name,
          value: (row) => row.x ?? -1,
          text: (row) => (row.x === null ? "–" : row.text(row.x)),
          numeric: true
        },
        {
          name: runs[1].name,
          value: (row) => row.y ?? -1,
          text: (row) => (row.y === null ? "–" : row.text(row.y)),
          numeric: true
        },
        {
          name: "difference",
          value: (row) => (row.y ?? 0) - (row.x ?? 0),
          text: (row) =>
              (row.x === null || row.y === null ?
                   "–" :
                   row.x === row.y ?
                   "none" :
                   `${row.y > row.x ? "+" : "−"}${row.text(Math.abs(row.y - row.x))}`),
          numeric: true
        },
        {
          name: "change",
          value: (row) => change(row) ?? 0,
          text: (row) => {
            const share = change(row);
            return share === null ? "–" :
                share === 0       ? "none" :
                                    `${share > 0 ? "+" : "−"      }${percent(Math.abs(share))}`;
          },
          numeric: true
        },
      ],
      rows, {most: 60, rowClass: (row) => (row.size < kSmall ? "small" : "")});
}

// Facts that are not the same.
function differingFacts([a, b]) {
  const all = (run) => {
    const {facts} = run.head;
    return new Map([
      ["command", facts.command], ["policy", facts.policy], ["version", facts.version],
      ["machine", machineText(run)], ["simulated", facts.simulated ? "yes" : "no"],
      ...facts.options, ...["parameter.", "machine.", ""].flatMap((kind) => toldOf(run, kind))
    ]);
  };
  const [x, y] = [all(a), all(b)];
  const names =
      [...new Set([...x.keys(), ...y.keys()])].filter((name) => x.get(name) !== y.get(name));
  if (names.length === 0) return make("p", {}, "Both were run in the same way.");
  return makeTable(
      "What was asked for otherwise",
      [
        {name: "asked for", value: (name) => name},
        {name: a.name, value: (name) => factText(name, x.get(name) ?? "–")},
        {name: b.name, value: (name) => factText(name, y.get(name) ?? "–")},
      ],
      names, {most: 40});
}
