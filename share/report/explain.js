// Why a task ran where and when it did, why a copy was made, what became of a datum: from the times of the recording.

function explain(run, item) {
  const explanation = item.kind === "gap" ?
      explainGap(run, item) :
      {task: explainTask, copy: explainCopy, datum: explainDatum}[item.kind](run, item.number);
  return {related: [], sentences: [], ...explanation, run};
}

// So fine that the times of the thing can be told from each other.
function momentsOf(run, begin, end) {
  const range =
      Math.min(run.length(run.end), Math.max(run.length(end - begin) * 20, 2000 * run.unit));
  return (ticks) => moment(run.ns(ticks), range);
}

function explainGap(run, {lane, number}) {
  const {begin, end, cause} = lane.gaps;
  const moments = momentsOf(run, begin[number], end[number]);
  const [, sentence] = run.head.causes.idle[cause[number]];
  const next = lane.items ? firstAfter(lane.items, begin[number]) : 0;
  const sentences =
      [[`${lane.label} was idle from ${moments(begin[number])} to ${moments(end[number])}, ${
          duration(run.length(end[number] - begin[number]))} long: ${sentence}.`]];
  const related = [];
  if (lane.items && next < lane.items.number.length) {
    related.push(itemOf(run, lane, next));
    sentences.push(["Its next task was ", related[0], "."]);
  }
  return {title: `${lane.label} idle`, sentences, related};
}

const kTaskKinds =
    ["task", "acquisition by the application", "prefetch", "invalidation", "repartition"];
const kOutcomes = ["done", "failed", "cancelled"];

// The moments of a task in their order; -1 where the recording does not say.
function stepsOf(run, task) {
  const steps = {};
  for (const step
           of ["submitted", "ready", "scheduled", "wanted", "granted", "operands", "started",
               "ended"]) {
    steps[step] = run.tasks[step][task];
  }
  return steps;
}

function explainTask(run, task) {
  const item = (number) => ({run, kind: "task", number});
  const at = stepsOf(run, task);
  const moments = momentsOf(run, at.started, at.ended);
  const time = (ticks) => duration(run.length(ticks));
  const sentences = [];
  const related = [];
  const worker = run.tasks.worker[task] - 1;
  const flags = run.tasks.flags[task];
  if ((flags & 7) !== 0) sentences.push([`It is no computation but ${kTaskKinds[flags & 7]}.`]);
  if (at.started >= 0 && at.ended >= 0) {
    const begin = run.begins[task];
    sentences.push([`It ran on ${run.workerName(worker)} from ${moments(begin)} to ${
        moments(at.ended)}, ${time(at.ended - begin)} long${
        (flags >> 3 & 3) > 0 ? `, and ${kOutcomes[flags >> 3 & 3]}` : ""}.`]);
  } else {
    sentences.push(["The recording does not say that it ran."]);
  }
  sentences.push(...whyThere(run, task, worker));
  sentences.push(...whyReady(run, task, at, related));
  sentences.push(...whyThen(run, task, at, worker, related));
  const uses = run.accessesOfTask(task).slice(0, 12);
  for (const mode of new Set(uses.map((use) => kModes[use.mode]))) {
    const data = uses.filter((use) => kModes[use.mode] === mode && use.datum >= 0);
    if (data.length === 0) continue;
    sentences.push([
      `It ${mode} `, ...listed(data.map(({datum}) => ({run, kind: "datum", number: datum}))), "."
    ]);
  }
  const priority = run.tasks.priority[task];
  sentences.push([`It is task ${task}${priority !== 0 ? `, of priority ${priority}` : ""}.`]);
  return {title: run.taskName(task), sentences, related, more: decisionsAbout(run, item(task))};
}

function whyThere(run, task, worker) {
  if (worker < 0) return [];
  const place = decisionsOf(run, task).find(
      (decision) => run.head.decisions.rules[decision.rule][0] === "placement");
  if ((run.tasks.flags[task] & 32) !== 0) {
    return [[`It had been given to another memory node, and was moved: ${
        run.workerName(worker)} had nothing to do.`]];
  }
  if (place)
    return [[`Why there: ${run.head.decisions.rules[place.rule][2]}; the scores stand below.`]];
  const node = run.workers[worker].node;
  const inputs = run.accessesOfTask(task).filter((use) => readsMode(use.mode) && use.datum >= 0);
  const moved = inputs.filter(
      (use) => copyFor(run, use.datum, node, run.tasks.started[task], run.tasks.scheduled[task]));
  if (inputs.length === 0) return [];
  if (!run.copies || run.nodes[node].limit === null && moved.length === 0) return [];
  const there = inputs.length - moved.length;
  return [[`When the policy gave it to ${run.workerName(worker)}, ${
      there === inputs.length ? "all" :
                                there} of the ${plural(inputs.length, "operand")} that it reads ${
      there === 1 ? "was" : "were"} there or on the way.`]];
}

// The last copy of the datum to the node that ended before a moment, and after another.
function copyFor(run, datum, node, before, after) {
  if (!run.copies) return null;
  const rows = run.byDatum("copies")(datum);
  for (let i = rows.length - 1; i >= 0; --i) {
    const copy = rows[i];
    const link = run.copies.link[copy] - 1;
    if (link < 0 || run.links[link].to !== node) continue;
    const ended = run.copies.ended[copy];
    if (ended >= 0 && ended <= before)
      return ended > after ? {run, kind: "copy", number: copy} : null;
  }
  return null;
}

// The task whose end made it ready: the last that ended on the releasing worker until then.
function releasedBy(run, task, ready) {
  const worker = run.tasks.releasing[task] - 1;
  const lane = run.lanes.find((one) => one.kind === "worker" && one.index === worker);
  if (!lane || !lane.items || ready < 0) return null;
  const place = lastAtMost(lane.items.end, ready);
  return place < 0 || lane.items.number[place] === task ?
      null :
      {run, kind: "task", number: lane.items.number[place]};
}

function whyReady(run, task, at, related) {
  const moments = momentsOf(run, at.started, at.ended);
  const parts = [];
  if (at.submitted >= 0) parts.push(`It was submitted at ${moments(at.submitted)}`);
  if (at.ready >= 0) {
    parts.push(parts.length > 0 ? " and became ready " : "It became ready ");
    parts.push(
        at.submitted >= 0 && at.ready - at.submitted <= 0 ? "at once" : `at ${moments(at.ready)}`);
    const last = at.ready > at.submitted ? releasedBy(run, task, at.ready) : null;
    if (last) {
      related.push(last);
      parts.push(
          ", when ", last,
          ` had ended on ${
              run.workerName(
                  run.tasks.releasing[task] - 1)}, the last of those that it depends on`);
    }
  }
  return parts.length > 0 ? [[...parts, "."]] : [];
}

function whyThen(run, task, at, worker, related) {
  const time = (ticks) => duration(run.length(ticks));
  const sentences = [];
  const waited = (from, to) => (from >= 0 && to > from ? to - from : 0);
  if (waited(at.ready, at.scheduled)) {
    sentences.push([`The policy kept it for ${time(at.scheduled - at.ready)} before it gave it to ${
        run.workerName(worker)}.`]);
  }
  if (waited(at.scheduled, at.wanted)) {
    sentences.push(
        [`Then it was queued there for ${time(at.wanted - at.scheduled)}, behind others.`]);
  }
  const node = worker >= 0 ? run.workers[worker].node : -1;
  if (waited(at.wanted, at.granted)) {
    sentences.push(
        [`It waited ${time(at.granted - at.wanted)} for room on ${run.nodeName(node)}.`]);
  }
  if (waited(at.granted, at.operands)) {
    const copies = run.accessesOfTask(task)
                       .filter((use) => readsMode(use.mode) && use.datum >= 0)
                       .map((use) => copyFor(run, use.datum, node, at.operands, at.wanted))
                       .filter(Boolean)
                       .sort((a, b) => run.copies.ended[b.number] - run.copies.ended[a.number]);
    const sentence = [`It waited ${time(at.operands - at.granted)} for its operands`];
    if (copies.length > 0) {
      related.push(copies[0]);
      const copy = copies[0].number;
      const queued =
          run.copies.wanted[copy] >= 0 ? run.copies.started[copy] - run.copies.wanted[copy] : 0;
      sentence.push(
          "; the last to come was the ", copies[0],
          ` from ${run.nodeName(run.links[run.copies.link[copy] - 1].from)}`);
      if (queued > 0) sentence.push(`, which had waited ${time(queued)} for its link`);
    }
    sentences.push([...sentence, "."]);
  }
  const ready = Math.max(at.ready, at.scheduled, at.operands, at.granted);
  const begin = run.begins[task];
  if (waited(ready, begin)) {
    const before = previousOn(run, task);
    const sentence =
        [`All was there, and it waited ${time(begin - ready)} for ${run.workerName(worker)}`];
    if (before && run.tasks.ended[before.number] > ready) {
      sentence.push(", which ran ", before, " until then");
      related.push(before);
    }
    sentences.push([...sentence, "."]);
  }
  return sentences;
}

function previousOn(run, task) {
  const lane = laneOfItem(run, {kind: "task", number: task});
  if (!lane || !lane.items) return null;
  let place = lastAtMost(lane.items.begin, run.begins[task]);
  while (place >= 0 && lane.items.number[place] !== task) --place;
  return place > 0 ? {run, kind: "task", number: lane.items.number[place - 1]} : null;
}

function explainCopy(run, copy) {
  const {copies} = run;
  const moments = momentsOf(run, copies.started[copy], copies.ended[copy]);
  const time = (ticks) => duration(run.length(ticks));
  const datum = copies.datum[copy] - 1;
  const bytes = run.copyBytes(copy);
  const flags = copies.flags[copy];
  const started = copies.started[copy];
  const ended = copies.ended[copy];
  const {from, to} = run.links[copies.link[copy] - 1];
  const sentences = [];
  const related = [];
  const length = run.length(ended - started);
  sentences.push([
    {run, kind: "datum", number: datum},
    `, ${bytesText(bytes)}, was copied from ${run.nodeName(from)} to ${run.nodeName(to)} from ${
        moments(started)} to ${moments(ended)}${
        length > 0 ? `, ${duration(length)} long, at ${rateText(bytes / length * 1e9)}` :
                     ""}${(flags & 16) !== 0 ? ", and failed" : ""}.`
  ]);
  const reasons = [
    "A task that could start next wanted it there.",
    "It was prefetched, before a task waited for it.",
    `It was evicted from ${run.nodeName(from)}, and its content was nowhere else.`,
    `It was written back from ${run.nodeName(from)} before it had to leave.`,
    "The application asked for it.", "It was on its way through RAM.",
    "It had just come from another rank."
  ];
  sentences.push(
      [reasons[flags & 7] +
       ((flags & 8) !== 0 && (flags & 7) !== 0 ? " Then a task came to wait for it." : "")]);
  if (copies.wanted[copy] >= 0) {
    const queued = started - copies.wanted[copy];
    sentences.push(
        [queued > 0 ? `It was wanted at ${moments(copies.wanted[copy])} and waited ${
                          time(queued)} for the link or for room.` :
                      "It began as soon as it was wanted."]);
  }
  const user = nextUser(run, datum, to, ended);
  if (user) {
    related.push(user);
    const waits = run.tasks.started[user.number] - ended;
    sentences.push([
      "The next task there to use it was ", user,
      `, ${waits > 0 ? `${time(waits)} after it had come` : "at once"}.`
    ]);
  } else if (run.accesses) {
    sentences.push([`No task on ${run.nodeName(to)} used it afterwards.`]);
  }
  const gone = evictionAfter(run, datum, to, ended);
  if (gone >= 0)
    sentences.push(
        [`It was chosen to leave ${run.nodeName(to)} at ${moments(run.evictions.time[gone])}.`]);
  return {title: `Copy of ${run.datumName(datum)}`, sentences, related};
}

function nextUser(run, datum, node, after) {
  let best = null;
  for (const task of run.tasksOfDatum(datum)) {
    const worker = run.tasks.worker[task] - 1;
    const started = run.tasks.started[task];
    if (worker < 0 || run.workers[worker].node !== node || started < after) continue;
    if (best === null || started < run.tasks.started[best]) best = task;
  }
  return best === null ? null : {run, kind: "task", number: best};
}

function evictionAfter(run, datum, node, after) {
  if (!run.evictions) return -1;
  for (const row of run.byDatum("evictions")(datum)) {
    if (run.evictions.node[row] - 1 === node && run.evictions.time[row] >= after) return row;
  }
  return -1;
}

const kMostEvents = 200;

function explainDatum(run, datum) {
  const moments = (ticks) => moment(run.ns(ticks), run.length(run.end));
  const events = [];  // [moment, ...sentence]
  for (const task of run.tasksOfDatum(datum)) {
    const mode = run.accessesOfTask(task).find((use) => use.datum === datum).mode;
    const verb =
        {0: "added to", 1: "read", 2: "written", 3: "changed", 7: "changed", 10: "scratch"}[mode];
    if (run.tasks.started[task] >= 0)
      events.push([
        run.tasks.started[task], `${verb} by `, {run, kind: "task", number: task},
        ` on ${run.workerName(run.tasks.worker[task] - 1)}`
      ]);
  }
  const copies = run.copies ? run.byDatum("copies")(datum) : [];
  for (const copy of copies) {
    if (run.copies.started[copy] < 0) continue;
    const {from, to} = run.links[run.copies.link[copy] - 1];
    events.push([
      run.copies.started[copy], {run, kind: "copy", number: copy},
      ` from ${run.nodeName(from)} to ${run.nodeName(to)}, ${kCauses[run.copies.flags[copy] & 7]}`
    ]);
  }
  const evictions = run.evictions ? run.byDatum("evictions")(datum) : [];
  for (const row of evictions) {
    events.push([
      run.evictions.time[row],
      `evicted from ${run.nodeName(run.evictions.node[row] - 1)}${
          run.evictions.saved_first[row] ? "; its content had to be saved first" : ""}`
    ]);
  }
  events.sort((a, b) => a[0] - b[0]);
  const sentences = [];
  if (run.data) {
    const home = run.data.home[datum] - 1;
    const whole = run.data.part_of[datum] - 1;
    const about = [`It has ${bytesText(run.data.bytes[datum])}`];
    if (home >= 0) about.push(` and its home is ${run.nodeName(home)}`);
    if (whole >= 0) about.push("; it is a part of ", {run, kind: "datum", number: whole});
    sentences.push([...about, "."]);
  }
  sentences.push([`It was copied ${plural(copies.length, "time")} and evicted ${
      plural(evictions.length, "time")}. All that uses it is highlighted.`]);
  const list = make(
      "ol", {class: "events"},
      events.slice(0, kMostEvents)
          .map(
              ([ticks, ...parts]) => make(
                  "li", {}, make("span", {class: "muted"}, `${moments(ticks)}  `),
                  parts.map(
                      (part) => (typeof part === "object" ? reference(page.view, part) : part)))));
  const more = [list];
  if (events.length > kMostEvents)
    more.push(make("p", {class: "muted"}, `and ${count(events.length - kMostEvents)} more`));
  return {title: run.datumName(datum), sentences, more};
}
