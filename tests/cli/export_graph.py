#!/usr/bin/env python3
"""vicinal export --format graph: the graph of a recorded run is played as it was.

    tests/cli/export_graph.py PATH_OF_VICINAL

Exit status 0 if all is well; every failure is printed.
"""

import json
import os
import tempfile

from export_readers import read_table
from vicinal import SMALL, check, expect_refusal, finish, run

MACHINE = ["--machine", "v100p", "--gpus", "2", "--memory", "20MiB"]


def record(folder, name, *job):
    """The recording, and what the report says of the run."""
    trace, report = os.path.join(folder, name + ".vtrace"), os.path.join(folder, name + ".report.json")
    result = run(*job, "--trace", trace, "--json", report)
    check(result.returncode == 0, f"{name}: {result.stderr}")
    with open(report, encoding="utf-8") as file:
        return trace, json.load(file)["runs"][0]


def export_graph(folder, name, trace):
    path = os.path.join(folder, name + ".graph.json")
    result = run("export", trace, "--format", "graph", "--output", path)
    check(result.returncode == 0 and result.stderr == "", f"{name}: {result.stderr}")
    return path


def graph_of_tables(folder, name, trace):
    """Codelets of the tasks in their order, and their dependencies, by the tables of the recording."""
    tables = os.path.join(folder, name + ".csv")
    result = run("export", trace, "--format", "csv", "--output", tables)
    check(result.returncode == 0, f"{name}: {result.stderr}")
    computed = [row for row in read_table(tables, "tasks") if row["kind"] == "compute"]
    number = {row["task"]: i for i, row in enumerate(computed)}
    # What the application reads in between is no task of the graph, and holds none of its tasks up.
    dependencies = {(number[row["after"]], number[row["task"]]) for row in read_table(tables, "dependencies")
                    if row["after"] in number and row["task"] in number}
    return [row["codelet"] for row in computed], [row["priority"] for row in computed], dependencies


def test_real(folder):
    trace, report = record(folder, "real", "run", "cholesky", *SMALL, "--policy", "darts")
    graph = export_graph(folder, "real", trace)
    # On the cores alone: what a kernel takes was measured there.
    again, replayed = record(folder, "replay", "simulate", "--graph", graph, "--machine", "idgraf", "--gpus", "0",
                             "--cpus", "2", "--policy", "darts")
    expected, seen = graph_of_tables(folder, "real", trace), graph_of_tables(folder, "replay", again)
    check(len(expected[0]) >= report["tasks"] > 0, f"real: {len(expected[0])} tasks, {report['tasks']} timed")
    check(replayed["tasks"] == len(expected[0]), f"replay: {replayed['tasks']} tasks, not {len(expected[0])}")
    for what, a, b in zip(("codelets", "priorities", "dependencies"), expected, seen):
        check(a == b and len(a) > 0, f"replay: {what} differ: {len(a)} and {len(b)}")
    with open(graph, encoding="utf-8") as file:
        written = json.load(file)
    check(written["name"] == "cholesky" and written["precision"] == "double", f"real: {written['name']}")
    for kernel, entry in written["kernels"].items():
        check(entry["seconds"].get("cpu", 0) > 0, f"real: no time of {kernel}: {entry}")
    tiles = {name: datum for name, datum in written["data"].items() if datum["bytes"] == 64 * 64 * 8}
    check(len(tiles) >= 10, f"real: {len(tiles)} whole tiles of 64 x 64 doubles")


def test_simulated(folder, name, *job):
    trace, first = record(folder, name, "simulate", *job, *MACHINE, "--policy", "darts")
    graph = export_graph(folder, name, trace)
    _, second = record(folder, name + ".again", "simulate", "--graph", graph, *MACHINE, "--policy", "darts")
    for key in ("tasks", "seconds", "bytes_in", "bytes_out"):
        check(first[key] == second[key], f"{name}: {key} {first[key]}, played again {second[key]}")
    check(first["tasks"] > 1, f"{name}: {first['tasks']} tasks")


def write(folder, name, graph):
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as file:
        json.dump(graph, file)
    return path


def made_graph(folder):
    """Two data of one name in a recording, parts, scratch, commuting tasks, times of one kind alone."""
    mib = 1 << 20
    return write(folder, "made.json", {
        "data": {"x": {"bytes": 4 * mib, "home": "ram"}, "y": {"bytes": 4 * mib},
                 "y0": {"bytes": 2 * mib, "part_of": "y"}, "y1": {"bytes": 2 * mib, "part_of": "y"},
                 "s": {"bytes": mib}},
        "kernels": {"make": {"seconds": {"gpu": 1e-3, "cpu": 5e-3}, "flops": 1e9},
                    "here": {"seconds": {"cpu": 1e-3}, "cores_only": True}},
        "tasks": [{"kernel": "make", "accesses": [["y0", "W"], ["x", "R"]], "priority": 3, "name": "first"},
                  {"kernel": "make", "accesses": [["y1", "W"], ["s", "scratch"]], "priority": -2},
                  {"kernel": "here", "accesses": [["y", "commute"]]},
                  {"kernel": "here", "accesses": [["y", "commute"], ["s", "scratch"]]},
                  {"kernel": "make", "accesses": [["y", "R"], ["x", "RW"]]}]})


def test_made(folder):
    machine = ["--machine", "idgraf", "--gpus", "2", "--cpus", "2", "--policy", "dmdas"]
    trace, first = record(folder, "made", "simulate", "--graph", made_graph(folder), *machine)
    path = export_graph(folder, "made", trace)
    _, second = record(folder, "made.again", "simulate", "--graph", path, *machine)
    check((first["tasks"], first["seconds"]) == (second["tasks"], second["seconds"]), f"made: {first} {second}")
    with open(path, encoding="utf-8") as file:
        graph = json.load(file)
    check(graph["kernels"]["make"] == {"seconds": {"cpu": 5e-3, "gpu": 1e-3}, "flops": 1e9}, f"{graph['kernels']}")
    check(graph["kernels"]["here"].get("cores_only") is True, f"{graph['kernels']}")
    check(graph["data"]["y[0]"] == {"bytes": 2 << 20, "part_of": "y"}, f"{graph['data']}")
    check([task.get("priority", 0) for task in graph["tasks"]] == [3, -2, 0, 0, 0], f"{graph['tasks']}")
    check(graph["tasks"][0].get("name") == "first", f"{graph['tasks'][0]}")


def test_reductions(folder):
    """Played again it is the same run: the runtime's own tasks, which combine, are not tasks of the graph."""
    graph = write(folder, "sum.json", {
        "data": {"s": {"bytes": 1 << 22, "home": "ram", "reduction": {"neutral": "zero", "combine": "add"}},
                 "x": {"bytes": 1 << 22, "home": "ram"}},
        "kernels": {name: {"seconds": {"gpu": seconds}} for name, seconds in
                    (("zero", 1e-3), ("add", 2e-3), ("term", 5e-3))},
        "tasks": [{"kernel": "term", "accesses": [["s", "reduction"], ["x", "R"]]} for _ in range(3)]
                 + [{"kernel": "term", "accesses": [["s", "RW"]]}]
                 + [{"kernel": "term", "accesses": [["s", "reduction"]]} for _ in range(2)]})
    trace, first = record(folder, "sum", "simulate", "--graph", graph, *MACHINE, "--policy", "darts")
    again = export_graph(folder, "sum", trace)
    _, second = record(folder, "sum.again", "simulate", "--graph", again, *MACHINE, "--policy", "darts")
    for key in ("tasks", "seconds", "bytes_in", "bytes_out"):
        check(first[key] == second[key], f"sum: {key} {first[key]}, played again {second[key]}")
    with open(again, encoding="utf-8") as file:
        written = json.load(file)
    check(written["data"]["s"]["reduction"] == {"neutral": "zero", "combine": "add"}, f"sum: {written['data']}")
    check([task["kernel"] for task in written["tasks"]] == ["term"] * 6, f"sum: {written['tasks']}")


def test_divided(folder):
    """Recursive tasks: the inner tasks stand in their place, between a task that reads and a task that writes the divided data."""
    trace, _ = record(folder, "divided", "run", "cholesky", "--size", "256", "--tile", "64", "--panel", "16")
    path = export_graph(folder, "divided", trace)
    with open(path, encoding="utf-8") as file:
        graph = json.load(file)
    names = [task.get("name", "") for task in graph["tasks"]]
    begun = [name for name in names if name.endswith(" is divided")]
    check(begun != [] and len(begun) == len([name for name in names if name.endswith(" is whole")]), f"{len(begun)}")
    first = graph["tasks"][names.index(begun[0])]
    check(first["accesses"][0][1] == "R" and {mode for _, mode in first["accesses"][1:]} == {"W"}, f"{first}")
    check(graph["kernels"]["repartition"]["cores_only"] is True, f"{graph['kernels']['repartition']}")
    _, report = record(folder, "divided.again", "simulate", "--graph", path, "--machine", "idgraf", "--gpus", "0",
                       "--cpus", "2")
    check(report["tasks"] == len(names), f"divided: {report['tasks']} tasks, not {len(names)}")


def test_times(folder):
    """What the run did not measure is said by the user."""
    trace, _ = record(folder, "cores", "run", "lu", "--size", "256", "--tile", "64")
    path = os.path.join(folder, "cores.graph.json")
    times = [word for kernel in ("generate", "getrf", "lu.trsm", "lu.gemm") for word in ("--time", kernel + "@gpu=2e-3")]
    result = run("export", trace, "--format", "graph", "-o", path, *times)
    check(result.returncode == 0, f"times: {result.stderr}")
    with open(path, encoding="utf-8") as file:
        kernels = json.load(file)["kernels"]
    check(all(kernel["seconds"]["gpu"] == 2e-3 and kernel["seconds"]["cpu"] > 0 for kernel in kernels.values()),
          f"times: {kernels}")
    _, report = record(folder, "gpu", "simulate", "--graph", path, "--machine", "v100p", "--gpus", "1")
    check(report["seconds"] >= 30 * 2e-3, f"times: {report['seconds']} s")  # 30 tasks


def test_refusals(folder):
    out = os.path.join(folder, "out.json")
    trace, _ = record(folder, "lacking", "simulate", "stencil", *MACHINE, "--trace-events", "tasks")
    expect_refusal(run("export", trace, "--format", "graph", "-o", out), 2, [trace, "submission", "--trace-events"],
                   "a recording without submissions")
    trace, _ = record(folder, "short", "simulate", "stencil", *MACHINE)
    for time, parts in (("sweep=1", ["CODELET@KIND=SECONDS"]), ("sweep@tpu=1", ["tpu", "opencl"]),
                        ("sweep@cpu=0", ["above 0"]), ("sweep@cpu=fast", ["--time", "fast"]),
                        ("swep@cpu=1", ["there is no codelet", "swep", "did you mean", "sweep"])):
        expect_refusal(run("export", trace, "--format", "graph", "-o", out, "--time", time), 2, parts, time)
    expect_refusal(run("export", trace, "--format", "dot", "-o", out, "--time", "sweep@cpu=1"), 2, ["--time", "graph"],
                   "--time of dot")
    check(not os.path.exists(out), "what is refused leaves nothing behind")


with tempfile.TemporaryDirectory(dir=os.getcwd()) as temporary:
    test_real(temporary)
    test_simulated(temporary, "cholesky", "cholesky", "--tiles", "8")
    test_simulated(temporary, "varied", "cholesky", "--tiles", "6", "--vary", "20")
    test_simulated(temporary, "random", "random", "--tasks", "200", "--bytes", "1MiB")
    test_made(temporary)
    test_reductions(temporary)
    test_divided(temporary)
    test_times(temporary)
    test_refusals(temporary)
finish()
