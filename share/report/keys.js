// What the mouse and the keyboard do in a Gantt chart.

function listenToPointer(gantt) {
  const {canvas, view} = gantt;
  let drag = null;  // {x, pans}
  const place = (event) => {
    const box = canvas.getBoundingClientRect();
    return {x: event.clientX - box.left, y: event.clientY - box.top};
  };
  canvas.addEventListener("wheel", (event) => {
    // A page that is scrolled past the chart goes on scrolling.
    if (!event.ctrlKey && !event.shiftKey && document.activeElement !== canvas) return;
    event.preventDefault();
    const {x} = place(event);
    if (Math.abs(event.deltaX) > Math.abs(event.deltaY))
      view.pan(event.deltaX / gantt.plot);
    else
      view.zoom(Math.exp(Math.max(-100, Math.min(100, event.deltaY)) / 250), gantt.ns(x));
  }, {passive: false});
  canvas.addEventListener("pointerdown", (event) => {
    if (event.button > 1) return;
    const {x} = place(event);
    drag = {from: x, at: x, pans: event.shiftKey || event.button === 1 || x < gantt.gutter};
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    const {x, y} = place(event);
    if (!drag) return showTip(gantt, event, gantt.itemAt(x, y), x, y);
    if (drag.pans) {
      const step = (drag.at - x) / gantt.plot * view.length;
      view.show(view.from + step, view.to + step);
    } else {
      showBand(gantt, Math.max(drag.from, gantt.gutter), x);
    }
    drag.at = x;
  });
  canvas.addEventListener("pointerup", (event) => {
    if (!drag) return;
    const {x, y} = place(event);
    const {from, pans} = drag;
    drag = null;
    hideBand(gantt);
    if (Math.abs(x - from) < 4) {
      const item = gantt.itemAt(x, y);
      if (item)
        chooseItem(view, item, false);
      else
        view.select(null);
    } else if (!pans) {
      const [first, last] =
          [gantt.ns(Math.max(Math.min(from, x), gantt.gutter)), gantt.ns(Math.max(from, x))];
      view.show(first, last);
    }
  });
  canvas.addEventListener("pointercancel", () => {
    drag = null;
    hideBand(gantt);
  });
  canvas.addEventListener("pointerleave", hideTip);
  canvas.addEventListener("dblclick", () => view.all());
  for (const change of ["focus", "blur"]) canvas.addEventListener(change, () => gantt.draw());
}

function showBand(gantt, from, to) {
  gantt.band ??= gantt.canvas.parentElement.appendChild(make("div", {class: "band"}));
  Object.assign(gantt.band.style, {
    left: `${gantt.canvas.offsetLeft + Math.min(from, to)}px`,
    width: `${Math.abs(to - from)}px`,
    top: `${gantt.canvas.offsetTop}px`,
    height: `${gantt.height}px`,
    display: "block",
  });
}
function hideBand(gantt) {
  if (gantt.band) gantt.band.style.display = "none";
}

function hideTip() { document.getElementById("tip").hidden = true; }
function showTip(gantt, event, item, x, y) {
  const tip = document.getElementById("tip");
  const lane = gantt.laneAt(y);
  if (lane < 0 || x < gantt.gutter) return hideTip();
  const text = item ? shortText(gantt.run, item) :
                      `${gantt.run.lanes[lane].label} at ${moment(gantt.ns(x), gantt.view.length)}`;
  tip.textContent = text;
  tip.hidden = false;
  const left = Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8);
  const below = event.clientY + 18;
  const top =
      below + tip.offsetHeight > innerHeight ? event.clientY - tip.offsetHeight - 10 : below;
  Object.assign(tip.style, {left: `${Math.max(left, 4)}px`, top: `${top}px`});
}

// What an item is, in a line.
function shortText(run, item) {
  if (item.kind === "gap") return gapText(run, item);
  const isTask = item.kind === "task";
  const table = isTask ? run.tasks : run.copies;
  const begin = isTask ? run.begins[item.number] : table.started[item.number];
  const time = duration(run.length(table.ended[item.number] - begin));
  const at = moment(run.ns(begin), run.length(run.end));
  if (isTask) return `${run.taskName(item.number)}: ${time} from ${at}`;
  return `${run.datumName(table.datum[item.number] - 1)}, ${
             bytesText(run.copyBytes(item.number))}: ` +
      `${time} from ${at}, ${kCauses[table.flags[item.number] & 7]}`;
}

function gapText(run, {lane, number}) {
  const {begin, end, cause} = lane.gaps;
  const [name, sentence] = run.head.causes.idle[cause[number]];
  return `${lane.label} idle for ${duration(run.length(end[number] - begin[number]))}, ${name}: ${
      sentence}`;
}

function listenToKeys(gantt) {
  gantt.canvas.addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const act = kGanttKeys[event.key];
    if (!act) return;
    event.preventDefault();
    act(gantt, event);
  });
}

const kGanttKeys = {
  "+": (gantt) => gantt.view.zoom(0.5, aroundCursor(gantt)),
  "=": (gantt) => gantt.view.zoom(0.5, aroundCursor(gantt)),
  "-": (gantt) => gantt.view.zoom(2, aroundCursor(gantt)),
  "0": (gantt) => gantt.view.all(),
  Home: (gantt) =>
      gantt.view.show(gantt.view.whole.from, gantt.view.whole.from + gantt.view.length),
  End: (gantt) => gantt.view.show(gantt.view.whole.to - gantt.view.length, gantt.view.whole.to),
  PageUp: (gantt) => gantt.view.pan(-0.8),
  PageDown: (gantt) => gantt.view.pan(0.8),
  ArrowLeft: (gantt, event) => (event.shiftKey ? gantt.view.pan(-0.2) : step(gantt, -1)),
  ArrowRight: (gantt, event) => (event.shiftKey ? gantt.view.pan(0.2) : step(gantt, 1)),
  ArrowUp: (gantt) => changeLane(gantt, -1),
  ArrowDown: (gantt) => changeLane(gantt, 1),
  Enter: (gantt) => {
    const item = gantt.cursorItem();
    if (item) chooseItem(gantt.view, item, false);
  },
  Escape: (gantt) => {
    gantt.view.emphasis = null;
    gantt.view.select(null);
  },
};

function aroundCursor(gantt) {
  const item = gantt.cursorItem();
  const box = item && gantt.boxOf(item);
  const middle = box && (box.from + box.to) / 2;
  return box && middle > gantt.view.from && middle < gantt.view.to ? middle : undefined;
}

// The item of the lane that begins at the middle of what is seen, or was seen last.
function placeCursor(gantt, number, ns) {
  const lane = gantt.run.lanes[number];
  if (!lane || !lane.items || lane.items.number.length === 0) return false;
  const place = Math.min(firstAfter(lane.items, gantt.run.ticks(ns)), lane.items.number.length - 1);
  gantt.cursor = {lane: number, place};
  return true;
}

function step(gantt, by) {
  if (!gantt.cursorItem()) {
    const first = gantt.run.lanes.findIndex((lane) => lane.items && lane.items.number.length > 0);
    if (first < 0 || !placeCursor(gantt, first, gantt.view.from)) return;
  } else {
    const {items} = gantt.run.lanes[gantt.cursor.lane];
    gantt.cursor.place = Math.min(Math.max(gantt.cursor.place + by, 0), items.number.length - 1);
  }
  followCursor(gantt);
}

function changeLane(gantt, by) {
  const item = gantt.cursorItem();
  const box = item && gantt.boxOf(item);
  const ns = box ? (box.from + box.to) / 2 : gantt.view.from;
  const lanes = gantt.run.lanes.length;
  let lane = gantt.cursor ? gantt.cursor.lane + by : 0;
  while (lane >= 0 && lane < lanes && !placeCursor(gantt, lane, ns)) lane += by;
  followCursor(gantt);
}

function followCursor(gantt) {
  const item = gantt.cursorItem();
  const box = item && gantt.boxOf(item);
  if (!box) return;
  const {view} = gantt;
  if (box.from < view.from) view.show(box.from - view.length * 0.1, box.from + view.length * 0.9);
  if (box.to > view.to) view.show(box.to - view.length * 0.9, box.to + view.length * 0.1);
  say(`${gantt.run.lanes[gantt.cursor.lane].label}: ${shortText(gantt.run, item)}`);
  gantt.draw();
}
