// The choices that the recording holds, with their candidates and scores.

function startsOf(counts) {
  const starts = new Uint32Array(counts.length + 1);
  for (let i = 0; i < counts.length; ++i) starts[i + 1] = starts[i] + counts[i];
  return starts;
}

// Where the candidates and scores of each decision begin, and the decisions by task and datum; made at the first call.
function decisionIndex(run) {
  if (run.indexes.decisions) return run.indexes.decisions;
  const table = run.decisions;
  const candidates = startsOf(table.candidates);
  const scores = new Uint32Array(table.rule.length + 1);
  const byTask = new Map();
  const byVictim = new Map();
  for (let i = 0; i < table.rule.length; ++i) {
    let all = table.scores[i];
    for (let k = candidates[i]; k < candidates[i + 1]; ++k) all += table.candidate_scores[k];
    scores[i + 1] = scores[i] + all;
    const winner = table.candidate[candidates[i] + table.winner[i]];
    const task = table.task[i] || (table.among[i] === 0 ? winner : 0);
    const [map, key] = task > 0 ? [byTask, task - 1] :
        table.among[i] === 1    ? [byVictim, winner - 1] :
                                  [null, -1];
    if (map) map.has(key) ? map.get(key).push(i) : map.set(key, [i]);
  }
  return run.indexes.decisions = {candidates, scores, byTask, byVictim};
}

function decisionAt(run, i) {
  const table = run.decisions;
  const {candidates, scores} = decisionIndex(run);
  let at = scores[i];
  const take = (many) => {
    const found = [];
    for (let k = 0; k < many; ++k, ++at) {
      const value = table.value[at];
      found.push([table.measure[at], value % 2 === 0 ? value / 2 : -(value + 1) / 2]);
    }
    return found;
  };
  const question = take(table.scores[i]);
  const listed = [];
  for (let k = candidates[i]; k < candidates[i + 1]; ++k) {
    listed.push({id: table.candidate[k] - 1, scores: take(table.candidate_scores[k])});
  }
  return {
    rule: table.rule[i],
    among: table.among[i],
    time: table.time[i],
    question,
    candidates: listed,
    winner: table.winner[i],
    worker: table.worker[i] - 1,
    node: table.node[i] - 1
  };
}

function decisionsOf(run, task) {
  if (!run.decisions) return [];
  return (decisionIndex(run).byTask.get(task) ?? []).map((i) => decisionAt(run, i));
}

function scoreText([measure, value], measures) {
  const unit = measures[measure][1];
  return unit === 1 ? duration(value) : unit === 2 ? bytesText(value) : digits(value, 6);
}

function candidateName(run, among, id) {
  if (among === 0) return id >= 0 && run.tasks ? run.taskName(id) : "a task";
  if (among === 1) return id >= 0 ? run.datumName(id) : "a datum";
  return among === 2 ? run.nodeName(id) : run.workerName(id);
}

function decisionElement(run, decision) {
  const {rules, measures} = run.head.decisions;
  const [kind, name, sentence] = rules[decision.rule];
  const columns =
      [...new Set(decision.candidates.flatMap((one) => one.scores.map(([measure]) => measure)))];
  const asked =
      decision.question.map((score) => `${measures[score[0]][0]} ${scoreText(score, measures)}`);
  const where = decision.worker >= 0 ? ` for ${run.workerName(decision.worker)}` :
      decision.node >= 0 ? ` on ${run.nodeName(decision.node)}` :
                           "";
  return make(
      "details", {class: "decision"},
      make(
          "summary", {}, `${kind}${where}: ${name} `,
          make("span", {class: "muted"}, moment(run.ns(decision.time), run.length(run.end)))),
      make("p", {}, `Rule: ${sentence}.${asked.length > 0 ? ` Asked: ${asked.join(", ")}.` : ""}`),
      make(
          "table", {},
          make(
              "tr", {}, make("th", {}, ["task", "datum", "node", "worker"][decision.among]),
              columns.map(
                  (measure) => make("th", {title: measures[measure][2]}, measures[measure][0]))),
          decision.candidates.map(
              (one, i) => make(
                  "tr", {class: i === decision.winner ? "won" : undefined},
                  make(
                      "td", {}, candidateName(run, decision.among, one.id),
                      i === decision.winner ? " ✓" : ""),
                  columns.map((measure) => {
                    const score = one.scores.find(([own]) => own === measure);
                    return make("td", {}, score ? scoreText(score, measures) : "–");
                  })))));
}

// What the panel shows of the decisions about an item; where there are none, why.
function decisionsAbout(run, item) {
  const about = run.head.decisions;
  if (about.unread) {
    return [make(
        "p", {class: "muted"},
        "The page has no room for decisions of so large a recording; vicinal explain tells them.")];
  }
  if (about.all === 0) {
    return [
      make(
          "p", {class: "muted"},
          "The recording holds no decisions; record them with --trace-events all to see candidates and scores.")
    ];
  }
  const found = item.kind === "task" ? decisionsOf(run, item.number) : [];
  const notes = found.slice(0, 20).map((decision) => decisionElement(run, decision));
  if (about.kept < about.asked) {
    notes.push(make(
        "p", {class: "muted"},
        `The page has room for ${count(about.kept)} of ${
            count(about.asked)} decisions, those at the beginning; vicinal explain tells all.`));
  }
  return notes;
}
