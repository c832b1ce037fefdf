#!/usr/bin/env python3
"""How fast the simulation is, how that grows with the graph, and how far it is from real runs.

    bench/simulation.py [--vicinal FILE] [--rounds 3] speed
    bench/simulation.py [--vicinal FILE] [--rounds 3] growth [--instructions]
    bench/simulation.py [--vicinal FILE] [--rounds 3] real --disk DIR [--tile 512] [--memory 64MiB] [--tiles 12]
                                                              [--applications lu,gemm3d] [--policies lws,darts]

speed   simulated tasks per second of wall time: Cholesky of 60 x 60 tiles of 2880 on 4 GPUs (`v100`).
growth  time per task with the number of tasks n, over that of a smaller graph, beside the growth of log n:
        60 x 60 tiles of 2880 (37,820 tasks) and the same matrix in 180 x 180 tiles of 960 (988,260);
        182 x 182 tiles of 2880 (1,021,384), a matrix that outgrows the memories, so more copies per task;
        and 20 x 20 (1,540), 60 x 60 and 182 x 182 tiles of 960, which fit.
        --instructions counts instructions (valgrind) and no time: the same on every run.
real    compares real and simulated runs of Cholesky, LU and two products of --tiles x --tiles tiles of --tile, with
        the disk of DIR and --memory, or a quarter of one matrix, under the policies, and measures this machine
        (`vicinal calibrate`) before each application, as its speed drifts; then the median errors over the policies,
        of each application and of all. Wants a machine with nothing else to do and takes some minutes per round.

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
APPLICATIONS = ["cholesky", "lu", "gemm2d", "gemm3d"]


def run(command):
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        sys.exit(f"simulation.py: {' '.join(command)}: {result.stderr}")
    return result


def simulation(vicinal, graph, policy):
    tiles, tile = graph
    return [vicinal, "simulate", "cholesky", "--tiles", str(tiles), "--tile", str(tile),
            "--precision", "float", "--machine", "v100", "--gpus", "4", "--policy", policy, "--json", "-"]


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
    tile, tiles = arguments.tile, arguments.tiles
    applications = arguments.applications.split(",")
    memory = arguments.memory or f"{(tiles * tile) ** 2 * 8 // 4}B"
    out_of_core = ["--tile", str(tile), "--memory", memory, "--disk", arguments.disk]
    medians = {name: {"time": [], "bytes": []} for name in [*applications, "all"]}
    with tempfile.TemporaryDirectory() as folder:
        machine = os.path.join(folder, "this.toml")
        for number in range(arguments.rounds):
            errors = {name: {"time": [], "bytes": []} for name in medians}
            for application in applications:
                measured = run([arguments.vicinal, "calibrate", *out_of_core, "--output", machine])
                print(f"# round {number + 1}, this machine\n" + "".join(
                    f"{line}\n" for line in measured.stdout.splitlines()
                    if line.startswith("disk:") or " double " in line))
                compared = run([
                    arguments.vicinal, "simulate", application, "--tiles", str(tiles), "--tile", str(tile),
                    "--precision", "double", "--machine", machine, "--against", "real", "--disk",
                    arguments.disk, "--policy", arguments.policies, "--json", "-"
                ])
                print(f"# round {number + 1}, {application}, {tiles} x {tiles} tiles of {tile}\n"
                      + compared.stderr, flush=True)
                for entry in json.loads(compared.stdout)["policies"]:
                    for name in (application, "all"):
                        errors[name]["time"].append(abs(entry["wall_seconds_error"]))
                        errors[name]["bytes"].append(abs(entry["bytes_in_error"]))
            for name, of_name in medians.items():
                for kind, of_round in of_name.items():
                    of_round.append(statistics.median(errors[name][kind]))
                print(f"# round {number + 1}, {name}: median of {len(errors[name]['time'])}: "
                      f"time {100 * of_name['time'][-1]:.1f} %, "
                      f"bytes {100 * of_name['bytes'][-1]:.1f} %", flush=True)
    for name, of_name in medians.items():
        print(f"# median of the rounds, {name}: time {100 * statistics.median(of_name['time']):.1f} %, "
              f"bytes {100 * statistics.median(of_name['bytes']):.1f} %")


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
    of_real.add_argument("--tile", type=int, default=512)
    of_real.add_argument("--memory")
    of_real.add_argument("--tiles", type=int, default=12)
    of_real.add_argument("--applications", default=",".join(APPLICATIONS))
    of_real.add_argument("--policies", default="all")
    of_real.set_defaults(call=real)
    arguments = parser.parse_args()
    arguments.call(arguments)


main()
