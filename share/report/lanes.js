// The rows of the Gantt chart: one for each worker and for each link; of many ranks one for each rank, or for several, which
// has its overview alone. Before all tasks have been read a row has its
// overview alone; then also its items, in the order of their beginning.

const kOverviewBins = 2048;

function lanesOf(run) {
  const lanes = [];
  const add = (kind, index, label, letter, colours) => {
    const shares = [];
    for (let k = 0; k < colours.length; ++k)
      shares.push(run.overview[`${letter}${index}.${k}`] ?? null);
    lanes.push({kind, index, label, shares, colours, items: null, rows: 1});
  };
  const rankRows = run.head.rank_rows;
  if (rankRows.length > 0) {
    rankRows.forEach((name, i) => add("rank", i, name, "r", kKindColours));
    return lanes;
  }
  run.workers.forEach((worker, i) => add("worker", i, worker.name, "w", kKindColours));
  run.links.forEach((_, i) => add("link", i, run.linkName(i), "l", kCauseColours));
  return lanes;
}

// Sorted by beginning, then by number. Both fit a double's 53 bits: 31 of a moment, 22 of a number.
function sortedByMoment(numbers, momentOf) {
  const keys = new Float64Array(numbers.length);
  for (let i = 0; i < numbers.length; ++i)
    keys[i] = Math.max(0, momentOf(numbers[i])) * 2 ** 22 + i;
  keys.sort();
  return Uint32Array.from(keys, (key) => numbers[key % 2 ** 22]);
}

// Items that overlap go to rows of their own, four at most.
function layRows(items) {
  const ends = [];
  items.row = new Uint8Array(items.number.length);
  for (let i = 0; i < items.number.length; ++i) {
    let row = ends.findIndex((end) => end <= items.begin[i]);
    if (row < 0) row = ends.length < 4 ? ends.length : ends.indexOf(Math.min(...ends));
    ends[row] = items.end[i];
    items.row[i] = row;
  }
  return Math.max(1, ends.length);
}

// `reach`: the latest end so far, by which the first item that is seen is found.
function finishLane(lane, items) {
  items.reach = new Int32Array(items.number.length);
  for (let i = 0, reach = 0; i < items.reach.length; ++i) {
    items.reach[i] = reach = Math.max(reach, items.end[i]);
  }
  lane.rows = layRows(items);
  lane.items = items;
}

// Numbers of things by lane.
function numbersByLane(count, laneOf, lanes) {
  const sizes = new Uint32Array(lanes);
  for (let i = 0; i < count; ++i)
    if (laneOf(i) >= 0) ++sizes[laneOf(i)];
  const numbers = Array.from(sizes, (size) => new Uint32Array(size));
  sizes.fill(0);
  for (let i = 0; i < count; ++i) {
    const lane = laneOf(i);
    if (lane >= 0) numbers[lane][sizes[lane]++] = i;
  }
  return numbers;
}

async function fillWorkerLanes(run) {
  const {worker, started, ended, codelet} =
      run.tasks;  // queued tasks run in the order of their ends
  const laneOf = (i) => started[i] >= 0 && ended[i] >= 0 ? worker[i] - 1 : -1;
  const byLane = numbersByLane(worker.length, laneOf, run.workers.length);
  run.begins = started.slice();  // when the worker was free for what it had been given
  for (const lane of run.lanes) {
    if (lane.kind !== "worker") continue;
    const number = sortedByMoment(byLane[lane.index], (task) => ended[task]);
    const items = {
      number,
      begin: new Int32Array(number.length),
      end: new Int32Array(number.length),
      kind: new Uint8Array(number.length)
    };
    for (let i = 0, free = 0; i < number.length; ++i) {
      const task = number[i];
      items.end[i] = ended[task];
      items.begin[i] = Math.max(started[task], free);
      items.kind[i] = Math.min(Math.max(codelet[task] - 1, 0), kKindColours.length - 1);
      free = ended[task];
      run.begins[task] = items.begin[i];
    }
    finishLane(lane, items);
    await pause();
  }
}

async function fillLinkLanes(run) {
  const {link, started, ended, flags} = run.copies;
  const laneOf = (i) => started[i] >= 0 && ended[i] >= 0 ? link[i] - 1 : -1;
  const byLane = numbersByLane(link.length, laneOf, run.links.length);
  for (const lane of run.lanes) {
    if (lane.kind !== "link") continue;
    const number = sortedByMoment(byLane[lane.index], (copy) => started[copy]);
    finishLane(lane, {
      number,
      begin: Int32Array.from(number, (copy) => started[copy]),
      end: Int32Array.from(number, (copy) => ended[copy]),
      kind: Uint8Array.from(number, (copy) => flags[copy] & 7),
    });
    await pause();
  }
}

// The first item of the lane that ends after the moment.
function firstAfter(items, ticks) {
  let low = 0;
  let high = items.reach.length;
  while (low < high) {
    const middle = low + high >> 1;
    if (items.reach[middle] <= ticks)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

// The first of sorted ends that is later than the moment.
function firstEndingAfter(ends, ticks) { return lastAtMost(ends, ticks) + 1; }

// Gaps of the workers, by worker and in the order of time, as their table has them.
function fillGaps(run, table) {
  const {worker, cause, from, to} = table;
  for (const lane of run.lanes) {
    if (lane.kind !== "worker") continue;
    const first = lastAtMost(worker, lane.index - 1) + 1;
    const last = lastAtMost(worker, lane.index) + 1;
    lane.gaps = {
      begin: from.subarray(first, last),
      end: to.subarray(first, last),
      cause: cause.subarray(first, last)
    };
  }
}

// The place of a task or copy in its lane; -1: it is not there.
function placeInLane(lane, number) {
  return lane && lane.items ? lane.items.number.indexOf(number) : -1;
}

function laneOfItem(run, item) {
  if (item.kind === "task" && run.tasks) {
    return run.lanes.find(
        (lane) => lane.kind === "worker" && lane.index === run.tasks.worker[item.number] - 1);
  }
  if (item.kind === "copy" && run.copies) {
    return run.lanes.find(
        (lane) => lane.kind === "link" && lane.index === run.copies.link[item.number] - 1);
  }
  return undefined;
}
