#!/usr/bin/env python3
"""Sweeps: a command that is stopped and goes on makes the same CSV as one that is not, on one process or two.

    tests/cli/sweep.py PATH_OF_VICINAL

Exit status 0 if all is well; every failure is printed.
"""

import csv
import json
import os
import signal
import statistics
import subprocess
import tempfile
import time

from vicinal import CACHE, VICINAL, check, expect_refusal, finish, run

LIMITS = [64, 96, 128, 160, 192, 256]
POLICIES = ["darts", "dmdas", "lws", "random"]
# 4 policies x 6 limits x 9 seeds.
SWEEP = ["simulate", "cholesky", "--tiles", "10", "--memory", ",".join(f"{limit}MiB" for limit in LIMITS), "--policy",
         ",".join(POLICIES), "--vary", "20", "--seeds", "9"]
SMALL = ["simulate", "cholesky", "--tiles", "4"]


def lines_of(path):
    try:
        with open(path, "rb") as file:
            return file.read().count(b"\n")
    except FileNotFoundError:
        return 0


def stopped(arguments, path, rows, how):
    """Starts the command and stops it when the file has so many rows."""
    process = subprocess.Popen([VICINAL, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               env={**os.environ, "XDG_CACHE_HOME": CACHE.name})
    end = time.monotonic() + 60
    while lines_of(path) <= rows and process.poll() is None and time.monotonic() < end:
        time.sleep(0.002)
    process.send_signal(how)
    text = process.communicate(timeout=60)
    return process.returncode, *text


def content(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def test_stopped_and_continued(folder):
    whole = os.path.join(folder, "whole.csv")
    result = run(*SWEEP, "--csv", whole)
    check(result.returncode == 0, f"whole: {result.stderr}")
    path = os.path.join(folder, "parts.csv")
    parts = [*SWEEP, "--csv", path, "--processes", "2"]
    status, _, told = stopped(parts, path, 20, signal.SIGINT)
    check(status == 130 and "interrupted" in told and "of 216 runs" in told, f"Ctrl-C: {status}, {told}")
    after_interrupt = lines_of(path)
    check(20 < after_interrupt < 217, f"Ctrl-C left {after_interrupt} lines")
    status, _, told = stopped(parts, path, after_interrupt + 20, signal.SIGKILL)
    check(status == -signal.SIGKILL, f"killed: {status}, {told}")
    check(after_interrupt < lines_of(path) < 217, f"killed at {lines_of(path)} lines")
    with open(path, "a", encoding="utf-8") as file:  # as if it had been torn
        file.write(content(whole).splitlines()[-1][:-20])
    again = run(*parts)
    check(again.returncode == 0 and "going on with" in again.stderr, f"continued: {again.stderr}")
    check(content(path) == content(whole), "continued on two processes: another CSV file")
    check(again.stdout == result.stdout, f"another table: {again.stdout}")
    # All is there: nothing runs.
    before = os.stat(path).st_mtime_ns
    last = run(*parts)
    check(last.returncode == 0 and "runs" not in last.stderr, f"all there: {last.stderr}")
    check(last.stdout == result.stdout and os.stat(path).st_mtime_ns >= before, "all there: another table")
    return content(whole)


def test_rows(text):
    rows = list(csv.DictReader(text.splitlines()))
    check(len(rows) == 216, f"{len(rows)} rows")
    for name, value in (("application", "cholesky"), ("tiles", "10"), ("vary", "20"), ("machine", "v100"),
                        ("look_ahead", "0"), ("window_tasks", "0"), ("memory_rules", ""), ("width", "")):
        check(all(row[name] == value for row in rows), f"column {name}: {rows[0].get(name)}")
    check({row["memory"] for row in rows} == {str(limit << 20) for limit in LIMITS}, "limits")
    check({row["seed"] for row in rows} == {str(seed) for seed in range(1, 10)}, "seeds")
    check(all(row["seed"] == row["vary_seed"] for row in rows), "vary_seed")
    check(all(float(row["seconds"]) >= float(row["bound_seconds"]) > 0 for row in rows), "bounds")
    # A row is what the run alone says.
    row = next(r for r in rows if r["policy"] == "random" and r["memory"] == str(96 << 20) and r["seed"] == "3")
    alone = json.loads(run("simulate", "cholesky", "--tiles", "10", "--memory", "96MiB", "--policy", "random", "--vary",
                           "20", "--seed", "3", "--vary-seed", "3", "--json", "-").stdout)
    check(alone["runs"][0]["seconds"] == float(row["seconds"]), f"alone: {alone['runs'][0]['seconds']}, {row}")
    check(alone["runs"][0]["bytes_in"] == int(row["bytes_in"]), f"alone: {alone['runs'][0]['bytes_in']}, {row}")
    told = alone["parameters"]
    check((told["vary"], told["vary_seed"], told["seed"]) == (20, "3", "3"), f"what was asked for: {told}")
    check(alone["machine"]["memory"] == 96 << 20 and alone["command"].startswith("vicinal simulate cholesky"), "asked")
    return rows


def test_medians(folder, rows):
    picture, report = os.path.join(folder, "sweep.svg"), os.path.join(folder, "sweep.json")
    result = run(*SWEEP, "--csv", os.path.join(folder, "whole.csv"), "--json", report, "--plot", picture)
    has_matplotlib = "matplotlib" not in result.stderr
    check(result.returncode == (0 if has_matplotlib else 1), f"--plot: {result.stderr}")
    told = json.loads(content(report))
    check(told["format"] == "vicinal-sweep-1" and told["axes"] == ["memory"], f"JSON: {told['axes']}")
    check(len(told["runs"]) == 216 and len(told["medians"]) == 24, "JSON: runs")
    for entry in told["medians"]:
        seconds = [float(row["seconds"]) for row in rows
                   if row["policy"] == entry["policy"] and int(row["memory"]) == entry["memory"]]
        low, median, high = statistics.quantiles(seconds, n=4, method="inclusive")
        for name, value in (("low", low), ("median", median), ("high", high)):
            check(abs(entry["seconds"][name] - value) < 1e-12, f"{entry}: {name} is {value}")
    if has_matplotlib:
        text = content(picture)
        check("<svg" in text and "prefers-color-scheme" in text, "picture")


def test_axes(folder):
    result = run(*SMALL[:2], "--tiles", "4,6", "--gpus", "1,2", "--memory", "64MiB,128MiB", "--policy", "lws,auto",
                 "--csv", "-")
    check(result.returncode == 0, f"three lists: {result.stderr}")
    rows = list(csv.DictReader(result.stdout.splitlines()))
    check(len(rows) == 16 and {(r["tiles"], r["gpus"]) for r in rows} == {(t, g) for t in "46" for g in "12"}, "axes")
    check("memory" in result.stderr and "tiles  gpus  policy" in result.stderr, f"table: {result.stderr}")
    check(all(len(line) <= 80 for line in result.stderr.splitlines() if not line.startswith("sweep")),
          f"a table of three lists is wider than 80 columns: {result.stderr}")
    listed = run(*SMALL, "--policy", "lws", "--vary", "10", "--vary-seed", "4,9", "--csv", "-")
    check([r["vary_seed"] for r in csv.DictReader(listed.stdout.splitlines())] == ["4", "9"], "--vary-seed")
    plot = run(*SMALL, "--policy", "lws,darts", "--seeds", "2", "--plot", os.path.join(folder, "bars.svg"))
    check(plot.returncode == 0 or "matplotlib" in plot.stderr, f"bars: {plot.stderr}")


def test_failures(folder):
    """Tasks that do not fit under one of two limits: the rows of the other limit are there."""
    path = os.path.join(folder, "failures.csv")
    arguments = [*SMALL, "--memory", "1MiB,64MiB", "--policy", "lws,darts", "--csv", path]
    for processes in ("1", "2"):
        result = run(*arguments, "--processes", processes)
        check(result.returncode == 1 and "lws, memory 1 MiB" in result.stderr, f"failed: {result.stderr}")
        check("2 runs have not ended well" in result.stderr and "0 of 1" not in result.stdout, f"told: {result.stderr}")
        check(lines_of(path) == 3, f"rows: {content(path)}")


def test_refusals(folder):
    path = os.path.join(folder, "own.csv")
    run(*SMALL, "--policy", "lws", "--csv", path)
    kept = content(path)
    expect_refusal(run(*SMALL, "--policy", "darts", "--csv", path), 2, ["--csv", "another command", "policy", "lws"],
                   "another policy")
    expect_refusal(run(*SMALL, "--policy", "lws", "--tile", "256", "--csv", path), 2, ["--csv", "row 1", "tile \"512\""],
                   "another tile")
    check(content(path) == kept, "a file that is refused was changed")
    link = os.path.join(folder, "link.csv")
    os.symlink(path, link)
    more = run(*SMALL, "--policy", "lws,darts", "--csv", link)
    check(os.path.islink(link), "a link was replaced")
    check(more.returncode == 0 and content(path).startswith(kept), f"one policy more: {more.stderr}")
    for text in ("something else\n", "a,b\n1,2\n"):
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        expect_refusal(run(*SMALL, "--policy", "lws", "--csv", path), 2, ["--csv", "another command"], text)
    for arguments, parts in ((["--memory", "64MiB,"], ["--memory", "missing"]),
                             (["--memory", "64MiB,64MiB"], ["--memory", "twice"]),
                             (["--memory", "64MiB,x"], ["--memory", "x"]),
                             (["--gpus", "1,99999"], ["99999"]),
                             (["--seeds", "0"], ["--seeds"]),
                             (["--seeds", "100000", "--memory", ",".join(f"{n}MiB" for n in range(64, 80))], ["too many"]),
                             (["--processes", "0"], ["--processes"]),
                             (["--seeds", "2", "--vary", "1", "--vary-seed", "1,2"], ["--seeds", "--vary-seed"]),
                             (["--seeds", "2", "--trace", "t.vtrace"], ["--trace", "sweep"]),
                             (["--seeds", "2", "--report", "t.html"], ["--report", "sweep"]),
                             (["--seeds", "2", "--against", "real"], ["--against", "sweep"]),
                             (["--csv", "/dev/null"], ["--csv", "no file"]),
                             (["--csv", folder], ["--csv"]),
                             (["--csv", os.path.join(folder, "no", "x.csv")], ["--csv", "cannot write"])):
        expect_refusal(run(*SMALL, "--policy", "lws", *arguments), 2, parts, " ".join(arguments))


with tempfile.TemporaryDirectory() as shared:
    test_medians(shared, test_rows(test_stopped_and_continued(shared)))
    test_axes(shared)
    test_failures(shared)
    test_refusals(shared)
finish()
