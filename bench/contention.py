#!/usr/bin/env python3
"""What it gains that memory-bound tasks wait for each other (option contention), simulated on a measured memory.

    bench/contention.py [--vicinal FILE] [--instances REGEX] [--policies a,b] [--jobs 2] [--csv FILE] [--each]

Plays every instance under every policy with contention=off and =auto, and prints by policy the times of off over those of
auto: the geometric mean, the least and the largest, over the mixed instances and over those of one kind. Times are exact: no
repetitions.

The memory is that of a Xeon Platinum 8160, 24 cores on six channels of DDR4-2666. Its bandwidth and latency under load were
measured by Mess (Esmaili-Dokht et al., MICRO 2024); the curve for 60 % reads is that which the authors publish
(bsc-mem/Mess-simulator, memory_curve/skylake-ddr4/bwlat_60.txt), without the 24 ns between core and controller. How much n cores
draw follows by Little's law: what one has in flight is the same under any latency. Assumed: a core alone draws 12 GB/s, a
GPU 12 GB/s.
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

# GB/s and ns, of every fifth point or so.
CURVE = [(0.1, 65.4), (5.4, 69.0), (13.3, 72.5), (22.1, 74.9), (31.8, 76.7), (40.2, 78.5), (49.7, 81.0), (59.2, 82.7),
         (67.5, 91.1), (73.0, 93.9), (75.7, 97.3), (78.4, 103.6), (81.2, 111.8), (83.5, 120.7), (85.8, 129.8),
         (87.4, 139.0), (90.7, 152.7), (92.0, 161.8), (92.5, 167.6), (91.8, 169.1), (92.2, 173.4), (92.1, 177.0),
         (92.3, 179.0), (92.1, 179.9), (92.3, 180.8), (92.1, 182.2), (92.3, 183.5), (92.1, 185.2), (92.1, 187.5),
         (91.8, 190.0), (91.8, 192.7), (91.5, 195.1), (91.4, 197.0), (91.2, 198.9), (91.1, 200.6), (90.9, 201.7),
         (90.7, 203.3), (90.4, 204.6)]
ON_CHIP = 24.0  # ns
ONE = 12.0  # GB/s, of a core alone, and of a link
CORES = 24


def bandwidth(bytes_in_flight):
    """Of so many bytes in flight: where they are bandwidth times latency."""
    before = CURVE[0]
    for point in CURVE:
        if point[0] * (point[1] + ON_CHIP) >= bytes_in_flight:
            low, high = (p[0] * (p[1] + ON_CHIP) for p in (before, point))
            return before[0] + (point[0] - before[0]) * (bytes_in_flight - low) / max(high - low, 1e-9)
        before = point
    return CURVE[-1][0]


def machine(gpus):
    core = ONE * (CURVE[1][1] + ON_CHIP)
    by_cores = [bandwidth(n * core) for n in range(1, CORES + 1)]
    # What a link keeps beside a memory that is used up: what it has in flight, under that latency.
    for_copies = core / (CURVE[-1][1] + ON_CHIP)
    text = f"""name = "skylake"
sentence = "24 cores of a Xeon Platinum 8160 on their memory"
submit_overhead = "1 us"
[segment.memory]
bandwidth = "{max(by_cores):.3f} GB/s"
duplex = "half"
by_kernels = [{", ".join(f'"{b:.3f} GB/s"' for b in by_cores)}]
for_copies = "{for_copies:.3f} GB/s"
[cpu]
most = {CORES}
task_overhead = "1 us"
draws_on = ["memory"]
"""
    if gpus:
        text += f"""[gpu]
most = {gpus}
memory = "400 MiB"
pipeline = 2
[[link]]
between = ["ram", "gpu"]
bandwidth = "{ONE} GB/s"
latency = "10 us"
segments = ["memory"]
serialise = ["same"]
"""
    speeds = [
        # kernels, GFlop/s of a core in double precision, GB/s that it draws
        (["gemm", "gemm2d", "gemm3d", "syrk", "ssssm", "tsmqr", "ormqr", "unmqr"], 57, 2),
        (["trsm", "gessm", "tstrf", "geqrt", "tsqrt"], 45, 3),
        (["potrf", "getrf"], 28, 3),
        (["spmv"], 2, ONE), (["update", "direction"], 1.5, ONE), (["sweep"], 1, ONE),
        (["assemble", "triad", "k0", "k3", "k6", "k9", "k12"], 1, ONE),
        (["factor", "k1", "k2", "k4"], 50, 2), (["*"], 50, 0.5),
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
    blocks = [graph.datum(8 << 20) for _ in range(count)]
    for block in blocks:
        graph.task("assemble", assembling, [[block, "W"]])
    for block in blocks:
        graph.task("factor", factoring, [[block, "RW"]])


def fronts_in_turn(graph, count, assembling, factoring):
    """The same, submitted block by block."""
    for _ in range(count):
        block = graph.datum(8 << 20)
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
    "fronts": (fronts, (240, 2e-3, 2e-3)),
    "fronts, long assembly": (fronts, (240, 4e-3, 2e-3)),
    "fronts, long factors": (fronts, (240, 1e-3, 3e-3)),
    "fronts in turn": (fronts_in_turn, (240, 2e-3, 2e-3)),
    "time steps": (time_steps, (20, 24, 1e-3, 24, 1e-3)),
    "time steps, wide": (time_steps, (20, 72, 1e-3, 48, 1e-3)),
    "loads beside products": (beside, (200, 2e-3, 2e-3)),
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


def instances(folder):
    for name, gpus in (("cores", 0), ("gpu", 1)):
        with open(os.path.join(folder, name + ".toml"), "w", encoding="utf-8") as file:
            file.write(machine(gpus))
    on = ["--machine", os.path.join(folder, "cores.toml")]
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
                                                     os.path.join(folder, "gpu.toml")]


def play(vicinal, arguments, policies, contention):
    """Seconds by policy."""
    command = [vicinal, "simulate", *arguments, "--json", "-", "--policy"]
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
    here = os.path.dirname(os.path.abspath(__file__))
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--vicinal", default=os.path.join(here, "../build/release/vicinal"))
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
