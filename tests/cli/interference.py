#!/usr/bin/env python3
"""vicinal interference: a tiny run, its files, and that a stopped run goes on.

    tests/cli/interference.py PATH_OF_VICINAL

Exit status 0 if all is well; every failure is printed.
"""

import os
import tempfile

from vicinal import check, expect_refusal, finish, run


def read(*path):
    with open(os.path.join(*path), encoding="utf-8") as file:
        return file.read()


def test_list():
    listed = run("interference", "--list")
    names = [line.split()[0] for line in listed.stdout.splitlines()]
    check(listed.returncode == 0 and {"contention", "polling", "model-local"} <= set(names), f"the list: {listed}")
    expect_refusal(run("interference", "contension"), 2, ["contension", "did you mean contention?"], "another name")


def test_resume(folder):
    quick = ["interference", "frequency", "--quick", "--output", folder]
    first = run(*quick)
    check(first.returncode == 0 and "frequency (5.2.1)" in first.stdout, f"a run: {first.stderr}")
    lines = read(folder, "rows.csv").splitlines(keepends=True)
    check(lines[0].startswith("# vicinal ") and lines[1].startswith("experiment,kernel,"), f"the head: {lines[:2]}")
    if len(lines) == 2:
        check("cannot show it" in first.stdout, f"no rows, and no reason: {first.stdout}")
        return
    check(len(lines) == 2 + 8, f"{len(lines)} lines")
    with open(os.path.join(folder, "rows.csv"), "w", encoding="utf-8") as file:
        file.write("".join(lines[:5]) + lines[5][:40])  # stopped within the fourth row
    again = run(*quick)
    check(again.returncode == 0 and "going on with" in again.stderr, f"going on: {again.stderr}")
    resumed = read(folder, "rows.csv").splitlines(keepends=True)
    check(resumed[:5] == lines[:5] and len(resumed) == len(lines), "rows that were there stay, others are measured")
    check("3 of 8 points" in again.stderr, f"how far it was: {again.stderr}")


def test_why_not(folder):
    result = run("interference", "model-remote", "--quick", "--output", folder)
    check(result.returncode == 0 and "model-remote (6.3.1)" in result.stdout, f"the sweep: {result.stderr}")


if __name__ == "__main__":
    test_list()
    with tempfile.TemporaryDirectory() as folder:
        test_resume(os.path.join(folder, "resumed"))
        test_why_not(os.path.join(folder, "remote"))
    finish()
