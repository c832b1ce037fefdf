#!/usr/bin/env python3
"""How exactly a simulated run follows a plan from a file.

  bench/plans.py [--program build/release/vicinal] [--vary 30]

Each line is a graph on a machine, planned from a run under a policy (`vicinal plan`) and followed (`--plan`): how many
tasks stand where they stood in the order of their node; bytes, in and out, and time over those of the run that the plan
was made from; and the same where the time of each task is up to so many percent longer or shorter than it was, at random.

Simulated, so exact: the same command prints the same numbers.
"""

import argparse
import collections
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
# A memory that holds a part of the data.
JOBS = {
    "cholesky": ["--tiles", "18", "--memory", "180MiB"],
    "lu": ["--tiles", "14", "--memory", "180MiB"],
    "qr": ["--tiles", "11", "--memory", "150MiB"],
    "gemm2d": ["--tiles", "18", "--memory", "250MiB"],
    "gemm3d": ["--tiles", "9", "--memory", "180MiB"],
    "cg": ["--grid", "1024x1024", "--blocks", "16", "--memory", "8MiB"],
    "stencil": ["--width", "48", "--steps", "10", "--memory", "60MiB"],
    "random": ["--tasks", "400", "--memory", "150MiB"],
}
MACHINES = {
    "gpus=1": ["--machine", "v100p", "--gpus", "1"],
    "gpus=2": ["--machine", "v100p", "--gpus", "2"],
    "disk": ["--machine", "cpu-disk"],
}


def run(program, *arguments):
    command = [program, *arguments, "--json", "-"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"plans: {' '.join(command)}\n{done.stderr}")
    return json.loads(done.stdout)["runs"][0]


def orders(path):
    """Of each node: its tasks."""
    with open(path, encoding="utf-8") as file:
        plan = json.load(file)
    by_node = collections.defaultdict(list)
    for name, node, *number in plan["tasks"]:
        by_node[plan["nodes"][node]].append((name, *number))
    return by_node


def over(followed, planned):
    """Bytes and time."""
    moved = [max(1, each["bytes_in"] + each["bytes_out"]) for each in (followed, planned)]
    return moved[0] / moved[1], followed["seconds"] / planned["seconds"]


def describe(ratios):
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    return f"{mean:.3f} in the geometric mean, {max(ratios):.3f} at most, above 1.05 in {sum(r > 1.05 for r in ratios)}"


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=str(ROOT / "build/release/vicinal"))
    parser.add_argument("--policies", default="horizon,darts,dmdas,lws")
    parser.add_argument("--vary", default="30", help="percent")
    options = parser.parse_args()
    columns = collections.defaultdict(list)
    exact = 0
    print(f"{'graph':9} {'machine':7} {'policy':8} {'in order':>10} {'bytes':>6} {'time':>6} {'varied: bytes':>14} {'time':>6}")
    with tempfile.TemporaryDirectory() as folder:
        plan, followed_plan = (os.path.join(folder, name) for name in ("a.plan", "followed.plan"))
        for machine, place in MACHINES.items():
            for name, size in JOBS.items():
                for policy in options.policies.split(","):
                    job = [name, *size, *place]
                    planned = run(options.program, "plan", *job, "--policy", policy, "-o", plan)
                    followed = run(options.program, "plan", *job, "--plan", plan, "-o", followed_plan)
                    varied = run(options.program, "simulate", *job, "--plan", plan,
                                 "--vary", options.vary, "--vary-seed", "3")
                    then, now = orders(plan), orders(followed_plan)
                    tasks = sum(map(len, then.values()))
                    kept = sum(a == b for node in then for a, b in zip(then[node], now[node]))
                    exact += kept == tasks
                    row = (*over(followed, planned), *over(varied, planned))
                    for column, value in zip(("bytes", "time", "varied: bytes", "varied: time"), row):
                        columns[column].append(value)
                    print(f"{name:9} {machine:7} {policy:8} {kept:5}/{tasks:<5}"
                          f"{row[0]:6.3f} {row[1]:6.3f} {row[2]:14.3f} {row[3]:6.3f}", flush=True)
    print(f"\n{exact} of {len(columns['bytes'])} in exactly the order")
    for column, ratios in columns.items():
        print(f"{column}: {describe(ratios)}")


if __name__ == "__main__":
    main()
