#!/usr/bin/env python3
"""How much the policies' simulated schedules depend on what happens by chance, and on knowing speeds.

  vary      the time of each task up to 0.4 % longer or shorter, at random: 30 instances, nine draws of each.
            Medians of time and bytes over those with equal times; geometric means and the worst.
  affinity  graphs whose data have no bytes, on 10 cores and 4 GPUs, kernels faster on the ones or on the
            others: time over that of a static HEFT (Topcuoglu et al. 2002: upward ranks by mean times,
            insertion) that knows the whole graph.
  gpus      one to four GPUs behind one bridge, memory short: time on four over that on the best smaller number.

  default   60 instances (dense, others, cores and GPUs, one to four of these, a disk; memory short and ample;
            times varied by 20 %): time over that of the best policy.

  bench/robustness.py vary [--policies darts,dmdas] [--percent 0.4] [--draws 9]
  bench/robustness.py affinity [--policies darts,dmdas,heft] [--draws 8]
  bench/robustness.py gpus [--policies darts,dmdas,heft]
  sizes     tiles whose sizes are drawn within 25 %, the total kept, another valid order of submission, and other
            names of data and kernels, the data in another order: time and bytes over those of equal tiles in the usual order.

  bench/robustness.py sizes [--policies darts,hfp,lws] [--draws 3]
  bench/robustness.py default [--policies default,auto,darts,lws]

Simulated, so exact: the same command prints the same numbers.
"""

import argparse
import json
import math
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
POLICIES = "lws,eager,prio,darts,dmda,dmdar,dmdas,heft,random,belady"


def simulate(program, arguments, policy):
    """Seconds and bytes into the GPUs of one run."""
    command = [program, "simulate", *arguments, "--policy", policy, "--json", "-"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"robustness: {' '.join(command)}\n{done.stderr}")
    run = json.loads(done.stdout)["runs"][0]
    return run["seconds"], run["bytes_in"]


def geometric(values):
    return math.exp(sum(map(math.log, values)) / len(values)) if values else float("nan")


# --- equal times and times that differ a little

def varied_instances():
    """Cholesky, LU, products, stencils, random graphs; one to four GPUs; memory short."""
    for gpus in (1, 2, 3, 4):
        gpu = ["--machine", "v100p", "--gpus", str(gpus)]
        for application, tiles, memory in (
            ("cholesky", 16 + 2 * gpus, 180),
            ("cholesky", 22, 420 // gpus),
            ("lu", 12 + 2 * gpus, 200),
            ("gemm2d", 18 + 4 * gpus, 300),
            ("gemm3d", 6 + gpus, 160),
        ):
            yield [application, "--tiles", str(tiles), *gpu, "--memory", f"{memory}MiB"]
        yield ["stencil", "--width", "96", "--steps", "12", *gpu, "--memory", f"{300 // gpus}MiB"]
        yield ["random", "--tasks", "600", *gpu, "--memory", f"{150 + 50 * gpus}MiB"]
    for gpus in (1, 2):
        yield ["bipartite", "--tasks", "900", "--data", "120", "--degree", "3", "--machine", "v100p",
               "--gpus", str(gpus), "--memory", f"{200 // gpus}MiB"]


def vary(options):
    print(f"times varied by {options.percent} %, {options.draws} draws: medians over equal times")
    print(f"{'policy':8} {'time':>7} {'worst':>7} {'bytes':>7} {'worst':>7}")
    for policy in options.policies.split(","):
        times, sizes = [], []
        for instance in varied_instances():
            equal = simulate(options.program, instance, policy)
            drawn = [
                simulate(options.program,
                         [*instance, "--vary", str(options.percent), "--vary-seed", str(draw + 1)],
                         policy)
                for draw in range(options.draws)
            ]
            times.append(statistics.median(seconds for seconds, _ in drawn) / equal[0])
            if equal[1] > 0:
                sizes.append(statistics.median(size for _, size in drawn) / equal[1])
            if options.each:
                size = f"{sizes[-1]:.3f}" if equal[1] > 0 else "-"
                print(f"  {' '.join(instance):90} {times[-1]:.3f} {size}")
        print(f"{policy:8} {geometric(times):7.3f} {max(times):7.3f} {geometric(sizes):7.3f} "
              f"{max(sizes):7.3f}", flush=True)


# --- graphs without bytes on cores and GPUs

class Graph:
    """Tasks in order of submission: (seconds on a core, seconds on a GPU), and whom each waits for."""

    def __init__(self):
        self.times, self.before = [], []

    def add(self, times, before):
        self.times.append(times)
        self.before.append(sorted(set(before)))
        return len(self.times) - 1

    def ranks(self):
        ranks = [0.0] * len(self.times)
        after = [[] for _ in self.times]
        for task, before in enumerate(self.before):
            for other in before:
                after[other].append(task)
        for task in reversed(range(len(self.times))):
            cpu, gpu = self.times[task]
            mean = (CORES * cpu + GPUS * gpu) / (CORES + GPUS)
            ranks[task] = mean + max((ranks[other] for other in after[task]), default=0.0)
        return ranks

    def write(self, path):
        ranks = self.ranks()
        tasks = [
            {"kernel": str(task), "priority": int(ranks[task] * 1e6),
             "accesses": [[str(task), "W"]] + [[str(other), "R"] for other in self.before[task]]}
            for task in range(len(self.times))
        ]
        path.write_text(json.dumps({
            "data": {str(task): {"bytes": 0} for task in range(len(self.times))},
            "kernels": {str(task): {"seconds": {"cpu": cpu, "gpu": gpu}}
                        for task, (cpu, gpu) in enumerate(self.times)},
            "tasks": tasks,
        }))


CORES, GPUS = 10, 4
MACHINE = f"""
name = "cores-and-gpus"
sentence = "cores and GPUs without overheads"
[ram]
limit = "64 GB"
[cpu]
most = {CORES}
[gpu]
most = {GPUS}
memory = "16 GB"
[[link]]
between = ["ram", "gpu"]
bandwidth = "12 GB/s"
"""


def static_heft(graph):
    """Tasks by decreasing upward rank, each where it ends first, also in a gap between others."""
    ranks = graph.ranks()
    ends = [0.0] * len(graph.times)
    busy = [[] for _ in range(CORES + GPUS)]  # of each worker (start, end), ascending
    for task in sorted(range(len(graph.times)), key=lambda t: -ranks[t]):
        ready = max((ends[other] for other in graph.before[task]), default=0.0)
        best = None
        for worker, slots in enumerate(busy):
            length = graph.times[task][0 if worker < CORES else 1]
            start, place = ready, 0
            for place, (begin, end) in enumerate([*slots, (math.inf, math.inf)]):
                if start + length <= begin:
                    break
                start = max(start, end)
            if best is None or start + length < best[0]:
                best = (start + length, start, worker, place)
        end, start, worker, place = best
        busy[worker].insert(place, (start, end))
        ends[task] = end
    return max(ends)


def layered(draw):
    layers, last = Graph(), []
    for _ in range(draw.randint(6, 20)):
        layer = []
        for _ in range(draw.randint(4, 50)):
            cpu = draw.lognormvariate(math.log(2e-3), 0.7)
            gpu = cpu / math.exp(draw.uniform(math.log(0.3), math.log(25)))
            layer.append(layers.add((cpu, gpu), draw.sample(last, min(len(last), draw.randint(1, 3)))))
        last = layer
    return layers


def cholesky(draw):
    """Kernels at the speeds that were measured of such: the small factorisation is faster on a core."""
    unit = 2e-3
    times = {"potrf": (0.4 * unit, 0.55 * unit * draw.uniform(0.8, 2)),
             "trsm": (unit, unit / draw.uniform(6, 12)),
             "syrk": (unit, unit / draw.uniform(15, 25)), "gemm": (2 * unit, 2 * unit / draw.uniform(20, 30))}
    graph, last, tiles = Graph(), {}, draw.randint(9, 16)

    def run(kernel, writes, reads):
        before = [last[tile] for tile in [writes, *reads] if tile in last]
        last[writes] = graph.add(times[kernel], before)

    for k in range(tiles):
        run("potrf", (k, k), [])
        for i in range(k + 1, tiles):
            run("trsm", (i, k), [(k, k)])
        for i in range(k + 1, tiles):
            run("syrk", (i, i), [(i, k)])
            for j in range(k + 1, i):
                run("gemm", (i, j), [(i, k), (j, k)])
    return graph


def heavy_tailed(draw):
    graph = Graph()
    for task in range(draw.randint(200, 500)):
        cpu = 1e-3 * draw.paretovariate(1.5)
        ratio = draw.paretovariate(0.8)
        gpu = cpu * min(ratio, 50) if draw.random() < 0.3 else cpu / min(ratio, 50)
        near = range(max(0, task - 60), task)
        graph.add((cpu, gpu), draw.sample(near, min(len(near), draw.randint(0, 2))))
    return graph


def affinity(options):
    with tempfile.TemporaryDirectory() as name:
        affinity_in(pathlib.Path(name), options)


def affinity_in(folder, options):
    machine = folder / "machine.toml"
    machine.write_text(MACHINE)
    graphs = [make(random.Random(seed)) for make in (layered, cholesky, heavy_tailed)
              for seed in range(options.draws)]
    baseline = [static_heft(graph) for graph in graphs]
    for number, graph in enumerate(graphs):
        graph.write(folder / f"{number}.json")
    print(f"time over static HEFT: {len(graphs)} graphs without bytes, {CORES} cores and {GPUS} GPUs")
    print(f"{'policy':8} {'layered':>8} {'cholesky':>8} {'tails':>8} {'all':>8} {'worst':>8}")
    for policy in options.policies.split(","):
        ratios = [
            simulate(options.program, ["--graph", str(folder / f"{number}.json"), "--machine", str(machine)],
                     policy)[0] / heft
            for number, heft in enumerate(baseline)
        ]
        parts = [ratios[i:i + options.draws] for i in range(0, len(ratios), options.draws)]
        print(f"{policy:8} " + " ".join(f"{geometric(part):8.3f}" for part in parts) +
              f" {geometric(ratios):8.3f} {max(ratios):8.3f}", flush=True)


# --- several GPUs behind one bridge

def bridge_instances():
    """Application, its arguments, and the memory of each GPU in MiB."""
    for application, tiles, memory in (
        ("cholesky", 24, 250), ("cholesky", 32, 300), ("lu", 16, 250), ("lu", 22, 300), ("gemm2d", 18, 160),
        ("gemm2d", 25, 250), ("gemm3d", 8, 160), ("gemm3d", 10, 250),
    ):
        yield [application, "--tiles", str(tiles), "--memory", f"{memory}MiB"]
    yield ["stencil", "--width", "128", "--steps", "10", "--memory", "200MiB"]
    yield ["random", "--tasks", "800", "--memory", "200MiB"]


def gpus(options):
    print("time on four GPUs over that on the best of one, two and three")
    for policy in options.policies.split(","):
        ratios = []
        for instance in bridge_instances():
            times = [simulate(options.program, [*instance, "--machine", "v100p", "--gpus", str(count)],
                              policy)[0] for count in (1, 2, 3, 4)]
            ratios.append(times[3] / min(times[:3]))
            if options.each:
                print(f"  {' '.join(instance):60} " + " ".join(f"{seconds:7.3f}" for seconds in times))
        print(f"{policy:8} {geometric(ratios):7.3f}  worst {max(ratios):7.3f}", flush=True)


# --- sizes that differ, and other orders of submission

class Tiles:
    """A dense graph: tasks in order of submission, each a kernel, its accesses by name, and its seconds."""

    def __init__(self):
        self.tasks = []

    def add(self, kernel, seconds, *accesses):
        self.tasks.append((kernel, seconds, accesses))

    def write(self, path, draw=None, shuffled=None, renamed=None):
        names = sorted({name for _, _, accesses in self.tasks for name, _ in accesses})
        called = {name: name for name in [*names, *(kernel for kernel, _, _ in self.tasks)]}
        if renamed:
            renamed.shuffle(names)
            called = {name: f"{renamed.getrandbits(32):08x}{number}" for number, name in enumerate(called)}
        factors = [draw.uniform(0.75, 1.25) if draw else 1.0 for _ in names]
        scale = len(names) / sum(factors)
        data = {called[name]: {"bytes": int((2 << 20) * factor * scale), "home": "ram"}
                for name, factor in zip(names, factors)}
        tasks = shuffled_order(self.tasks, shuffled) if shuffled else self.tasks
        path.write_text(json.dumps({
            "data": data,
            "kernels": {called[kernel]: {"seconds": {"gpu": seconds}} for kernel, seconds, _ in self.tasks},
            "tasks": [{"kernel": called[kernel], "accesses": [[called[name], mode] for name, mode in accesses]}
                      for kernel, _, accesses in tasks]}))


def shuffled_order(tasks, draw):
    """Another order in which every task comes behind those it depends on."""
    writer, readers, after, waits = {}, {}, [[] for _ in tasks], [0] * len(tasks)
    for number, (_, _, accesses) in enumerate(tasks):
        before = set()
        for name, mode in accesses:
            if name in writer:
                before.add(writer[name])
            if mode != "R":
                before.update(readers.get(name, ()))
        for name, mode in accesses:
            if mode == "R":
                readers.setdefault(name, set()).add(number)
            else:
                writer[name], readers[name] = number, set()
        before.discard(number)
        waits[number] = len(before)
        for other in before:
            after[other].append(number)
    ready, order = [n for n, count in enumerate(waits) if count == 0], []
    while ready:
        number = ready.pop(draw.randrange(len(ready)))
        order.append(tasks[number])
        for other in after[number]:
            waits[other] -= 1
            if waits[other] == 0:
                ready.append(other)
    return order


def tiled_graphs(gpus):
    unit = 6e-5  # of a product of two tiles: loads bind
    graph = Tiles()
    n = 14 + 4 * gpus
    for i in range(n):
        for j in range(n):
            graph.add("gemm", unit, (f"A{i}", "R"), (f"B{j}", "R"), (f"C{i}_{j}", "W"))
    yield "gemm2d", graph
    graph = Tiles()
    n = 7 + gpus
    for i in range(n):
        for j in range(n):
            for k in range(n):
                graph.add("gemm", unit, (f"A{i}_{k}", "R"), (f"B{k}_{j}", "R"), (f"C{i}_{j}", "RW"))
    yield "gemm3d", graph
    graph = Tiles()
    n = 16 + 2 * gpus
    for k in range(n):
        graph.add("potrf", unit, (f"L{k}_{k}", "RW"))
        for i in range(k + 1, n):
            graph.add("trsm", 0.6 * unit, (f"L{k}_{k}", "R"), (f"L{i}_{k}", "RW"))
        for i in range(k + 1, n):
            graph.add("syrk", 0.55 * unit, (f"L{i}_{k}", "R"), (f"L{i}_{i}", "RW"))
            for j in range(k + 1, i):
                graph.add("gemm", unit, (f"L{i}_{k}", "R"), (f"L{j}_{k}", "R"), (f"L{i}_{j}", "RW"))
    yield "cholesky", graph
    graph = Tiles()
    n = 12 + 2 * gpus
    for k in range(n):
        graph.add("getrf", unit, (f"M{k}_{k}", "RW"))
        for i in range(k + 1, n):
            graph.add("trsm", 0.6 * unit, (f"M{k}_{k}", "R"), (f"M{i}_{k}", "RW"))
            graph.add("trsm", 0.6 * unit, (f"M{k}_{k}", "R"), (f"M{k}_{i}", "RW"))
        for i in range(k + 1, n):
            for j in range(k + 1, n):
                graph.add("gemm", unit, (f"M{i}_{k}", "R"), (f"M{k}_{j}", "R"), (f"M{i}_{j}", "RW"))
    yield "lu", graph


def sizes(options):
    print(f"12 dense graphs, 250 MiB a GPU, {options.draws} draws: median over tiles of equal size in the usual order")
    kinds = ("sizes", "order", "names")
    print(f"{'policy':16}" + "".join(f" {kind + ': time':>12} {'worst':>7} {'bytes':>7}" for kind in kinds))
    with tempfile.TemporaryDirectory() as name:
        folder, files = pathlib.Path(name), []
        for gpus in (1, 2, 4):
            for label, graph in tiled_graphs(gpus):
                equal = folder / f"{label}{gpus}.json"
                graph.write(equal)
                drawn = {kind: [] for kind in kinds}
                for draw in range(options.draws):
                    for kind, file in drawn.items():
                        file.append(folder / f"{label}{gpus}_{kind}{draw}.json")
                    graph.write(drawn["sizes"][-1], draw=random.Random(draw))
                    graph.write(drawn["order"][-1], shuffled=random.Random(draw))
                    graph.write(drawn["names"][-1], renamed=random.Random(draw))
                files.append((gpus, equal, drawn))
        for policy in options.policies.split(","):
            row = f"{policy:16}"
            ratios = {kind: ([], []) for kind in kinds}
            for gpus, equal, drawn in files:
                machine = ["--machine", "v100p", "--gpus", str(gpus), "--memory", "250MiB"]
                base = simulate(options.program, ["--graph", str(equal), *machine], policy)
                for kind, (times, loads) in ratios.items():
                    runs = [simulate(options.program, ["--graph", str(file), *machine], policy)
                            for file in drawn[kind]]
                    times.append(statistics.median(seconds for seconds, _ in runs) / base[0])
                    loads.append(statistics.median(size for _, size in runs) / base[1])
            for times, loads in ratios.values():
                row += f" {geometric(times):12.3f} {max(times):7.3f} {geometric(loads):7.3f}"
            print(row, flush=True)


# --- what who names no policy gets

def default_instances():
    dense = (("cholesky", 18), ("lu", 14), ("gemm2d", 20), ("gemm3d", 7))
    others = (["stencil", "--width", "96", "--steps", "10"], ["random", "--tasks", "600"],
              ["bipartite", "--tasks", "900", "--data", "120", "--degree", "3"])
    for gpus in (1, 2, 4):
        for memory in (f"{360 // gpus}MiB", "16GiB"):
            gpu = ["--machine", "v100p", "--gpus", str(gpus), "--memory", memory]
            for application, tiles in dense:
                yield [application, "--tiles", str(tiles + 2 * gpus), *gpu]
            if gpus != 2:
                for other in others:
                    roomy = memory if other[0] != "random" or memory == "16GiB" else f"{150 + 50 * gpus}MiB"
                    yield [*other, *gpu[:-1], roomy]
    for gpus in (1, 2, 3):
        for memory in ("120MiB", "2GiB"):
            mixed = ["--machine", "idgraf", "--gpus", str(gpus), "--cpus", str(8 - gpus), "--memory", memory]
            yield ["cholesky", "--tiles", "20", *mixed]
            yield ["lu", "--tiles", "14", *mixed]
    for cores in (4, 12):
        memory = ["--machine", "idgraf", "--gpus", "0", "--cpus", str(cores)]
        yield ["cholesky", "--tiles", "18", *memory]
        yield ["lu", "--tiles", "12", *memory]
        yield ["random", "--tasks", "600", *memory]
    for cores in (2, 12):
        disk = ["--machine", "cpu-disk", "--cpus", str(cores), "--ram", "100MiB"]
        yield ["cholesky", "--tiles", "16", *disk]
        yield ["lu", "--tiles", "12", *disk]
        yield ["random", "--tasks", "400", *disk]


def default(options):
    instances = list(default_instances())
    print(f"time over that of the best policy, {len(instances)} instances")
    asked = options.policies.split(",")
    ratios = {policy: [] for policy in asked}
    for instance in instances:
        varied = [*instance, "--vary", "20"]
        seconds = {policy: simulate(options.program, varied, policy)[0]
                   for policy in dict.fromkeys([*asked, *POLICIES.split(","), "hfp", "xkaapi", "ap"])}
        best = min(seconds, key=seconds.get)
        for policy in asked:
            ratios[policy].append(seconds[policy] / seconds[best])
        if options.each:
            print(f"  {' '.join(instance):75} " + " ".join(f"{ratios[p][-1]:6.3f}" for p in asked) + f"  {best}",
                  flush=True)
    for policy in asked:
        print(f"{policy:8} {geometric(ratios[policy]):7.3f}  median {statistics.median(ratios[policy]):7.3f}"
              f"  worst {max(ratios[policy]):7.3f}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("what", choices=["vary", "affinity", "gpus", "default", "sizes"])
    parser.add_argument("--program", default=str(ROOT / "build" / "release" / "vicinal"))
    parser.add_argument("--policies", default=None)
    parser.add_argument("--percent", type=float, default=0.4)
    parser.add_argument("--draws", type=int, default=None)
    parser.add_argument("--each", action="store_true", help="vary, gpus, default: a line for each instance, too")
    options = parser.parse_args()
    if options.what == "vary":
        options.policies = options.policies or POLICIES
        options.draws = options.draws or 9
        vary(options)
    elif options.what == "sizes":
        options.policies = options.policies or "darts,dmdas,hfp,ap,load,lws"
        options.draws = options.draws or 3
        sizes(options)
    elif options.what == "default":
        options.policies = options.policies or "default,auto,darts,dmdas,lws"
        default(options)
    elif options.what == "gpus":
        options.policies = options.policies or POLICIES
        gpus(options)
    else:
        options.policies = options.policies or "darts,dmda,dmdar,dmdas,heft"
        options.draws = options.draws or 8
        affinity(options)


if __name__ == "__main__":
    main()
