#!/usr/bin/env python3
"""vicinal explain: what it tells of simulated runs, and that the score of every eviction and placement follows from what
it prints.

    tests/cli/explain.py PATH_OF_VICINAL

Exit status 0 if all is well; every failure is printed.
"""

import json
import os
import tempfile

from explain_replay import REPLAYS, Explained
from vicinal import check, expect_refusal, finish, run

# Memory for some 13 of the 55 tiles of 2 MiB on each of two GPUs. Times vary, so that few things happen at once.
JOB = ["simulate", "cholesky", "--tiles", "10", "--machine", "v100p", "--gpus", "2", "--memory", "27MiB",
       "--vary", "20", "--vary-seed", "5"]


def record(folder, policy):
    path = os.path.join(folder, policy + ".vtrace")
    result = run(*JOB, "--policy", policy, "--trace", path)
    check(result.returncode == 0, f"simulate --trace: {result.stderr}")
    return path


def explained(path, *question):
    result = run("explain", path, *question, "--json", "-")
    check(result.returncode == 0, f"explain {question}: {result.stderr}")
    return json.loads(result.stdout or "{}")


def test_scores(path, policy):
    printed = explained(path, "--decisions")
    replay = REPLAYS[policy](Explained(printed))
    wrong = replay.play()
    for line in wrong[:20]:
        print("   ", policy, line)
    check(not wrong, f"{policy}: {len(wrong)} scores or winners do not follow from what is printed")
    evictions = [e for e in printed["evictions"]]
    check(len(evictions) > 50, f"{policy}: only {len(evictions)} evictions")
    without = sum(e["decision"] is None for e in evictions)
    check(without == 0, f"{policy}: {without} evictions without a decision")
    compute = [t for t in printed["tasks"] if t["kind"] == "task"]
    placed = [t for t in compute if any(d["kind"] in ("placement", "plan", "theft") for d in t["decisions"])]
    check(len(placed) == len(compute), f"{policy}: {len(compute) - len(placed)} tasks without a placement")
    print(policy, "recomputed:", dict(replay.compared))
    print(policy, "rules:", dict(replay.decided))
    return printed


# What is asked of one task or datum is what is told of all of them at once.
def test_same_in_parts(path, printed):
    tasks = [t for t in printed["tasks"] if t["kind"] == "task"]
    for task in (tasks[0], tasks[len(tasks) // 2], tasks[-1]):
        check(explained(path, "--task", str(task["task"]))["task"] == task, f"--task {task['task']}")
        check(explained(path, "--task", task["name"])["task"] == task, f"--task {task['name']}")
    handle = printed["handles"][3]
    check(explained(path, "--handle", handle["name"])["handle"] == handle, f"--handle {handle['name']}")
    check(explained(path, "--evictions")["evictions"] == printed["evictions"], "--evictions")


# Whole numbers of nanoseconds, of which none is lost.
def test_sums(path):
    summary = explained(path)["summary"]
    route = summary["critical_path"]
    check(sum(route["by_cause_ns"].values()) == route["end_ns"], "the causes of the path are the path")
    at = 0
    for segment in route["segments"]:
        check(segment["from_ns"] == at < segment["to_ns"], f"the path has no gap: {segment}")
        at = segment["to_ns"]
    check(at == route["end_ns"], "the path goes to the end")
    idle = summary["idle"]
    for worker in idle["workers"]:
        check(worker["run_ns"] + sum(worker["idle_ns"].values()) == idle["wall_ns"], f"idle: {worker}")
    gains = [advice["gain_at_most_ns"] for advice in summary["advice"]]
    check(0 < len(gains) <= 10 and min(gains) > 0 and gains == sorted(gains, reverse=True), f"gains: {gains}")
    check(max(gains) <= route["end_ns"], f"gains: {gains}")


def test_text(path, printed):
    text = run("explain", path).stdout
    for part in ("The critical path", "What travelled most", "What would have helped", "gpu0"):
        check(part in text, f"summary without '{part}': {text}")
    task = next(t for t in printed["tasks"] if t["decisions"])
    text = run("explain", path, "--task", task["name"]).stdout
    for decision in task["decisions"]:
        check(decision["sentence"] in text, f"--task: no '{decision['sentence']}' in {text}")
        for candidate in decision["candidates"]:
            check(candidate["name"] in text, f"--task: no candidate {candidate['name']} in {text}")
    lines = run("explain", path, "--evictions").stdout
    check(lines.count(" left gpu") == len(printed["evictions"]), "a line per eviction")
    check(run("explain", path, "--waits").stdout.count("for copies") > 0, "--waits")


def test_refusals(path, folder):
    expect_refusal(run("explain", path, "--task", "potfr(1)"), 2, ["--task", "potfr(1)"], "a task that is not there")
    expect_refusal(run("explain", path, "--task", "99999"), 2, ["from 0 to"], "a number that is not there")
    expect_refusal(run("explain", path, "--handle", "nothing"), 2, ["--handle"], "a handle that is not there")
    expect_refusal(run("explain", os.path.join(folder, "none.vtrace")), 2, ["none.vtrace"], "no file")
    check(run("explain").returncode == 2, "explain without a file")


with tempfile.TemporaryDirectory(dir=os.getcwd()) as temporary:
    for tested in ("darts", "dmdas", "lws"):
        trace = record(temporary, tested)
        told = test_scores(trace, tested)
        test_sums(trace)
        test_text(trace, told)
    test_same_in_parts(trace, told)
    test_refusals(trace, temporary)
finish()
