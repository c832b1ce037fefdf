// Puts the page together: first what is known from the overviews, the rest as its tables have been read.

const page = {
  runs: [],
  view: null
};

function byRun(runs, part) {
  return runs.map((run) => (runs.length > 1 ? [make("h3", {}, run.name), part(run)] : part(run)));
}

const ofRanks = (runs) => runs.some((run) => run.head.rank_rows.length > 0);

function wholeTime(runs) {
  const from = Math.min(...runs.map((run) => -run.offset));
  return [from, Math.max(...runs.map((run) => run.ns(run.end)))];
}

function kindLegend(runs) {
  const names = runs[0].head.codelets.slice(0, kKindColours.length);
  const several = runs.some((run) => run.links.length > 0);
  return make(
      "ul", {class: "legend"},
      names.map(
          (codelet, i) => make(
              "li", {}, make("span", {class: "swatch", style: {color: kKindColours[i]}}),
              codelet.name)),
      several ?
          kCauses.map(
              (cause, i) => make(
                  "li", {class: "cause"},
                  make("span", {class: "swatch line", style: {color: kCauseColours[i]}}), cause)) :
          null);
}

// What the line at the foot of a worker's row says.
function idleLegend(runs) {
  const shown =
      runs[0].idleCauses.filter(({name}) => runs.some((run) => run.head.idle.idle_ns[name] > 0));
  return make(
      "ul", {class: "legend", "aria-label": "Why workers were idle"},
      make("li", {class: "muted"}, "foot of a row, idle:"),
      shown.map(
          ({name, sentence, c}) => make(
              "li", {title: sentence},
              make("span", {class: "swatch line", style: {color: kIdleColours[c]}}), name)));
}

const kKeyHelp =
    "Click an item, or go to it with the arrow keys and press Enter. Plus and minus zoom, 0 shows all, Shift with arrows moves. " +
    "A drag zooms to what it covers, with Shift it moves; the wheel zooms once the chart has been clicked. / searches, Esc clears.";

function makeTimeline(runs) {
  const view = page.view = new View(...wholeTime(runs));
  const tool = (text, label, act) =>
      make("button", {type: "button", "aria-label": label, title: label, onclick: act}, text);
  const align = make(
      "select", {id: "align", "aria-label": "Aligned by", onchange: () => alignBy(align.value)}, [
        ["first", "aligned by the first task"], ["start", "aligned by the start of the recordings"]
      ].map(([value, text]) => make("option", {value, selected: value === page.aligned}, text)));
  const toolbar = make(
      "div", {class: "toolbar"}, makeSearch(runs, view), tool("+", "Zoom in", () => view.zoom(0.5)),
      tool("−", "Zoom out", () => view.zoom(2)), tool("All", "Show all", () => view.all()),
      tool("◀", "Earlier", () => view.pan(-0.5)), tool("▶", "Later", () => view.pan(0.5)),
      runs.map(
          (run) => pathToggle(
              run, view, runs.length > 1 ? `Critical path of ${run.name}` : "Critical path")),
      runs.length > 1 ? align : null, make("span", {id: "range", class: "muted"}));
  const charts = make("div", {class: "charts"});
  const panel = make(
      "aside", {id: "explanation", class: "explanation", "aria-label": "Explanation", tabindex: 0},
      make("p", {class: "muted"}, kKeyHelp));
  const element = section(
      "timeline", "Timeline",
      ofRanks(runs) ?
          "A row for each rank, or for several: how much of the time of their workers went to which tasks. " +
              "Single tasks, links and messages have none; search explains them." :
          null,
      toolbar, kindLegend(runs), idleLegend(runs), make("div", {class: "timeline"}, charts, panel));
  page.gantts = runs.map((run) => {
    const figure = make(
        "figure", {class: "gantt-figure"},
        runs.length > 1 ? make("figcaption", {}, make("strong", {}, run.name), ` ${run.policy}`) :
                          null);
    charts.append(figure);
    return {run, figure};
  });
  const range = () => {
    const text = `${moment(view.from, view.length)} to ${moment(view.to, view.length)}`;
    toolbar.querySelector("#range").textContent = text;
  };
  view.moved.push(range);
  return {
    element,
    fill: () => {
      page.gantts.forEach((one) => one.gantt = new Gantt(one.run, view, one.figure));
      page.charts = makeTimeCharts(runs, view, charts);
      range();
    }
  };
}

function offsetsFor(aligned) {
  page.aligned = aligned;
  for (const run of page.runs)
    run.offset = page.runs.length > 1 && aligned === "first" ? run.length(run.head.first) : 0;
}

function alignBy(aligned) {
  offsetsFor(aligned);
  const {element, fill} = makeTimeline(page.runs);
  document.getElementById("timeline").replaceWith(element);
  fill();
}

async function showRuns() {
  const main = document.getElementById("main");
  const {runs} = page;
  if (runs.length > 1) {
    main.append(section(
        "difference", "What differs", null, differingFacts(runs), partsTable(runs),
        comparisonTable(runs)));
  }
  main.append(
      section("result", runs.length > 1 ? "Results" : "Result", null, byRun(runs, summaryPart)));
  for (const run of runs) await run.readFirst();
  for (const run of runs) run.idle = await readSection(run.index, "idle");
  const {element, fill} = makeTimeline(runs);
  main.append(element);
  fill();
  main.append(
      section(
          "idle", "Why workers were idle",
          `Each worker's time is in a task or idle for one cause; a head sorts.${
              ofRanks(runs) ? " Of many ranks the mean worker of each." : ""}`,
          byRun(runs, idleTable)),
      section(
          "path", "Critical path",
          "What the run had to wait for at each moment, from its last task back to the beginning.",
          byRun(runs, (run) => pathPart(run, page.view))),
      section(
          "advice", "What would have helped",
          "Changes that would have gained most, with the time that each would have gained at most; they do not add up.",
          byRun(runs, adviceList)),
      section("codelets", "Tasks by codelet", null, byRun(runs, codeletTable)));
  if (runs.some((run) => run.links.length > 0))
    main.append(section("links", "Links", null, byRun(runs, linkTable)));
  if (runs.some((run) => run.head.travels.rows.length > 0)) {
    main.append(section(
        "data", "Data that travelled",
        "Evictions and reloads of each datum; its name shows all that used it.",
        byRun(
            runs,
            (run) =>
                [dataTable(run, page.view),
                 run.head.travels.moved > run.head.travels.rows.length ?
                     make(
                         "p", {class: "muted"},
                         `Of ${count(run.head.travels.moved)} data those that moved most.`) :
                     null])));
  }
}

async function readLater() {
  const {runs} = page;
  for (const run of runs) {
    await run.readTasks();
    page.gantts.forEach((one) => one.run === run && one.gantt.draw());
  }
  for (const run of runs) {
    await run.readRest();
    run.pathTable = await readSection(run.index, "path");
  }
  page.gantts.forEach((one) => one.gantt.draw());
  const drawn =
      runs.filter((run) => run.head.matrices.length > 0 && run.data && run.accesses && run.tasks);
  if (drawn.length > 0) {
    const element = section(
        "matrix", "Tiles of the matrix",
        "In which order tasks worked on the tiles, and which tiles were loaded.");
    document.getElementById("main").append(element);
    for (const run of drawn)
      element.append(
          ...(drawn.length > 1 ? [make("h3", {}, run.name)] : []),
          new MatrixView(run, page.view).element);
    page.matrixReady = true;
  }
}

function makeNav() {
  const sections = [...document.querySelectorAll("main section")];
  document.getElementById("nav").replaceChildren(...sections.map(
      (one) => make("a", {href: `#${one.id}`}, one.querySelector("h2").textContent)));
}

// What binds the run, or what makes one of two sooner.
function showVerdict() {
  const verdict = page.runs.length === 1 ? head.runs[0].verdict : head.report?.verdict;
  const texts = head.comparison ?
      [
        head.comparison.sentence, ...head.runs.map((one) => `${one.name}: ${one.verdict.sentence}`)
      ] :
      verdict ?
      [
        verdict.policy && head.report.runs.length > 1 ?
            `${verdict.policy}, the fastest: ${verdict.sentence}` :
            verdict.sentence,
        verdict.remedy
      ] :
      [];
  document.getElementById("lead").after(make(
      "div", {id: "verdict"},
      texts.filter(Boolean).map(
          (text, i) => make("p", {class: i === 0 ? "verdict" : "muted"}, text))));
}

async function start() {
  theme.start();
  document.getElementById("title").textContent = head.title;
  page.runs = head.runs.map((_, i) => new Run(i));
  const facts = head.runs.length > 0 ? head.runs[0].facts : null;
  document.getElementById("lead").textContent = head.runs.length > 1 ?
      "Two recorded runs, compared" :
      facts ? `A ${facts.simulated ? "simulated" : "recorded"} run of ${
                  plural(head.runs[0].computed, "task")}` :
              "";
  showVerdict();
  offsetsFor("first");
  if (head.bounds) boundsPart(head.bounds);
  // Of one recorded run all of it is told below.
  if (head.report && !(page.runs.length === 1 && head.report.runs.length === 1))
    rankingPart(head.report);
  if (page.runs.length > 0) await showRuns();
  makeNav();
  if (document.readyState === "loading")
    await new Promise((resolve) => document.addEventListener("DOMContentLoaded", resolve));
  if (page.runs.length > 0) {
    await readLater();
    chooseFromAddress(page.runs, page.view);
    addEventListener("hashchange", () => chooseFromAddress(page.runs, page.view));
  }
  makeNav();
  performance.mark("complete");
  document.documentElement.dataset.complete = "yes";
}

start().catch((error) => {
  document.getElementById("main").append(make(
      "p", {class: "notice"},
      `The page could not be drawn: ${error.message}. It needs a browser of 2023 or later.`));
  throw error;
});
