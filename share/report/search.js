// Finds tasks and data by their names or numbers.

const kMostFound = 40;

function findItems(run, text) {
  const word = text.trim();
  const found = [];
  if (word === "") return found;
  const add = (kind, number) => {
    if (!found.some((item) => item.kind === kind && item.number === number)) {
      found.push({run, kind, number});
    }
  };
  const tasks = run.tasks ? run.tasks.worker.length : 0;
  if (/^\d+$/.test(word) && Number(word) < tasks) add("task", Number(word));
  for (const task of run.taskNames ? run.taskNames.find(word, kMostFound) : []) add("task", task);
  for (const datum of run.dataNames ? run.dataNames.find(word, kMostFound) : [])
    add("datum", datum);
  // "gemm 812", "gemm", "datum 17".
  const [, name, number] = /^(.*?)\s*(\d*)$/.exec(word);
  if (name === "datum" && number !== "" && Number(number) < run.head.data)
    add("datum", Number(number));
  const codelet = run.head.codelets.findIndex((one) => one.name === (number === "" ? word : name));
  if (codelet >= 0 && number !== "" && Number(number) < tasks &&
      run.tasks.codelet[Number(number)] === codelet + 1)
    add("task", Number(number));
  if (codelet >= 0 && number === "") found.unshift({run, kind: "codelet", number: codelet});
  return found.slice(0, kMostFound);
}

function itemName(item) {
  const {run, kind, number} = item;
  if (kind === "task") return run.taskName(number);
  if (kind === "codelet")
    return `all ${plural(run.head.codelets[number].tasks, "task")} of ${
        run.head.codelets[number].name}`;
  if (kind === "gap") return `gap of ${item.lane.label}`;
  if (kind === "copy") return `copy of ${run.datumName(run.copies.datum[number] - 1)}`;
  return run.datumName(number);
}

// The tasks that access a datum, and its copies.
function emphasisOfDatum(run, datum) {
  const tasks = new Uint8Array(run.tasks ? run.tasks.worker.length : 0);
  const copies = new Uint8Array(run.copies ? run.copies.link.length : 0);
  for (const task of run.tasksOfDatum(datum)) tasks[task] = 1;
  for (const copy of run.byDatum("copies")(datum)) copies[copy] = 1;
  return {run, tasks, copies, label: `what uses ${run.datumName(datum)}`};
}

function emphasisOfCodelet(run, codelet) {
  const tasks = Uint8Array.from(run.tasks.codelet, (one) => one === codelet + 1 ? 1 : 0);
  const copies = new Uint8Array(run.copies ? run.copies.link.length : 0);
  return {run, tasks, copies, label: run.head.codelets[codelet].name};
}

// Selects what was found or clicked, highlights it, and explains it. `zooms`: so that it is well seen.
function chooseItem(view, item, zooms) {
  const {run, kind, number} = item;
  if (kind === "codelet") return view.emphasise(emphasisOfCodelet(run, number));
  view.emphasis = kind === "datum" ? emphasisOfDatum(run, number) : null;
  const explanation = explain(run, item);
  view.select({...item, related: explanation.related});
  showExplanation(view, explanation);
  if (kind !== "gap") history.replaceState(null, "", `#${kind}=${run.index + 1}:${number}`);
  if (!zooms || kind === "datum" || kind === "gap") return;
  const table = kind === "task" ? run.tasks : run.copies;
  if (table.started[number] >= 0) {
    view.showItem(
        run.ns(table.started[number]),
        run.ns(Math.max(table.ended[number], table.started[number])));
  }
}

// "#task=1:150": the first run's task 150, as chooseItem has written it.
function chooseFromAddress(runs, view) {
  const found = /^#(task|copy|datum)=(\d+):(\d+)$/.exec(location.hash);
  const run = found ? runs[Number(found[2]) - 1] : null;
  if (!run) return;
  const kind = found[1];
  const number = Number(found[3]);
  const there = {task: run.tasks?.worker, copy: run.copies?.link, datum: run.data?.home}[kind];
  if (there && number < there.length) chooseItem(view, {run, kind, number}, true);
}

function makeSearch(runs, view) {
  const list = make("ul", {id: "found", role: "listbox", "aria-label": "Found", hidden: true});
  const input = make("input", {
    type: "search",
    id: "search",
    placeholder: "Task or datum  ( / )",
    autocomplete: "off",
    role: "combobox",
    "aria-expanded": "false",
    "aria-controls": "found",
    "aria-label": "Find a task or a datum by name or number",
  });
  let found = [];
  let chosen = -1;
  const close = () => {
    list.hidden = true;
    input.setAttribute("aria-expanded", "false");
  };
  const choose = (i) => {
    close();
    if (found[i]) chooseItem(view, found[i], true);
  };
  const mark = (i) => {
    chosen = Math.min(Math.max(i, 0), found.length - 1);
    [...list.children].forEach((one, k) => one.setAttribute("aria-selected", k === chosen));
    if (list.children[chosen]) {
      list.children[chosen].scrollIntoView({block: "nearest"});
      input.setAttribute("aria-activedescendant", `found-${chosen}`);
    }
  };
  const look = () => {
    found = runs.flatMap((run) => findItems(run, input.value));
    const several = runs.length > 1;
    list.replaceChildren(...found.map(
        (item, i) => make(
            "li", {
              role: "option",
              id: `found-${i}`,
              onpointerdown: (event) => {
                event.preventDefault();
                choose(i);
              },
            },
            make("span", {}, itemName(item)),
            make(
                "span", {class: "muted"},
                ` ${item.kind === "codelet" ? "" : `${item.kind} ${item.number}`}${
                    several ? `, ${item.run.name}` : ""}`))));
    if (found.length === 0 && input.value.trim() !== "") {
      list.replaceChildren(make("li", {class: "muted"}, "Nothing has that name or number."));
    }
    list.hidden = input.value.trim() === "";
    input.setAttribute("aria-expanded", String(!list.hidden));
    mark(0);
    if (input.value.trim() !== "") say(`${found.length} found`);
  };
  input.addEventListener("input", look);
  input.addEventListener("blur", close);
  input.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      mark(chosen + (event.key === "ArrowDown" ? 1 : -1));
    } else if (event.key === "Enter") {
      if (list.hidden) look();
      choose(Math.max(chosen, 0));
    } else if (event.key === "Escape") {
      if (list.hidden) {
        view.emphasis = null;
        view.select(null);
        input.blur();
      }
      close();
    }
  });
  document.addEventListener("keydown", (event) => {
    const writes = /^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement.tagName);
    if (event.key !== "/" || writes || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    input.focus();
    input.select();
  });
  return make("div", {class: "search"}, input, list);
}
