#!/usr/bin/env python3
"""What a task of 255 operands costs the scheduler, with memory for all data and with memory for 400 of them.

Processor time of a simulated run on one GPU, the reading of the graph included, over its tasks: the least of three
runs. Each task reads 255 data drawn at random.

  few   200 tasks on 2,500 data: what a task lacks is read by 20 others
  many  2,000 tasks on 4,000 data: by 127 others

  bench/many_operands.py build/release/vicinal [--policies darts,lws] [--graphs few,many]
"""

import argparse
import json
import pathlib
import random
import resource
import subprocess
import tempfile

GRAPHS = {"few": (200, 2500), "many": (2000, 4000)}
OPERANDS, HELD, BYTES = 255, 400, 1 << 20
POLICIES = "lws,eager,dmda,dmdar,dmdas,heft,darts,belady,hfp,mst,rcm,ap,load,xkaapi,lfq,random"


def write(path, tasks, data):
    draw = random.Random(5)
    path.write_text(json.dumps({
        "data": {f"d{i}": {"bytes": BYTES, "home": "ram"} for i in range(data)},
        "kernels": {"use": {"seconds": {"gpu": 1e-3}}},
        "tasks": [{"kernel": "use", "accesses": [[f"d{i}", "R"] for i in draw.sample(range(data), OPERANDS)]}
                  for _ in range(tasks)],
    }))


def seconds(program, graph, policy, held):
    command = [program, "simulate", "--graph", str(graph), "--machine", "v100", "--gpus", "1", "--memory",
               f"{held * BYTES}B", "--policy", policy]
    least = None
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        took = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        least = took if least is None else min(least, took)
    return least


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--policies", default=POLICIES)
    parser.add_argument("--graphs", default="few")
    arguments = parser.parse_args()
    print(f"{'graph':6} {'policy':8} {'with room':>10} {'without':>10} {'ratio':>6}   us a task")
    with tempfile.TemporaryDirectory() as folder:
        for name in arguments.graphs.split(","):
            tasks, data = GRAPHS[name]
            graph = pathlib.Path(folder) / f"{name}.json"
            write(graph, tasks, data)
            for policy in arguments.policies.split(","):
                room, short = (seconds(arguments.program, graph, policy, held) for held in (2 * data, HELD))
                print(f"{name:6} {policy:8} {room / tasks * 1e6:10.0f} {short / tasks * 1e6:10.0f} {short / room:6.2f}",
                      flush=True)


if __name__ == "__main__":
    main()
