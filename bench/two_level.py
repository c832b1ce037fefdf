#!/usr/bin/env python3
"""Cholesky on two levels against one level at its best tile, simulated on `idgraf`, eight GPUs and the cores beside them.

    bench/two_level.py [--vicinal FILE] [--sizes N,N] [--tiles B,B] [--panel P] [--policies a,b] [--same-rates]

Prints for each size and policy the GFlop/s, and the tile that gives them, of
    one level       potrf is one task, on a GPU or a core
    one, on cores   the same, but potrf has code for cores alone, as in paper 003
    two levels      potrf divided into tasks on panels, for cores
each at its best tile, and how much faster two levels are than either.

Machine files have one rate of a kernel for all sizes, and on a GPU small tiles then cost nothing. Here the rates of
gemm, syrk and trsm on GPUs are those of the file for tiles of 1024, and less for others by a count of waves: such a GPU
multiplies 64 x 64 elements of the result per block of threads (Nath, Tomov, Dongarra, An improved MAGMA GEMM for Fermi
GPUs, 2010), and has 14 processors (448 cores, 32 in each) that take one block each at a time. So (b / 64)^2 blocks take
as long as the next multiple of 14. --same-rates: as the file has them. Times are exact: no repetitions.
"""

import argparse
import json
import math
import os
import re
import subprocess
import sys
import tempfile

PROCESSORS = 14
BLOCK = 64
USUAL = 1024


def use(tile):
    """Share of the processors that are busy."""
    blocks = math.ceil(tile / BLOCK) ** 2
    return blocks / (PROCESSORS * math.ceil(blocks / PROCESSORS))


def machine_text(text, tile):
    """The machine file with the rates that its GPUs have for this tile."""
    tables = re.split(r"(?m)^(?=\[\[speed\]\])", text)
    slower = use(tile) / use(USUAL)

    def scaled(match):
        return f'rate = "{float(match[1]) * slower:.6f} GFlop/s"'

    for i, table in enumerate(tables):
        if 'kind = "gpu"' in table and re.search(r'kernel = .*"(gemm|trsm)"', table):
            tables[i] = re.sub(r'rate = "([\d.]+) GFlop/s"', scaled, table)
    return "".join(tables)


def speeds(arguments, machine, size, tile, panel):
    result = subprocess.run(
        [arguments.vicinal, "simulate", "cholesky", "--tiles", str(size // tile), "--tile", str(tile), "--panel",
         str(panel), "--machine", machine, "--priorities", "bottom-level", "--policy", arguments.policies, "--json",
         "-"], check=True, capture_output=True, text=True)
    return {run["policy"]: run["gflops"] for run in json.loads(result.stdout)["runs"]}


def best(found, policy):
    return max((all_of[policy], tile) for tile, all_of in found.items())


def numbers(text):
    return [int(part) for part in text.split(",")]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--vicinal", default="build/release/vicinal")
    parser.add_argument("--machine", default=os.path.join(os.path.dirname(__file__), "../machines/idgraf.toml"))
    parser.add_argument("--sizes", type=numbers, default=[6144, 12288, 24576, 36864])
    parser.add_argument("--tiles", type=numbers, default=[256, 384, 512, 768, 1024])
    parser.add_argument("--panel", type=int, default=128)
    parser.add_argument("--policies", default="xkaapi:push=h1,xkaapi:push=h2,dmdas,heft,darts,lws")
    parser.add_argument("--same-rates", action="store_true")
    parser.add_argument("--each", action="store_true", help="also each tile")
    arguments = parser.parse_args()
    for size in arguments.sizes:
        if any(size % tile for tile in arguments.tiles):
            sys.exit(f"{size} is not a multiple of all tiles")

    print("| size | policy | one level | one, on cores | two levels | over one | over one on cores |")
    print("|---|---|---|---|---|---|---|")
    with open(arguments.machine, encoding="utf-8") as file:
        text = file.read()
    with tempfile.TemporaryDirectory() as folder:
        for size in arguments.sizes:
            found = {"one": {}, "cores": {}, "two": {}}
            for tile in arguments.tiles:
                path = os.path.join(folder, f"idgraf-{tile}.toml")
                with open(path, "w", encoding="utf-8") as file:
                    file.write(text if arguments.same_rates else machine_text(text, tile))
                found["one"][tile] = speeds(arguments, path, size, tile, 0)
                found["cores"][tile] = speeds(arguments, path, size, tile, tile)
                if tile > arguments.panel and tile % arguments.panel == 0:
                    found["two"][tile] = speeds(arguments, path, size, tile, arguments.panel)
                if arguments.each:
                    print(size, tile, {way: of.get(tile) for way, of in found.items()}, file=sys.stderr)
            for policy in found["one"][arguments.tiles[0]]:
                (one, b1), (cores, b2), (two, b3) = (best(found[way], policy) for way in found)
                print(f"| {size} | `{policy}` | {one:.0f} ({b1}) | {cores:.0f} ({b2}) | {two:.0f} ({b3}) | "
                      f"{two / one:.2f} | {two / cores:.2f} |", flush=True)


if __name__ == "__main__":
    main()
