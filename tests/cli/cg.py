#!/usr/bin/env python3
"""vicinal run cg, and its graph in vicinal simulate and vicinal bounds.

    tests/cli/cg.py PATH_OF_VICINAL
"""

import json
import os
import tempfile

from vicinal import check, expect_refusal, finish, run

SMALL = ["--grid", "40x40", "--blocks", "8"]
# 1600 rows of 5 entries less those at the edges.
ENTRIES = 5 * 1600 - 4 * 40


def solve(*arguments):
    result = run("run", "cg", *arguments, "--check", "--json", "-")
    check(result.returncode == 0, f"run cg {arguments}: {result.stderr}")
    return json.loads(result.stdout) if result.returncode == 0 else {"parameters": {}, "runs": []}


def test_grids():
    report = solve(*SMALL, "--policy", "all")
    check(report["application"] == "cg", f"application: {report}")
    for name, value in (("grid", "40x40"), ("rows", 1600), ("entries", ENTRIES), ("blocks", 8)):
        check(report["parameters"].get(name) == value, f"{name}: {report['parameters']}")
    for one in report["runs"]:
        check(one["verified"] is True and one["residual"] <= one["tolerance"] == 1e-8, f"verified: {one}")
        # Of 3 x 8 + 2 tasks in each iteration, and one for every eighth that looks at the residual.
        check(one["tasks"] % (8 * 26 + 1) == 0 and one["gflops"] > 0, f"tasks: {one}")
    for one in solve("--grid", "12x10x9", "--blocks", "5")["runs"]:
        check(one["verified"] is True, f"verified: {one}")


def test_memory(folder):
    report = solve("--grid", "128x128", "--blocks", "16", "--policy", "lws,darts,dmdas",
                   "--memory", "400KiB", "--disk", folder, "--tolerance", "1e-3")
    for one in report["runs"]:
        check(one["verified"] is True, f"verified: {one}")
        check(one["nodes"]["ram"]["peak"] <= 400 * 1024, f"peak: {one['nodes']}")
        check(one["bytes_in"] >= one["bound_bytes"] > 0, f"bytes_in: {one}")
    check(os.listdir(folder) == [], f"left in the folder: {os.listdir(folder)}")


def test_files(folder):
    path = os.path.join(folder, "m.mtx")
    with open(path, "w", encoding="utf-8") as file:  # second differences
        file.write("%%MatrixMarket matrix coordinate real symmetric\n50 50 99\n")
        for row in range(1, 51):
            file.write(f"{row} {row} 2\n" + (f"{row} {row - 1} -1\n" if row > 1 else ""))
    report = solve("--matrix", path, "--blocks", "6")
    check(report["parameters"].get("matrix") == path and report["parameters"].get("rows") == 50,
          f"parameters: {report['parameters']}")
    for one in report["runs"]:
        check(one["verified"] is True, f"verified: {one}")
    with open(path, encoding="utf-8") as file:
        whole = file.read()
    for text, parts in ((whole[:len(whole) // 2], [path, "fetch it again"]),
                        (whole.replace("real", "complex"), [path, "line 1", "complex"]),
                        (whole.replace("\n3 3 2", "\n3 3 x"), [path, "line", "x"]), ("", [path, "no Matrix Market"])):
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        expect_refusal(run("run", "cg", "--matrix", path), 2, parts, f"--matrix: {text[:60]}")
    with open(path, "w", encoding="utf-8") as file:
        file.write("%%MatrixMarket matrix coordinate real symmetric\n2 2 2\n1 1 1\n2 2 -5\n")
    wrong = run("run", "cg", "--matrix", path)
    check(wrong.returncode == 1 and "not positive definite" in wrong.stdout + wrong.stderr,
          f"not positive definite: {wrong.stdout}{wrong.stderr}")


def test_iterations_that_do_not_suffice():
    result = run("run", "cg", *SMALL, "--iterations", "5", "--check")
    check(result.returncode == 1, f"exit status {result.returncode}: {result.stdout}")


def test_refusals(folder):
    for arguments, parts in ((["--size", "100"], ["--size", "--blocks", "leave the option away"]),
                             (["--tile", "100"], ["--tile"]), (["--panel", "2"], ["--panel"]),
                             (["--distribution", "2x2"], ["--distribution"]),
                             (["--priorities", "none"], ["--priorities"]), (["--output", "x"], ["--output"]),
                             (["--grid", "40"], ["--grid", "512x512"]), (["--grid", "40x0"], ["--grid", "no points"]),
                             (["--blocks", "0"], ["--blocks"]), (["--tolerance", "small"], ["--tolerance"]),
                             (["--iterations", "0"], ["--iterations"]), (["--grid", "4x4", "--matrix", "x"], ["--matrix"]),
                             ([*SMALL, "--memory", "8KiB", "--disk", folder], ["--memory", "more --blocks"]),
                             ([*SMALL, "--memory", "64KiB"], ["--memory", "--disk"])):
        expect_refusal(run("run", "cg", *arguments), 2, parts, f"run cg {arguments}")
    expect_refusal(run("run", "lu", "--grid", "4x4"), 2, ["--grid", "only cg has it"], "run lu --grid")
    expect_refusal(run("simulate", "cg", "--tiles", "4"), 2, ["--tiles", "cg"], "simulate cg --tiles")
    expect_refusal(run("simulate", "cg", "--grid", "4"), 2, ["512x512"], "simulate cg --grid 4")
    expect_refusal(run("simulate", "lu", "--grid", "4x4"), 2, ["--grid", "only cg has it"], "simulate lu --grid")


def test_graph():
    played = run("simulate", "cg", *SMALL, "--iterations", "3", "--machine", "idgraf", "--policy", "all", "--json", "-")
    check(played.returncode == 0, f"simulate cg: {played.stderr}")
    report = json.loads(played.stdout)
    check(report["parameters"]["tasks"] == 3 * 26 and report["parameters"]["grid"] == "40x40",
          f"parameters: {report['parameters']}")
    for one in report["runs"]:
        check(one["seconds"] >= one["bound_seconds"] > 0, f"simulate cg: {one}")
    told = run("bounds", "cg", *SMALL, "--iterations", "3", "--machine", "idgraf")
    check(told.returncode == 0 and "cg" in told.stdout, f"bounds cg: {told.stdout}{told.stderr}")


with tempfile.TemporaryDirectory(dir=os.getcwd()) as temporary:
    test_grids()
    for test in (test_memory, test_files, test_refusals):
        with tempfile.TemporaryDirectory(dir=temporary) as own:
            test(own)
    test_iterations_that_do_not_suffice()
    test_graph()
finish()
