#!/usr/bin/env python3
"""vicinal export --format sqlite: the tables of csv, with types, indexes and views. Names are data, never SQL.

    tests/cli/export_sqlite.py PATH_OF_VICINAL

Exit status 0 if all is well; every failure is printed.
"""

import csv
import json
import os
import resource
import sqlite3
import subprocess
import tempfile

from vicinal import CACHE, VICINAL, check, expect_refusal, finish, run

NASTY = "x\"'); DROP TABLE tasks; -- \u00fc,;%\n=1"


def write_graph(path):
    data = {f"{NASTY} {i}": {"bytes": 4 << 20, "home": "ram"} for i in range(8)}
    names = list(data)
    tasks = [{"kernel": NASTY, "accesses": [[names[i % 8], "R"], [names[(i + 3) % 8], "RW"]]} for i in range(40)]
    tasks[7]["name"] = "=own " + NASTY
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"name": NASTY, "data": data, "kernels": {NASTY: {"seconds": {"gpu": 1e-3}}}, "tasks": tasks}, file)


def csv_tables(folder):
    """By the name in the database: the columns, and the rows as texts."""
    tables = {}
    for path, prefix in ((folder, ""), (os.path.join(folder, "events"), "event_")):
        for name in os.listdir(path):
            if name.endswith(".csv"):
                with open(os.path.join(path, name), encoding="utf-8", newline="") as file:
                    rows = list(csv.reader(file))
                tables[prefix + name[:-4]] = (rows[0], rows[1:])
    return tables


def as_csv(value):
    if value is None:
        return ""
    if isinstance(value, float):
        return repr(value).removesuffix(".0")
    return str(value)


def plain(text):  # without what keeps a spreadsheet from computing it
    return text[1:] if text.startswith("'=") else text


def test_tables(base, tables):
    found = {row[0] for row in base.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    check(found == set(tables), f"tables {found ^ set(tables)} are in one of both")
    for name, (columns, rows) in tables.items():
        there = [row[1] for row in base.execute(f'PRAGMA table_info("{name}")')]
        check(there == columns, f"{name}: columns {there}, not {columns}")
        read = [[as_csv(cell) for cell in row] for row in base.execute(f'SELECT * FROM "{name}"')]
        wanted = [[plain(cell) for cell in row] for row in rows]
        different = [pair for pair in zip(read, wanted) if pair[0] != pair[1]]
        check(len(read) == len(wanted) and not different, f"{name}: {len(read)} of {len(wanted)} rows, {different[:1]}")
        for row in base.execute(f'PRAGMA table_info("{name}")'):
            kinds = {kind for (kind,) in base.execute(f'SELECT DISTINCT typeof("{row[1]}") FROM "{name}"')}
            check(kinds <= {"null", row[2].lower()}, f"{name}.{row[1]} is declared {row[2]}, and holds {kinds}")


def test_views(base):
    (tasks,) = base.execute("SELECT count(*) FROM named_tasks WHERE run_ns > 0").fetchone()
    check(tasks == 40, f"named_tasks has {tasks}")
    (title,) = base.execute("SELECT title FROM named_tasks WHERE task = 7").fetchone()
    check(title == "=own " + NASTY.replace("\n", "\ufffd"), f"title {title!r}")
    (end,) = base.execute("SELECT CAST(value AS INTEGER) FROM run WHERE name = 'end_ns'").fetchone()
    for worker, idle in base.execute("SELECT worker, sum(idle_ns) FROM idle_intervals GROUP BY worker").fetchall():
        (busy,) = base.execute("SELECT coalesce(sum(run_ns), 0) FROM named_tasks WHERE worker = ?", (worker,)).fetchone()
        # Tasks of an accelerator may overlap on its queue.
        check(busy > 0 and idle + busy >= end, f"worker {worker}: {idle} ns idle, {busy} ns busy of {end}")
        overlaps = base.execute("""SELECT count(*) FROM idle_intervals JOIN tasks USING (worker)
            WHERE worker = ? AND started_ns < to_ns AND ended_ns > from_ns""", (worker,)).fetchone()
        check(overlaps == (0,), f"worker {worker}: tasks run in {overlaps} idle intervals")
    moved = base.execute("SELECT sum(bytes), sum(copies) FROM traffic").fetchone()
    check(moved == base.execute("SELECT sum(bytes), count(*) FROM copies").fetchone(), f"traffic {moved}")
    plan = base.execute("EXPLAIN QUERY PLAN SELECT * FROM tasks WHERE task = 7").fetchall()
    check("USING INDEX" in str(plan), f"a task is looked for without an index: {plan}")


def test_full(folder, trace):
    result = subprocess.run(
        [VICINAL, "export", trace, "--format", "sqlite", "-o", os.path.join(folder, "full")], capture_output=True,
        text=True, timeout=60, restore_signals=False, env={**os.environ, "XDG_CACHE_HOME": CACHE.name, "TMPDIR": folder},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192)))
    check(result.returncode == 1 and "cannot write" in result.stderr and "TMPDIR" in result.stderr,
          f"without room: {result.returncode} {result.stdout} {result.stderr}")
    absent = os.path.join(folder, "absent")
    result = run("export", trace, "--format", "sqlite", "-o", os.path.join(folder, "x"), environment={"TMPDIR": absent})
    check(result.returncode == 1 and absent in result.stderr, f"TMPDIR that is not there: {result.stderr}")


with tempfile.TemporaryDirectory(dir=os.getcwd()) as temporary:
    graph, trace = os.path.join(temporary, "graph.json"), os.path.join(temporary, "run.vtrace")
    write_graph(graph)
    made = run("simulate", "--graph", graph, "--machine", "v100p", "--gpus", "2", "--memory", "20MiB", "--policy",
               "darts", "--trace", trace)
    check(made.returncode == 0, f"simulate: {made.stderr}")
    database, folder = os.path.join(temporary, "run.sqlite"), os.path.join(temporary, "csv")
    if "sqlite: " in (help_text := run("export", "--help").stdout) and "SQL: the tables of csv, and views (left out" in help_text:
        expect_refusal(run("export", trace, "--format", "sqlite", "-o", database), 2, ["libsqlite3-dev"], "left out")
        print("skipped: SQLite, which this vicinal was built without")
    else:
        before = sorted(os.listdir(temporary))
        result = run("export", trace, "--format", "sqlite", "-o", database, environment={"TMPDIR": temporary})
        check(result.returncode == 0 and result.stderr == "", f"export: {result.stderr}")
        check(sorted(os.listdir(temporary)) == sorted([*before, "run.sqlite"]), f"left: {os.listdir(temporary)}")
        check(run("export", trace, "--format", "csv", "-o", folder).returncode == 0, "export --format csv")
        connection = sqlite3.connect(database)
        check(connection.execute("PRAGMA integrity_check").fetchone() == ("ok",), "the database is whole")
        test_tables(connection, csv_tables(folder))
        test_views(connection)
        connection.close()
        test_full(temporary, trace)
finish()
