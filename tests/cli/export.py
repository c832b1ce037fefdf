#!/usr/bin/env python3
"""vicinal export: every format, read by a program that is not ours, says the same of a run.

    tests/cli/export.py PATH_OF_VICINAL

Exit status 0 if all is well; every failure is printed. A reader that is not installed is skipped.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
from collections import Counter

from export_readers import READERS, Seen, plain, read_csv, read_table
from vicinal import CACHE, SMALL, VICINAL, check, expect_refusal, finish, run

MIB = 1 << 20
NASTY = 'a "quoted" \\ back\\n\n<b>html</b> &amp; \u00fc,;%'


def write_graph(path):
    """A chain on data that do not fit together, with names that no format takes as they are."""
    data = {f"{NASTY} {i}": {"bytes": 4 * MIB, "home": "ram"} for i in range(8)}
    names = list(data)
    tasks = [{"kernel": NASTY, "accesses": [[names[i % 8], "R"], [names[(i + 3) % 8], "RW"]], "priority": i % 3 - 1}
             for i in range(40)]
    tasks[7]["name"] = "own " + NASTY
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"name": NASTY, "data": data, "kernels": {NASTY: {"seconds": {"gpu": 1e-3}}}, "tasks": tasks}, file)


def record(folder, name, *job):
    trace, report = os.path.join(folder, name + ".vtrace"), os.path.join(folder, name + ".json")
    result = run(*job, "--policy", "darts", "--trace", trace, "--json", report)
    check(result.returncode == 0, f"{job[0]} --trace: {result.stderr}")
    with open(report, encoding="utf-8") as file:
        return trace, json.load(file)["runs"][0]


def export(folder, trace, name, form):
    path = os.path.join(folder, f"{name}.{form}")
    result = run("export", trace, "--format", form, "--output", path)
    check(result.returncode == 0 and result.stderr == "", f"export {name} as {form}: {result.stderr}")
    return path if result.returncode == 0 else None


def busy(tasks):
    sums = Counter()
    for worker, start, end in tasks.values():
        sums[worker] += end - start
    return sums


def last_levels(levels):
    """The last level of each moment, as pj_dump prints."""
    return {node: dict(of_node) for node, of_node in levels.items()}


def compare(what, seen, expected):
    check(len(seen.tasks) == len(expected.tasks), f"{what}: {len(seen.tasks)} tasks, not {len(expected.tasks)}")
    check(busy(seen.tasks) == busy(expected.tasks), f"{what}: busy {busy(seen.tasks)}, not {busy(expected.tasks)}")
    different = [number for number, task in expected.tasks.items() if seen.tasks.get(number) != task]
    check(not different, f"{what}: tasks {different[:3]} differ: "
          f"{[(seen.tasks.get(n), expected.tasks[n]) for n in different[:1]]}")
    for name in ("codelets", "titles", "copies", "dependencies", "levels", "evictions", "marks"):
        value, wanted = getattr(seen, name), getattr(expected, name)
        if name == "levels" and value is not None:
            value, wanted = last_levels(value), last_levels(wanted)
        check(value is None or value == wanted, f"{what}: {name} differ: {str(value)[:300]}, not {str(wanted)[:300]}")


def check_against_report(what, expected, report):
    check(len(expected.tasks) == report["tasks"], f"{what}: {len(expected.tasks)} tasks, not {report['tasks']}")
    links = Counter()
    for (link, _, _, count), times in expected.copies.items():
        links[link.replace(" -> ", "->")] += count * times
    reported = {link: entry["bytes"] for link, entry in report["links"].items() if entry["bytes"] > 0}
    check(links == reported, f"{what}: bytes of links {links}, not {reported}")
    evictions = sum(node["evictions"] for node in report["nodes"].values())
    check(expected.evictions == evictions > 0, f"{what}: {expected.evictions} evictions, not {evictions}")


# Every event is there, and what is put together from events agrees with them.
def check_events(what, folder, expected):
    started = read_table(folder, "events/task_started")
    check(len(started) == len(expected.tasks), f"{what}: {len(started)} events task started")
    copied = sum(int(row["bytes"]) for row in read_table(folder, "events/copy_started"))
    total = sum(key[3] * times for key, times in expected.copies.items())
    check(copied == total, f"{what}: {copied} bytes in events, {total} in copies")
    names = {plain(row["name"]) for row in started}
    check(names == set(expected.codelets.values()), f"{what}: codelets {names}")
    decisions = read_table(folder, "events/decision")
    scores = read_table(folder, "events/decision_scores")
    won = {row["decision"] for row in scores if row["wins"] == "1"}
    check(0 < len(won) <= len(decisions), f"{what}: {len(decisions)} decisions, {len(won)} with a winner")


# Other people's reader of tables: each column of numbers is one.
def check_pandas(what, folder):
    program = """
import glob, sys, pandas
for path in glob.glob(sys.argv[1] + "/**/*.csv", recursive=True):
    table = pandas.read_csv(path)
    for column in table.columns:
        is_number = column.endswith(("_ns", "_bytes")) or column in ("bytes", "task", "datum", "priority")
        if is_number and len(table) > 0 and not pandas.api.types.is_numeric_dtype(table[column]):
            sys.exit(f"{path}: {column} is {table[column].dtype}")
"""
    for python in (sys.executable, "/usr/bin/python3"):
        if os.path.exists(python) and subprocess.run([python, "-c", "import pandas"],
                                                     capture_output=True).returncode == 0:
            result = subprocess.run([python, "-c", program, folder], capture_output=True, text=True)
            check(result.returncode == 0, f"{what}: pandas: {result.stderr}")
            return
    print("skipped: tables read by pandas (Debian: python3-pandas)")


def test_simulated(folder, name, *job):
    trace, report = record(folder, name, "simulate", *job, "--machine", "v100p", "--gpus", "2")
    expected = test_exports(folder, trace, name)
    check_against_report(name, expected, report)
    tables = os.path.join(folder, name + ".csv")
    check_events(name, tables, expected)
    check_pandas(name, tables)


# Threads, and a disk.
def test_real(folder):
    trace, report = record(folder, "real", "run", "cholesky", *SMALL, "--memory", "200KiB", "--disk", folder)
    expected = test_exports(folder, trace, "real")
    # Beside the timed part the matrix was generated.
    check(len(expected.tasks) > report["tasks"], f"real: {len(expected.tasks)} tasks, {report['tasks']} timed")
    check_events("real", os.path.join(folder, "real.csv"), expected)


# A program that says what it does, and does not record all categories.
def test_program(folder):
    program = os.path.join(os.path.dirname(VICINAL), "examples/recorded")
    if not os.path.exists(program):
        print("skipped: a program that records itself (docs/examples are not built)")
        return
    subprocess.run([program], cwd=folder, check=True, stdout=subprocess.DEVNULL, timeout=60)
    expected = test_exports(folder, os.path.join(folder, "steps.vtrace"), "program")
    check(expected.marks == Counter(["step 0", "step 1", "step 2", "all steps done"]), f"marks: {expected.marks}")
    check(len(expected.tasks) == 24, f"8 rows in 3 steps: {len(expected.tasks)}")


def test_exports(folder, trace, name):
    """What the tables say, with which the other formats are compared."""
    tables = export(folder, trace, name, "csv")
    if tables is None:
        return Seen()
    expected = read_csv(tables)
    seen = {}
    for form, (read, missing) in READERS.items():
        if form == "otf2" and "left out" in run("export", "--help").stdout:
            print("skipped: OTF2, which this vicinal was built without")
            continue
        path = export(folder, trace, name, form)
        if missing() is not None:
            print(f"skipped: {form} read by others: there is no {missing()}")
        elif path is not None:
            seen[form] = read(path)
            compare(f"{name} as {form}", seen[form], expected)
    operands = {form: some.operands for form, some in seen.items() if some.operands is not None}
    check(len(set(operands.values())) <= 1, f"{name}: arrows from copies: {operands}")
    check(not expected.copies or 0 not in operands.values(), f"{name}: no arrows from copies: {operands}")
    return expected


def test_refusals(folder, trace):
    out = os.path.join(folder, "out")
    expect_refusal(run("export", "--format", "csv", "-o", out), 2, ["TRACE"], "no recording")
    expect_refusal(run("export", trace, "-o", out), 2, ["--format", "perfetto", "otf2"], "no format")
    expect_refusal(run("export", trace, "--format", "perfeto", "-o", out), 2, ["perfetto"], "a format misspelt")
    expect_refusal(run("export", trace, "--format", "dot"), 2, ["--output"], "no output")
    expect_refusal(run("export", trace, "--format", "csv", "-o", "-"), 2, ["folder"], "a folder to the output")
    expect_refusal(run("export", trace, "--format", "csv", "-o", folder), 2, ["no empty folder"], "a full folder")
    for form in ("csv", "dot"):
        absent = os.path.join(folder, "absent", "x")
        expect_refusal(run("export", trace, "--format", form, "-o", absent), 2, ["--output", absent], f"{form} nowhere")
    expect_refusal(run("export", __file__, "--format", "dot", "-o", out), 2, [__file__], "no recording at all")
    check(not os.path.exists(out), "what is refused leaves nothing behind")


# Files that cannot grow: the command says so, and leaves nothing behind.
def test_full(folder, trace):
    before = sorted(os.listdir(folder))
    for form in ("csv", "perfetto", "paje", "otf2"):
        if form == "otf2" and "left out" in run("export", "--help").stdout:
            continue
        result = subprocess.run(
            [VICINAL, "export", trace, "--format", form, "-o", os.path.join(folder, "full")], capture_output=True,
            text=True, timeout=60, restore_signals=False, env={**os.environ, "XDG_CACHE_HOME": CACHE.name},
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (512, 512)))
        check(result.returncode == 1 and "cannot write" in result.stderr,
              f"{form} without room: {result.returncode} {result.stdout} {result.stderr}")
        check(sorted(os.listdir(folder)) == before, f"{form} without room leaves {os.listdir(folder)}")
    if os.path.exists("/dev/full"):
        result = run("export", trace, "--format", "dot", "-o", "/dev/full")
        check(result.returncode == 1 and "/dev/full" in result.stderr, f"dot to a full device: {result.stderr}")
    whole = run("export", trace, "--format", "dot", "-o", "-")
    check(whole.returncode == 0 and whole.stdout.startswith("digraph tasks {"), f"dot to the output: {whole.stderr}")


with tempfile.TemporaryDirectory(dir=os.getcwd()) as temporary:
    graph = os.path.join(temporary, "graph.json")
    write_graph(graph)
    test_simulated(temporary, "names", "--graph", graph, "--memory", "20MiB")
    test_simulated(temporary, "cholesky", "cholesky", "--tiles", "8", "--memory", "20MiB")
    test_real(temporary)
    test_program(temporary)
    test_refusals(temporary, os.path.join(temporary, "names.vtrace"))
    test_full(temporary, os.path.join(temporary, "names.vtrace"))
finish()
