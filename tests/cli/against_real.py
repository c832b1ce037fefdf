#!/usr/bin/env python3
"""vicinal calibrate, and what it measured against real runs.

    tests/cli/against_real.py PATH_OF_VICINAL [PATH_OF_THE_LIBRARY_THAT_STANDS_IN_FOR_CUDA]

Exit status 0 if all is well; every failure is printed.
"""

import json
import math
import os
import sys
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
    test_options_of_the_real_run(path)
    test_against_real(path, folder)


def test_options_of_the_real_run(machine):
    # The real run refuses this variable, and the error has its command.
    for options in (["--panel", "32"], ["--panel", "0"]):
        result = run("simulate", "cholesky", "--tiles", "2", "--tile", "128", *options, "--machine", machine, "--policy",
                     "lws", "--against", "real", environment={"VICINAL_MACHINE": "v100"})
        expect_refusal(result, 2, ["--against real: the run failed: ", " --size '256' --tile '128' ", " --policy 'lws'"],
                       f"the real run with {options}")
        check(("--panel '32'" in result.stderr) == (options[1] == "32"), f"{options}: {result.stderr}")
    result = run("simulate", "qr", "--tiles", "2", "--tile", "128", "--panel", "16", "--panel-tree", "binary", "--machine",
                 machine, "--policy", "lws", "--against", "real", environment={"VICINAL_MACHINE": "v100"})
    expect_refusal(result, 2, ["--panel '16'", "--panel-tree 'binary'"], "the real run of qr")


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


# OpenCL's first device, if there is one. It is not calibrated: PoCL builds CLBlast's programs for minutes.
def test_opencl_device():
    if run("machine", "--opencl-devices", "1").returncode != 0:
        return
    shown = run("machine", "--opencl-devices", "1", "--device-memory", "4MiB", "--measure").stdout
    for part in ("opencl0", "limit 4 MiB", "OpenCL device 0 (", "measured: ", "both at once"):
        check(part in shown, f"machine --measure: no {part} in {shown}")


def test_stand_in(folder, library):
    libraries = ["--cuda-library", library, "--cublas-library", library, "--cusolver-library", library]
    path = os.path.join(folder, "device.toml")
    result = run("calibrate", "--tile", "32", "--cuda-devices", "1", "--workers", "1", *libraries,
                 "--device-memory", "64MiB", "--output", path)
    check(result.returncode == 0 and "CUDA device 0" in result.stdout, f"calibrate: {result}")
    with open(path, encoding="utf-8") as stream:
        text = stream.read()
    for part in ("[[device]]", 'kind = "cuda"', "in = ", "both = ", "latency = ", '"potrf"'):
        check(part in text, f"calibrate: no {part} in {text}")
    check(text.count('kernel = ["gemm"]\nkind = "cuda"') == 2, f"calibrate, a precision each: {text}")
    job = ["simulate", "cholesky", "--machine", path, "--tiles", "4", "--tile", "32", "--policy",
           "eager", "--look-ahead", "1", "--against", "real", "--real-runs", "1", *libraries]
    for devices in ("0", "1"):
        comparison = os.path.join(folder, "comparison.json")
        result = run(*job, "--cuda-devices", devices, "--json", comparison)
        check(result.returncode == 0 and "eager" in result.stdout, f"stand-in, against real: {result}")
        with open(comparison, encoding="utf-8") as stream:
            row = json.load(stream)["policies"][0]
        check(row["seconds"] > 0 and row["real_wall_seconds"] > 0, f"stand-in, against real: {row}")
        check(devices == "1" or row["bytes_in"] == row["real_bytes_in"] == 0, f"no device: {row}")
    expect_refusal(run(*job, "--cuda-devices", "2"), 2, ["1 CUDA", "2 are asked"], "a device too many")
    expect_refusal(run(*job, "--cpus", "0"), 2, ["--cpus 0"], "a run without CPU workers")


with tempfile.TemporaryDirectory(dir=os.getcwd()) as temporary:
    test_calibrate(temporary)
    test_opencl_device()
    if len(sys.argv) > 2:
        test_stand_in(temporary, sys.argv[2])
finish()
