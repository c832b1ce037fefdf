#!/usr/bin/env python3
"""What the look-ahead that the runtime chooses costs against fixed ones (option look_ahead), simulated.

    bench/look_ahead.py [--vicinal FILE] [--instances REGEX] [--policies a,b] [--jobs 2] [--csv FILE] [--each]

Plays every instance under every policy with look_ahead 0 (chosen) and 1, 2, 4, 8, 16, 32. Prints by policy the
geometric means over the instances of the time and of the bytes with the chosen one over those with
    best      the fixed value that is best for this policy in the geometric mean (one for all instances)
    each      the fixed value that is best for each instance: the best of six runs, part of which is luck
and of each fixed value over the chosen one. Times are exact: no repetitions.

Instances are dense and sparse graphs, in and out of memory, on machines with one to eight accelerators, with and
without cores beside them, and workflows: long tasks on small files, short ones on large files, run times with
heavy tails. None is one of the reference instances (bench/reference).
"""

import argparse
import concurrent.futures
import json
import math
import os
import random
import re
import subprocess
import sys
import tempfile

FIXED = [1, 2, 4, 8, 16, 32]
MIB = 1 << 20


class Graph:
    """A graph file in our own format, see docs/graph-file.md."""

    def __init__(self, seed, tail, speedup):
        self.random = random.Random(seed)
        self.tail, self.speedup = tail, speedup
        self.data, self.kernels, self.tasks = {}, {}, []

    def datum(self, size, home=False):
        name = f"d{len(self.data)}"
        self.data[name] = {"bytes": int(size), **({"home": "ram"} if home else {})}
        return name

    def task(self, seconds, reads, writes, gains=True):
        # Run times around `seconds`: the larger the tail, the fewer and longer the long ones.
        drawn = seconds * self.random.lognormvariate(-self.tail ** 2 / 2, self.tail)
        times = {"cpu": drawn, "gpu": drawn / self.speedup if gains else drawn}
        kernel = f"k{len(self.kernels)}"
        self.kernels[kernel] = {"seconds": times}
        self.tasks.append({"kernel": kernel,
                           "accesses": [[d, "R"] for d in reads] + [[d, "W"] for d in writes]})

    def write(self, path):
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"format": "vicinal-graph-1", "name": os.path.basename(path)[:-5], "data": self.data,
                       "kernels": self.kernels, "tasks": self.tasks}, file)


def fork_join(graph, width, stages, seconds, size):
    before = graph.datum(size, home=True)
    for _ in range(stages):
        parts = [graph.datum(size) for _ in range(width)]
        for part in parts:
            graph.task(seconds, [before], [part])
        before = graph.datum(size)
        graph.task(seconds / 10, parts, [before])


def map_reduce(graph, maps, reduces, seconds, size):
    shuffled = []
    for _ in range(maps):
        parts = [graph.datum(size / reduces) for _ in range(reduces)]
        graph.task(seconds, [graph.datum(size, home=True)], parts)
        shuffled.append(parts)
    for r in range(reduces):
        graph.task(seconds, [parts[r] for parts in shuffled], [graph.datum(size)])


def chains(graph, count, length, seconds, size):
    ends = [graph.datum(size, home=True) for _ in range(count)]
    for _ in range(length):
        for c in range(count):
            after = graph.datum(size)
            graph.task(seconds, [ends[c]], [after])
            ends[c] = after


def search(graph, parts, seconds, size):
    """A split, long searches in a common base of data, two merges: as BLAST."""
    base, query = graph.datum(16 * size, home=True), graph.datum(size, home=True)
    pieces = [graph.datum(size) for _ in range(parts)]
    graph.task(seconds / 100, [query], pieces, gains=False)
    found = [graph.datum(size) for _ in range(parts)]
    for piece, result in zip(pieces, found):
        graph.task(seconds, [base, piece], [result])
    for _ in range(2):
        graph.task(seconds / 10, found, [graph.datum(size)], gains=False)


def mosaic(graph, images, seconds, size):
    """Projections, differences of neighbours, a fit, corrections, a sum: as Montage."""
    shot = [graph.datum(size, home=True) for _ in range(images)]
    projected = [graph.datum(2 * size) for _ in range(images)]
    for i in range(images):
        graph.task(seconds, [shot[i]], [projected[i]])
    fits = []
    for i in range(images - 1):
        for step in (1, 2, 5):
            if i + step < images:
                fits.append(graph.datum(size / 100))
                graph.task(seconds / 4, [projected[i], projected[i + step]], [fits[-1]])
    model = graph.datum(size / 100)
    graph.task(seconds, fits, [model])
    corrected = [graph.datum(2 * size) for _ in range(images)]
    for i in range(images):
        graph.task(seconds / 4, [projected[i], model], [corrected[i]])
    graph.task(seconds, corrected, [graph.datum(images * size)])


def shared_reads(graph, tasks, inputs, degree, seconds, size):
    data = [graph.datum(size, home=True) for _ in range(inputs)]
    for _ in range(tasks):
        graph.task(seconds, graph.random.sample(data, degree), [graph.datum(size / 4)])


WORKFLOWS = {
    # name: shape, its arguments, seconds of a task, bytes of a file, tail, speed of an accelerator over a core
    "forkjoin-long": (fork_join, (60, 5), 300, 1e5, 1.0, 1),
    "forkjoin-fast": (fork_join, (60, 5), 0.01, 4e6, 0.5, 8),
    "mapreduce-long": (map_reduce, (80, 20), 60, 1e6, 1.5, 3),
    "mapreduce-large": (map_reduce, (60, 20), 0.05, 1e8, 0.5, 10),
    "chains-long": (chains, (30, 20), 20, 1e6, 1.0, 2),
    "chains-large": (chains, (40, 12), 0.02, 5e7, 0.5, 10),
    "search": (search, (100,), 400, 1e5, 1.0, 1),
    "search-fast": (search, (300,), 0.05, 2e6, 1.0, 12),
    "mosaic": (mosaic, (90,), 8, 4e6, 0.7, 4),
    "mosaic-fast": (mosaic, (90,), 0.01, 1.6e6, 0.7, 15),
    "reads-few": (shared_reads, (40, 20, 3), 10, 1e6, 1.2, 5),
    "reads-large": (shared_reads, (400, 80, 4), 0.1, 3e7, 0.8, 20),
}

ON = {
    # name: arguments of vicinal simulate
    "idgraf": ["--machine", "idgraf"],
    "idgraf-4+2": ["--machine", "idgraf", "--gpus", "2", "--cpus", "4"],
    "idgraf-1": ["--machine", "idgraf", "--gpus", "1", "--cpus", "0"],
    "v100x4": ["--machine", "v100", "--gpus", "4"],
    "cores": ["--machine", "cpu-disk"],
    "v100p-4": ["--machine", "v100p", "--gpus", "4"],
}

PLACED = [
    ("forkjoin-long", "idgraf"), ("forkjoin-long", "idgraf-4+2"), ("forkjoin-fast", "idgraf"),
    ("forkjoin-fast", "v100x4"), ("mapreduce-long", "idgraf"), ("mapreduce-long", "idgraf-1"),
    ("mapreduce-large", "idgraf-4+2"), ("mapreduce-large", "v100x4"), ("chains-long", "idgraf"),
    ("chains-long", "cores"), ("chains-large", "idgraf-4+2"), ("chains-large", "v100p-4"),
    ("search", "idgraf"), ("search", "v100x4"), ("search-fast", "idgraf"), ("search-fast", "v100x4"),
    ("mosaic", "idgraf"), ("mosaic", "cores"), ("mosaic-fast", "v100p-4"), ("mosaic-fast", "idgraf-4+2"),
    ("reads-few", "idgraf"), ("reads-few", "v100x4"), ("reads-large", "v100p-4"), ("reads-large", "idgraf-1"),
]

MATRICES = [
    # application and size, machine, limits of memory
    ("cholesky --tiles 14", "v100p --gpus 1", "120MiB"), ("cholesky --tiles 14", "v100p --gpus 2", "120MiB"),
    ("cholesky --tiles 18", "v100p --gpus 4", "100MiB"), ("cholesky --tiles 16", "v100p --gpus 4", "500MiB"),
    ("cholesky --tiles 14 --tile 1920", "v100 --gpus 4", "2GiB"),
    ("cholesky --tiles 14", "idgraf --gpus 4 --cpus 0", "100MiB"), ("cholesky --tiles 14", "idgraf", "3GB"),
    ("lu --tiles 9", "v100p --gpus 1", "120MiB"), ("lu --tiles 11", "v100p --gpus 2", "150MiB"),
    ("lu --tiles 12", "v100 --gpus 4", "1GiB"), ("lu --tiles 10", "idgraf --gpus 4", "100MiB"),
    ("gemm2d --tiles 18", "v100p --gpus 1", "150MiB"), ("gemm2d --tiles 22", "v100p --gpus 2", "200MiB"),
    ("gemm2d --tiles 22", "v100p --gpus 4", "250MiB"), ("gemm2d --tiles 20", "v100 --gpus 4", "1GiB"),
    ("gemm2d --tiles 16", "idgraf --gpus 4", "3GB"),
    ("gemm3d --tiles 8", "v100p --gpus 1", "200MiB"), ("gemm3d --tiles 8", "v100p --gpus 2", "120MiB"),
    ("gemm3d --tiles 9", "v100p --gpus 4", "200MiB"), ("gemm3d --tiles 8", "idgraf --gpus 3", "3GB"),
    ("stencil --width 64 --steps 12", "v100p --gpus 2", "150MiB"),
    ("stencil --width 64 --steps 12", "v100 --gpus 4", "1GiB"),
    ("stencil --width 48 --steps 10 --task-seconds 0.05", "idgraf", "3GB"),
    ("random --tasks 600 --bytes 8MiB", "v100p --gpus 2", "300MiB"),
    ("random --tasks 600 --bytes 1MiB --task-seconds 0.01", "v100p --gpus 4", "500MiB"),
    ("random --tasks 600", "idgraf", "3GB"),
    ("bipartite --tasks 600 --data 120 --degree 3", "v100p --gpus 1", "200MiB"),
    ("bipartite --tasks 800 --data 160 --degree 2", "v100p --gpus 4", "150MiB"),
    ("bipartite --tasks 600 --data 120 --degree 3 --task-seconds 0.02", "v100 --gpus 2", "150MiB"),
    ("cholesky --tiles 12", "cpu-disk", "100MiB"), ("gemm2d --tiles 12", "cpu-disk", "120MiB"),
    ("lu --tiles 9", "cpu-disk", "120MiB"),
]


def instances(folder):
    for workflow, machine in PLACED:
        path = os.path.join(folder, workflow + ".json")
        if not os.path.exists(path):
            shape, sizes, seconds, size, tail, speedup = WORKFLOWS[workflow]
            graph = Graph(workflow, tail, speedup)
            shape(graph, *sizes, seconds, size)
            graph.write(path)
        yield f"{workflow} on {machine}", ["--graph", path, *ON[machine]]
    for application, machine, memory in MATRICES:
        yield (f"{application} on {machine} {memory}",
               [*application.split(), "--machine", *machine.split(), "--memory", memory])


def play(vicinal, arguments, policies, look_ahead):
    """By policy: seconds and bytes moved."""
    command = [vicinal, "simulate", *arguments, "--look-ahead", str(look_ahead), "--json", "-", "--policy"]
    runs = {}
    for policy in policies:
        result = subprocess.run([*command, policy], capture_output=True, text=True, check=False)
        if result.returncode != 0:
            sys.exit(f"look_ahead.py: {' '.join([*command, policy])}: {result.stderr}")
        for run in json.loads(result.stdout)["runs"]:
            moved = sum(link["bytes"] for link in run["links"].values())
            runs[run["policy"]] = (run["seconds"], moved)
    return runs


def mean(values):
    values = list(values)
    return math.exp(sum(map(math.log, values)) / len(values)) if values else math.nan


def ratio(a, b):
    return a / b if b > 0 else 1.0


def report(results, each):
    policies = list(next(iter(results.values()))[0])
    print(f"{'policy':8} {'best':>4} {'time':>6} {'bytes':>6}   {'each':>6}   "
          + " ".join(f"{f'at {value}':>6}" for value in FIXED) + "   worst instance")
    for policy in policies:
        def over(value, base, what, policy=policy):
            return mean(max(ratio(of[value][policy][what], of[base][policy][what]), 1e-3)
                        for of in results.values())
        by_value = {value: over(value, 0, 0) for value in FIXED}
        best = min(FIXED, key=by_value.get)
        costs = {name: of[0][policy][0] / min(of[value][policy][0] for value in FIXED)
                 for name, of in results.items()}
        worst = max(costs, key=costs.get)
        print(f"{policy:8} {best:4} {over(0, best, 0):6.3f} {over(0, best, 1):6.3f}   "
              f"{mean(costs.values()):6.3f}   " + " ".join(f"{v:6.3f}" for v in by_value.values())
              + f"   {costs[worst]:5.2f} {worst}")
        if each:
            for name, of in results.items():
                times = " ".join(f"{of[value][policy][0] / of[0][policy][0]:6.3f}" for value in FIXED)
                print(f"    {of[0][policy][0]:12.6f} s  {costs[name]:5.2f}  {times}   {name}")


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--vicinal", default=os.path.join(here, "../build/release/vicinal"))
    parser.add_argument("--instances", default="", help="those whose name contains this expression")
    parser.add_argument("--policies", default="all")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--csv", help="a row per instance, policy and value")
    parser.add_argument("--each", action="store_true", help="each instance: fixed times over the chosen one's")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        chosen = [(name, given) for name, given in instances(folder) if re.search(arguments.instances, name)]
        with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
            futures = {name: {value: pool.submit(play, arguments.vicinal, given,
                                                 arguments.policies.split(","), value)
                              for value in [0, *FIXED]} for name, given in chosen}
            results = {name: {value: future.result() for value, future in of.items()}
                       for name, of in futures.items()}
    if arguments.csv:
        with open(arguments.csv, "w", encoding="utf-8") as file:
            print("instance,policy,look_ahead,seconds,bytes", file=file)
            for name, of in results.items():
                for value, runs in of.items():
                    for policy, (seconds, moved) in runs.items():
                        print(f"{name},{policy},{value},{seconds:.9f},{moved}", file=file)
    print(f"{len(results)} instances")
    report(results, arguments.each)


main()
