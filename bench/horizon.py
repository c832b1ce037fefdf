#!/usr/bin/env python3
"""What horizon gains in simulation: cells of applications, machines and memories.

  bench/horizon.py [--policies darts,dmdas,hfp,lws] [--cells lu,gpus=2,ratio=4] [--csv FILE]

Each line is a graph on a machine: the data are so many times the memory of one GPU, or of the RAM beside a disk (0.8: they
fit). Of horizon: time over the larger of both bounds, loaded and written GiB, microseconds to plan and schedule a task;
then its time and its bytes, in and out, over those of the best other policy: below 1 it is better. Geometric means over
all graphs of an application on a machine come last.

Simulated, so exact, but for the microseconds.
"""

import argparse
import csv
import json
import math
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
DENSE = ["--tile", "960", "--precision", "float"]
# Two graphs of each: they are cheap, and a single one proves little.
APPLICATIONS = {
    "cholesky": [["--tiles", "18", *DENSE], ["--tiles", "29", *DENSE]],
    "lu": [["--tiles", "14", *DENSE], ["--tiles", "21", *DENSE]],
    "qr": [["--tiles", "11", *DENSE], ["--tiles", "17", *DENSE]],
    "gemm2d": [["--tiles", "22", *DENSE], ["--tiles", "33", *DENSE]],
    "gemm3d": [["--tiles", "9", *DENSE], ["--tiles", "14", *DENSE]],
    "stencil": [["--width", "96", "--steps", "12"], ["--width", "64", "--steps", "40"]],
    "cg": [["--grid", "2048x2048", "--blocks", "32"]],
    "bipartite": [["--tasks", "900", "--data", "120", "--degree", "3"]],
    "random": [["--tasks", "800"]],
}
MACHINES = {
    "gpus=1": ["--machine", "v100p", "--gpus", "1"],
    "gpus=2": ["--machine", "v100p", "--gpus", "2"],
    "gpus=4": ["--machine", "v100p", "--gpus", "4"],
    "nvlink=2": ["--machine", "v100", "--gpus", "2"],
    "nvlink=4": ["--machine", "v100", "--gpus", "4"],
    "nvlink=6": ["--machine", "summit", "--gpus", "6", "--cpus", "0"],
    "switch=8": ["--machine", "idgraf", "--gpus", "8", "--cpus", "0"],
    "disk": ["--machine", "cpu-disk"],
}
RATIOS = (0.8, 1.2, 2, 4, 8)
MIB = 1 << 20


def run(program, arguments):
    """The report; none: some task does not fit."""
    command = [program, "simulate", *arguments, "--json", "-"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode == 0:
        return json.loads(done.stdout)
    if "memory" in done.stderr:
        return None
    sys.exit(f"horizon: {' '.join(command)}\n{done.stderr}")


def moved(each):
    """Bytes between the memory and what is behind it."""
    return each["bytes_in"] + each["bytes_out"]


def geometric(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def graphs(program):
    for name, sizes in APPLICATIONS.items():
        for size in sizes:
            alone = run(program, [name, *size, "--machine", "v100p", "--gpus", "1",
                                  "--memory", "64GiB", "--policy", "eager"])
            yield name, [name, *size], alone["parameters"]["data_bytes"]


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=str(ROOT / "build/release/vicinal"))
    parser.add_argument("--policies", default="darts,dmdas,hfp,lws")
    parser.add_argument("--cells", default="", help="names, machines and ratios; others are left out")
    parser.add_argument("--csv", help="also write all rows there")
    options = parser.parse_args()
    wanted = set(filter(None, options.cells.split(",")))

    def is_wanted(known, name):
        return not wanted & set(known) or name in wanted

    ratios = [f"ratio={ratio}" for ratio in RATIOS]
    header = ["graph", "machine", "ratio", "time/bound", "in GiB", "out GiB", "us/task", "time", "bytes"]
    print("{:34} {:8} {:>5} {:>10} {:>7} {:>7} {:>8} {:>6} {:>6}  best".format(*header))
    rows, cells = [], {}
    for name, graph, size in graphs(options.program):
        if not is_wanted(APPLICATIONS, name):
            continue
        for machine, place in MACHINES.items():
            if not is_wanted(MACHINES, machine):
                continue
            for ratio, label in zip(RATIOS, ratios):
                if not is_wanted(ratios, label):
                    continue
                memory = f"{max(1, round(size / ratio / MIB))}MiB"
                report = run(options.program, [*graph, *place, "--memory", memory, "--policy",
                                               f"horizon,{options.policies}"])
                if report is None:
                    continue
                runs = {each["policy"]: each for each in report["runs"]}
                own = runs.pop("horizon")
                best = min(runs.values(), key=lambda each: each["seconds"])
                time = own["seconds"] / best["seconds"]
                least = min(map(moved, runs.values()))
                traffic = max(moved(own), 1) / max(least, 1)
                row = [" ".join(graph[:3]), machine, ratio, own["seconds_ratio"],
                       own["bytes_in"] / 2**30, own["bytes_out"] / 2**30,
                       1e6 * own["wall_scheduling_seconds"] / own["tasks"], time, traffic]
                print("{:34} {:8} {:5} {:10.2f} {:7.2f} {:7.2f} {:8.1f} {:6.3f} {:6.3f}  {}".format(
                    *row, best["policy"]), flush=True)
                rows.append([*row, best["policy"]])
                cells.setdefault((name, machine, "fits" if ratio < 1 else "short"), []).append(
                    (time, traffic))
    print("\ngeometric means: time and bytes over the best other policy's")
    for (name, machine, memory), values in sorted(cells.items()):
        print(f"{name:12} {machine:8} {memory:5} {geometric([v[0] for v in values]):6.3f} "
              f"{geometric([v[1] for v in values]):6.3f}")
    if options.csv:
        with open(options.csv, "w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow([*header, "best"])
            writer.writerows(rows)


if __name__ == "__main__":
    main()
