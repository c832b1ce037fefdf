#!/usr/bin/env python3
"""What horizon gains in simulation: cells of applications, machines and memories.

  bench/horizon.py [--policies darts,dmdas,hfp,lws] [--cells lu,gpus=2,ratio=4] [--csv FILE]
  bench/horizon.py --real DIR [--policies all] [--cells lu,ratio=4] [--rounds 3]

Each line is a graph on a machine: the data are so many times the memory of one GPU, or of the RAM beside a disk (0.8: they
fit). Of horizon: time over the larger of both bounds, loaded and written GiB, microseconds to plan and schedule a task;
then its time and its bytes, in and out, over those of the best other policy: below 1 it is better. Geometric means over
all graphs of an application on a machine come last.

Simulated, so exact, but for the microseconds.

--real runs Cholesky, LU and a product on this machine, with the disk of DIR and a memory that holds one part in 2, 4 and 8 of
the data, under all policies in turn, and simulates the same on the machine as `vicinal calibrate` measures it: of horizon,
medians of the rounds: seconds, over those of the best other policy, over the larger of the time in core (lws simulated,
memory for all) and its loads at the disk's bandwidth; loaded MiB, over those of its simulation and over the least of the other
policies. Wants a machine with nothing else to do.
"""

import argparse
import csv
import json
import math
import pathlib
import statistics
import subprocess
import sys
import tempfile
import tomllib

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


# Data, and bytes of them.
REAL = {
    "cholesky": (["--tiles", "16", "--tile", "256"], 16 * 17 // 2 * 256**2 * 8),
    "lu": (["--tiles", "12", "--tile", "256"], 12 * 12 * 256**2 * 8),
    "gemm3d": (["--tiles", "8", "--tile", "256"], 8 * 8 * 256**2 * 8 * 3),
}


def checked(command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"horizon: {' '.join(command)}\n{done.stderr}")
    return done.stdout


def read_rate(machine):
    """Of the disk, in bytes per second."""
    with open(machine, "rb") as file:
        value, unit = tomllib.load(file)["disk"]["read"].split()
    return float(value) * {"MB/s": 1e6, "GB/s": 1e9}[unit]


def real(options, is_wanted):
    print(f"{'graph':9} {'ratio':>5} {'s':>7} {'/best':>6} {'best':9} {'/bound':>6} {'MiB':>7} {'/simulated':>10} {'/least':>6}")
    over_best = []
    for name, (size, data) in REAL.items():
        if not is_wanted(REAL, name):
            continue
        for ratio in (2, 4, 8):
            if not is_wanted([f"ratio={each}" for each in (2, 4, 8)], f"ratio={ratio}"):
                continue
            memory = f"{data // ratio}B"
            times, loads, simulated, floors = {}, {}, [], []
            for _ in range(options.rounds):
                with tempfile.TemporaryDirectory() as folder:
                    machine = f"{folder}/this.toml"
                    checked([options.program, "calibrate", "--tile", "256", "--memory", memory, "--disk", options.real,
                             "--output", machine])
                    job = [options.program, "simulate", name, *size, "--precision", "double", "--machine", machine]
                    whole = json.loads(checked([*job, "--memory", f"{2 * data}B", "--policy", "lws", "--json", "-"]))
                    compared = json.loads(checked([*job, "--memory", memory, "--disk", options.real, "--against", "real",
                                                   "--policy", options.policies, "--json", "-"]))
                    rate = read_rate(machine)
                for each in compared["policies"]:
                    times.setdefault(each["policy"], []).append(each["real_wall_seconds"])
                    loads.setdefault(each["policy"], []).append(each["real_bytes_in"])
                    if each["policy"] == "horizon":
                        simulated.append(each["bytes_in"])
                floors.append(max(whole["runs"][0]["seconds"], loads["horizon"][-1] / rate))
            median = {policy: statistics.median(each) for policy, each in times.items()}
            loaded = {policy: statistics.median(each) for policy, each in loads.items()}
            own, own_loads = median.pop("horizon"), loaded.pop("horizon")
            best = min(median, key=median.get)
            over_best.append(own / median[best])
            print(f"{name:9} {ratio:5} {own:7.3f} {over_best[-1]:6.3f} {best:9} {own / statistics.median(floors):6.3f} "
                  f"{own_loads / MIB:7.0f} {own_loads / max(1, statistics.median(simulated)):10.3f} "
                  f"{own_loads / max(1, min(loaded.values())):6.3f}", flush=True)
    print(f"time over the best other policy's: {geometric(over_best):.3f} in the geometric mean, {max(over_best):.3f} at most")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=str(ROOT / "build/release/vicinal"))
    parser.add_argument("--policies", default="darts,dmdas,hfp,lws")
    parser.add_argument("--cells", default="", help="names, machines and ratios; others are left out")
    parser.add_argument("--csv", help="also write all rows there")
    parser.add_argument("--real", metavar="DIR", help="of the disk: real runs")
    parser.add_argument("--rounds", type=int, default=3, help="of real runs")
    options = parser.parse_args()
    wanted = set(filter(None, options.cells.split(",")))

    def is_wanted(known, name):
        return not wanted & set(known) or name in wanted

    if options.real:
        if options.policies == parser.get_default("policies"):
            options.policies = "all"
        return real(options, is_wanted)
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
