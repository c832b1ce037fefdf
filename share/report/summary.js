// What ran, and its result beside bounds.

function told(run) { return Object.fromEntries(run.head.facts.told); }
// What was told beside the result and its bounds: those of a kind ("parameter.", "machine.") without it; "": the rest.
function toldOf(run, kind) {
  const others = /^(result|bound|parameter|machine)\.|^(command|application)$/;
  return run.head.facts.told
      .filter(([name]) => (kind === "" ? !others.test(name) : name.startsWith(kind)))
      .map(([name, value]) => [name.slice(kind.length), value]);
}
const toldNumber = (facts, name) =>
    (facts[name] === undefined || facts[name] === "" ? null : Number(facts[name]));

function resultOf(run) {
  const facts = told(run);
  const seconds = toldNumber(facts, "result.seconds") ?? run.pathLength * 1e-9;
  const parts = [
    ["work", "the work, shared evenly by the workers"], ["area", "the same of unlike workers"],
    ["path", "the longest path of tasks"], ["transfer", "the loads over the links"]
  ].map(([name, sentence]) => ({
          name,
          sentence,
          value: toldNumber(facts, `bound.${name}_seconds`)
        })).filter((part) => part.value > 0);
  const known = parts.map((part) => part.value);
  return {
    seconds,
    parts,
    boundSeconds:
        toldNumber(facts, "bound.seconds") ?? (known.length > 0 ? Math.max(...known) : null),
    gflops: toldNumber(facts, "result.gflops"),
    bytesIn: toldNumber(facts, "result.bytes_in"),
    boundIn: toldNumber(facts, "bound.bytes_in"),
    bytesOut: toldNumber(facts, "result.bytes_out"),
    boundOut: toldNumber(facts, "bound.bytes_out"),
  };
}

const timesBound = (value, bound) => (bound > 0 ? `${(value / bound).toFixed(2)}× its bound` : "");

function card(title, value, note, bars = []) {
  return make(
      "div", {class: "card"}, make("div", {class: "card-title"}, title),
      make("div", {class: "card-value"}, value), make("div", {class: "muted"}, note),
      bars.map(
          ([name, share, text, sentence]) => make(
              "div", {class: "bound", title: sentence}, make("span", {class: "bound-name"}, name),
              bar([[share, "#3b7fb6"]], `${name}: ${text}`),
              make("span", {class: "muted"}, text))));
}

function resultCards(run) {
  const result = resultOf(run);
  const cards = [card(
      "Time", duration(result.seconds * 1e9),
      timesBound(result.seconds, result.boundSeconds) || "no bound is known",
      result.parts.map(
          (part) =>
              [part.name, part.value / result.seconds, duration(part.value * 1e9),
               `No schedule is faster than this: ${part.sentence}.`]))];
  const moved = (title, value, bound) => {
    if (value === null || value === 0 && !(bound > 0)) return;
    cards.push(card(
        title, bytesText(value), timesBound(value, bound) || (bound === 0 ? "none had to be" : ""),
        bound > 0 ? [[
          "bound", value > 0 ? bound / value : 0, bytesText(bound), "No schedule moves less."
        ]] :
                    []));
  };
  moved("Loaded into limited memory", result.bytesIn, result.boundIn);
  moved("Written back", result.bytesOut, result.boundOut);
  if (result.gflops > 0) cards.push(card("Speed", `${digits(result.gflops)}\u00a0GFlop/s`, ""));
  const {"result.verified": verified} = told(run);
  if (verified)
    cards.push(card("Check of the result", verified === "yes" ? "passed" : "failed", ""));
  const idle = run.head.idle;
  const busy = idle.run_ns / (run.pathLength * Math.max(1, run.workers.length));
  cards.push(card(
      "Workers in tasks", percent(busy),
      `up to the end of the last; ${plural(run.head.computed, "task")}, ${
          plural(run.head.copies, "copy", "copies")}`,
      []));
  return make("div", {class: "cards"}, cards);
}

function machineText(run) {
  const kinds = new Map();
  for (const worker of run.workers) kinds.set(worker.kind, (kinds.get(worker.kind) ?? 0) + 1);
  const workers = [...kinds].map(([kind, many]) => `${many} ${kind}`).join(", ");
  const kMostNamed = 12;
  const more = run.nodes.length - kMostNamed;
  const nodes = run.nodes.slice(0, kMostNamed)
                    .map(
                        (node) => `${node.name}${node.device ? ` (${node.device})` : ""}${
                            node.limit === null ? "" : ` ${bytesText(node.limit)}`}`)
                    .join(", ");
  return `workers: ${workers}; memory: ${nodes}${more > 0 ? ` and ${count(more)} more` : ""}`;
}

const kByteFacts = /(^|[_.])(bytes|memory|ram|bytes_in|bytes_out)$/;
function factText(name, value) {
  return kByteFacts.test(name) && /^\d+$/.test(String(value)) ? bytesText(Number(value)) :
                                                                String(value);
}

function factsOf(run) {
  const {facts} = run.head;
  const rows = [];
  const add = (name, value) => value !== "" && rows.push([name, value]);
  if (run.head.phases.length > 0)
    rows.push([
      "phases",
      run.head.phases.map(([name, from, to]) => `${name} ${duration(run.length(to - from))}`)
              .join(", ") +
          "; results and tables are of the run"
    ]);
  if (facts.command !== "") rows.push(["command", make("code", {}, facts.command)]);
  const listedFacts = (kind) =>
      toldOf(run, kind).map(([name, value]) => `${name} ${factText(name, value)}`).join(", ");
  add("application", facts.application);
  add("policy", facts.policy);
  add("machine", [
    machineText(run), listedFacts("machine."), facts.simulated ? "simulated" : ""
  ].filter(Boolean).join("; "));
  add("options",
      facts.options.filter(([name]) => name !== "policy")
          .map(([name, value]) => `${name}=${value}`)
          .join(", "));
  add("parameters", listedFacts("parameter."));
  add("told", listedFacts(""));
  add("version", facts.version === "" ? "" : `vicinal ${facts.version}`);
  add("recorded", facts.recorded.filter((name) => name !== "always").join(", "));
  add("file", run.name);
  return make(
      "dl", {class: "facts"},
      rows.map(([name, value]) => [make("dt", {}, name), make("dd", {}, value)]));
}

function noticesOf(run) {
  const {facts} = run.head;
  const notices = [];
  if (!facts.complete)
    notices.push(
        "The run was killed, or the recording was cut: what is shown ends with the last event.");
  if (facts.events_lost > 0)
    notices.push(`${
        plural(
            facts.events_lost,
            "event")} could not be recorded: something of what is shown is not whole.`);
  if (run.head.missing.length > 0)
    notices.push(`The page has no room for ${
        run.head.missing.join(", ")} of this run: what needs them is not shown.`);
  // Where a hundredth of the shortest kind of task is finer than that, nobody sees it.
  const shortest = Math.min(
      ...run.head.codelets.filter((one) => one.tasks > 0).map((one) => one.time / one.tasks));
  if (run.unit > 1 && run.unit * 100 > shortest)
    notices.push(`Times in the charts are rounded to ${duration(run.unit)}.`);
  return notices.map((text) => make("p", {class: "notice"}, text));
}

function summaryPart(run) { return [resultCards(run), noticesOf(run), factsOf(run)]; }
