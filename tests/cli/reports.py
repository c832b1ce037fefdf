#!/usr/bin/env python3
"""What vicinal prints: lists, tables and JSON, of real and simulated runs and of bounds.

    tests/cli/reports.py PATH_OF_VICINAL

Exit status 0 if all is well; every failure is printed.
"""

import json
import os
import re
import shutil
import subprocess
import tempfile
import xml.etree.ElementTree

from vicinal import SMALL, VICINAL, WHOLE, check, finish, policy_names, run


def test_lists():
    policies = policy_names()
    check({"lws", "darts"} <= set(policies), f"policies: {policies}")
    check("# Options" in run("options", "--markdown").stdout, "options --markdown")
    options = [line.split()[0] for line in run("options").stdout.splitlines()]
    check("memory" in options, f"options: {options}")
    # Every option is there as --name-with-dashes, but that by which programs are simulated.
    text = run("run", "--help").stdout
    for option in set(options) - {"machine"}:
        check("--" + option.replace("_", "-") + " " in text, f"run --help: no {option}")
    check(run("--version").stdout.startswith("vicinal "), "--version")
    check("ram" in run("machine", "--memory", "10MiB").stdout, "machine")
    check("occigen" in run("machine", "--list").stdout, "machine --list")
    cluster = run("machine", "--machine", "occigen,ranks=36").stdout
    check("36 hosts" in cluster and "18 hosts on each of 2 leaves" in cluster, f"machine of a cluster: {cluster}")
    check("gpu3" in run("machine", "--machine", "v100").stdout, "machine --machine v100")
    one_host = run("simulate", "cholesky", "--tiles", "4", "--machine", "occigen", "--ranks", "1")
    check(one_host.returncode == 0, f"a host of a cluster: {one_host.stderr}")


def test_json(folder):
    policies = policy_names()
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
    shown = sorted(runs, key=lambda run: run["seconds"])[:12]
    ranked = [run["policy"] for run in shown]
    check([line.split()[0] for line in lines[begin + 1:begin + 1 + len(ranked)]] == ranked,
          f"ranked by time, {ranked}: {text}")
    left = len(runs) - len(shown)
    check(left == 0 or f"and {left} slower ones" in text, f"how many are not shown: {text}")
    for line, entry in zip(lines[begin + 1:], shown):
        check(f"{entry['seconds_ratio']:.2f}x" in line and f"{entry['bytes_ratio']:.2f}x" in line,
              f"beside the bounds: {line}, {entry['seconds_ratio']}, {entry['bytes_ratio']}")
    check("the time is bound by" in text and "the loads are bound by" in text, f"what bounds: {text}")
    check(text.count("\nhint: ") == 1, f"one hint: {text}")
    verbose = run(*job, "--verbose").stdout
    check(verbose.startswith(text) and "longest path" in verbose, f"--verbose: {verbose}")


def has_matplotlib():
    return any(subprocess.run([python, "-c", "import matplotlib"], capture_output=True).returncode == 0
               for python in ("python3", "/usr/bin/python3") if shutil.which(python))


# The picture says what the table says; its ink follows the page.
def test_plot(folder):
    path = os.path.join(folder, "plot.svg")
    job = ["simulate", "cholesky", "--machine", "v100", "--memory", "200MiB", "--policy", "darts,eager"]
    before = sorted(os.listdir(folder) + ["plot.svg"])
    result = run(*job, "--plot", path)
    if not has_matplotlib():
        print("skipped: a picture (no Python here has matplotlib)")
        check(result.returncode == 1 and "python3-matplotlib" in result.stderr, f"--plot: {result.stderr}")
        check(result.stdout == run(*job).stdout, "the report is printed without a picture, too")
        return
    check(result.returncode == 0 and result.stderr == "", f"--plot: {result.stderr}")
    check(result.stdout == run(*job).stdout, "--plot prints the same")
    check(sorted(os.listdir(folder)) == before, f"--plot leaves the picture alone: {os.listdir(folder)}")
    with open(path, encoding="utf-8") as file:
        text = file.read()
    xml.etree.ElementTree.fromstring(text)
    # matplotlib notes each text beside the outlines that it draws.
    words = set(re.findall(r"<!-- (.*?) -->", text))
    for word in ("darts", "eager", "time (ms)", "loaded (GiB)"):
        check(word in words, f"--plot: no {word}: {words}")
    check(sum(word.startswith("bound ") for word in words) >= 2, f"--plot: no bounds: {words}")
    check("prefers-color-scheme: dark" in text and 'fill: #1f2328' in text, "--plot: ink for both pages")
    run(*job, "--plot", path)
    with open(path, encoding="utf-8") as file:
        check(file.read() == text, "the same command draws the same")


def test_policies():
    job = ["simulate", "cholesky", "--machine", "v100", "--tiles", "4", "--json", "-"]
    every = policy_names()
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


def test_unnamed_graph(folder):
    with open(os.path.join(folder, "unnamed.json"), "w", encoding="utf-8") as file:
        json.dump({"data": {"a": {"bytes": 8, "home": "ram"}}, "kernels": {"k": {"seconds": {"gpu": 0.5}}},
                   "tasks": [{"kernel": "k", "accesses": [["a", "RW"]]}]}, file)
    # From its folder: the report names the path, in which any word may occur.
    result = run("bounds", "--graph", "unnamed.json", "--machine", "v100", folder=folder)
    check(result.stdout.startswith("graph: 1 tasks"), f"bounds of a graph without a name: {result.stdout}")
    result = run("simulate", "--graph", "unnamed.json", "--machine", "v100", "--verbose", folder=folder)
    check("\ngraph: " in result.stdout, f"simulate of a graph without a name: {result.stdout}")
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


def test_panels():
    # 4 potrf of 20 tasks and 6 that write zeroes each, and others that may be divided; 30 tasks of LU.
    for name, least in (("cholesky", 20 + 4 * 26), ("lu-incpiv", 30), ("qr", 30)):
        result = run("run", name, *WHOLE, "--panel", "16", "--policy", "lws,dmdas", "--check", "--json", "-")
        check(result.returncode == 0, f"{name} --panel: {result.stderr}")
        report = json.loads(result.stdout)
        check(report["parameters"]["panel"] == 16, f"panel: {report['parameters']}")
        for entry in report["runs"]:
            check(entry["verified"] is True, f"verified: {entry}")
            check(entry["tasks"] >= least, f"tasks: {entry}")
        # 6 trsm, 6 syrk, 4 gemm beside the divided potrf.
        tasks = 16 + 4 * 20 if name == "cholesky" else 30
        played = run("simulate", name, "--tiles", "4", "--tile", "64", "--panel", "16", "--machine", "idgraf",
                     "--policy", "lws,xkaapi", "--json", "-")
        check(played.returncode == 0, f"simulate {name} --panel: {played.stderr}")
        check(json.loads(played.stdout)["parameters"]["tasks"] == tasks, f"simulated: {played.stdout}")


with tempfile.TemporaryDirectory(dir=os.getcwd()) as temporary:
    test_lists()
    test_json(temporary)
    test_short_report(temporary)
    test_plot(temporary)
    test_policies()
    test_same_defaults()
    test_unnamed_graph(temporary)
    test_documented_bounds()
    test_help_of_benchmarks()
    test_bounds()
    test_simulate(temporary)
    test_applications(temporary)
    test_panels()
finish()
