#!/usr/bin/env python3
"""Question: how fast is `vicinal run qr` in memory, beside dgeqrf of LAPACK in the threaded OpenBLAS?

    bench/qr.py [--vicinal FILE] [--sizes N,N] [--tiles B,B] [--workers N] [--policy NAME] [--pairs N]

Prints for each size, tile and tree the GFlop/s, 4/3 N^3 operations, of both, median and range, and the median of the
ratios of pairs: what runs at the same time slows both. dgeqrf has as many threads as there are workers. Upper bound: the
work, in GFlop/s that the kernels have alone, which the report of `vicinal run` names. Processor time per elapsed time
tells threads that wait by spinning.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys


def gflops(size, seconds):
    return 4 / 3 * size**3 / seconds / 1e9


def spread(values):
    return f"{statistics.median(values):.1f} ({min(values):.1f} to {max(values):.1f})"


def seconds_of_vicinal(arguments, size, tile, tree):
    result = subprocess.run(
        [arguments.vicinal, "run", "qr", "--size", str(size), "--tile", str(tile), "--panel-tree", tree, "--workers",
         str(arguments.workers), "--policy", arguments.policy, "--json", "-"],
        check=True, capture_output=True, text=True)
    run = json.loads(result.stdout)["runs"][0]
    return run["seconds"], run["bound_seconds"]


def seconds_of_peer(arguments, size):
    peer = os.path.join(os.path.dirname(os.path.abspath(arguments.vicinal)), "bench", "openblas_threaded_geqrf")
    result = subprocess.run([peer, str(size), "1"], check=True, capture_output=True, text=True,
                            env={**os.environ, "OPENBLAS_NUM_THREADS": str(arguments.workers)})
    elapsed, processors = map(float, result.stdout.split())
    return elapsed, processors


def measure(arguments, size, tile, tree):
    ours, peers, bounds, spun = [], [], [], []
    for _ in range(arguments.pairs):
        seconds, bound = seconds_of_vicinal(arguments, size, tile, tree)
        elapsed, processors = seconds_of_peer(arguments, size)
        ours.append(seconds)
        peers.append(elapsed)
        bounds.append(bound)
        spun.append(processors / elapsed)
    ratios = [peer / own for own, peer in zip(ours, peers)]
    print(f"{size} in tiles of {tile}, {tree}: {spread([gflops(size, s) for s in ours])} GFlop/s, at most "
          f"{gflops(size, min(bounds)):.1f}; dgeqrf {spread([gflops(size, s) for s in peers])}, "
          f"{statistics.median(spun):.1f} processors; ours/dgeqrf {spread(ratios)}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--vicinal", default="build/release/vicinal")
    parser.add_argument("--sizes", default="2048")
    parser.add_argument("--tiles", default="256")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--policy", default="lws")
    parser.add_argument("--pairs", type=int, default=9)
    arguments = parser.parse_args()
    for size in map(int, arguments.sizes.split(",")):
        for tile in map(int, arguments.tiles.split(",")):
            for tree in ("flat", "binary"):
                measure(arguments, size, tile, tree)
    return 0


if __name__ == "__main__":
    sys.exit(main())
