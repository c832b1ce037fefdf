// What analyses found out: idle times, the critical path, advice.

function idleTable(run) {
  const {wall_ns: wall, workers} = run.head.idle;
  const shown = run.idleCauses.filter(({time}) => time > 0);
  const legend = make(
      "ul", {class: "legend"},
      make("li", {}, make("span", {class: "swatch", style: {color: "#3b7fb6"}}), "in tasks"),
      shown.map(
          ({name, sentence, c}) => make(
              "li", {title: sentence},
              make("span", {class: "swatch", style: {color: kIdleColours[c]}}), name)));
  const table =
      makeTable(
          `Workers of ${run.name}`,
          [
            {name: "worker", value: (row) => row.name},
            {
              name: "time",
              value: (row) => row.run_ns,
              numeric: false,
              element:
                  (row) =>
                      bar(
                          [
                            [row.run_ns / wall, "#3b7fb6", `in tasks ${duration(row.run_ns)}`],
                            ...shown.map(
                                ({name, c}) =>
                                    [row.idle_ns[name] / wall, kIdleColours[c],
                                     `${name} ${duration(row.idle_ns[name])}`])
                          ],
                          `${row.name} was in tasks for ${percent(row.run_ns / wall)}`)
            },
            {
              name: "in tasks",
              value: (row) => row.run_ns,
              text: (row) => percent(row.run_ns / wall),
              numeric: true
            },
            ...shown.map(({name, sentence}) => ({
                           name,
                           title: sentence,
                           value: (row) => row.idle_ns[name],
                           text: (row) => percent(row.idle_ns[name] / wall),
                           numeric: true
                         })),
          ],
          workers, {most: 24});
  return [legend, table];
}

const kPathColours =
    ["#3b7fb6", "#e69f00", "#cc79a7", "#d1622b", "#6cbbe8", "#7a6fd0", "#8b9099", "#c9b82d"];

// The tasks and copies of the critical path, to be highlighted.
function pathOf(run) {
  if (run.path || !run.pathTable || !run.tasks) return run.path ?? null;
  const tasks = new Uint8Array(run.tasks.worker.length);
  const copies = new Uint8Array(run.copies ? run.copies.link.length : 0);
  const items = [];
  const from = [];  // when the path comes to each
  const add = (item, i) => {
    items.push(item);
    from.push(run.pathTable.from[i]);
  };
  for (let i = 0; i < run.pathTable.cause.length; ++i) {
    const task = run.pathTable.task[i] - 1;
    const copy = run.pathTable.copy[i] - 1;
    if (run.pathTable.cause[i] === 0 && task >= 0) {
      tasks[task] = 1;
      add({run, kind: "task", number: task}, i);
    } else if (copy >= 0 && copies.length > 0) {
      copies[copy] = 1;
      add({run, kind: "copy", number: copy}, i);
    }
  }
  return run.path = {run, tasks, copies, items, from};
}

function togglePath(run, view, button) {
  const shows = view.path !== run && pathOf(run) !== null;
  view.path = shows ? run : null;
  view.changed();
  for (const other of document.querySelectorAll(".path-toggle"))
    other.setAttribute("aria-pressed", "false");
  button.setAttribute("aria-pressed", String(shows));
}

function pathToggle(run, view, label = "Critical path") {
  const button = make(
      "button", {
        type: "button",
        class: "path-toggle",
        "aria-pressed": "false",
        onclick: () => togglePath(run, view, button)
      },
      label);
  return button;
}

function pathPart(run, view) {
  const {by_cause_ns: times, longest_chain_ns: chain} = run.head.path;
  const end = run.pathLength;
  const parts =
      run.head.causes.path.map(([name, sentence], c) => ({name, sentence, time: times[name], c}))
          .filter((part) => part.time > 0);
  const steps = make("div");
  const all =
      make("details", {}, make("summary", {}, `Its ${plural(run.head.segments, "step")}`), steps);
  all.addEventListener("toggle", () => {
    if (all.open && steps.childElementCount === 0) steps.append(pathSteps(run, view));
  });
  return [
    bar(parts.map(
            (part) =>
                [part.time / end, kPathColours[part.c], `${part.name} ${duration(part.time)}`]),
        "The critical path by cause"),
    makeTable(
        `The critical path of ${run.name} by cause`,
        [
          {
            name: "cause",
            value: (row) => row.name,
            element: (row) =>
                [make("span", {class: "swatch", style: {color: kPathColours[row.c]}}), row.name]
          },
          {
            name: "time",
            value: (row) => row.time,
            text: (row) => duration(row.time),
            numeric: true
          },
          {
            name: "share",
            value: (row) => row.time,
            text: (row) => percent(row.time / end),
            numeric: true
          },
          {name: "what", value: (row) => row.sentence},
        ],
        parts, {sort: 1}),
    make(
        "p", {},
        `The longest chain of tasks that depend on each other runs for ${duration(chain)}, ${
            percent(chain / end)} of the time.`),
    all,
  ];
}

function pathSteps(run, view) {
  if (!run.pathTable)
    return make("p", {class: "muted"}, "The page has no room for them, or has not read them yet.");
  const {cause, task, copy, from, to} = run.pathTable;
  const rows = Array.from(cause, (_, i) => i);
  return makeTable(
      `Steps of the critical path of ${run.name}`,
      [
        {
          name: "from",
          value: (i) => from[i],
          text: (i) => moment(run.ns(from[i]), run.length(run.end)),
          numeric: true
        },
        {
          name: "time",
          value: (i) => to[i] - from[i],
          text: (i) => duration(run.length(to[i] - from[i])),
          numeric: true
        },
        {name: "cause", value: (i) => cause[i], text: (i) => run.head.causes.path[cause[i]][0]},
        {
          name: "of",
          value: (i) => task[i],
          element: (i) =>
              [task[i] > 0 ? reference(view, {run, kind: "task", number: task[i] - 1}) : null,
               copy[i] > 0 ? [" ", reference(view, {run, kind: "copy", number: copy[i] - 1})] :
                             null]
        },
      ],
      rows, {most: 50});
}

function adviceList(run) {
  if (run.head.advice.length === 0)
    return make("p", {}, "Nothing would have helped that this program knows of.");
  return make(
      "ol", {class: "advice"},
      run.head.advice.map(
          (one) => make(
              "li", {}, make("strong", {}, one.change),
              make(
                  "span", {class: "gain"},
                  `at most ${duration(one.gain_at_most_ns)}, ${
                      percent(one.gain_at_most_ns / run.pathLength)}`),
              make("p", {}, `${one.reason[0].toUpperCase()}${one.reason.slice(1)}.`))));
}
