#!/usr/bin/env python3
"""Programs whose tasks make data that other tasks use up, where memory is short: what is loaded, and the time, without
a bound on what is submitted and under the best fixed window.

  bench/producers.py build/release/vicinal [--policies darts,lws] [--memories 16,32,64] [--csv FILE]

Each shape is played on simulated cores with a disk. `loads` are in units of the bound (where that is 0: in bytes of one
datum); `serial` says whether one worker reaches the bound under some window; `time` is that without a window over that
of the best one.
"""
import argparse
import csv
import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path

MIB = 1 << 20
WINDOWS = [0, 2, 3, 4, 6, 8, 12, 16, 32]


class Shape:
    """A graph in the making; sizes and durations vary around what is given, as the seed says."""

    def __init__(self, name, varies, seed=1):
        self.name, self.varies, self.random = name, varies, random.Random(seed)
        self.data, self.kernels, self.tasks = {}, {}, []

    def datum(self, name, mib=4.0, home=None):
        factor = self.random.uniform(0.5, 1.0) if self.varies else 1
        self.data[name] = {"bytes": int(mib * factor * MIB)}
        if home:
            self.data[name]["home"] = home
        return name

    def task(self, kernel, *accesses, seconds=0.005):
        if self.varies:
            seconds *= self.random.choice([0.5, 0.75, 1, 1.5, 2])
        kernel = f"{kernel}_{seconds * 1e6:.0f}"
        self.kernels[kernel] = {"seconds": {"cpu": seconds}}
        self.tasks.append({"kernel": kernel, "accesses": [list(a) for a in accesses]})

    def write(self, folder):
        file = Path(folder) / f"{self.name}.json"
        file.write_text(json.dumps({"format": "vicinal-graph-1", "name": self.name, "data": self.data,
                                    "kernels": self.kernels, "tasks": self.tasks}))
        return file


def sum_in(shape):
    total = shape.datum("total", 1e-5)
    shape.task("zero", (total, "W"), seconds=1e-6)
    return total


def reduce_into(shape, total, part):
    shape.task("use", (part, "R"), (total, "RW"))


def chain(varies, count=100, file=False):
    """make(t), use(t, total): as a serial program submits them."""
    shape = Shape("file" if file else "chain", varies)
    total = sum_in(shape)
    for i in range(count):
        inputs = [(shape.datum(f"in{i}", home="disk"), "R")] if file else []
        part = shape.datum(f"t{i}")
        shape.task("make", *inputs, (part, "W"))
        reduce_into(shape, total, part)
    return shape


def maps(varies, count=60):
    """make(a), b = f(a), c = g(b), use(c); b is twice as large as a, c half."""
    shape = Shape("maps", varies)
    total = sum_in(shape)
    for i in range(count):
        a, b, c = shape.datum(f"a{i}", 2), shape.datum(f"b{i}", 4), shape.datum(f"c{i}", 1)
        shape.task("make", (a, "W"))
        shape.task("grow", (a, "R"), (b, "W"))
        shape.task("shrink", (b, "R"), (c, "W"))
        reduce_into(shape, total, c)
    return shape


def tree(varies, leaves=64):
    """A binary tree of sums, all leaves submitted before the first sum."""
    shape = Shape("tree", varies)
    level = [shape.datum(f"l{i}", 2) for i in range(leaves)]
    for leaf in level:
        shape.task("make", (leaf, "W"))
    depth = 0
    while len(level) > 1:
        above = []
        for i in range(0, len(level) - 1, 2):
            above.append(shape.datum(f"s{depth}_{i}", 2))
            shape.task("add", (level[i], "R"), (level[i + 1], "R"), (above[-1], "W"))
        level = above + level[len(above) * 2:]
        depth += 1
    return shape


def join(varies, count=60):
    """Two blocks, one of them from a file, are joined into a third that is used up."""
    shape = Shape("join", varies)
    total = sum_in(shape)
    for i in range(count):
        left, right, both = shape.datum(f"x{i}", 2, "disk"), shape.datum(f"y{i}", 2), shape.datum(f"z{i}", 3)
        shape.task("make", (right, "W"))
        shape.task("join", (left, "R"), (right, "R"), (both, "W"))
        reduce_into(shape, total, both)
    return shape


def shuffle(varies, groups=12, width=4):
    """Each group: every mapper makes a piece for every reducer."""
    shape = Shape("shuffle", varies)
    for g in range(groups):
        pieces = {}
        for m in range(width):
            source = shape.datum(f"in{g}_{m}", 2, "disk")
            for r in range(width):
                pieces[m, r] = shape.datum(f"p{g}_{m}_{r}", 0.5)
            shape.task("map", (source, "R"), *((pieces[m, r], "W") for r in range(width)))
        for r in range(width):
            result = shape.datum(f"out{g}_{r}", 0.1)
            shape.task("reduce", *((pieces[m, r], "R") for m in range(width)), (result, "W"))
    return shape


def shapes(varies):
    return [chain(varies), chain(varies, file=True), maps(varies), tree(varies), join(varies), shuffle(varies)]


def simulate(program, file, memory, cores, policies, window):
    with tempfile.NamedTemporaryFile(suffix=".json") as report:
        command = [program, "simulate", "--graph", str(file), "--machine", "cpu-disk", "--ram", f"{memory}MiB",
                   "--cpus", str(cores), "--window-tasks", str(window), "--json", report.name]
        if policies:
            command += ["--policy", policies]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        return {run["policy"]: run for run in json.load(open(report.name))["runs"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--policies", default="", help="with commas; the default policy if left out")
    parser.add_argument("--memories", default="16,32,64")
    parser.add_argument("--cores", default="2,6")
    parser.add_argument("--csv")
    arguments = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for varies in (False, True):
            for shape in shapes(varies):
                file = shape.write(folder)
                unit = max(d["bytes"] for d in shape.data.values())
                for memory in map(int, arguments.memories.split(",")):
                    serial = simulate(arguments.program, file, memory, 1, "eager", 1)["eager"]
                    reached = serial["bytes_in"] <= 1.001 * serial["bound_bytes"] + 4096
                    for cores in map(int, arguments.cores.split(",")):
                        runs = {w: simulate(arguments.program, file, memory, cores, arguments.policies, w)
                                for w in WINDOWS}
                        for policy, run in runs[0].items():
                            best = min((runs[w][policy] for w in WINDOWS[1:]), key=lambda r: r["seconds"])
                            bound = run["bound_bytes"]
                            rows.append({
                                "shape": shape.name, "varies": int(varies), "memory_mib": memory, "cores": cores,
                                "policy": policy, "serial": int(reached),
                                "loads": round(run["bytes_in"] / (bound or unit), 3),
                                "of": "bound" if bound else "datum",
                                "loads_windowed": round(best["bytes_in"] / (bound or unit), 3),
                                "time": round(run["seconds"] / best["seconds"], 3)})
    writer = csv.DictWriter(open(arguments.csv, "w") if arguments.csv else sys.stdout, rows[0].keys(),
                            lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)


if __name__ == "__main__":
    main()
