#!/usr/bin/env python3
"""Graphs in the formats of others: played, bounded, and refused in one line when they are damaged.

    tests/cli/graph_files.py PATH_OF_VICINAL

Exit status 0 if all is well; every failure is printed.
"""

import json
import os
import random
import tempfile

from vicinal import check, expect_refusal, finish, run

SAMPLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "graphs")
MACHINE = ["--machine", "idgraf", "--gpus", "2", "--cpus", "2"]
SEED = 1

# Tasks of each file, and a bound on its time in seconds where it is worked out by hand: the longest path.
TASKS = {
    "costs.stg": (4, 0.007),  # 3 + 4 ms
    "pipeline.dot": (6, 0.5 + 2 + 2 + 0.001 + 2),
    "plain.stg": (6, 0.015),  # 5 + 10 ms
    "simgrid.dot": (4, None),
    "tasks.rec": (5, None),
    "wfformat-1.0.json": (5, 1.5 + 4 + 0.25),
    "wfformat-1.3.json": (3, 3.0),
    "wfformat-1.4.json": (6, 2.5 + 7 + 1),
    "workflow-2.dax": (4, 13.39 + 10.59),
    "workflow-3.dax": (3, 60.0),
}


def write(folder, name, text):
    path = os.path.join(folder, name)
    with open(path, "wb") as file:
        file.write(text if isinstance(text, bytes) else text.encode())
    return path


def test_samples():
    check(sorted(os.listdir(SAMPLES)) == sorted(TASKS), f"samples: {os.listdir(SAMPLES)}")
    for name, (tasks, longest) in TASKS.items():
        path = os.path.join(SAMPLES, name)
        result = run("simulate", "--graph", path, *MACHINE, "--policy", "dmdas", "--json", "-")
        check(result.returncode == 0, f"{name}: {result.stderr}")
        played = json.loads(result.stdout)["runs"][0] if result.returncode == 0 else {"tasks": 0, "seconds": 0}
        check(played["tasks"] == tasks, f"{name}: {played['tasks']} tasks")
        if longest is not None:
            check(longest * 0.999 <= played["seconds"] <= longest * 1.05 + 0.001, f"{name}: {played['seconds']} s")
        check(run("bounds", "--graph", path, *MACHINE).returncode == 0, f"{name}: bounds")


def test_content_decides(folder):
    with open(os.path.join(SAMPLES, "pipeline.dot"), "rb") as file:
        path = write(folder, "pipeline.json", file.read())
    check(run("simulate", "--graph", path, *MACHINE, "--policy", "eager").returncode == 0, "a name that lies")
    for text, parts in (("", ["nothing in it"]), ("hello\n", ["hello", "docs/graph-file.md"]),
                        ("graph { a -- b }", ["undirected", "digraph"]),
                        ("<svg/>", ["line 1, column 1", "DAX"]),
                        ('{"schemaVersion": "2.0", "workflow": {"tasks": []}}', ["1.0", "1.6", "2.0"]),
                        ("<!DOCTYPE a [<!ENTITY x SYSTEM \"/etc/passwd\">]><adag>&x;</adag>", ["document type"])):
        expect_refusal(run("simulate", "--graph", write(folder, "wrong", text), *MACHINE), 2, ["wrong", *parts],
                       repr(text))


# Cut off or with a flipped bit each is a graph or one line (a warning before it is a line of its own).
def test_damaged(folder):
    draw = random.Random(SEED)
    for name in TASKS:
        with open(os.path.join(SAMPLES, name), "rb") as file:
            whole = file.read()
        cut = whole[:draw.randrange(len(whole))]
        flipped = bytearray(whole)
        flipped[draw.randrange(len(whole))] ^= 1 << draw.randrange(8)
        for what, text in (("cut", cut), ("flipped", bytes(flipped))):
            result = run("bounds", "--graph", write(folder, "damaged", text), *MACHINE)
            lines = [line for line in result.stderr.splitlines() if not line.startswith("vicinal: warning: ")]
            check(result.returncode in (0, 2), f"{name} {what}, seed {SEED}: {result.returncode} {result.stderr}")
            check(len(lines) == (1 if result.returncode == 2 else 0), f"{name} {what}, seed {SEED}: {result.stderr}")


def test_task_bench():
    for pattern in ("trivial", "no_comm", "stencil_1d", "stencil_1d_periodic", "dom", "tree", "fft", "all_to_all",
                    "nearest", "spread", "random_nearest", "random_spread"):
        result = run("simulate", "task_bench", "--pattern", pattern, "--width", "8", "--steps", "6", "--bytes", "64KiB",
                     *MACHINE, "--policy", "eager", "--json", "-")
        check(result.returncode == 0, f"{pattern}: {result.stderr}")
        check('"pattern": "' + pattern + '"' in result.stdout, f"{pattern}: not in the report")
    for arguments, parts in ((["--pattern", "stencil1d"], ["stencil1d", "did you mean stencil_1d"]),
                             (["--radix", "3"], ["stencil_1d has no radix", "nearest"]),
                             (["--tiles", "3"], ["--tiles", "task_bench"]),
                             (["--imbalance", "3"], ["imbalance", "from 0 to 2"])):
        expect_refusal(run("simulate", "task_bench", *arguments, *MACHINE), 2, parts, f"task_bench {arguments}")
    expect_refusal(run("simulate", "stencil", "--pattern", "fft"), 2, ["--pattern", "task_bench"], "stencil --pattern")
    expect_refusal(run("simulate", "stencil", "--tiles", "5"), 2, ["--tiles", "stencil", "cholesky"], "stencil --tiles")
    expect_refusal(run("simulate", "bipartite", "--tile", "100", "--steps", "4"), 2, ["--tile", "bipartite"], "--tile")


def test_no_task_fits():
    job = ["simulate", "cholesky", "--tiles", "4", "--tile", "960", "--policy", "eager"]
    result = run(*job, *MACHINE, "--memory", "8MiB")
    # potrf has one tile of 960 x 960 doubles.
    check(result.returncode == 0 and "warning: no task fits in the memory of gpu0 (and 1 like it), 8388608 bytes"
          not in result.stderr, f"one tile fits: {result.stderr}")
    result = run(*job, *MACHINE, "--memory", "6MB")
    for part in ("no task fits in the memory of gpu0 (and 1 like it), ", "needs 7372800 bytes", "more memory"):
        check(part in result.stderr and result.stderr.count("\n") == 1, f"no task fits: {result.stderr}")
    check(result.returncode == 0, f"no task fits: {result.returncode}")


with tempfile.TemporaryDirectory(dir=os.getcwd()) as temporary:
    test_samples()
    test_content_decides(temporary)
    test_damaged(temporary)
    test_task_bench()
    test_no_task_fits()
finish()
