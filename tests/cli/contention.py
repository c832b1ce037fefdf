#!/usr/bin/env python3
"""vicinal contention: predictions of shipped machines, measured sweeps beside them, the fit, and refusals.

    tests/cli/contention.py PATH_OF_VICINAL

Exit status 0 if all is well; every failure is printed.
"""

import os
import tempfile

from vicinal import check, expect_refusal, finish, run

COLUMNS = ("computation_node,transfer_node,cores,computations_alone,computations_beside,transfer_alone,"
           "transfer_beside")


def test_one_point():
    # Table E.6 of the thesis: 73423.0 - 0.915 * 11481.1 and 0.915 * 11481.1, in MB/s.
    result = run("contention", "henri", "--cores", "16", "--comp-node", "0", "--comm-node", "0", "--csv", "-")
    check(result.returncode == 0, f"henri: {result.stderr}")
    check(result.stdout == COLUMNS + "\n0,0,16,71286.4,62917.8,11481.1,10505.2\n", f"henri: {result.stdout}")
    check("62.92" in result.stderr and "10.51" in result.stderr, f"henri: table: {result.stderr}")
    check("transfer is slowed down from 14 cores on, to 92 %" in result.stderr, f"henri: {result.stderr}")


def test_all_points():
    for machine, placements, cores in (("henri-subnuma", 16, 18), ("pyxis", 4, 32), ("marenostrum4", 4, 24)):
        result = run("contention", machine, "--csv", "-")
        rows = result.stdout.splitlines()
        check(len(rows) == 1 + placements * cores, f"{machine}: {len(rows)} rows")
        check(result.stderr.count("data on NUMA nodes") == placements, f"{machine}: {result.stderr}")


def test_measured(folder):
    sweep = os.path.join(folder, "sweep.csv")
    fitted = os.path.join(folder, "fitted.toml")
    run("contention", "dahu", "--csv", sweep)
    result = run("contention", "dahu", "--measured", sweep)
    check(result.returncode == 0, f"measured: {result.stderr}")
    lines = [line.split() for line in result.stdout.splitlines() if "%" in line and "data on" not in line]
    check(len(lines) == 6, f"measured: {result.stdout}")
    check(all(line[-4:] == ["0.00", "%", "0.00", "%"] for line in lines), f"measured: {lines}")
    # The parameters of what dahu's model predicts are those of dahu.
    result = run("contention", "--measured", sweep, "--fit", fitted)
    check(result.returncode == 0, f"fit: {result.stderr}")
    machine = os.path.join(folder, "machine.toml")
    with open(fitted, encoding="utf-8") as tables, open(machine, "w", encoding="utf-8") as file:
        file.write('name = "measured"\nsentence = "of a test"\n[cpu]\nmost = 32\n' + tables.read())
    again = run("contention", machine, "--csv", "-").stdout.splitlines()
    with open(sweep, encoding="utf-8") as file:
        known = file.read().splitlines()
    check(len(again) == len(known), f"fit: {len(again)} rows")
    for a, b in zip(again[1:], known[1:]):
        for x, y in zip(a.split(","), b.split(",")):
            check(abs(float(x) - float(y)) <= 0.005 * float(y), f"fit: {a} is not {b}")


def test_picture(folder):
    picture = os.path.join(folder, "curves.svg")
    result = run("contention", "henri", "--plot", picture)
    if "no Python here has matplotlib" in result.stderr:
        print("skipped: a picture")
        return
    check(result.returncode == 0, f"picture: {result.stderr}")
    with open(picture, encoding="utf-8") as file:
        check("<svg" in file.read(), "picture: no SVG")


def test_refusals(folder):
    for arguments, parts in (
            ([], ["say of which machine", "henri"]),
            (["henry"], ["henry", "did you mean"]),
            (["v100"], ["v100", "no [contention]", "--fit"]),
            (["henri", "--cores", "19"], ["--cores", "19", "18"]),
            (["henri", "--comp-node", "2"], ["--comp-node", "2", "1"]),
            (["henri", "--comm-node", "x"], ["--comm-node", "x"]),
            (["henri", "--fit", os.path.join(folder, "f.toml")], ["--fit", "--measured"]),
            (["henri", "--plot", "curves.png"], ["--plot", "curves.png", "SVG"]),
            (["henri", "--measured", "/no/such/file"], ["/no/such/file"])):
        expect_refusal(run("contention", *arguments), 2, parts, " ".join(["contention", *arguments]))
    sweep = os.path.join(folder, "wrong.csv")
    with open(sweep, "w", encoding="utf-8") as file:
        file.write(COLUMNS + "\n0,3,1,10,10,5,5\n")
    expect_refusal(run("contention", "henri", "--measured", sweep), 2, ["--measured", "node 3"], "node 3")
    expect_refusal(run("contention", "--measured", sweep, "--fit", sweep), 2, ["--fit"], "one file for both")


with tempfile.TemporaryDirectory() as folder:
    test_one_point()
    test_all_points()
    test_measured(folder)
    test_picture(folder)
    test_refusals(folder)
finish()
