#!/usr/bin/env python3
"""How fast the simulation is, how that grows with the graph, and how far it is from real runs.

    bench/simulation.py [--vicinal FILE] [--rounds 3] speed
    bench/simulation.py [--vicinal FILE] [--rounds 3] growth [--instructions]
    bench/simulation.py [--vicinal FILE] [--rounds 3] real --disk DIR

speed   simulated tasks per second of wall time: Cholesky of 60 x 60 tiles of 2880 on 4 GPUs (`v100`).
growth  time per task with the number of tasks n, over that of a smaller graph, beside the growth of log n:
        60 x 60 tiles of 2880 (37,820 tasks) and the same matrix in 180 x 180 tiles of 960 (988,260);
        182 x 182 tiles of 2880 (1,021,384), a matrix that outgrows the memories, so more copies per task;
        and 20 x 20 (1,540), 60 x 60 and 182 x 182 tiles of 960, which fit.
        --instructions counts instructions (valgrind) and no time: the same on every run.
real    compares real and simulated runs of Cholesky, LU and a product of n = 6144, 4096 and 3072 in 64 MiB
        with the disk of DIR, under every policy, and measures this machine (`vicinal calibrate`) before
        each application, as its speed drifts; then the median errors over policies and applications.
        Wants a machine with nothing else to do and takes about two minutes per round.

Everything in turn within a round; each figure is the median of the rounds.
"""

import argparse
import json
import math
import os
import re
import statistics
import subprocess
import sys
import tempfile

SMALL, TINY, FITS, MOST = (60, 2880), (20, 960), (60, 960), (182, 960)
COMPARED = [((180, 960), SMALL), ((182, 2880), SMALL), (FITS, TINY), (MOST, TINY), (MOST, FITS)]
POLICIES = ["eager", "lws", "dmdas", "darts"]
JOBS = [("cholesky", 12), ("lu", 8), ("gemm3d", 6)]


def run(command):
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        sys.exit(f"simulation.py: {' '.join(command)}: {result.stderr}")
    return result


def simulation(vicinal, graph, policy):
    tiles, tile = graph
    return [vicinal, "simulate", "cholesky", "--tiles", str(tiles), "--tile", str(tile),
            "--machine", "v100", "--gpus", "4", "--policy", policy, "--json", "-"]


def simulated(vicinal, graph, policy):
    return json.loads(run(simulation(vicinal, graph, policy)).stdout)["runs"][0]


def speed(arguments):
    rates = {policy: [] for policy in POLICIES}
    for _ in range(arguments.rounds):
        for policy in POLICIES:
            rates[policy].append(
                simulated(arguments.vicinal, SMALL, policy)["wall_tasks_per_second"])
    print("policy    tasks/s     least..most")
    for policy, of_policy in rates.items():
        print(f"{policy:8} {statistics.median(of_policy):8.0f}  "
              f"{min(of_policy):8.0f}..{max(of_policy):.0f}")


def instructions(vicinal, graph, policy):
    counted = run(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null",
                   *simulation(vicinal, graph, policy)])
    per_run = int(re.search(r"Collected : (\d+)", counted.stderr)[1])
    return per_run, json.loads(counted.stdout)["runs"][0]


def growth(arguments):
    unit = "in" if arguments.instructions else "ns"
    print(f"{'policy':8} {'from':>10} {'per task':>10} {'copies':>6}   {'to':>10} {'per task':>10} {'copies':>6} "
          f"{'growth':>7} {'of log n':>8}")
    rounds = 1 if arguments.instructions else arguments.rounds
    for policy in POLICIES:
        costs = {graph: [] for pair in COMPARED for graph in pair}
        facts = {}
        for _ in range(rounds):
            for graph, of_graph in costs.items():
                if arguments.instructions:
                    cost, facts[graph] = instructions(arguments.vicinal, graph, policy)
                else:
                    facts[graph] = simulated(arguments.vicinal, graph, policy)
                    cost = 1e9 * facts[graph]["wall_seconds"]
                of_graph.append(cost / facts[graph]["tasks"])
        for graph, base in COMPARED:
            shown = [f"{of[0]:4} x {of[1]:<4} {statistics.median(costs[of]):7.0f} {unit} "
                     f"{sum(link['copies'] for link in facts[of]['links'].values()) / facts[of]['tasks']:6.2f}"
                     for of in (base, graph)]
            cost = statistics.median(costs[graph]) / statistics.median(costs[base])
            tasks = math.log(facts[graph]["tasks"]) / math.log(facts[base]["tasks"])
            print(f"{policy:8} {shown[0]}   {shown[1]} {cost:7.2f} {tasks:8.2f}", flush=True)


def real(arguments):
    medians = {"time": [], "bytes": []}
    with tempfile.TemporaryDirectory() as folder:
        machine = os.path.join(folder, "this.toml")
        out_of_core = ["--tile", "512", "--memory", "64MiB", "--disk", arguments.disk]
        for number in range(arguments.rounds):
            errors = {"time": [], "bytes": []}
            for application, tiles in JOBS:
                measured = run([arguments.vicinal, "calibrate", *out_of_core, "--output", machine])
                print(f"# round {number + 1}, this machine\n" + "".join(
                    f"{line}\n" for line in measured.stdout.splitlines()
                    if line.startswith("disk:") or " double " in line))
                compared = run([
                    arguments.vicinal, "simulate", application, "--tiles", str(tiles), "--tile", "512",
                    "--precision", "double", "--machine", machine, "--against", "real", "--disk",
                    arguments.disk, "--policy", "all", "--json", "-"
                ])
                print(f"# round {number + 1}, {application}, {tiles} x {tiles} tiles of 512\n"
                      + compared.stderr, flush=True)
                for entry in json.loads(compared.stdout)["policies"]:
                    errors["time"].append(abs(entry["wall_seconds_error"]))
                    errors["bytes"].append(abs(entry["bytes_in_error"]))
            for kind, of_round in medians.items():
                of_round.append(statistics.median(errors[kind]))
            print(f"# round {number + 1}, median over {len(errors['time'])} pairs: "
                  f"time {100 * medians['time'][-1]:.1f} %, "
                  f"bytes {100 * medians['bytes'][-1]:.1f} %\n", flush=True)
    print(f"# median of the rounds: time {100 * statistics.median(medians['time']):.1f} %, "
          f"bytes {100 * statistics.median(medians['bytes']):.1f} %")


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--vicinal", default=os.path.join(here, "../build/release/vicinal"))
    parser.add_argument("--rounds", type=int, default=3)
    commands = parser.add_subparsers(required=True)
    commands.add_parser("speed").set_defaults(call=speed)
    of_growth = commands.add_parser("growth")
    of_growth.add_argument("--instructions", action="store_true")
    of_growth.set_defaults(call=growth)
    of_real = commands.add_parser("real")
    of_real.add_argument("--disk", required=True)
    of_real.set_defaults(call=real)
    arguments = parser.parse_args()
    arguments.call(arguments)


main()
