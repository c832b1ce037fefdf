#!/usr/bin/env python3
"""Files that may not grow (ulimit -f): a message and exit status 1, as on a full disk, and nothing left over.

    tests/cli/no_room.py PATH_OF_VICINAL

Exit status 0 if all is well; every failure is printed.
"""

import os
import resource
import subprocess
import tempfile

from vicinal import CACHE, VICINAL, WHOLE, check, finish, run

JOB = ["simulate", "cholesky", "--tiles", "8"]


# The signal of the limit ends a process unless it sees to it: subprocess gives it back to the child.
def limited(*arguments, most=1024, stdout=subprocess.PIPE, folder=None):
    return subprocess.run(
        [VICINAL, *arguments], stdout=stdout, stderr=subprocess.PIPE, text=True, timeout=120, cwd=folder,
        env={**os.environ, "XDG_CACHE_HOME": CACHE.name},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (most, most)))


def expect_told(result, parts, what):
    check(result.returncode == 1, f"{what}: exit status {result.returncode}: {result.stderr}")
    for part in parts:
        check(part in result.stderr, f"{what}: no '{part}' in: {result.stderr}")


def test_outputs(folder):
    trace = os.path.join(folder, "run.vtrace")
    check(run(*JOB, "--trace", trace).returncode == 0, "a recording")
    old = os.path.join(folder, "old.json")
    with open(old, "w", encoding="utf-8") as file:
        file.write("old")
    out = os.path.join(folder, "out")
    before = sorted(os.listdir(folder))
    commands = [["report", trace, "-o", out], [*JOB, "--json", old], [*JOB, "--report", out],
                ["explain", trace, "--decisions", "--json", out], ["bounds", "cholesky", "--report", out]]
    commands += [["export", trace, "--format", form, "-o", out] for form in ("csv", "perfetto", "paje", "dot", "graph")]
    for command in commands:
        expect_told(limited(*command), ["cannot write"], " ".join(command))
        check(sorted(os.listdir(folder)) == before, f"{command} leaves {os.listdir(folder)}")
    with open(old, encoding="utf-8") as file:
        check(file.read() == "old", "a file has its old content")
    with open(out, "w", encoding="utf-8") as file:
        expect_told(limited("report", trace, "-o", "-", stdout=file), ["standard output"], "the output")


def test_recordings(folder):
    for name, job in (("simulated", JOB), ("run", ["run", "cholesky", *WHOLE, "--models", "none"])):
        if name == "run" and "not in this build" in run("--help").stdout:
            continue
        trace = os.path.join(folder, f"{name}.vtrace")
        result = limited(*job, "--trace", trace, most=4 << 10)
        expect_told(result, [trace, "is not whole"], f"{name} --trace")
        check("time" in result.stdout, f"{name}: what ran is told: {result.stdout}")
        check(os.path.getsize(trace) <= 4 << 10, f"{name}: a recording beyond the limit")
        check(os.listdir(folder).count(f"{name}.vtrace") == len([f for f in os.listdir(folder) if f.startswith(name)]),
              f"{name} leaves {os.listdir(folder)}")


def test_matrices(folder):
    if "not in this build" in run("--help").stdout:
        return
    before = os.listdir(folder)
    result = limited("generate", "cholesky", *WHOLE, "--output", os.path.join(folder, "a.tiles"), most=16 << 10)
    check(result.returncode in (1, 2) and "a.tiles" in result.stderr, f"generate: {result.returncode} {result.stderr}")
    check(os.listdir(folder) == before, f"generate leaves {os.listdir(folder)}")


with tempfile.TemporaryDirectory(dir=os.getcwd()) as temporary:
    for number, test in enumerate((test_outputs, test_recordings, test_matrices)):
        own = os.path.join(temporary, str(number))
        os.mkdir(own)
        test(own)
finish()
