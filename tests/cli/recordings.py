#!/usr/bin/env python3
"""Recordings: their names and sizes are said, each run has one of its own, and what waits is told when it changes.

    tests/cli/recordings.py PATH_OF_VICINAL

Exit status 0 if all is well; every failure is printed.
"""

import json
import os
import re
import subprocess
import tempfile
from collections import Counter

from vicinal import SMALL, VICINAL, check, finish, run

JOB = ["simulate", "cholesky", "--tiles", "6", "--machine", "v100p", "--gpus", "2", "--memory", "10MiB"]
LINE = re.compile(r"^recording: (\S+), (\S+ \S+); (vicinal report (\S+) -o (\S+))$", re.MULTILINE)


def said(text):
    return [match.group(1) for match in LINE.finditer(text)]


def test_names(folder):
    for policies, names in (("darts", ["x.vtrace"]), ("darts,lws", ["x.darts.vtrace", "x.lws.vtrace"])):
        result = run(*JOB, "--policy", policies, "--trace", "x.vtrace", folder=folder)
        check(said(result.stdout) == names, f"{policies}: {result.stdout}")
        for match in LINE.finditer(result.stdout):
            path = os.path.join(folder, match.group(1))
            number, unit = match.group(2).split()
            size = float(number) * {"B": 1, "KiB": 1024, "MiB": 1 << 20}[unit]
            check(abs(size - os.path.getsize(path)) <= 0.01 * size, f"{path}: {match.group(2)}, {os.path.getsize(path)}")
            made = run(*match.group(3).split()[1:], folder=folder)  # what is offered works
            check(made.returncode == 0 and os.path.exists(os.path.join(folder, match.group(5))), f"{made.stderr}")
    result = run(*JOB, environment={"VICINAL_TRACE": "y.vtrace"}, folder=folder)
    check(said(result.stdout) == ["y.vtrace"], f"VICINAL_TRACE: {result.stdout}")
    result = run(*JOB, "--trace", "x.vtrace", "--json", "-", folder=folder)
    json.loads(result.stdout)
    check(said(result.stderr) == ["x.vtrace"], f"the output is the JSON's: {result.stderr}")
    check(not said(run(*JOB).stdout), "no recording, no line")
    result = run("run", "cholesky", *SMALL, "--trace", "r.vtrace", folder=folder)
    check(result.returncode != 0 or said(result.stdout) == ["r.vtrace"], f"run: {result.stdout}")
    result = run("machine", "--trace", "m.vtrace", folder=folder)
    check(said(result.stdout) == ["m.vtrace"], f"machine: {result.stdout} {result.stderr}")


# A program that names the file itself.
def test_own_name(folder):
    program = os.path.join(os.path.dirname(VICINAL), "examples/recorded")
    if os.path.exists(program):
        subprocess.run([program], cwd=folder, check=True, stdout=subprocess.DEVNULL, timeout=60)
        check(os.path.exists(os.path.join(folder, "steps.vtrace")), "start_trace takes the name as it is")


def walk(json_value, found):
    if isinstance(json_value, dict):
        if "rule" in json_value and "candidates" in json_value:
            found[json_value["decision"]] = json_value
        for value in json_value.values():
            walk(value, found)
    elif isinstance(json_value, list):
        for value in json_value:
            walk(value, found)


def decisions(folder, *job):
    """In their order, and how many tasks there are."""
    result = run(*job, "--policy", "darts", "--trace", "d.vtrace", folder=folder)
    check(result.returncode == 0, f"{job}: {result.stderr}")
    told = run("explain", "d.vtrace", "--decisions", "--json", "d.json", folder=folder)
    check(told.returncode == 0, f"explain: {told.stderr}")
    with open(os.path.join(folder, "d.json"), encoding="utf-8") as file:
        explained = json.load(file)
    found = {}
    walk(explained, found)
    return [found[number] for number in sorted(found)], len(explained["tasks"])


def scores_of(decision):
    return json.dumps([decision.get("node"), decision.get("bytes"), decision["candidates"]], sort_keys=True)


# Of a datum and a node the reason differs from the one before, unless something happened to it in between.
def test_what_waits_is_told_when_it_changes(folder):
    jobs = [JOB] + ([["run", "cholesky", "--size", "1024", "--tile", "128", "--memory", "1MiB", "--disk", folder]]
                    if run("run", "cholesky", *SMALL).returncode == 0 else [])
    for job in jobs:
        told, tasks = decisions(folder, *job)
        rules = Counter(decision["rule"] for decision in told)
        check(rules["room is awaited"] + rules["no room"] <= 10 * tasks, f"{job[0]}: {rules} of {tasks} tasks")
        last = {}
        for decision in told:
            if decision["rule"] == "used sooner":
                node = decision["node"]["node"]
                check(last.get(node) != scores_of(decision), f"{job[0]}: a refusal is told twice: {decision}")
                last[node] = scores_of(decision)
            elif decision["kind"] == "victim":
                last.pop(decision["node"]["node"], None)


with tempfile.TemporaryDirectory(dir=os.getcwd()) as temporary:
    test_names(temporary)
    test_own_name(temporary)
    test_what_waits_is_told_when_it_changes(temporary)
finish()
