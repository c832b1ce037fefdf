#!/usr/bin/env python3
"""vicinal calibrate, and what it measured against real runs.

    tests/cli/against_real.py PATH_OF_VICINAL

Exit status 0 if all is well; every failure is printed.
"""

import json
import math
import os
import tempfile

from vicinal import check, expect_refusal, finish, policy_names, run


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
    policies = policy_names()
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


with tempfile.TemporaryDirectory(dir=os.getcwd()) as temporary:
    test_calibrate(temporary)
finish()
