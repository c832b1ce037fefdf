#!/usr/bin/env python3
"""vicinal replay plays a recorded run again: as it was, by other policies, with other memory, on another machine.

    tests/cli/replay.py PATH_OF_VICINAL

Exit status 0 if all is well; every failure is printed.
"""

import json
import os
import tempfile

from made_runs import Graph, machine, write
from vicinal import check, expect_refusal, finish, run

# Recorded by a policy in a memory.
JOBS = {
    "cholesky": (["--tiles", "20", "--tile", "512", "--gpus", "1"], "darts", "200MiB"),
    "lu": (["--tiles", "14", "--tile", "512", "--gpus", "2"], "dmdas", "100MiB"),
    "qr": (["--tiles", "12", "--tile", "512", "--gpus", "4"], "lws", "100MiB"),
    "random": (["--tasks", "500", "--gpus", "2", "--vary", "50"], "dmdar", "100MiB"),
}
SAME = ("seconds", "tasks", "bytes_in", "bytes_out")


def rows(what, *arguments):
    """By policy."""
    result = run(*arguments, "--json", "-")
    check(result.returncode == 0 and "warning" not in result.stderr, f"{what}: {result.returncode} {result.stderr}")
    return {each["policy"]: each for each in json.loads(result.stdout)["runs"]} if result.returncode == 0 else {}


def expect_same(what, replayed, played, policy):
    for key in SAME:
        check(replayed.get(policy, {}).get(key) == played[policy][key],
              f"{what}, {key}: {replayed.get(policy, {}).get(key)} replayed, {played[policy][key]} simulated")


def test_simulated(folder):
    for name, (job, policy, memory) in JOBS.items():
        trace = os.path.join(folder, name + ".vtrace")
        command = ["simulate", name, *job, "--machine", "v100p"]
        recorded = rows(name, *command, "--memory", memory, "--policy", policy, "--trace", trace)
        again = rows(f"replay {name}", "replay", trace, "--policy", f"{policy},eager")
        check(list(again) == ["recorded order", policy, "eager", "recorded"], f"{name}: {list(again)}")
        # A simulated run is played to the nanosecond as it was.
        expect_same(f"{name} as it was", again, recorded, policy)
        expect_same(f"{name}, recorded", {policy: again["recorded"]}, recorded, policy)
        order = again["recorded order"]
        check(order["tasks"] == recorded[policy]["tasks"], f"{name}: {order['tasks']} tasks in the recorded order")
        check(0.5 < order["seconds"] / recorded[policy]["seconds"] < 1.1,
              f"{name} in its order: {order['seconds']} s, recorded {recorded[policy]['seconds']} s")
        more = ["--memory", "400MiB", "--policy", "eager,darts"]
        played = rows(f"{name} with more memory", *command, *more)
        replayed = rows(f"replay {name} with more memory", "replay", trace, *more)
        for other in ("eager", "darts"):
            expect_same(f"{name} with more memory, {other}", replayed, played, other)


def test_elsewhere(folder):
    graph = Graph()
    graph.kernel("work", cpu=0.004)
    for i in range(12):
        graph.task("work", (graph.datum(f"d{i}", 1, "ram"), "RW"))
    path = write(folder, "graph.json", graph.text())
    one, two = (write(folder, f"cpus{n}.toml", machine(cpus=n, overhead="0 us")) for n in (1, 2))
    trace = os.path.join(folder, "work.vtrace")
    rows("twelve tasks", "simulate", "--graph", path, "--machine", one, "--policy", "lws", "--trace", trace)
    seconds = {what: rows(what, "replay", trace, *arguments)["lws"]["seconds"] for what, arguments in {
        "as it was": ["--policy", "lws"],
        "on two cores": ["--policy", "lws", "--machine", two],
        "half as long": ["--policy", "lws", "--time", "work@cpu=0.002"]}.items()}
    for what, expected in (("as it was", 0.048), ("on two cores", 0.024), ("half as long", 0.024)):
        check(abs(seconds[what] / expected - 1) < 0.01, f"{what}: {seconds[what]} s, not {expected}")
    gpus = write(folder, "gpus.toml", machine(cpus=0, gpus=1))
    elsewhere = rows("on a GPU", "replay", trace, "--machine", gpus, "--time", "work@gpu=0.001")
    # The order is one of nodes that are not there.
    check(list(elsewhere) == ["lws", "recorded"] and elsewhere["lws"]["seconds"] < 0.02, f"on a GPU: {elsewhere}")
    text = run("replay", trace).stdout
    check("recorded order" in text and "played under lws the run takes 1.00 times" in text, f"as text: {text}")
    page = os.path.join(folder, "page.html")
    check(run("replay", trace, "--report", page).returncode == 0 and os.path.getsize(page) > 10000, "a page")


def test_real(folder):
    if "not in this build" in run("run", "--help").stdout + run("--help").stdout:
        print("skipped: real runs (this vicinal has no applications)")
        return
    trace = os.path.join(folder, "real.vtrace")
    job = ["run", "cholesky", "--size", "768", "--tile", "64", "--workers", "2", "--memory", "1MiB", "--disk", folder]
    ran = rows("a real run", *job, "--policy", "lws", "--trace", trace)["lws"]
    again = rows("replay of a real run", "replay", trace, "--policy", "darts,lws")
    for key in SAME:
        check(again["recorded"][key] == ran[key], f"{key}: {again['recorded'][key]}, {ran[key]} reported")
    check(again["recorded order"]["tasks"] == ran["tasks"], f"{again['recorded order']['tasks']} tasks of {ran['tasks']}")
    for row in again.values():
        check(row["seconds"] > 0 and row["bytes_in"] > 0, f"{row['policy']}: {row}")


def test_refusals(folder):
    trace, tasks = (os.path.join(folder, name) for name in ("small.vtrace", "tasks.vtrace"))
    job = ["simulate", "cholesky", "--tiles", "4", "--machine", "v100p", "--gpus", "1"]
    check(run(*job, "--trace", trace).returncode == 0, "a recording")
    check(run(*job, "--trace", tasks, "--trace-events", "tasks").returncode == 0, "a recording of tasks alone")
    expect_refusal(run("replay"), 2, ["which recording", "--trace"], "replay of nothing")
    expect_refusal(run("replay", os.path.join(folder, "none.vtrace")), 2, ["none.vtrace"], "replay of no file")
    expect_refusal(run("replay", __file__), 2, ["replay.py"], "replay of what is no recording")
    expect_refusal(run("replay", tasks), 2, ["submission", "--trace-events"], "replay of tasks without submissions")
    expect_refusal(run("replay", trace, "--policy", "nosuch"), 2, ["--policy", "nosuch"], "replay by no policy")
    expect_refusal(run("replay", trace, "--gpus", "2"), 2, ["--gpus", "--machine"], "replay on two GPUs of one")
    expect_refusal(run("replay", trace, "--memory", "4MiB", "--policy", "lws"), 2, ["raise the limit"], "replay without room")
    expect_refusal(run("replay", trace, "--time", "gem@gpu=1"), 2, ["gem", "gemm"], "a time of no codelet")
    expect_refusal(run("replay", trace, "--json", trace), 2, ["--json", "overwrite"], "replay onto its recording")


with tempfile.TemporaryDirectory(dir=os.getcwd()) as temporary:
    for number, test in enumerate((test_simulated, test_elsewhere, test_real, test_refusals)):
        own_folder = os.path.join(temporary, str(number))
        os.mkdir(own_folder)
        test(own_folder)
finish()
