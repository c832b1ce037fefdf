// A recorded run: its head, and its tables as they arrive.

class Run {
  constructor(index) {
    this.index = index;
    this.head = head.runs[index];
    this.name = this.head.name;
    this.unit = this.head.unit;
    this.end = this.head.end;  // in this unit
    this.offset = 0;           // ns, which is the zero of the axis
    this.overview = null;
    this.series = null;
    this.tasks = null;
    this.copies = null;
    this.lanes = [];
    this.indexes = {};
  }

  get nodes() { return this.head.machine.nodes; }
  get workers() { return this.head.machine.workers; }
  get links() { return this.head.links; }
  get pathLength() { return this.head.path.end_ns - this.head.path.begin_ns; }  // ns
  // [{name, sentence, c, time}]: why workers were idle, and how long, in ns.
  get idleCauses() {
    return this.head.causes.idle.map(
        ([name, sentence], c) => ({name, sentence, c, time: this.head.idle.idle_ns[name]}));
  }
  get policy() { return this.head.facts.policy || this.name; }

  // Moments of the tables to moments of the axis, and back.
  ns(ticks) { return ticks * this.unit - this.offset; }
  ticks(ns) { return (ns + this.offset) / this.unit; }
  length(ticks) { return ticks * this.unit; }

  async readFirst() {
    this.overview = await readSection(this.index, "overview");
    this.series = await readSection(this.index, "series");
    this.lanes = lanesOf(this);
  }

  async readTasks() {
    const accesses = await readSection(this.index, "accesses");
    if (accesses) this.accesses = accessesOf(accesses);
    this.tasks = await readSection(this.index, "tasks");
    if (this.tasks && this.tasks.ready_after) this.tasks.ready = readyOf(this);
    if (this.tasks) await fillWorkerLanes(this);
    this.copies = await readSection(this.index, "copies");
    if (this.copies) await fillLinkLanes(this);
  }

  async readRest() {
    const data = await readSection(this.index, "data");
    if (data) {
      this.data = data;
      this.dataNames = new Texts(data.name, data.name_length);
    }
    this.evictions = await readSection(this.index, "evictions");
    const names = await readSection(this.index, "task_names");
    if (names) this.taskNames = new Texts(names.name, names.name_length);
    this.decisions = await readSection(this.index, "decisions");
    const gaps = await readSection(this.index, "gaps");
    if (gaps) fillGaps(this, gaps);
    await pause();
  }

  codeletName(task) {
    const codelet = this.tasks.codelet[task];
    return codelet > 0 ? this.head.codelets[codelet - 1].name : "task";
  }
  taskName(task) {
    const own = this.taskNames ? this.taskNames.at(task) : "";
    return own || `${this.codeletName(task)} ${task}`;
  }
  datumName(datum) {
    const own = this.dataNames && datum < this.dataNames.length ? this.dataNames.at(datum) : "";
    return own || `datum ${datum}`;
  }
  nodeName(node) {
    return node >= 0 && node < this.nodes.length ? this.nodes[node].name : "nowhere";
  }
  workerName(worker) {
    return worker >= 0 && worker < this.workers.length ? this.workers[worker].name : "nobody";
  }
  linkName(link) {
    const {from, to} = this.links[link];
    return `${this.nodeName(from)} → ${this.nodeName(to)}`;
  }
  copyBytes(copy) {
    const own = this.copies.bytes[copy];
    const datum = this.copies.datum[copy] - 1;
    return own > 0 ? own - 1 : this.data ? this.data.bytes[datum] : 0;
  }

  // What a task accesses: [{datum, mode}], -1 of a datum that is not known.
  accessesOfTask(task) {
    if (!this.accesses) return [];
    const found = [];
    for (let i = this.accesses.starts[task]; i < this.accesses.starts[task + 1]; ++i) {
      found.push({datum: this.accesses.datum[i] - 1, mode: this.accesses.mode[i]});
    }
    return found;
  }

  // Rows of a table by datum, in the order of the table; made at the first call.
  byDatum(what) {
    if (this.indexes[what]) return this.indexes[what];
    const datum =
        what === "tasks" ? this.accesses && this.accesses.datum : this[what] && this[what].datum;
    const starts = new Uint32Array(this.head.data + 2);
    const rows = new Uint32Array(datum ? datum.length : 0);
    for (let i = 0; i < rows.length; ++i) ++starts[datum[i]];
    for (let i = 0, sum = 0; i < starts.length; ++i) [starts[i], sum] = [sum, sum + starts[i]];
    const next = starts.slice();
    for (let i = 0; i < rows.length; ++i) rows[next[datum[i]]++] = i;
    return this.indexes[what] = (d) => rows.subarray(starts[d + 1], starts[d + 2] ?? rows.length);
  }
  tasksOfDatum(datum) {
    if (!this.accesses) return [];
    const rows = this.byDatum("tasks")(datum);
    return Array.from(rows, (row) => lastAtMost(this.accesses.starts, row));
  }
}

function accessesOf(table) {
  const starts = new Uint32Array(table.count.length + 1);
  for (let i = 0; i < table.count.length; ++i) starts[i + 1] = starts[i] + table.count[i];
  const datum = new Int32Array(table.step.length);
  const last = [];
  for (let task = 0; task < table.count.length; ++task) {
    for (let k = 0; k < table.count[task]; ++k) {
      const at = starts[task] + k;
      const step = table.step[at];
      last[k] = (last[k] ?? 0) + (step % 2 === 0 ? step / 2 : -(step + 1) / 2);
      datum[at] = last[k];
    }
  }
  return {starts, datum, mode: table.mode};
}

// The times at which tasks became ready: each task's is the last end of a task that conflicts with it.
// expected_ready of src/reports/page/detail.cpp computes the same.
function readyOf(run) {
  const {ready_after: after, ended} = run.tasks;
  const {starts, datum, mode} = run.accesses;
  const written = new Int32Array(run.head.data + 1);
  const used = new Int32Array(run.head.data + 1);
  const ready = new Int32Array(after.length).fill(-1);
  for (let task = 0; task < after.length; ++task) {
    let expected = 0;
    for (let i = starts[task]; i < starts[task + 1]; ++i) {
      if (datum[i] > 0) expected = Math.max(expected, (mode[i] === 1 ? written : used)[datum[i]]);
    }
    for (let i = starts[task]; i < starts[task + 1]; ++i) {
      if (datum[i] === 0) continue;
      used[datum[i]] = Math.max(used[datum[i]], ended[task]);
      if (mode[i] !== 1) written[datum[i]] = Math.max(written[datum[i]], ended[task]);
    }
    const step = after[task] - 1;
    if (step >= 0) ready[task] = expected + (step % 2 === 0 ? step / 2 : -(step + 1) / 2);
  }
  return ready;
}

// Of access modes, as their numbers stand: include/vicinal/access.hpp.
const kModes = {
  0: "adds to",
  1: "reads",
  2: "writes",
  3: "changes",
  7: "changes",
  10: "has as scratch"
};
const readsMode = (mode) => (mode & 1) !== 0;
const leavesContent = (mode) => (mode & 10) === 2;
