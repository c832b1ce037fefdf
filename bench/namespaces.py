#!/usr/bin/env python3
"""Ranks on a network of 1 Gbit/s beside the same ranks simulated: each rank in a network namespace of its own.

    bench/namespaces.py [--build FOLDER] [--mpi openmpi|mpich] [--ranks N] [--rounds N] [broadcast] [asleep] [cholesky] [gain]

First it measures the link: two ranks, content of 1 and of 8 MiB, whose difference is the bandwidth, and the latency as
ranks measure it themselves. These make the network of a machine file of the cluster. Then

broadcast  one version to all other ranks, along each tree, in three sizes: time real, simulated, and their ratio
asleep     the graph of Cholesky whose kernels sleep, so that ranks do not wait for cores, along each tree: likewise
cholesky   vicinal run cholesky with one worker per rank, along each tree: likewise. The ranks share the cores of this computer, so
           kernels are timed in a run of the same ranks (from its recording): simulated ranks have these times
gain       8 ranks that own a row of tiles each (8x1): Cholesky with few operations per byte, single sends beside trees, in
           turns: seconds, bytes sent, and bytes that the interfaces have counted

Medians of --rounds (5). Needs root, iproute2, and build/release with vicinal and the programs of bench/mpi; nothing else should run.
"""

import argparse
import collections
import csv
import json
import os
import statistics
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "tests/mpi"))
from job import ENVIRONMENT  # noqa: E402
from rank_network import NETWORK, enter_namespaces, set_up  # noqa: E402

RATE = "1gbit"
MIB = 1 << 20
TREES = ["off", "chain", "binary", "binomial"]
SIZES = [512 << 10, MIB, 8 * MIB]  # the network lets 128 KiB pass at any speed
ASLEEP = [(16, 512 << 10, 2000), (16, 512 << 10, 8000), (24, 256 << 10, 2000)]  # tiles, bytes of a tile, us of a kernel
CHOLESKY = [("float", 4096, 256), ("float", 4096, 512), ("double", 4096, 512)]  # precision, order, tile
POLICY = "lws"


class Bench:
    def __init__(self, arguments, folder):
        self.ranks = arguments.ranks
        self.mpi = arguments.mpi
        self.rounds = arguments.rounds
        self.folder = folder
        self.vicinal = os.path.join(arguments.build, "vicinal")
        self.broadcast = os.path.join(arguments.build, f"bench/broadcast_{arguments.mpi}")
        self.asleep = os.path.join(arguments.build, f"bench/cholesky_asleep_{arguments.mpi}")

    def output(self, command):
        run = subprocess.run(command, capture_output=True, text=True, timeout=600, start_new_session=True, check=False,
                             env={**os.environ, **ENVIRONMENT, "XDG_CACHE_HOME": self.folder})
        if run.returncode != 0:
            sys.exit(f"{' '.join(command)}: exit status {run.returncode}\n{run.stdout}{run.stderr}")
        return run.stdout

    def on_ranks(self, ranks, *program):
        return self.output([os.path.join(NETWORK, self.mpi), str(ranks), *program])

    def report(self, text):
        with open(text, encoding="utf-8") as file:
            (run,) = json.load(file)["runs"]
        return run

    # --- the link

    def broadcast_time(self, ranks, tree, size):
        """(median milliseconds of a round, microseconds of latency as measured)"""
        text = self.on_ranks(ranks, self.broadcast, "ours", tree, str(size))
        return (float(text.split("median ")[1].split(" ms")[0]),
                float(text.split("has measured it: ")[1].split(" us")[0]))

    def measure_link(self):
        times = {size: [self.broadcast_time(2, "off", size) for _ in range(self.rounds)] for size in (MIB, 8 * MIB)}
        median = {size: statistics.median(time for time, _ in all_of) for size, all_of in times.items()}
        self.latency = min(latency for all_of in times.values() for _, latency in all_of)
        self.bandwidth = 7 * MIB / (median[8 * MIB] - median[MIB]) * 1e3
        print(f"link: {self.latency:.1f} us, {self.bandwidth / 1e6:.1f} MB/s", flush=True)

    def machine(self, name, ranks, speeds):
        file = os.path.join(self.folder, f"{name}.toml")
        with open(file, "w", encoding="utf-8") as text:
            text.write(f'name = "{name}"\nsentence = "ranks in network namespaces of one computer"\n'
                       f'[cluster]\nhosts = {ranks}\nnic = "{self.bandwidth / 1e6} MB/s"\nlatency = "{self.latency} us"\n'
                       "[cpu]\nmost = 1\n")
            for kernel, seconds in {**speeds, "*": 1e-6}.items():
                text.write(f'[[speed]]\nkernel = "{kernel}"\nkind = "cpu"\ntime = "{seconds * 1e6:.3f} us"\n')
        return file

    # --- cases

    def compare_broadcasts(self):
        machine = self.machine("broadcasts", self.ranks, {})
        print(f"{'broadcast':>12}{'KiB':>8}{'real, ms':>12}{'simulated':>12}{'ratio':>8}")
        for tree in TREES:
            for size in SIZES:
                real = statistics.median(self.broadcast_time(self.ranks, tree, size)[0] for _ in range(self.rounds))
                text = self.output([self.broadcast, "simulated", tree, str(size), machine])
                simulated = float(text.split("median ")[1].split(" ms")[0])
                print(f"{tree:>12}{size // 1024:>8}{real:>12.2f}{simulated:>12.2f}{real / simulated:>8.3f}", flush=True)

    def compare_asleep(self):
        machine = self.machine("asleep", self.ranks, {})
        print(f"{'asleep':>12}{'tiles':>8}{'KiB':>6}{'kernel, us':>12}{'real, ms':>10}{'simulated':>11}{'ratio':>8}")
        for tiles, size, kernel in ASLEEP:
            for tree in TREES:
                texts = [self.on_ranks(self.ranks, self.asleep, "ours", tree, str(tiles), str(size), str(kernel))
                         for _ in range(self.rounds)]
                real = statistics.median(float(text.split("median ")[1].split(" ms")[0]) for text in texts)
                slept = statistics.median(float(text.split("a kernel ")[1].split(" us")[0]) for text in texts)
                text = self.output([self.asleep, "simulated", tree, str(tiles), str(size), str(round(slept)), machine])
                simulated = float(text.split("median ")[1].split(" ms")[0])
                print(f"{tree:>12}{tiles:>8}{size // 1024:>6}{slept:>12.0f}{real:>10.1f}{simulated:>11.1f}"
                      f"{real / simulated:>8.3f}", flush=True)

    def run_cholesky(self, ranks, problem, tree, *more):
        precision, order, tile = problem
        file = os.path.join(self.folder, "report.json")
        self.on_ranks(ranks, self.vicinal, "run", "cholesky", "--precision", precision, "--size", str(order), "--tile", str(tile),
                      "--workers", "1", "--policy", POLICY, "--bind", "false", "--broadcast", tree, "--json", file, *more)
        return self.report(file)

    def kernel_times(self, problem, tree):
        """Mean seconds of each kernel in a run, from its recording."""
        recording = os.path.join(self.folder, "run.vtrace")
        self.run_cholesky(self.ranks, problem, tree, "--trace", recording)
        tables = tempfile.mkdtemp(dir=self.folder)
        files = [os.path.join(self.folder, f"run.rank{rank}.vtrace") for rank in range(self.ranks)]
        self.output([self.vicinal, "export", *files, "--format", "csv", "--output", tables])
        times = collections.defaultdict(list)
        with open(os.path.join(tables, "tasks.csv"), encoding="utf-8", newline="") as file:
            for task in csv.DictReader(file):
                if task["codelet"] in ("potrf", "trsm", "syrk", "gemm"):
                    times[task["codelet"]].append((int(task["ended_ns"]) - int(task["started_ns"])) * 1e-9)
        return {kernel: statistics.mean(all_of) for kernel, all_of in times.items()}

    def compare_cholesky(self):
        print(f"{'cholesky':>12}{'tile':>6}{'tree':>10}{'real, s':>10}{'simulated':>11}{'ratio':>8}   kernels, ms")
        for problem in CHOLESKY:
            precision, order, tile = problem
            for tree in TREES:
                real = statistics.median(self.run_cholesky(self.ranks, problem, tree)["seconds"]
                                         for _ in range(self.rounds))
                speeds = self.kernel_times(problem, tree)
                file = os.path.join(self.folder, "simulated.json")
                self.output([self.vicinal, "simulate", "cholesky", "--precision", precision, "--tiles",
                             str(order // tile), "--tile", str(tile),
                             "--machine", self.machine("cholesky", self.ranks, speeds), "--ranks", str(self.ranks),
                             "--policy", POLICY, "--priorities", "bottom-level", "--tree", tree, "--json", file])
                simulated = self.report(file)["seconds"]
                kernels = ", ".join(f"{kernel} {seconds * 1e3:.2f}" for kernel, seconds in sorted(speeds.items()))
                print(f"{precision + ' ' + str(order):>12}{tile:>6}{tree:>10}{real:>10.3f}{simulated:>11.3f}{real / simulated:>8.3f}   {kernels}",
                      flush=True)

    def counted(self, ranks):
        total = 0
        for rank in range(ranks):
            shown = subprocess.run(["ip", "-n", f"vic{rank}", "-s", "-j", "link", "show", "e0"], capture_output=True,
                                   check=True)
            total += json.loads(shown.stdout)[0]["stats64"]["tx"]["bytes"]
        return total

    def gain(self, ranks=8):
        trees = ["off", "binomial", "chain", "auto"]
        print(f"{'8x1 cholesky':>13}{'tile':>6}{'tree':>10}{'s':>9}{'of off':>8}{'sent, MB':>10}{'counted':>10}")
        for precision in ("double", "float"):
            for order, tile in [(4096, 256), (4096, 512)]:
                problem = (precision, order, tile)
                seconds = collections.defaultdict(list)
                sent = {}
                on_wire = collections.defaultdict(list)
                for _ in range(self.rounds):
                    for tree in trees:
                        before = self.counted(ranks)
                        run = self.run_cholesky(ranks, problem, tree, "--distribution", f"{ranks}x1")
                        on_wire[tree].append(self.counted(ranks) - before)
                        seconds[tree].append(run["seconds"])
                        sent[tree] = sum(rank["sent"] for rank in run["ranks"])
                off = statistics.median(seconds["off"])
                for tree in trees:
                    time = statistics.median(seconds[tree])
                    print(f"{precision + ' ' + str(order):>13}{tile:>6}{tree:>10}{time:>9.3f}{time / off:>8.3f}"
                          f"{sent[tree] / 1e6:>10.1f}{statistics.median(on_wire[tree]) / 1e6:>10.1f}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.path.join(ROOT, "build/release"))
    parser.add_argument("--mpi", choices=["openmpi", "mpich"], default="openmpi")
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("cases", nargs="*", choices=["broadcast", "asleep", "cholesky", "gain", []])
    arguments = parser.parse_args()
    arguments.build = os.path.abspath(arguments.build)
    cases = arguments.cases or ["broadcast", "asleep", "cholesky", "gain"]
    enter_namespaces()
    set_up(max(arguments.ranks, 8 if "gain" in cases else 2), RATE)
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(arguments, folder)
        if cases != ["gain"]:
            bench.measure_link()
        if "broadcast" in cases:
            bench.compare_broadcasts()
        if "asleep" in cases:
            bench.compare_asleep()
        if "cholesky" in cases:
            bench.compare_cholesky()
        if "gain" in cases:
            bench.gain()


if __name__ == "__main__":
    main()
