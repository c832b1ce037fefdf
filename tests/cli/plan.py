#!/usr/bin/env python3
"""vicinal plan says what simulate says, and a run follows its plan.

    tests/cli/plan.py PATH_OF_VICINAL

Exit status 0 if all is well; every failure is printed.
"""

import json
import os
import tempfile

from made_runs import MIB, machine, write
from vicinal import check, expect_refusal, finish, run

# Graphs in memories that hold a part of their data.
JOBS = {
    "cholesky": ["--tiles", "20", "--gpus", "1", "--memory", "200MiB"],
    "lu": ["--tiles", "14", "--gpus", "1", "--memory", "200MiB"],
    "qr": ["--tiles", "12", "--gpus", "2", "--memory", "100MiB"],
    "gemm3d": ["--tiles", "10", "--gpus", "2", "--memory", "100MiB"],
    "cg": ["--gpus", "2", "--memory", "8MiB"],
}
# Of the machine that the real runs are planned for.
SPEEDS = """[[speed]]
kernel = ["gemm", "syrk", "trsm", "potrf", "getrf", "gemm3d"]
kind = "cpu"
precision = "double"
rate = "10 GFlop/s"
"""
REAL = ["--size", "768", "--tile", "64", "--workers", "1", "--memory", "1MiB"]
PLANNED = ["--tiles", "12", "--tile", "64", "--memory", "1MiB"]


def read_json(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def report_of(what, *arguments):
    """The first run of the report; nothing may be warned of."""
    result = run(*arguments, "--json", "-")
    check(result.returncode == 0, f"{what}: {result.returncode} {result.stderr}")
    check("warning" not in result.stderr, f"{what}: {result.stderr}")
    return json.loads(result.stdout)["runs"][0] if result.returncode == 0 else None


def orders(path):
    """By node: its tasks."""
    plan, by_node = read_json(path), {}
    for name, node, *number in plan["tasks"]:
        by_node.setdefault(plan["nodes"][node], []).append((name, *number))
    return by_node


def test_simulated(folder):
    for name, job in JOBS.items():
        job = [name, *job, "--machine", "v100p"]
        path = os.path.join(folder, name + ".plan")
        planned = report_of(f"plan {name}", "plan", *job, "-o", path)
        simulated = report_of(f"simulate {name}", "simulate", *job)
        followed = report_of(f"simulate {name} --plan", "simulate", *job, "--plan", path)
        if planned is None or simulated is None or followed is None:
            continue
        for key in ("policy", "seconds", "tasks", "bytes_in", "bytes_out"):
            check(planned[key] == simulated[key], f"{name}, {key}: {planned[key]} planned, {simulated[key]} simulated")
        check(followed["policy"] == "horizon", f"{name} --plan: {followed['policy']}")
        check(followed["tasks"] == planned["tasks"], f"{name} --plan: {followed['tasks']} tasks")
        # Its order is kept, and known before: victims are chosen better than in the run that it was made from.
        check(0.85 <= followed["bytes_in"] / planned["bytes_in"] <= 1.01,
              f"{name} --plan: {followed['bytes_in']} bytes, {planned['bytes_in']} planned")
        check(0.9 <= followed["seconds"] / planned["seconds"] <= 1.035,
              f"{name} --plan: {followed['seconds']} s, {planned['seconds']} planned")
        again = os.path.join(folder, name + ".again.plan")
        report_of(f"plan {name} --plan", "plan", *job, "--plan", path, "-o", again)
        check(orders(again) == orders(path), f"{name} --plan: another order on some GPU")
        plan = read_json(path)
        check(plan["format"] == "vicinal-plan-1" and plan["application"] == name and plan["machine"] == "v100p" and
              plan["policy"] == planned["policy"], f"{name}: {dict(plan, tasks=[])}")
        check(abs(plan["seconds"] / planned["seconds"] - 1) < 1e-6, f"{name}: {plan['seconds']} s in the plan")
        check(len(plan["tasks"]) == len({(task[0], *task[2:]) for task in plan["tasks"]}) > 0, f"{name}: tasks twice")
    names = [task[0] for task in read_json(os.path.join(folder, "cholesky.plan"))["tasks"]]
    check(names[0] == "potrf(0)" and "gemm(19,18,17)" in names and len(names) == 1540, f"names of cholesky: {names[:3]}")
    # A part of the runtime's own tasks depends on the run.
    cg = read_json(os.path.join(folder, "cg.plan"))["tasks"]
    check({task[0] for task in cg} == {"spmv", "update", "direction", "alpha", "beta"}, "tasks of cg")


def test_of_the_fastest(folder):
    path = os.path.join(folder, "fastest.plan")
    job = ["cholesky", "--tiles", "12", "--machine", "v100p", "--gpus", "1", "--memory", "60MiB"]
    result = run("plan", *job, "--policy", "lws,horizon,darts", "-o", path, "--json", "-")
    check(result.returncode == 0, f"three policies: {result.stderr}")
    runs = json.loads(result.stdout)["runs"]
    best = min(runs, key=lambda each: each["seconds"])
    check(len(runs) == 3 and read_json(path)["policy"] == best["policy"] and best["policy"] in result.stderr,
          f"three policies: {best['policy']}, {result.stderr}")
    result = run("plan", *job, "-o", "-")
    check('"format": "vicinal-plan-1"' in result.stdout, f"-o -: {result.stdout[:200]}")
    result = run("plan", *job)
    check(result.returncode == 0 and "time" in result.stdout and "--plan" not in result.stdout,
          f"without -o: {result.stdout}")


def export_plan(trace, path):
    result = run("export", trace, "--format", "plan", "--output", path)
    check(result.returncode == 0 and result.stderr == "", f"export {trace}: {result.stderr}")


def test_real(folder):
    if "not in this build" in run("run", "--help").stdout + run("--help").stdout:
        print("skipped: real runs (this vicinal has no applications)")
        return
    made = write(folder, "made.toml", machine(cpus=1, ram=2 * MIB, disk="1 GB/s") + SPEEDS)
    for name in ("cholesky", "lu"):
        plan, trace, again = (os.path.join(folder, f"{name}.{end}") for end in ("plan", "vtrace", "again.plan"))
        job = ["run", name, *REAL, "--disk", folder, "--check"]
        planned = report_of(f"plan {name} for a disk", "plan", name, *PLANNED, "--machine", made, "-o", plan)
        check(planned is not None and planned["bytes_in"] > 0, f"{name} comes from the disk: {planned}")
        check("fill" not in {task[0] for task in read_json(plan)["tasks"]}, f"{name}: tasks that fill data are planned")
        followed = report_of(f"run {name} --plan", *job, "--plan", plan, "--trace", trace)
        export_plan(trace, again)
        exported = report_of(f"run {name} under its own plan", *job, "--plan", again)
        for what, report in (("--plan", followed), ("under its own plan", exported)):
            if report is None or planned is None:
                continue
            check(report["policy"] == "horizon" and report["verified"], f"run {name} {what}: {report}")
            check(report["tasks"] == planned["tasks"], f"run {name} {what}: {report['tasks']} tasks")
            # Copies ahead come when they can.
            check(report["bytes_in"] <= 1.15 * planned["bytes_in"],
                  f"run {name} {what}: {report['bytes_in']} bytes, {planned['bytes_in']} planned")
        ran, meant = read_json(again), read_json(plan)
        check(ran["application"] == name and ran["policy"] == "horizon", f"{name}: {dict(ran, tasks=[])}")
        check({task[0] for task in meant["tasks"]} <= {task[0] for task in ran["tasks"]}, f"{name}: other names")
    larger = run("run", "cholesky", "--size", "1024", *REAL[2:], "--disk", folder, "--check", "--plan",
                 os.path.join(folder, "cholesky.plan"))
    check(larger.returncode == 0 and "passed" in larger.stdout, f"a larger size: {larger.stderr}")
    check("warning: plan " in larger.stderr and "planned anew" in larger.stderr and "cholesky" in larger.stderr,
          f"a larger size: {larger.stderr}")
    smaller = run("run", "cholesky", "--size", "512", *REAL[2:], "--disk", folder, "--check", "--plan",
                  os.path.join(folder, "cholesky.plan"))
    check(smaller.returncode == 0 and "passed" in smaller.stdout, f"a smaller size: {smaller.stderr}")
    check("of its 364 tasks 244 did not come" in smaller.stderr, f"a smaller size: {smaller.stderr}")
    expect_refusal(run("run", "cholesky", *REAL, "--disk", folder, "--plan", os.path.join(folder, "cholesky.plan"),
                       "--policy", "lws"), 2, ["--plan", "lws", "default or horizon"], "run --policy lws --plan")
    expect_refusal(run("run", "cholesky", *REAL, "--disk", folder, "--plan", made), 2,
                   ["plan ", "made.toml", "parse error"], "run under what is no plan")
    # The largest task has three tiles of 32 KiB.
    expect_refusal(run("plan", "cholesky", *PLANNED[:-1], "80KiB", "--machine", made), 2,
                   ["needs 98304 bytes", "limit is 81920 bytes", "raise the limit"], "no room for a task")


def test_refusals(folder):
    job = ["cholesky", "--tiles", "4", "--machine", "v100p", "--gpus", "1"]
    plan, graph, trace = (os.path.join(folder, name) for name in ("small.plan", "g.json", "run.vtrace"))
    check(run("plan", *job, "-o", plan).returncode == 0, "a plan")
    check(run("simulate", *job, "--trace", trace).returncode == 0, "a recording")
    check(run("export", trace, "--format", "graph", "--output", graph).returncode == 0, "a graph")
    before = read_json(plan)
    for path, parts in ((graph, ["vicinal-plan-1", "vicinal plan makes one"]), (trace, ["parse error"]),
                        (folder, ["a folder"]), (os.path.join(folder, "none"), ["none"])):
        expect_refusal(run("simulate", *job, "--plan", path), 2, ["plan ", *parts], f"--plan {path}")
    for policy in ("lws", "darts,dmdas"):
        expect_refusal(run("simulate", *job, "--policy", policy, "--plan", plan), 2,
                       ["--plan", policy.split(",", maxsplit=1)[0], "default or horizon"], f"--policy {policy} --plan")
    expect_refusal(run("simulate", *job, environment={"VICINAL_PLAN": graph}), 2, ["plan ", "vicinal-plan-1"],
                   "VICINAL_PLAN")
    own = write(folder, "own.toml", machine(cpus=2) + SPEEDS)
    for arguments, parts in ((["plan", "--graph", graph, "--machine", "v100p", "-o", graph], ["--output", "overwrite"]),
                             (["plan", "cholesky", "--machine", own, "-o", own], ["--output", "overwrite"]),
                             (["plan", *job, "--plan", plan, "-o", plan], ["--output", "overwrite"]),
                             (["plan", *job, "--json", plan, "-o", plan], ["--output"]),
                             (["simulate", *job, "--plan", plan, "--json", plan], ["--json", "overwrite"]),
                             (["simulate", *job, "--plan", plan, "--trace", plan], ["--trace", "overwrite"]),
                             (["export", trace, "--format", "plan", "-o", trace], ["overwrite"]),
                             (["plan", *job, "-o", "/no/such/folder/a.plan"], ["/no/such/folder/a.plan"])):
        result = run(*arguments)
        status = 1 if arguments[-1].startswith("/no") and result.returncode == 1 else 2
        expect_refusal(result, status, parts, " ".join(arguments))
    check(read_json(plan) == before, "the plan is what it was")
    expect_refusal(run("plan", "cholesky", "--tiles", "4", "--machine", "cluster:ranks=4"), 2,
                   ["--ranks", "one machine"], "a plan of a cluster")


def test_of_a_graph(folder):
    path, graph = os.path.join(folder, "made.plan"), {"format": "vicinal-graph-1", "data": {"A": {"bytes": 100}},
                                                       "kernels": {"k": {"seconds": {"gpu": 0.1}}}, "tasks": []}
    for name in ("first", "a \"second\" \\ one", "third\nline", None, None, "first"):
        task = {"kernel": "k", "accesses": [["A", "W"]]}
        graph["tasks"].append(task if name is None else {**task, "name": name})
    job = ["--graph", write(folder, "names.json", json.dumps(graph)), "--machine", "v100p", "--gpus", "1"]
    planned = report_of("a graph of names", "plan", *job, "-o", path)
    check([tuple(task[2:]) for task in read_json(path)["tasks"]] == [(), (), (), (3,), (4,), (1,)],
          f"numbers of tasks: {read_json(path)['tasks']}")
    followed = report_of("a graph of names --plan", "simulate", *job, "--plan", path)
    check(planned is not None and followed is not None and planned["tasks"] == followed["tasks"] == 6, "six tasks")


with tempfile.TemporaryDirectory(dir=os.getcwd()) as temporary:
    for number, test in enumerate((test_simulated, test_of_the_fastest, test_real, test_refusals, test_of_a_graph)):
        own_folder = os.path.join(temporary, str(number))
        os.mkdir(own_folder)
        test(own_folder)
finish()
