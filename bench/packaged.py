#!/usr/bin/env python3
"""What each part of hfp gains on the tasks of its paper: products whose tasks are independent and have no results.

    bench/packaged.py [--vicinal FILE]

On one GPU of v100p, memory short. In 2D a task reads a row of A and a column of B, in 3D a block of A, of B and, but for
the first of a block of C, that one. Prints for 2D and 3D, as means over the instances: how much faster hfp is
with each of flip, ready and belady than without, with the others there and by itself, and than other policies.
Times are exact: no repetitions.
"""

import argparse
import json
import os
import subprocess
import tempfile

BLOCK = 960
SECONDS = 2 * BLOCK ** 3 / 12557e9  # of a product of two blocks
PARTS = {"flip": ("flip=yes", "flip=no"), "ready": ("ready=yes", "ready=no"),
         "victims": ("victims=belady", "victims=lru")}
OTHERS = ["dmdar", "darts", "mst", "rcm", "eager"]
INSTANCES = {"2D": [(16, 150), (20, 150), (20, 250), (20, 500), (30, 500), (40, 500)],
             "3D": [(8, 100), (12, 100), (12, 250), (12, 500), (16, 250), (16, 500), (20, 500)]}


def product(kind, n):
    columns = 4 if kind == "2D" else 1  # blocks in a datum
    data = {}

    def read(name):
        data[name] = {"bytes": 4 * BLOCK * BLOCK * columns, "home": "ram"}
        return [name, "R"]

    tasks = []
    for i in range(n):
        for j in range(n):
            if kind == "2D":
                tasks.append([read(f"A{i}"), read(f"B{j}")])
                continue
            for k in range(n):
                tasks.append([read(f"A{i},{k}"), read(f"B{k},{j}")] + ([read(f"C{i},{j}")] if k > 0 else []))
    return {"format": "vicinal-graph-1", "data": data, "kernels": {"gemm": {"seconds": {"gpu": SECONDS * columns}}},
            "tasks": [{"kernel": "gemm", "accesses": accesses} for accesses in tasks]}


def with_parts(parts):
    return "hfp:" + ":".join(words[0] if part in parts else words[1] for part, words in PARTS.items())


def seconds_by_policy(vicinal, path, memory, policies):
    report = subprocess.run(
        [vicinal, "simulate", "--graph", path, "--machine", "v100p", "--gpus", "1", "--memory", f"{memory}MiB",
         "--policy", ",".join(policies), "--json", "-"], capture_output=True, text=True, check=True).stdout
    return {run["policy"]: run["seconds"] for run in json.loads(report)["runs"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--vicinal", default="build/release/vicinal")
    vicinal = parser.parse_args().vicinal
    whole, bare = with_parts(PARTS), with_parts([])
    for kind, instances in INSTANCES.items():
        policies = {whole, bare, *OTHERS}
        for part in PARTS:
            policies |= {with_parts([part]), with_parts(PARTS.keys() - {part})}
        runs = []
        with tempfile.TemporaryDirectory() as folder:
            for n, memory in instances:
                path = os.path.join(folder, "product.json")
                with open(path, "w", encoding="utf-8") as file:
                    json.dump(product(kind, n), file)
                runs.append(seconds_by_policy(vicinal, path, memory, sorted(policies)))

        def gain(fast, slow):
            return sum(run[slow] / run[fast] - 1 for run in runs) / len(runs) * 100

        for part in PARTS:
            print(f"{kind}  {part:8} {gain(whole, with_parts(PARTS.keys() - {part})):6.1f} %"
                  f"   by itself {gain(with_parts([part]), bare):6.1f} %")
        for other in OTHERS:
            print(f"{kind}  hfp over {other:8} {gain(whole, other):6.1f} %")


if __name__ == "__main__":
    main()
