#!/usr/bin/env python3
"""vicinal explain: what it tells of simulated runs, and that the score of every eviction and placement follows from what
it prints.

    tests/cli/explain.py PATH_OF_VICINAL

Exit status 0 if all is well; every failure is printed.
"""

import json
import os
import re
import shlex
import tempfile
from collections import Counter

from explain_policies import REPLAYS
from explain_replay import Explained
from vicinal import check, expect_refusal, finish, run

# Memory for some 13 of the 55 tiles of 2 MiB on each of two GPUs, where times vary; for 7, with many tasks ahead; cores
# beside GPUs.
JOBS = [["cholesky", "--tiles", "10", "--machine", "v100p", "--gpus", "2", "--memory", "27MiB", "--vary", "20"],
        ["lu", "--tiles", "10", "--machine", "v100p", "--gpus", "2", "--memory", "14MiB", "--look-ahead", "6",
         "--vary", "20"],
        ["cholesky", "--tiles", "10", "--machine", "idgraf", "--gpus", "2", "--memory", "30MiB", "--vary", "10"]]
# By policy: which rules the runs must have been decided by, or this would be content with little.
RULES = {"darts": {"fewest tasks", "set free", "free nowhere", "earliest end", "no planned use",
                   "fewest planned uses", "latest first use", "unused and saved"},
         "dmdas": {"least cost", "least recently used", "awaited last", "unused and saved"},
         "lws": {"released here", "next in turn", "least recently used", "unused and saved"}}


def record(folder, policy, number):
    path = os.path.join(folder, f"{policy}{number}.vtrace")
    result = run("simulate", *JOBS[number], "--policy", policy, "--trace", path)
    check(result.returncode == 0, f"simulate --trace: {result.stderr}")
    return path


def explained(path, *question):
    result = run("explain", path, *question, "--json", "-")
    check(result.returncode == 0, f"explain {question}: {result.stderr}")
    return json.loads(result.stdout or "{}")


# The replay of a run, and what `explain` told of it.
def replayed(path, policy):
    printed = explained(path, "--decisions")
    replay = REPLAYS[policy](Explained(printed))
    wrong = replay.play()
    for line in wrong[:20]:
        print("   ", policy, line)
    check(not wrong, f"{policy}: {len(wrong)} scores or winners do not follow from what is printed")
    without = sum(e["decision"] is None for e in printed["evictions"])
    check(without == 0, f"{policy}: {without} evictions without a decision")
    kinds = ("placement", "plan", "theft")
    unplaced = [t["name"] for t in printed["tasks"]
                if t["kind"] == "task" and not any(d["kind"] in kinds for d in t["decisions"])]
    check(not unplaced, f"{policy}: without a placement: {unplaced}")
    return replay, printed


def test_scores(folder, policy):
    rules, scores = Counter(), Counter()
    for number in range(len(JOBS)):
        replay, printed = replayed(record(folder, policy, number), policy)
        check(len(printed["evictions"]) > 50, f"{policy}: only {len(printed['evictions'])} evictions")
        rules.update(replay.decided)
        scores.update(replay.compared)
    check(RULES[policy] <= set(rules), f"{policy}: no decision by {RULES[policy] - set(rules)}")
    print(policy, "recomputed", dict(scores), "of decisions by", dict(rules))
    return os.path.join(folder, f"{policy}{number}.vtrace"), printed


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


# The replay is no yes-man: a score that is off by one is seen, whichever it is.
def test_wrong_scores(printed):
    for what, owners in (("placement", printed["tasks"]), ("victim", printed["evictions"])):
        decisions = [d for owner in owners for d in (owner.get("decisions") or [owner.get("decision")])
                     if d is not None and d["kind"] == what]
        decision = decisions[len(decisions) // 2]
        scores = decision["candidates"][-1]["scores"]
        for name in scores:
            scores[name] += 1
            wrong = REPLAYS["darts"](Explained(printed)).play()
            check(wrong, f"{what}: nobody sees a wrong {name}")
            scores[name] -= 1


# The samples of docs/explain.md are what the commands above them print; "..." stands for what is left out.
def test_documented_samples(folder):
    page = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../docs/explain.md")
    with open(page, encoding="utf-8") as file:
        samples = re.findall(r"```sh\n(.*?)```\n\n```text\n(.*?)```", file.read(), re.S)
    check(len(samples) == 3, f"samples: {len(samples)}")
    for commands, sample in samples:
        for command in commands.splitlines():
            result = run(*shlex.split(command)[1:], folder=folder)
        for part in sample.split("...\n"):
            check(part in result.stdout, f"docs/explain.md: {command} does not print {part}, but {result.stdout}")


def test_refusals(path, folder):
    expect_refusal(run("explain", path, "--task", "potfr(1)"), 2, ["--task", "potfr(1)"], "a task that is not there")
    expect_refusal(run("explain", path, "--task", "99999"), 2, ["from 0 to"], "a number that is not there")
    expect_refusal(run("explain", path, "--handle", "nothing"), 2, ["--handle"], "a handle that is not there")
    expect_refusal(run("explain", os.path.join(folder, "none.vtrace")), 2, ["none.vtrace"], "no file")
    check(run("explain").returncode == 2, "explain without a file")


with tempfile.TemporaryDirectory(dir=os.getcwd()) as temporary:
    for tested in RULES:
        trace, told = test_scores(temporary, tested)
        test_sums(trace)
        test_text(trace, told)
        if tested == "darts":
            test_wrong_scores(told)
    test_documented_samples(temporary)
    test_same_in_parts(trace, told)
    test_refusals(trace, temporary)
finish()
