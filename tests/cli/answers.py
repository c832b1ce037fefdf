#!/usr/bin/env python3
"""What vicinal explain tells of real runs: their phases, a busy machine; and its answers for a codelet, a worker, a moment.

    tests/cli/answers.py PATH_OF_VICINAL

Exit status 0 if all is well; every failure is printed.
"""

import json
import os
import re
import subprocess
import sys
import tempfile

from vicinal import VICINAL, check, expect_refusal, finish, run


def explained(path, *question):
    result = run("explain", path, *question, "--json", "-")
    check(result.returncode == 0, f"explain {question}: {result.stderr}")
    return json.loads(result.stdout or "{}"), result.stderr


# Filling and check are phases beside the run: its bytes and seconds are those that the report has.
def test_phases(folder):
    path, report = os.path.join(folder, "run.vtrace"), os.path.join(folder, "run.json")
    result = run("run", "cholesky", "--size", "512", "--tile", "64", "--memory", "700KiB", "--disk", folder, "--check",
                 "--policy", "lws", "--workers", "2", "--trace", path, "--json", report)
    check(result.returncode == 0, f"run: {result.stderr}")
    with open(report, encoding="utf-8") as file:
        whole = json.load(file)
    printed = whole["runs"][0]
    told, text = explained(path)
    names = [phase["name"] for phase in told["run"]["phases"]]
    check(names == ["prepare", "run", "check"], f"phases: {names}")
    links = {f"{link['from']['name']}->{link['to']['name']}": link["bytes"] for link in told["summary"]["traffic"]["links"]}
    expected = {name: link["bytes"] for name, link in printed["links"].items() if link["bytes"] > 0}
    check(links == expected and len(links) > 0, f"bytes: {links}, the report has {expected}")
    took = told["run"]["end_ns"] - told["run"]["begin_ns"]
    check(abs(took * 1e-9 - printed["seconds"]) < 0.02 * printed["seconds"] + 1e-3, f"{took} ns, {printed['seconds']} s")
    check(told["run"]["tasks"] == printed["tasks"], f"tasks: {told['run']['tasks']}, the report has {printed['tasks']}")
    check("What follows is of the run." in text, f"phases in the text: {text}")
    # The report begins with the same sentence.
    check(result.stdout.startswith(told["summary"]["verdict"]["sentence"] + "\n"), f"first sentence: {result.stdout}")
    check(whole["verdict"]["sentence"] == told["summary"]["verdict"]["sentence"], f"verdict: {whole['verdict']}")
    return path


# Two programs that need the one processor that the run has, too.
def test_busy_machine(folder):
    path = os.path.join(folder, "busy.vtrace")
    processor = min(os.sched_getaffinity(0))
    on_it = lambda: os.sched_setaffinity(0, {processor})
    others = [subprocess.Popen([sys.executable, "-c", "while True: pass"], preexec_fn=on_it) for _ in range(2)]
    try:
        result = subprocess.run(
            [VICINAL, "run", "cholesky", "--size", "2560", "--tile", "256", "--workers", "1", "--policy", "lws",
             "--trace", path], capture_output=True, text=True, timeout=120, preexec_fn=on_it)
    finally:
        for other in others:
            other.kill()
            other.wait()
    check(result.returncode == 0, f"run: {result.stderr}")
    told, text = explained(path)
    verdict = told["summary"]["verdict"]
    check(verdict["binds"] == "processors" and text.startswith("A busy machine binds: "), f"busy machine: {verdict}")


def test_answers(path):
    told, text = explained(path, "--codelet", "gemm")
    check(len(told["codelet"]["tasks"]) == 56 and text.startswith("56 tasks of gemm ran"), f"--codelet: {text}")
    told, text = explained(path, "--worker", "core 1")
    worker = told["worker"]
    check(worker["worker"] == 1 and text.startswith("core 1 had tasks for "), f"--worker: {text}")
    tasks = sum(codelet["run_ns"] for codelet in worker["codelets"].values())
    check(tasks == worker["run_ns"], f"--worker: {tasks} ns of codelets, {worker['run_ns']} in all")
    check(explained(path, "--worker", "1")[0]["worker"] == worker, "--worker by its number")
    whole, text = explained(path, "--task", "potrf")
    check(re.match(r"potrf: the first of 8 ", text), f"how many have the name: {text}")
    task = whole["task"]
    middle = (task["started_ns"] + task["ended_ns"]) // 2
    told, text = explained(path, "--at", f"{middle} ns")
    has = [each["task"]["task"] for each in told["at"]["workers"] if each["task"]]
    check(task["task"] in has, f"--at: {has} ran, not {task['task']}")
    check(f"ran {task['name']}, until" in text, f"--at: {text}")
    expect_refusal(run("explain", path, "--codelet", "gem"), 2, ["--codelet", "gemm"], "a codelet that is not there")
    expect_refusal(run("explain", path, "--worker", "7"), 2, ["--worker"], "a worker that is not there")
    for moment in ("soon", "-1 s", "5", "nan s", "1e400 s", "inf s"):
        expect_refusal(run("explain", path, "--at", moment), 2, ["--at"], f"the moment {moment}")
    expect_refusal(run("explain", path, "--at", "9 s"), 2, ["--at", "ends at"], "a moment behind the end")
    expect_refusal(run("explain", path, path, path), 2, ["of one of several ranks"], "three recordings")
    expect_refusal(run("explain", path, path, "--waits"), 2, ["one recording"], "a question about two")


# An assignment is no "a assign", and what moved nothing is not counted.
def test_words(folder):
    path, graph = os.path.join(folder, "words.vtrace"), os.path.join(folder, "words.json")
    with open(graph, "w", encoding="utf-8") as file:
        json.dump({"name": "words", "data": {"x": {"bytes": 8, "home": "ram"}},
                   "kernels": {"assign": {"seconds": {"cpu": 0.001}}},
                   "tasks": [{"kernel": "assign", "accesses": [["x", "RW"]]} for _ in range(3)]}, file)
    result = run("simulate", "--graph", graph, "--machine", "cpu-disk", "--trace", path)
    check(result.returncode == 0, f"simulate: {result.stderr}")
    text = run("explain", path, "--task", "assign").stdout
    check(text.startswith("assign: the first of 3 ") and ", an assign," in text, f"words: {text}")
    check(" 0 data left" not in text, f"words: {text}")


with tempfile.TemporaryDirectory(dir=os.getcwd()) as temporary:
    recording = test_phases(temporary)
    test_answers(recording)
    test_busy_machine(temporary)
    test_words(temporary)
finish()
