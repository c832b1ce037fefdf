#!/usr/bin/env python3
"""The gain when memory-bound tasks wait for each other (option contention), simulated on a measured memory.

    bench/contention.py [--vicinal FILE] [--instances REGEX] [--policies a,b] [--jobs 2] [--csv FILE] [--each]

Plays every instance under every policy with contention=off and =auto, and prints by policy the times of off over those of
auto: the geometric mean, the least and the largest, over the mixed instances and over those of one kind. Times are exact: no
repetitions.

The memory is that of one socket of MareNostrum 4, 24 cores of a Xeon Platinum 8160, as Mess has measured and published it
(machines/marenostrum4.toml, machines/mess-skylake.csv): no curve of the formula. A core alone draws 8.1 GB/s. Kernels that
load and store demand that, products of tiles 2 GB/s, what else there is as said below.
"""

import argparse
import concurrent.futures
import json
import math
import os
import re
import subprocess
import sys
import tempfile

ONE = 8.1  # GB/s, of a core alone
HERE = os.path.dirname(os.path.abspath(__file__))


def machine(gpus):
    with open(os.path.join(HERE, "../machines/marenostrum4.toml"), encoding="utf-8") as file:
        text = file.read().split("[[speed]]")[0]
    text = text[:text.rindex("\n\n") + 1]
    if gpus:
        text = text.split("[cluster]")[0] + "[contention]" + text.split("[contention]", 1)[1]
        text += f"""
[gpu]
most = {gpus}
memory = "400 MiB"
pipeline = 2
[[link]]
between = ["ram", "gpu"]
bandwidth = "12 GB/s"
latency = "10 us"
serialise = ["same"]
"""
    speeds = [
        # kernels, GFlop/s of a core in double precision, GB/s that it draws
        (["gemm", "gemm2d", "gemm3d", "syrk", "ssssm", "tsmqr", "ormqr", "unmqr"], 57, 2),
        (["trsm", "gessm", "tstrf", "geqrt", "tsqrt"], 45, 3),
        (["potrf", "getrf"], 28, 3),
        (["spmv"], 2, ONE), (["update", "direction"], 1.5, ONE), (["sweep"], 1, ONE),
        (["assemble", "triad", "k0", "k3", "k6", "k9", "k12"], 1, ONE),
        (["factor", "k1", "k2", "k4"], 50, 1), (["*"], 50, 0.5),
    ]
    for kernels, rate, demand in speeds:
        names = ", ".join(f'"{k}"' for k in kernels)
        text += f"""[[speed]]
kernel = [{names}]
kind = "cpu"
rate = "{rate} GFlop/s"
demand = "{demand} GB/s"
"""
        if gpus:
            text += f"""[[speed]]
kernel = [{names}]
kind = "gpu"
rate = "{rate * 60} GFlop/s"
"""
    return text


class Graph:
    """A graph file in our own format, see docs/graph-file.md."""

    def __init__(self):
        self.data, self.kernels, self.tasks = {}, {}, []

    def datum(self, size, home=False):
        name = f"d{len(self.data)}"
        self.data[name] = {"bytes": int(size), **({"home": "ram"} if home else {})}
        return name

    def task(self, kernel, seconds, accesses, **more):
        self.kernels[kernel] = {"seconds": {"cpu": seconds}, **more}
        self.tasks.append({"kernel": kernel, "accesses": accesses})

    def text(self, name):
        return json.dumps({"format": "vicinal-graph-1", "name": name, "data": self.data, "kernels": self.kernels,
                           "tasks": self.tasks})


def fronts(graph, count, assembling, factoring):
    """Independent blocks, each assembled and then factored: the leaves of a sparse factorisation, a block Jacobi
    preconditioner."""
    blocks = [graph.datum(4 << 20) for _ in range(count)]
    for block in blocks:
        graph.task("assemble", assembling, [[block, "W"]])
    for block in blocks:
        graph.task("factor", factoring, [[block, "RW"]])


def fronts_in_turn(graph, count, assembling, factoring):
    """The same, submitted block by block."""
    for _ in range(count):
        block = graph.datum(4 << 20)
        graph.task("assemble", assembling, [[block, "W"]])
        graph.task("factor", factoring, [[block, "RW"]])


def time_steps(graph, steps, width, sweeping, batch, factoring):
    """Steps of a stencil, and beside each a batch of small factorisations that the next one does not wait for: chemistry
    beside transport."""
    now = [graph.datum(4 << 20, True) for _ in range(width)]
    state = [graph.datum(1 << 20, True) for _ in range(batch)]
    for _ in range(steps):
        then = [graph.datum(4 << 20) for _ in range(width)]
        for i in range(width):
            graph.task("sweep", sweeping, [[d, "R"] for d in now[max(i - 1, 0):i + 2]] + [[then[i], "W"]])
        for block in state:
            graph.task("factor", factoring, [[block, "RW"]])
        now = then


def beside(graph, tasks, loading, computing):
    """Independent tasks, first those that load."""
    for kernel, seconds in (("triad", loading), ("factor", computing)):
        for _ in range(tasks):
            graph.task(kernel, seconds, [[graph.datum(4 << 20, True), "RW"]])


MIXED = {
    "fronts": (fronts, (1000, 1e-3, 1e-3)),
    "fronts, long assembly": (fronts, (1000, 2e-3, 1e-3)),
    "fronts, long factors": (fronts, (1000, 0.5e-3, 1e-3)),
    "fronts in turn": (fronts_in_turn, (1000, 1e-3, 1e-3)),
    "time steps": (time_steps, (20, 24, 1e-3, 24, 1e-3)),
    "time steps, wide": (time_steps, (20, 72, 1e-3, 48, 1e-3)),
    "loads beside products": (beside, (1000, 1e-3, 1e-3)),
}
ALONE = [
    "cholesky --tiles 16 --tile 256", "cholesky --tiles 24 --tile 512", "cholesky --tiles 12 --tile 128",
    "lu --tiles 12 --tile 256", "lu-incpiv --tiles 12 --tile 256", "qr --tiles 12 --tile 256",
    "gemm2d --tiles 10 --tile 256", "gemm3d --tiles 8 --tile 256",
    "cg --grid 2048x2048 --blocks 24", "cg --grid 2048x2048 --blocks 36", "cg --grid 1024x1024 --blocks 128",
    "stencil --width 24 --steps 20", "stencil --width 36 --steps 20", "stencil --width 128 --steps 20",
    "random --tasks 600", "random --tasks 2000 --seed 3", "bipartite --tasks 600 --data 120 --degree 3",
    "task_bench --width 48 --steps 20", "task_bench --width 48 --steps 20 --pattern spread",
]
BESIDE_COPIES = ["cholesky --tiles 20 --tile 960", "gemm2d --tiles 12 --tile 960"]

ON_RANKS = ["cg --grid 4096x2048 --blocks 96 --ranks 4", "cholesky --tiles 24 --tile 512 --ranks 4"]


def instances(folder):
    for name, gpus in (("cores", 0), ("gpu", 1)):
        with open(os.path.join(folder, name + ".toml"), "w", encoding="utf-8") as file:
            file.write(machine(gpus))
    on = ["--machine", os.path.join(folder, "cores.toml"), "--ranks", "1", "--cpus", "24"]
    for name, (shape, sizes) in MIXED.items():
        graph = Graph()
        shape(graph, *sizes)
        path = os.path.join(folder, re.sub("[^a-z]+", "-", name) + ".json")
        with open(path, "w", encoding="utf-8") as file:
            file.write(graph.text(name))
        yield "mixed", name, ["--graph", path, *on]
    for application in ALONE:
        yield "alone", application, [*application.split(), *on]
    for application in BESIDE_COPIES:
        yield "alone", application + " with a GPU", [*application.split(), "--machine",
                                                     os.path.join(folder, "gpu.toml"), "--cpus", "24"]
    for application in ON_RANKS:
        yield "alone", application + " on ranks", [*application.split(), "--machine", on[1], "--cpus", "24"]


def play(vicinal, arguments, policies, contention):
    """Seconds by policy."""
    command = [vicinal, "simulate", *arguments, "--contention", contention, "--json", "-", "--policy"]
    seconds = {}
    for policy in policies:
        result = subprocess.run([*command, policy], capture_output=True, text=True, check=False)
        if result.returncode != 0:
            sys.exit(f"contention.py: {' '.join([*command, policy])}: {result.stderr}")
        for run in json.loads(result.stdout)["runs"]:
            seconds[run["policy"]] = run["seconds"]
    return seconds


def mean(values):
    values = list(values)
    return math.exp(sum(map(math.log, values)) / len(values)) if values else math.nan


def report(results, each):
    policies = list(next(iter(results.values()))[1]["off"])
    print(f"{'policy':10} " + "   ".join(f"{kind:>5}: {'mean':>5} {'least':>6} {'most':>6}" for kind in ("mixed", "alone")))
    for policy in policies:
        line = f"{policy:10} "
        for wanted in ("mixed", "alone"):
            gains = [of["off"][policy] / of["auto"][policy] for kind, of in results.values() if kind == wanted]
            if gains:
                line += f"       {mean(gains):5.3f} {min(gains):6.3f} {max(gains):6.3f}   "
        print(line.rstrip())
    if each:
        for name, (_, of) in results.items():
            print(f"{name}: " + ", ".join(f"{p} {of['off'][p]:.6f}/{of['auto'][p]:.6f} {of['off'][p] / of['auto'][p]:.3f}"
                                          for p in policies))


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--vicinal", default=os.path.join(HERE, "../build/release/vicinal"))
    parser.add_argument("--instances", default="", help="those whose name contains this expression")
    parser.add_argument("--policies", default="all")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--csv", help="a row per instance, policy and choice")
    parser.add_argument("--each", action="store_true", help="seconds of each instance and policy")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        chosen = [i for i in instances(folder) if re.search(arguments.instances, i[1])]
        with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
            futures = {name: (kind, {how: pool.submit(play, arguments.vicinal, given,
                                                      arguments.policies.split(","), how)
                                     for how in ("off", "auto")}) for kind, name, given in chosen}
            results = {name: (kind, {how: future.result() for how, future in of.items()})
                       for name, (kind, of) in futures.items()}
    if arguments.csv:
        with open(arguments.csv, "w", encoding="utf-8") as file:
            print("instance,kind,policy,contention,seconds", file=file)
            for name, (kind, of) in results.items():
                for how, runs in of.items():
                    for policy, seconds in runs.items():
                        print(f"\"{name}\",{kind},{policy},{how},{seconds:.9f}", file=file)
    print(f"{len(results)} instances; times with contention=off over those with auto")
    report(results, arguments.each)


main()
