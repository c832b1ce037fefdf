#!/usr/bin/env python3
"""How much the order of submission changes a run, simulated.

    bench/orders.py [--vicinal FILE] [--policies a,b] [--orders 8] [--priorities none] [--each]

Plays each graph in the order in which a programmer writes it and in random topological orders of the same tasks:
the dependencies are the same, only tasks that do not depend on each other change places. Prints by policy, over
all graphs and orders, the median and the largest change of the time, up or down, the geometric mean of the time
in another order over that in the first one, and the same mean of the bytes moved.
"""

import argparse
import json
import math
import os
import random
import statistics
import subprocess
import sys
import tempfile

TILE = 960 * 960 * 4
FLOPS = 960**3
SECONDS = {"potrf": FLOPS / 3 / 500e9, "trsm": FLOPS / 7534e9, "syrk": FLOPS / 12557e9,
           "gemm": 2 * FLOPS / 12557e9}


def potrf(tile):
    return ("potrf", [(tile, "RW")])


def trsm(factor, tile):
    return ("trsm", [(factor, "R"), (tile, "RW")])


def gemm(a, b, c):
    return ("gemm", [(a, "R"), (b, "R"), (c, "RW")])


def cholesky(n):
    tasks = []
    for k in range(n):
        tasks.append(potrf((k, k)))
        tasks += [trsm((k, k), (i, k)) for i in range(k + 1, n)]
        for i in range(k + 1, n):
            tasks += [gemm((i, k), (j, k), (i, j)) for j in range(k + 1, i)]
            tasks.append(("syrk", [((i, k), "R"), ((i, i), "RW")]))
    return tasks


def lu(n):
    tasks = []
    for k in range(n):
        tasks.append(potrf((k, k)))
        for i in range(k + 1, n):
            tasks += [trsm((k, k), (i, k)), trsm((k, k), (k, i))]
        tasks += [gemm((i, k), (k, j), (i, j)) for i in range(k + 1, n) for j in range(k + 1, n)]
    return tasks


def product(n):
    return [gemm(("a", i, k), ("b", k, j), ("c", i, j))
            for i in range(n) for j in range(n) for k in range(n)]


def stencil(width, steps):
    return [("syrk", [((max(x - 1, 0), t), "R"), ((x, t), "R"), ((min(x + 1, width - 1), t), "R"),
                      ((x, t + 1), "W")]) for t in range(steps) for x in range(width)]


GRAPHS = [("cholesky 12", cholesky(12), ["--gpus", "2", "--memory", "100MiB"]),
          ("cholesky 14", cholesky(14), ["--gpus", "1", "--memory", "150MiB"]),
          ("cholesky 14", cholesky(14), ["--gpus", "4", "--memory", "500MiB"]),
          ("lu 9", lu(9), ["--gpus", "2", "--memory", "100MiB"]),
          ("lu 9", lu(9), ["--gpus", "4", "--memory", "500MiB"]),
          ("product 7", product(7), ["--gpus", "1", "--memory", "150MiB"]),
          ("product 7", product(7), ["--gpus", "3", "--memory", "100MiB"]),
          ("stencil 32", stencil(32, 10), ["--gpus", "2", "--memory", "150MiB"])]


def predecessors(tasks):
    writer, readers = {}, {}
    before = []
    for number, (_, accesses) in enumerate(tasks):
        waits = set()
        for datum, mode in accesses:
            if mode == "R":
                waits.update(writer.get(datum, []))
                readers.setdefault(datum, []).append(number)
            else:
                waits.update(writer.get(datum, []), readers.pop(datum, []))
                writer[datum] = [number]
        waits.discard(number)
        before.append(waits)
    return before


def bottom_levels(tasks, before):
    levels = [SECONDS[kernel] for kernel, _ in tasks]
    for number in reversed(range(len(tasks))):
        for earlier in before[number]:
            levels[earlier] = max(levels[earlier],
                                  SECONDS[tasks[earlier][0]] + levels[number])
    return [round(level * 1e6) for level in levels]


def any_order(before, seed):
    drawn = random.Random(seed)
    left = [len(waits) for waits in before]
    after = [[] for _ in before]
    for number, waits in enumerate(before):
        for earlier in sorted(waits):
            after[earlier].append(number)
    ready = [number for number, count in enumerate(left) if count == 0]
    order = []
    while ready:
        at = drawn.randrange(len(ready))
        ready[at], ready[-1] = ready[-1], ready[at]
        order.append(ready.pop())
        for later in after[order[-1]]:
            left[later] -= 1
            if left[later] == 0:
                ready.append(later)
    return order


def write(path, tasks, priorities, order):
    data, touched = {}, set()
    for _, accesses in tasks:  # what is first written has no home
        for datum, mode in accesses:
            name = str(datum)
            if name not in touched:
                data[name] = {"bytes": TILE, **({} if mode == "W" else {"home": "ram"})}
                touched.add(name)
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"data": data, "kernels": {k: {"seconds": {"gpu": s}} for k, s in SECONDS.items()},
                   "tasks": [{"kernel": tasks[t][0], "priority": priorities[t],
                              "accesses": [[str(datum), mode] for datum, mode in tasks[t][1]]}
                             for t in order]}, file)


def play(vicinal, path, machine, policy):
    result = subprocess.run([vicinal, "simulate", "--graph", path, "--machine", "v100p", *machine, "--policy",
                             policy, "--json", "-"], capture_output=True, text=True, check=False)
    if result.returncode != 0:
        sys.exit(f"orders.py: {result.stderr}")
    return {run["policy"]: (run["seconds"], sum(link["bytes"] for link in run["links"].values()))
            for run in json.loads(result.stdout)["runs"]}


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--vicinal", default=os.path.join(here, "../build/release/vicinal"))
    parser.add_argument("--policies", default="all")
    parser.add_argument("--orders", type=int, default=8)
    parser.add_argument("--priorities", choices=["bottom-level", "none"], default="bottom-level")
    parser.add_argument("--each", action="store_true", help="the mean ratio of times for each graph")
    arguments = parser.parse_args()
    ratios = {}
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "graph.json")
        for name, tasks, machine in GRAPHS:
            before = predecessors(tasks)
            levels = bottom_levels(tasks, before)
            priorities = levels if arguments.priorities == "bottom-level" else [0] * len(tasks)
            first = None
            for seed in range(arguments.orders + 1):
                order = range(len(tasks)) if seed == 0 else any_order(before, seed)
                write(path, tasks, priorities, order)
                runs = {}
                for policy in arguments.policies.split(","):
                    runs.update(play(arguments.vicinal, path, machine, policy))
                first = first or runs
                if seed == 0:
                    continue
                for policy, (seconds, moved) in runs.items():
                    ratios.setdefault(policy, []).append(
                        (f"{name} {' '.join(machine)}", seconds / first[policy][0], moved / first[policy][1]))
    print(f"{'policy':8} {'median':>7} {'most':>6} {'time':>6} {'bytes':>6}")
    for policy, of in ratios.items():
        changes = [max(time, 1 / time) - 1 for _, time, _ in of]
        time, moved = (math.exp(statistics.mean(math.log(row[what]) for row in of)) for what in (1, 2))
        print(f"{policy:8} {100 * statistics.median(changes):5.1f} % {100 * max(changes):4.0f} % "
              f"{time:6.3f} {moved:6.3f}")
        if arguments.each:
            for name in dict.fromkeys(row[0] for row in of):
                mean = statistics.geometric_mean(row[1] for row in of if row[0] == name)
                print(f"    {mean:6.3f}   {name}")


main()
