// Tables that can be sorted by a click on the head of a column.

// columns: [{name, text(row), value(row), numeric, title, element(row)}]; shows `most` rows, and more when asked. `label`:
// its name, for who hears the page.
function makeTable(
    label, columns, rows, {most = 15, sort = -1, descending = true, view, rowClass} = {}) {
  let shown = most;
  let by = sort;
  let falls = descending;
  const body = make("tbody");
  const heads = columns.map((column, c) => {
    const button = make("button", {type: "button", onclick: () => order(c)}, column.name);
    return make(
        "th", {scope: "col", class: column.numeric ? "number" : undefined, title: column.title},
        button);
  });
  const more = make("button", {
    type: "button",
    class: "more",
    onclick: () => {
      shown += 100;
      fillIn();
    }
  });
  function order(c) {
    falls = by === c ? !falls : Boolean(columns[c].numeric);
    by = c;
    fillIn();
  }
  function fillIn() {
    const sorted = by < 0 ? rows : rows.toSorted((a, b) => {
      const [x, y] = [columns[by].value(a), columns[by].value(b)];
      return (falls ? -1 : 1) * (x < y ? -1 : x > y ? 1 : 0);
    });
    heads.forEach(
        (th, c) => th.setAttribute(
            "aria-sort",
            c !== by  ? "none" :
                falls ? "descending" :
                        "ascending"));
    body.replaceChildren(...sorted.slice(0, shown).map(
        (row) => make(
            "tr", {class: rowClass?.(row) || undefined},
            columns.map(
                (column) => make(
                    "td", {class: column.numeric ? "number" : undefined},
                    column.element  ? column.element(row, view) :
                        column.text ? column.text(row) :
                                      column.value(row))))));
    more.hidden = rows.length <= shown;
    more.textContent = `Show more (${count(rows.length - Math.min(shown, rows.length))} left)`;
  }
  fillIn();
  return make(
      "div", {class: "scroll"},
      make(
          "table", {class: "sortable", "aria-label": label},
          make("thead", {}, make("tr", {}, heads)), body),
      more);
}

// A bar of a share from 0 to 1, or of several that follow each other: [[share, colour, title], ...].
function bar(parts, label) {
  return make(
      "span", {class: "bar-track", role: "img", "aria-label": label},
      parts.map(([share, colour, title]) => make("span", {
                  class: "bar-part",
                  title,
                  style: {width: `${100 * Math.max(0, Math.min(1, share))}%`, background: colour}
                })));
}

function section(id, title, lead, ...children) {
  return make(
      "section", {id, "aria-labelledby": `${id}-title`}, make("h2", {id: `${id}-title`}, title),
      lead ? make("p", {class: "lead"}, lead) : null, children);
}

function codeletTable(run) {
  const all = run.head.codelets.reduce((sum, codelet) => sum + codelet.time, 0) || 1;
  const rows = run.head.codelets.map((codelet, i) => ({...codelet, i}));
  return makeTable(
      `Tasks of ${run.name} by codelet`,
      [
        {
          name: "codelet",
          value: (row) => row.name,
          element: (row) =>
              [make("span", {
                 class: "swatch",
                 style: {color: kKindColours[Math.min(row.i, kKindColours.length - 1)]}
               }),
               row.name]
        },
        {name: "tasks", value: (row) => row.tasks, text: (row) => count(row.tasks), numeric: true},
        {name: "time", value: (row) => row.time, text: (row) => duration(row.time), numeric: true},
        {
          name: "share",
          value: (row) => row.time,
          numeric: true,
          element: (row) =>
              [bar([[row.time / all, kKindColours[Math.min(row.i, kKindColours.length - 1)]]],
                   percent(row.time / all)),
               percent(row.time / all)]
        },
        {
          name: "mean",
          value: (row) => row.time / row.tasks,
          text: (row) => duration(row.time / row.tasks),
          numeric: true
        },
        {
          name: "least",
          value: (row) => row.least,
          text: (row) => duration(row.least),
          numeric: true
        },
        {name: "most", value: (row) => row.most, text: (row) => duration(row.most), numeric: true},
        ...(rows.some((row) => row.failed > 0) ?
                [{name: "failed", value: (row) => row.failed, numeric: true}] :
                []),
      ],
      rows, {sort: 2});
}

function linkTable(run) {
  const wall = run.length(run.end);
  const rows = run.links.map((link, l) => ({...link, l}));
  return makeTable(
      `Links of ${run.name}`,
      [
        {
          name: "link",
          value: (row) => run.linkName(row.l),
          element: (row) =>
              [make(
                   "span",
                   {class: "swatch", style: {color: kKindColours[row.l % kKindColours.length]}}),
               run.linkName(row.l)]
        },
        {
          name: "copies",
          value: (row) => row.copies,
          text: (row) => count(row.copies),
          numeric: true
        },
        {
          name: "bytes",
          value: (row) => row.bytes,
          text: (row) => bytesText(row.bytes),
          numeric: true
        },
        {
          name: "busy",
          value: (row) => row.busy,
          numeric: true,
          element: (row) =>
              [bar([[row.busy / wall, "#3b7fb6"]], percent(row.busy / wall)),
               percent(row.busy / wall)]
        },
        {
          name: "rate while busy",
          value: (row) => row.bytes / row.busy,
          text: (row) => (row.busy > 0 ? rateText(row.bytes / row.busy * 1e9) : "–"),
          numeric: true
        },
        {
          name: "bandwidth",
          value: (row) => row.bandwidth,
          text: (row) => (row.bandwidth > 0 ? rateText(row.bandwidth) : "–"),
          numeric: true,
          title: "as the machine says"
        },
        {
          name: "copies waited",
          value: (row) => row.waited,
          text: (row) => duration(row.waited),
          numeric: true,
          title: "all together, for the link"
        },
      ],
      rows, {sort: 2});
}

function dataTable(run, view) {
  const numbers = (name, i, text = count) =>
      ({name, value: (row) => row[3][i], text: (row) => text(row[3][i]), numeric: true});
  return makeTable(
      `Data of ${run.name} that travelled`,
      [
        {
          name: "datum",
          value: (row) => row[1],
          element: (row) => make(
              "button", {
                type: "button",
                class: "ref",
                onclick: () => {
                  chooseItem(view, {run, kind: "datum", number: row[0]}, true);
                  document.getElementById("timeline").scrollIntoView();
                }
              },
              row[1])
        },
        {name: "size", value: (row) => row[2], text: (row) => bytesText(row[2]), numeric: true},
        numbers("bytes moved", 0, bytesText),
        numbers("copies", 1),
        {...numbers("reloads", 2), title: "copies that came since it had been evicted there"},
        numbers("evictions", 3),
        {...numbers("tasks waited", 4, duration), title: "for its copies, all together"},
      ],
      run.head.travels.rows, {sort: 2, view});
}
