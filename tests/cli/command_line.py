#!/usr/bin/env python3
"""The command line of vicinal, from outside: what it prints and its exit status.

    tests/cli/command_line.py PATH_OF_VICINAL

Exit status 0 if all is well; every failure is printed.
"""

import fcntl
import json
import math
import os
import pty
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time

VICINAL = os.path.abspath(sys.argv[1])
SMALL = ["--size", "300", "--tile", "64"]
WHOLE = ["--size", "256", "--tile", "64"]  # whole tiles, 4 x 4
CACHE = tempfile.TemporaryDirectory()  # learned run times are not to land in the user's
failures = []


def run(*arguments, environment=None, folder=None):
    return subprocess.run(
        [VICINAL, *arguments], capture_output=True, text=True, timeout=120, cwd=folder,
        env={**os.environ, "XDG_CACHE_HOME": CACHE.name, **(environment or {})})


def check(condition, what):
    if not condition:
        failures.append(what)
        print("FAILED:", what)


# Command line, exit status, what stderr says (all of it one line).
BAD_INPUT = [
    ([], 2, ["say what to do"]),
    (["rum", "cholesky"], 2, ["rum", "unknown command", "did you mean run"]),
    (["run"], 2, ["say which application", "cholesky", "lu", "gemm2d", "gemm3d"]),
    (["run", "choleski"], 2, ["choleski", "did you mean cholesky"]),
    (["run", "cholesky", "--polcy", "darts"], 2, ["--polcy", "did you mean --policy"]),
    (["run", "cholesky", "--policy", "drts"], 2, ["drts", "did you mean", "darts", "lws"]),
    (["run", "cholesky", "--size", "20x"], 2, ["--size", "20x", "integer"]),
    (["run", "cholesky", "--size", "0"], 2, ["--size", "0", "from 1"]),
    (["run", "cholesky", "--size", "-5"], 2, ["--size", "-5"]),
    (["run", "cholesky", "--size"], 2, ["--size"]),
    (["run", "cholesky", "--tile", "1.5"], 2, ["--tile", "1.5", "integer"]),
    (["run", "cholesky", "--size", "100", "--tile", "200"], 2, ["--tile", "200", "at most 100"]),
    (["run", "cholesky", "--precision", "half"], 2, ["half", "double", "float"]),
    (["run", "cholesky", "--priorities", "some"], 2, ["some", "bottom-level", "none"]),
    (["run", "cholesky", "--workers", "many"], 2, ["--workers", "many", "integer"]),
    (["run", "cholesky", "--memory", "800Mib/s"], 2, ["--memory", "800Mib/s"]),
    (["run", "cholesky", "--bind=maybe"], 2, ["--bind", "maybe"]),
    (["run", "cholesky", *SMALL, "extra"], 2, ["extra", "unknown"]),
    # One tile of 64 x 64 doubles is 32 KiB; gemm needs three.
    (["run", "cholesky", *SMALL, "--memory", "64KiB"], 2,
     ["64 KiB", "96 KiB", "--memory 98304", "--tile"]),
    (["run", "cholesky", *SMALL, "--memory", "200KiB"], 2, ["--memory", "--disk"]),
    (["run", "cholesky", *SMALL, "--memory", "200KiB", "--disk", "/no/such/folder"], 2,
     ["/no/such/folder", "No such file", "disk"]),
    # Nobody, not even root, can create a file there.
    (["run", "cholesky", *SMALL, "--memory", "200KiB", "--disk", "/proc"], 2, ["/proc", "disk"]),
    (["run", "cholesky", *SMALL, "--json", "/no/such/folder/r"], 2, ["/no/such/folder/r"]),
    (["run", "cholesky", *SMALL, "--matrix", "/no/such/file"], 2, ["/no/such/file"]),
    (["run", "cholesky", "--matrix", VICINAL], 2, [VICINAL, "not a tile file"]),
    (["run", "cholesky", *SMALL, "--output", "/no/such/folder/l"], 2, ["/no/such/folder/l"]),
    (["run", "lu", *SMALL], 2, ["--size", "300", "64", "256 or 320", "--tile"]),
    (["run", "lu", *WHOLE, "--matrix", "a"], 2, ["--matrix", "lu", "only cholesky"]),
    (["run", "gemm2d", *WHOLE, "--output", "c"], 2, ["--output", "gemm2d", "only cholesky"]),
    (["run", "lu", *WHOLE, "--inner", "64"], 2, ["--inner", "lu", "gemm2d and gemm3d"]),
    (["run", "cholesky", *WHOLE, "--inner", "64"], 2, ["--inner", "cholesky", "gemm2d"]),
    (["run", "gemm3d", *WHOLE, "--inner", "100"], 2, ["inner", "100", "64"]),
    (["run", "gemm2d", *WHOLE, "--inner", "0"], 2, ["--inner", "0", "from 1"]),
    # A block row and a block column of 64 x 256 doubles are 128 KiB each, a tile is 32 KiB.
    (["run", "gemm2d", *WHOLE, "--memory", "200KiB"], 2,
     ["200 KiB", "288 KiB", "--memory 294912", "--tile"]),
    (["run", "lu", *WHOLE, "--memory", "200KiB"], 2, ["--memory", "--disk"]),
    (["generate", "lu", *WHOLE, "--output", "a"], 2, ["lu", "there are cholesky"]),
    (["generate", "cholesky", *SMALL], 2, ["--output"]),
    (["calibrate", "--tile", "5"], 2, ["--tile", "5", "from 16"]),
    (["calibrate", "--output", "/no/such/folder/m.toml"], 2, ["/no/such/folder/m.toml"]),
    (["calibrate", "--policy", "drts"], 2, ["drts", "darts"]),
    (["simulate"], 2, ["cholesky", "--graph"]),
    (["simulate", "choleski"], 2, ["choleski", "cholesky"]),
    (["simulate", "cholesky", "--machine", "v10p"], 2, ["v10p", "v100p"]),
    (["simulate", "cholesky", "--gpus", "9", "--machine", "v100p"], 2, ["9", "v100p"]),
    (["simulate", "cholesky", "--memory", "4MiB", "--machine", "v100p"], 2, ["gpu3", "bytes"]),
    (["simulate", "--graph", "/no/such/graph.json"], 2, ["/no/such/graph.json"]),
    (["simulate", "cholesky", "--against", "unreal"], 2, ["unreal", "real"]),
    (["simulate", "cholesky", "--disk", "."], 2, ["--disk", "--against"]),
    (["simulate", "cholesky", "--real-runs", "5"], 2, ["--real-runs", "--against"]),
    (["simulate", "cholesky", "--memory-rules", "clear"], 2, ["clear", "starpu", "clean"]),
    (["simulate", "cholesky", "--memory-rules", "lru", "--policy", "darts"], 2, ["memory_rules", "darts"]),
    (["simulate", "cholesky", "--memory-rules", "lru", "--against", "real"], 2, ["--memory-rules", "real"]),
    (["run", "cholesky", *SMALL, "--memory-rules", "lru"], 2, ["memory_rules", "simulated"]),
    (["simulate", "cholesky", "--machine", "v100", "--against", "real"], 2, ["calibrate"]),
    (["simulate", "cholesky", "--count-scheduling", "v100"], 2, ["v100", "calibrate"]),
    (["simulate", "cholesky", "--vary", "100"], 2, ["--vary", "100"]),
    (["simulate", "cholesky", "--vary", "some"], 2, ["--vary", "some"]),
    (["simulate", "cholesky", "--vary", "1", "--against", "real"], 2, ["--vary", "--against"]),
    (["policies", "darts"], 2, ["darts", "unknown"]),
    (["run", "cholesky", "--policy"], 2, ["--policy", "value is missing", "--policy VALUE"]),
    (["simulate", "--graph"], 2, ["--graph", "value is missing"]),
    (["run", "cholesky", "--size", "100", "--size", "200"], 2, ["--size", "more than once"]),
    (["run", "cholesky", "--check=maybe"], 2, ["--check", "takes no value"]),
    (["simulate", "cholesky", "--disk", "."], 2, ["--disk", "without --against"]),
    (["run", "cholesky", "--policy", "darts,drts"], 2, ["--policy", "drts", "did you mean"]),
    (["run", "cholesky", "--policy", "darts,"], 2, ["--policy", "there is no policy"]),
    # Sizes whose products do not fit 64 bits, or tiles that no computer can keep account of.
    (["run", "cholesky", "--size", "100000000"], 2, ["--size", "100000000", "to 33554432"]),
    (["run", "cholesky", "--size", "4294967295", "--tile", "1"], 2, ["--size", "4294967295"]),
    (["run", "cholesky", "--size", "33554432", "--tile", "1"], 2, ["--tile", "33554432", "too many"]),
    (["generate", "cholesky", "--size", "33554432", "--tile", "32", "--output", "a"], 2,
     ["--tile", "too many", "larger"]),
    (["run", "cholesky", "--size", "33554432", "--tile", "1048576"], 2, ["--memory", "--disk DIR"]),
    (["simulate", "cholesky", "--tiles", "4294967295"], 2, ["tiles", "4294967295"]),
    (["simulate", "cholesky", "--tile", "4294967295"], 2, ["tile", "4294967295"]),
    (["simulate", "cholesky", "--memory", "1KiB"], 2, ["--memory", "1KiB", "from 4096"]),
    (["bounds", "cholesky", "--ram", "0"], 2, ["--ram", "from 4096"]),
    (["simulate", "cholesky", "--memory", "18446744073709551615"], 2, ["--memory", "from 4096 to"]),
    (["simulate", "bipartite", "--bytes", "17179869184GiB"], 2, ["--bytes", "too large"]),
    (["run", "cholesky", "--workers", "100000"], 2, ["--workers", "100000", "from 0 to 4096"]),
    (["run", "cholesky", *SMALL, "--memory", "200KiB", "--disk", ".", "--disk-copies", "0"], 2,
     ["--disk-copies", "from 1 to 1024"]),
    (["run", "cholesky", "--stall-seconds", "nan"], 2, ["--stall-seconds", "nan", "finite"]),
    (["options", "--markdwon"], 2, ["--markdwon", "did you mean --markdown"]),
]

BAD_VARIABLES = [
    ({"VICINAL_MEMROY": "1GiB"}, ["VICINAL_MEMROY", "did you mean VICINAL_MEMORY"]),
    ({"VICINAL_WORKERS": "two"}, ["VICINAL_WORKERS", "two", "integer"]),
    ({"VICINAL_POLICY": "darts,drts"}, ["VICINAL_POLICY", "drts", "did you mean"]),
]


def expect_refusal(result, status, parts, what):
    check(result.returncode == status, f"{what}: exit status {result.returncode}, not {status}")
    for part in parts:
        check(part in result.stderr, f"{what}: no '{part}' in: {result.stderr}")
    check(result.stderr.startswith("vicinal: ") and result.stderr.count("\n") == 1,
          f"{what}: not one line: {result.stderr}")
    check(result.stdout == "", f"{what}: wrote to the output: {result.stdout}")


def test_bad_input():
    for arguments, status, parts in BAD_INPUT:
        expect_refusal(run(*arguments), status, parts, " ".join(arguments))
    for variables, parts in BAD_VARIABLES:
        expect_refusal(run("run", "cholesky", *SMALL, environment=variables), 2, parts,
                       str(variables))


def test_lists():
    policies = [line.split()[0] for line in run("policies").stdout.splitlines()]
    check({"lws", "darts"} <= set(policies), f"policies: {policies}")
    check("# Options" in run("options", "--markdown").stdout, "options --markdown")
    options = [line.split()[0] for line in run("options").stdout.splitlines()]
    check("memory" in options, f"options: {options}")
    # Every option is there as --name-with-dashes.
    text = run("run", "--help").stdout
    for option in options:
        check("--" + option.replace("_", "-") + " " in text, f"run --help: no {option}")
    check(run("--version").stdout.startswith("vicinal "), "--version")
    check("ram" in run("machine", "--memory", "10MiB").stdout, "machine")


def test_calibrate(folder):
    path = os.path.join(folder, "this.toml")
    result = run("calibrate", "--tile", "32", "--workers", "1", "--disk", folder, "--disk-space",
                 "4MiB", "--output", path)
    check(result.returncode == 0, f"calibrate: {result.stderr}")
    check("per task" in result.stdout, f"calibrate says what it measured: {result.stdout}")
    with open(path, encoding="utf-8") as stream:
        text = stream.read()
    for part in ("[cpu]\nmost = 1\n", "[disk]", "read = ", '"gemm"', '"lu.gemm"', '"gemm3d.gemm"',
                 'precision = "float"'):
        check(part in text, f"calibrate: no {part} in {text}")
    result = run("calibrate", "--tile", "16", "--workers", "1", "--output", "-")
    check(result.stdout.startswith("# Measured"), f"calibrate to the output: {result.stdout}")
    test_against_real(path, folder)


def test_against_real(machine, folder):
    # Tiles of 128 KiB; the operands of a task of gemm2d are 1152 KiB, all data 2688 KiB and more.
    policies = [line.split()[0] for line in run("policies").stdout.splitlines()]
    job = ["--tiles", "6", "--tile", "128", "--precision", "double", "--memory", "1200KiB",
           "--against", "real", "--disk", folder, "--real-runs", "1"]
    for name, policy in (("cholesky", "all"), ("lu", "darts"), ("gemm2d", "eager"), ("gemm3d", "lws")):
        path = os.path.join(folder, "comparison.json")
        result = run("simulate", name, *job, "--machine", machine, "--policy", policy,
                     "--json", path, "--count-scheduling", machine)
        check(result.returncode == 0, f"{name} --against real: {result.stderr}")
        with open(path, encoding="utf-8") as stream:
            comparison = json.load(stream)
        check(comparison["format"] == "vicinal-comparison-1", f"{name}: {comparison}")
        check(comparison["application"] == name, f"{name}: {comparison}")
        heading, *rows, last = result.stdout.splitlines()
        check(heading.startswith("policy"), f"{name} --against real: {heading}")
        check([row.split()[0] for row in rows] == (policies if policy == "all" else [policy]),
              f"{name} --against real, a row per policy: {rows}")
        for row, entry in zip(rows, comparison["policies"], strict=True):
            policy_name, seconds, simulated, error, mebibytes, simulated_mebibytes, bytes_error = (
                value.rstrip("%") for value in row.split())
            check(float(mebibytes) > 0 and float(simulated_mebibytes) > 0, f"bytes of {name}: {row}")
            check(all(math.isfinite(float(value))
                      for value in (seconds, simulated, error, bytes_error)), f"{name}: {row}")
            check((policy_name, seconds, simulated, error) ==
                  (entry["policy"], f"{entry['real_wall_seconds']:.3f}", f"{entry['seconds']:.3f}",
                   f"{100 * entry['wall_seconds_error']:.1f}"), f"{name}: {row}, {entry}")
            check((mebibytes, simulated_mebibytes, bytes_error) ==
                  (f"{entry['real_bytes_in'] / 2**20:.1f}", f"{entry['bytes_in'] / 2**20:.1f}",
                   f"{100 * entry['bytes_in_error']:.1f}"), f"{name}: {row}, {entry}")
        check(last.startswith("median error: time ") and "(1 real run of" in last, f"{name}: {last}")
    without_disk = os.path.join(folder, "without_disk.toml")
    with open(without_disk, "w", encoding="utf-8") as file:
        file.write('name = "w"\nsentence = "w"\n[cpu]\nmost = 1\n')
    expect_refusal(run("simulate", "lu", *job, "--machine", without_disk), 2,
                   ["--against real", "--disk", "calibrate"], "--against real on a machine without a disk")


def test_json(folder):
    policies = [line.split()[0] for line in run("policies").stdout.splitlines()]
    result = run("run", "cholesky", *SMALL, "--policy", "all", "--memory", "200KiB", "--disk", folder,
                 "--check", "--json", "-")
    check(result.returncode == 0, f"--policy all: {result.stderr}")
    report = json.loads(result.stdout)  # nothing else is there
    check("GFlop/s" in result.stderr, "the table goes to stderr when the JSON goes to stdout")
    check([r["policy"] for r in report["runs"]] == policies, "a run per policy")
    for entry in report["runs"]:
        check(entry["verified"] is True, f"verified: {entry}")
        check(entry["tasks"] == 35, "5 + 10 + 10 + 10 tasks")
        check(entry["nodes"]["ram"]["peak"] <= 200 * 1024, f"peak: {entry['nodes']}")
        check(entry["bytes_in"] >= entry["bound_bytes"] > 0, f"bytes_in: {entry}")
        check(entry["bytes_out"] >= entry["bound_bytes_out"] > 0, f"bytes_out: {entry}")
        # A bound from measured kernel times: another process may slow the measurement, not the run.
        check(entry["bound_seconds"] > 0, f"bound_seconds: {entry}")
    path = os.path.join(folder, "report.json")
    result = run("run", "cholesky", *SMALL, "--json", path)
    with open(path, encoding="utf-8") as file:
        check(json.load(file)["runs"][0]["verified"] is None, "no check, no verdict")
    check("GFlop/s" in result.stdout, "the table goes to stdout when the JSON goes to a file")
    check("\r" not in result.stderr, "no progress bar where stderr is no terminal")


def test_short_report(folder):
    path = os.path.join(folder, "report.json")
    job = ["simulate", "cholesky", "--machine", "v100", "--memory", "200MiB", "--policy", "all"]
    text = run(*job, "--json", path).stdout
    lines = text.splitlines()
    check(len(lines) <= 25, f"a report of {len(lines)} lines")
    check(text == run(*job).stdout, "the same command prints the same")
    with open(path, encoding="utf-8") as file:
        runs = json.load(file)["runs"]
    begin = next(i for i, line in enumerate(lines) if line.startswith("policy"))
    ranked = [run["policy"] for run in sorted(runs, key=lambda run: run["seconds"])]
    check([line.split()[0] for line in lines[begin + 1:begin + 1 + len(ranked)]] == ranked,
          f"ranked by time, {ranked}: {text}")
    for line, entry in zip(lines[begin + 1:], sorted(runs, key=lambda run: run["seconds"])):
        check(f"{entry['seconds_ratio']:.2f}x" in line and f"{entry['bytes_ratio']:.2f}x" in line,
              f"beside the bounds: {line}, {entry['seconds_ratio']}, {entry['bytes_ratio']}")
    check("the time is bound by" in text and "the loads are bound by" in text, f"what bounds: {text}")
    verbose = run(*job, "--verbose").stdout
    check(verbose.startswith(text) and "longest path" in verbose, f"--verbose: {verbose}")


def test_policies():
    job = ["simulate", "cholesky", "--machine", "v100", "--tiles", "4", "--json", "-"]
    every = [line.split()[0] for line in run("policies").stdout.splitlines()]
    for expected, arguments, policy in (
            (["darts", "dmdas"], ["--policy", "darts,dmdas"], "eager"), (every, ["--policy", "all"], "eager"),
            (every, [], "all"), (["prio", "lws"], [], "prio,lws"), (["eager"], [], "eager")):
        result = run(*job, *arguments, environment={"VICINAL_POLICY": policy})
        check(result.returncode == 0, f"{arguments}, VICINAL_POLICY={policy}: {result.stderr}")
        check([entry["policy"] for entry in json.loads(result.stdout)["runs"]] == expected,
              f"{arguments}, VICINAL_POLICY={policy}: {expected}")
    result = run("run", "cholesky", *SMALL, "--json", "-", environment={"VICINAL_POLICY": "all"})
    check(len(json.loads(result.stdout)["runs"]) == len(every), "VICINAL_POLICY=all of run")
    for command in (["machine"], ["calibrate", "--tile", "16", "--workers", "1"]):
        result = run(*command, environment={"VICINAL_POLICY": "all"})
        check(result.returncode == 0, f"VICINAL_POLICY=all of {command}: {result.stderr}")


def test_same_defaults():
    def defaults(command):
        text = run(command, "--help").stdout
        return [text.split(name + " ")[1].split("[")[1].split("]")[0] for name in ("--tile", "--precision")]

    check(defaults("run") == defaults("simulate") == defaults("bounds") == ["512", "double"],
          f"defaults: {defaults('run')}, {defaults('simulate')}, {defaults('bounds')}")
    check("[8192]" in run("run", "--help").stdout and "[16]" in run("simulate", "--help").stdout,
          "16 tiles of 512 are 8192")


# A full device: what has been printed is lost, and the command says so.
def test_full_device():
    if not os.path.exists("/dev/full"):
        print("skipped: a full device (there is no /dev/full)")
        return
    for arguments in (["policies"], ["options"], ["options", "--markdown"], ["--help"], ["run", "--help"],
                      ["--version"], ["machine"], ["machine", "--list"], ["bounds", "cholesky"],
                      ["bounds", "cholesky", "--json", "-"], ["simulate", "cholesky"],
                      ["simulate", "cholesky", "--json", "-"], ["run", "cholesky", *SMALL],
                      ["run", "cholesky", *SMALL, "--json", "-"],
                      ["calibrate", "--tile", "16", "--workers", "1"],
                      ["calibrate", "--tile", "16", "--workers", "1", "--output", "-"]):
        with open("/dev/full", "w", encoding="utf-8") as full:
            result = subprocess.run([VICINAL, *arguments], stdout=full, stderr=subprocess.PIPE, text=True,
                                    timeout=120, env={**os.environ, "XDG_CACHE_HOME": CACHE.name})
        check(result.returncode == 1, f"{arguments} into a full device: {result.returncode}")
        check("standard output" in result.stderr and "No space left" in result.stderr,
              f"{arguments} into a full device: {result.stderr}")
    result = run("simulate", "cholesky", "--tiles", "4", "--json", "/dev/full")
    check(result.returncode == 1 and "/dev/full" in result.stderr, f"--json /dev/full: {result.stderr}")
    closed = subprocess.run(["sh", "-c", '"$0" policies >&-', VICINAL], stderr=subprocess.PIPE, text=True,
                            timeout=120)
    check(closed.returncode == 1 and "standard output" in closed.stderr, f"closed output: {closed.stderr}")


def interrupt(arguments, which, after):
    process = subprocess.Popen([VICINAL, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               env={**os.environ, "XDG_CACHE_HOME": CACHE.name})
    blocked = 0
    # Until it is blocked the signal would end the process in the system's way.
    while process.poll() is None and not blocked >> (which - 1) & 1:
        with open(f"/proc/{process.pid}/status", encoding="utf-8") as status:
            blocked = int(status.read().split("SigBlk:")[1].split()[0], 16)
    time.sleep(after)
    process.send_signal(which)
    stdout, stderr = process.communicate(timeout=60)
    return process.returncode, stdout, stderr


def test_interrupt(folder):
    path = os.path.join(folder, "interrupted.json")
    # In the first run: nothing is written, and no empty file is left.
    status, stdout, stderr = interrupt(
        ["simulate", "cholesky", "--tiles", "200", "--machine", "v100", "--json", path], signal.SIGINT, 0.3)
    check(status == 130, f"Ctrl-C: exit status {status}")
    check(stdout == "" and "interrupted" in stderr, f"Ctrl-C: {stdout}{stderr}")
    check(not os.path.exists(path), "Ctrl-C leaves no empty file")
    # When some runs have ended: they are printed and written; all of them would take minutes.
    with open(path, "w", encoding="utf-8") as file:
        file.write("old")
    status, stdout, stderr = interrupt(
        ["simulate", "cholesky", "--tiles", "30", "--machine", "v100", "--json", path, "--policy",
         ",".join(["eager"] + 2000 * ["lws"])], signal.SIGTERM, 2)
    check(status == 143, f"SIGTERM: exit status {status}")
    ended = int(stderr.split("interrupted: ")[1].split()[0])
    check(0 < ended < 2001, f"SIGTERM: {stderr}")
    with open(path, encoding="utf-8") as file:
        check(len(json.load(file)["runs"]) == ended, "the runs that have ended are written")
    check("\npolicy " in stdout, f"and printed: {stdout}")
    check(not [name for name in os.listdir(folder) if name.endswith(".tmp")], f"{os.listdir(folder)}")
    # A real run that works on a disk.
    status, _, stderr = interrupt(["run", "cholesky", "--size", "6000", "--tile", "60", "--memory", "10MiB",
                                   "--disk", folder], signal.SIGINT, 1)
    check(status == 130 and "interrupted" in stderr, f"Ctrl-C of a real run: {status} {stderr}")


def test_json_file(folder):
    job = ["simulate", "cholesky", "--tiles", "4", "--machine", "v100"]
    target, link = os.path.join(folder, "target.json"), os.path.join(folder, "link.json")
    with open(target, "w", encoding="utf-8") as file:
        file.write("old")
    os.chmod(target, 0o640)
    os.symlink(target, link)
    result = run(*job, "--json", link)
    check(result.returncode == 0, f"--json to a link: {result.stderr}")
    check(os.path.islink(link) and os.stat(target).st_mode & 0o777 == 0o640, "link and mode are kept")
    with open(target, encoding="utf-8") as file:
        check("runs" in json.load(file), "the file behind the link is written")
    # The file behind a link need not be there yet.
    os.remove(target)
    result = run(*job, "--json", link)
    check(result.returncode == 0, f"--json to a link that leads nowhere: {result.stderr}")
    check(os.path.islink(link) and os.path.isfile(target), "the link is kept, the file behind it is made")
    # What is refused leaves no file behind.
    absent = os.path.join(folder, "absent.json")
    expect_refusal(run(*job, "--memory", "1MiB", "--json", absent), 2, ["bytes"], "too little memory")
    check(not os.path.exists(absent), "a refused command leaves no file")


def test_unnamed_graph(folder):
    with open(os.path.join(folder, "unnamed.json"), "w", encoding="utf-8") as file:
        json.dump({"data": {"a": {"bytes": 8, "home": "ram"}}, "kernels": {"k": {"seconds": {"gpu": 0.5}}},
                   "tasks": [{"kernel": "k", "accesses": [["a", "RW"]]}]}, file)
    # From its folder: the report names the path, in which any word may occur.
    result = run("bounds", "--graph", "unnamed.json", "--machine", "v100", folder=folder)
    check(result.stdout.startswith("graph: 1 tasks"), f"bounds of a graph without a name: {result.stdout}")
    result = run("simulate", "--graph", "unnamed.json", "--machine", "v100", "--verbose", folder=folder)
    check(result.stdout.startswith("graph: "), f"simulate of a graph without a name: {result.stdout}")
    for absent in ("residual", "GFlop/s", "check"):
        check(absent not in result.stdout, f"no {absent} where there is none: {result.stdout}")


# The sample of docs/report.md is what the command above it prints.
def test_documented_bounds():
    page_path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../docs/report.md")
    with open(page_path, encoding="utf-8") as file:
        page = file.read().split("# The bounds of a graph")[1]
    command = page.split("```sh\nvicinal ")[1].split("\n```")[0].split()
    expected = json.loads(page.split("```json\n")[1].split("```")[0])
    result = run(*command)
    check(json.loads(result.stdout or "null") == expected,
          f"docs/report.md: {' '.join(command)} prints {result.stdout}{result.stderr}")


def test_disk_in_memory():
    if not os.path.ismount("/dev/shm") or not os.access("/dev/shm", os.W_OK):
        print("skipped: a disk folder in memory (there is no /dev/shm)")
        return
    result = run("machine", "--disk", "/dev/shm", "--disk-space", "1MiB")
    check(result.returncode == 0 and "tmpfs" in result.stderr, f"a disk folder in memory: {result.stderr}")


def test_help_of_benchmarks():
    folder = os.path.join(os.path.dirname(VICINAL), "bench")
    for name in ("overhead", "taskbench", "cholesky", "reference"):
        path = os.path.join(folder, name)
        if not os.path.exists(path):
            print(f"skipped: bench/{name} --help (not built)")
            continue
        result = subprocess.run([path, "--help"], capture_output=True, text=True, timeout=60)
        check(result.returncode == 0 and f"  {name} " in result.stdout,
              f"bench/{name} --help: {result.returncode} {result.stdout}{result.stderr}")


def test_bounds():
    result = run("bounds", "random", "--machine", "v100", "--seed", "3", "--json", "-")
    check(result.returncode == 0, f"bounds: {result.stderr}")
    check(isinstance(json.loads(result.stdout or "null"), dict), f"bounds --json -: {result.stdout!r}")


def test_simulate(folder):
    command = ["simulate", "cholesky", "--tiles", "8", "--machine", "v100p", "--gpus", "2", "--memory",
               "100MiB", "--policy", "all", "--json", "-"]
    first, second = run(*command), run(*command)
    check(first.returncode == 0, f"simulate: {first.stderr}")
    without_wall = lambda text: [line for line in text.splitlines() if "wall" not in line]
    check(without_wall(first.stdout) == without_wall(second.stdout), "simulate twice, same output")
    report = json.loads(first.stdout)
    check([r["policy"] for r in report["runs"]][:1] == ["lws"], "every policy")
    for entry in report["runs"]:
        check(entry["tasks"] == 120, f"tasks: {entry}")
        check(entry["seconds"] >= entry["bound_seconds"] > 0, f"seconds: {entry}")
        check(entry["bytes_in"] >= entry["bound_bytes"] > 0, f"bytes_in: {entry}")
        check(entry["bytes_out"] >= entry["bound_bytes_out"] > 0, f"bytes_out: {entry}")
        for gpu in ("gpu0", "gpu1"):
            check(entry["nodes"][gpu]["peak"] <= 100 << 20, f"peak: {entry['nodes']}")
        check(entry["wall_seconds"] > 0, f"wall: {entry}")
    path = os.path.join(folder, "graph.json")
    with open(path, "w") as file:
        json.dump({"data": {"a": {"bytes": 1000000, "home": "ram"}, "b": {"bytes": 8}},
                   "kernels": {"k": {"seconds": {"gpu": 0.5}}},
                   "tasks": [{"kernel": "k", "accesses": [["a", "R"], ["b", "W"]]},
                             {"kernel": "k", "accesses": [["b", "RW"]]}]}, file)
    result = run("simulate", "--graph", path, "--machine", "v100p", "--gpus", "1", "--json", "-")
    check(result.returncode == 0, f"--graph: {result.stderr}")
    seconds = json.loads(result.stdout)["runs"][0]["seconds"]
    check(1.0 < seconds < 1.01, f"two tasks of half a second, one after the other: {seconds}")
    # The cost of a policy counts once per task.
    costs = os.path.join(folder, "costs.toml")
    with open(costs, "w") as file:
        file.write('name = "c"\nsentence = "c"\n[cpu]\nmost = 1\n'
                   '[[scheduling]]\npolicy = "lws"\ntime = "0.1 s"\n')
    counted = run("simulate", "--graph", path, "--machine", "v100p", "--gpus", "1", "--policy", "lws",
                  "--count-scheduling", costs, "--json", "-")
    check(counted.returncode == 0, f"--count-scheduling: {counted.stderr}")
    more = json.loads(counted.stdout)["runs"][0]["seconds"] - seconds
    check(abs(more - 0.2) < 0.01, f"--count-scheduling: {more}")


def test_applications(folder):
    # Tasks: 16 + 9 + 4 + 1; 4 x 4; 4 x 4 x 2.
    for name, options, tasks in (("lu", [], 30), ("gemm2d", [], 16),
                                 ("gemm3d", ["--inner", "128"], 32)):
        result = run("run", name, *WHOLE, *options, "--policy", "all", "--memory", "300KiB", "--disk",
                     folder, "--precision", "double", "--check", "--json", "-")
        check(result.returncode == 0, f"{name}: {result.stderr}")
        report = json.loads(result.stdout)
        check(report["application"] == name, f"application: {report}")
        check(report["parameters"]["size"] == 256, f"parameters: {report['parameters']}")
        for entry in report["runs"]:
            check(entry["verified"] is True, f"verified: {entry}")
            check(entry["tasks"] == tasks, f"tasks: {entry}")
            check(entry["nodes"]["ram"]["peak"] <= 300 * 1024, f"peak: {entry['nodes']}")
            check(entry["bytes_in"] >= entry["bound_bytes"] > 0, f"bytes_in: {entry}")
            check(entry["bounds"]["formula_bytes"] > 0, f"formula_bytes: {entry}")
            check(entry["bytes_out"] >= entry["bound_bytes_out"] > 0, f"bytes_out: {entry}")
            check(entry["bound_seconds"] > 0, f"bound_seconds: {entry}")


def test_files(folder):
    a, l = os.path.join(folder, "a.tiles"), os.path.join(folder, "l.tiles")
    for precision, element in (("double", 8), ("float", 4)):
        result = run("generate", "cholesky", *SMALL, "--precision", precision, "--output", a)
        check(result.returncode == 0, f"generate: {result.stderr}")
        with open(a, "rb") as file:
            header = struct.unpack("<8sQQQQQ", file.read(48))
        check(header == (b"VICTILE1", 1, 300, 64, element, 1), f"header: {header}")
        result = run("run", "cholesky", "--matrix", a, "--output", l, "--check", "--json", "-")
        check(result.returncode == 0, f"--matrix: {result.stderr}")
        check(json.loads(result.stdout)["parameters"]["size"] == 300, "the size is the file's")
        with open(l, "rb") as file:
            header = struct.unpack("<8sQQQQQ", file.read(48))
        check(header == (b"VICTILE1", 1, 300, 64, element, 2), f"header: {header}")
    expect_refusal(run("run", "cholesky", "--matrix", a, "--size", "200"), 2, ["--size", "300"],
                   "--size differs from the file's")
    expect_refusal(run("run", "cholesky", "--matrix", a, "--output", a), 2, [a, "overwrite"],
                   "--output is --matrix")


def test_failure(folder):
    # Not positive definite: element (0,0) of tile (1,1) of doubles is -5. Slots are 32 KiB; tile
    # (1,1) is the sixth of 5 x 5 tiles.
    a = os.path.join(folder, "bad.tiles")
    run("generate", "cholesky", *SMALL, "--output", a)
    with open(a, "r+b") as file:
        file.seek(4096 + 5 * 32768)
        file.write(struct.pack("<d", -5.0))
    result = run("run", "cholesky", "--matrix", a, "--check", "--json", "-")
    check(result.returncode == 1, f"not positive definite: exit status {result.returncode}")
    entry = json.loads(result.stdout)["runs"][0]
    check("potrf(1)" in entry["error"] and "row 64" in entry["error"], f"error: {entry}")
    check(entry["verified"] is False, "a failed run is not verified")
    # The disk is full: the run ends with an error that names the data and the remedy.
    result = run("run", "cholesky", *SMALL, "--memory", "200KiB", "--disk", folder, "--disk-space",
                 "100KiB")
    check(result.returncode == 1 and "disk full" in result.stdout + result.stderr,
          f"disk full: {result.returncode} {result.stdout} {result.stderr}")


def read_terminal(descriptor):
    text = b""
    while True:
        try:
            part = os.read(descriptor, 4096)
        except OSError:
            part = b""
        if not part:
            return text.decode()
        text += part


def on_terminal(columns, terminal, *job):
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 25, columns, 0, 0))
    process = subprocess.Popen([VICINAL, "run", "cholesky", *job], stdout=subprocess.DEVNULL, stderr=theirs,
                               env={**os.environ, "TERM": terminal})
    os.close(theirs)
    text = read_terminal(ours)
    check(process.wait(timeout=120) == 0, "run on a terminal")
    return text


def test_progress_bar():
    try:
        os.close(pty.openpty()[0])
    except OSError as error:  # a container without /dev/pts
        print(f"skipped: the progress bar on a terminal ({error})")
        return
    started = time.monotonic()
    text = on_terminal(100, "xterm", "--size", "6000", "--tile", "100")
    seconds = time.monotonic() - started
    check("tasks" in text and "factorise" in text, f"a progress bar on a terminal: {text!r}")
    check(text.count("tasks") <= 10 * seconds + 1, "at most 10 updates per second")
    for columns in (79, 40, 20):
        text = on_terminal(columns, "xterm", "--size", "4500", "--tile", "60")
        lines = [line for part in text.split("\r") for line in part.replace("\x1b[K", "").split("\n")]
        check("lws" in text, f"a line on {columns} columns: {text!r}")
        check(max(len(line) for line in lines) < columns, f"no line wraps at {columns} columns: {lines}")
    text = on_terminal(100, "dumb", "--size", "2000", "--tile", "60")
    check("\x1b" not in text and "\r" not in text.replace("\r\n", ""), f"TERM=dumb: {text!r}")


def test_stall_report():
    # Blocked from the start, so that a signal that comes early waits for its reader.
    block = lambda: signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
    process = subprocess.Popen([VICINAL, "run", "cholesky", "--size", "4000", "--tile", "100"],
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                               preexec_fn=block)

    def ask():  # while the reports are read: a full pipe would hold the run up
        while process.poll() is None:
            process.send_signal(signal.SIGUSR1)
            time.sleep(0.02)

    asking = threading.Thread(target=ask)
    asking.start()
    _, stderr = process.communicate(timeout=120)
    asking.join()
    check(process.returncode == 0, f"SIGUSR1: exit status {process.returncode}")
    reports = set(stderr.splitlines()) - {"no run in progress", ""}
    check(reports, f"SIGUSR1: no report in {stderr!r}")


with tempfile.TemporaryDirectory(dir=os.getcwd()) as temporary:
    test_bad_input()
    test_lists()
    test_calibrate(temporary)
    test_json(temporary)
    test_short_report(temporary)
    test_policies()
    test_same_defaults()
    test_full_device()
    test_interrupt(temporary)
    test_json_file(temporary)
    test_unnamed_graph(temporary)
    test_documented_bounds()
    test_disk_in_memory()
    test_help_of_benchmarks()
    test_bounds()
    test_simulate(temporary)
    test_applications(temporary)
    test_files(temporary)
    test_failure(temporary)
    test_progress_bar()
    test_stall_report()
print(f"{len(failures)} failures")
sys.exit(1 if failures else 0)
