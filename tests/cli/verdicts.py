#!/usr/bin/env python3
"""What binds a run, and what makes one of two sooner: of runs that are made up so that the answer is known, in sizes that
are drawn at random.

    tests/cli/verdicts.py PATH_OF_VICINAL

VERDICT_SEED chooses the sizes (printed), VERDICT_INSTANCES how many of each run. Exit status 0 if all is well; every
failure is printed.
"""

import json
import os
import random
import tempfile

import made_runs as made
from made_runs import MIB
from vicinal import check, finish, run

SEED = int(os.environ.get("VERDICT_SEED", "1"))
INSTANCES = int(os.environ.get("VERDICT_INSTANCES", "1"))


def recorded(folder, name, graph, machine, *options):
    path = os.path.join(folder, f"{name}.vtrace")
    result = run("simulate", "--graph", made.write(folder, "graph.json", graph.text()), "--machine",
                 made.write(folder, "machine.toml", machine), *options, "--trace", path)
    check(result.returncode == 0, f"{name}: {result.stderr}")
    return path


# Each gives a graph, a machine, options, and what the verdict must be: its kind, and words of the sentence.

def slow_kernel(r):
    return (made.slow_kernel(r.randint(8, 20), r.randint(8, 24), r.uniform(0.01, 0.03), 0.001),
            made.machine(r.randint(4, 12)), ["--policy", "lws"], "kernel", "factor")


def all_work(r):
    return (made.independent(r.randint(150, 400), r.uniform(0.005, 0.02)), made.machine(r.randint(2, 6)),
            ["--policy", "lws"], "work", "work")


def slow_disk(r):
    cpus = r.randint(2, 8)
    return (made.independent(r.randint(60, 120), 0.01, r.randint(8, 16), "disk", mode="R"),
            made.machine(cpus, ram=r.randint(300, 4000) * MIB, disk=f"{r.randint(80, 250)} MB/s"),
            ["--policy", r.choice(["lws", "darts", "dmdas"])], "link", "The disk")


def slow_link(r):
    return (made.independent(r.randint(60, 120), 0.001, r.randint(8, 16), "ram", mode="R"),
            made.machine(0, 1, link=f"{r.randint(1, 2)} GB/s", gpu_memory=f"{r.choice([300, 3000])} MiB"),
            ["--policy", r.choice(["lws", "darts", "dmdas"])], "link", "from ram to gpu0")


def little_memory(r):
    side = r.randint(12, 16)
    return (made.products(side, side, 16, 0.002, "disk"),
            made.machine(r.randint(2, 4), ram=r.randint(80, 100) * MIB, disk="300 MB/s"), ["--policy", "darts"],
            "memory", "memory in ram")


def producers(r):
    return (made.makers(r.randint(60, 120), 16, 0.002, 0.002, gpu=True),
            made.machine(0, 1, link=f"{r.randint(3, 5)} GB/s", gpu_memory=f"{r.randint(96, 160)} MiB"),
            ["--policy", "lws"], "producers", "Producers run ahead")


def poor_order(r):
    side = r.randint(14, 18)
    return (made.products(side, side, 16, 0.002, "ram", r),
            made.machine(0, 1, link=f"{r.randint(4, 6)} GB/s", gpu_memory=f"{r.randint(150, 200)} MiB"),
            ["--policy", "eager"], "order", "The order")


def long_chain(r):
    length = r.randint(60, 150)
    return (made.chain(length, 0.005, r.randint(0, length)), made.machine(r.randint(4, 16)), ["--policy", "lws"],
            "chain", "One long chain")


def few_tasks(r):
    workers = r.randint(8, 32)
    return (made.independent(r.randint(1, workers // 2), 0.05), made.machine(workers), ["--policy", "lws"],
            "few tasks", "Too few tasks")


def small_tasks(r):
    return (made.independent(r.randint(1000, 2000), r.uniform(1e-6, 5e-6)),
            made.machine(r.randint(2, 8), overhead=f"{r.randint(15, 40)} us"), ["--policy", "lws"], "runtime",
            "Too small tasks")


def slow_worker(r):
    return (made.two_kinds(r.randint(16, 40), r.uniform(0.8, 1.5), 0.02), made.machine(r.randint(1, 3), 2),
            ["--policy", "eager"], "slow worker", "core")


def write_back(r):
    return (made.independent(r.randint(40, 80), 0.01, 16, r.choice([None, "disk"]), mode="W"),
            made.machine(r.randint(2, 6), ram=r.randint(150, 250) * MIB, disk="100 MB/s"),
            ["--policy", r.choice(["lws", "darts"])], "link", "written to it")


def slow_submission(r):
    return (made.independent(r.randint(200, 500), 0.001), made.machine(r.randint(6, 12), submit="1 ms"),
            ["--policy", "lws"], "submission", "The submission")


def small_window(r):
    return (made.independent(r.randint(100, 200), 0.01), made.machine(r.randint(6, 12)),
            ["--policy", "lws", "--window-tasks", str(r.randint(1, 3))], "submission", "window")


RUNS = [slow_kernel, all_work, slow_disk, slow_link, little_memory, producers, poor_order, long_chain, few_tasks,
        small_tasks, slow_worker, write_back, slow_submission, small_window]


def test_verdicts(folder):
    for make in RUNS:
        for instance in range(INSTANCES):
            r = random.Random(f"{SEED} {make.__name__} {instance}")
            *job, options, binds, words = make(r)
            what = f"{make.__name__} {instance} of seed {SEED}"
            path = recorded(folder, make.__name__, *job, *options)
            explained = run("explain", path, "--json", "-")
            check(explained.returncode == 0, f"{what}: {explained.stderr}")
            verdict = json.loads(explained.stdout or "{}")["summary"]["verdict"]
            first = explained.stderr.split("\n", 1)[0]
            check(first == verdict["sentence"], f"{what}: the first line is the sentence: {first}")
            check(verdict["binds"] == binds and words in first, f"{what}: not {binds}, {words}: {first}")
            check(0 < verdict["share"] <= 1, f"{what}: share {verdict['share']}")


# Each gives two runs, as above, and what the sentence of their comparison must say first.

def other_policy(r):
    side, seed = r.randint(14, 18), r.random()
    machine = made.machine(0, 1, link="5 GB/s", gpu_memory="170 MiB")
    runs = [(made.products(side, side, 16, 0.002, "ram", random.Random(seed)), machine, ["--policy", policy])
            for policy in ("eager", "darts")]
    return *runs, "sooner", "policy darts instead of eager", ["copies from ram to gpu0, again"]


def more_memory(r):
    side = r.randint(12, 16)
    runs = [(made.products(side, side, 16, 0.002, "disk"), made.machine(4, ram=ram * MIB, disk="300 MB/s"),
             ["--policy", "darts"]) for ram in (r.randint(80, 100), 1000)]
    return *runs, "sooner", "memory of ram 1000 MiB instead of", ["copies from disk to ram, again"]


def slower_disk(r):
    graph = made.independent(r.randint(60, 120), 0.01, r.randint(8, 16), "disk", mode="R")
    runs = [(graph, made.machine(4, ram=4000 * MIB, disk=f"{rate} MB/s"), ["--policy", "lws"]) for rate in (200, 100)]
    return *runs, "later", "a disk of 0.1 GB/s instead of 0.2 GB/s", ["copies from disk to ram"]


def slower_kernel(r):
    count, slow = r.randint(100, 200), r.uniform(0.03, 0.06)
    runs = [(made.independent(count, seconds), made.machine(r.randint(2, 2)), ["--policy", "lws"])
            for seconds in (0.02, slow)]
    return *runs, "later", "a task of work instead of", ["runs of work"]


def more_workers(r):
    graph, few = made.independent(r.randint(100, 300), 0.01), r.randint(2, 4)
    runs = [(graph, made.machine(workers), ["--policy", "lws"]) for workers in (few, 3 * few)]
    return *runs, "sooner", f"{3 * few} cpu workers instead of {few}", ["runs of work"]


def other_tiles(r):
    tiles = r.randint(8, 12)
    runs = [(None, None, ["cholesky", "--tiles", str(tiles * times), "--tile", str(2048 // times), "--machine", "v100p",
                          "--gpus", "1", "--policy", "darts"]) for times in (1, 4)]
    return *runs, None, "tasks instead of", ["runs of", "copies", "room", "the runtime's own time"]


def other_order(r):
    side = r.randint(14, 18)
    machine = made.machine(0, 1, link="5 GB/s", gpu_memory="170 MiB")
    runs = [(made.products(side, side, 16, 0.002, "ram", order), machine, ["--policy", "eager"])
            for order in (None, random.Random(r.random()))]
    return (*runs, "later", "submitted in another order",
            ["copies from ram to gpu0, again", "ready tasks with the policy"])


PAIRS = [other_policy, more_memory, slower_disk, slower_kernel, more_workers, other_tiles, other_order]


def recorded_pair(folder, runs):
    paths = []
    for name, (graph, machine, options) in zip("ab", runs):
        if graph is None:
            paths.append(os.path.join(folder, f"{name}.vtrace"))
            result = run("simulate", *options, "--trace", paths[-1])
            check(result.returncode == 0, f"{options}: {result.stderr}")
        else:
            paths.append(recorded(folder, name, graph, machine, *options))
    return paths


def test_pairs(folder):
    for make in PAIRS:
        for instance in range(INSTANCES):
            r = random.Random(f"{SEED} {make.__name__} {instance}")
            *runs, direction, words, parts = make(r)
            what = f"{make.__name__} {instance} of seed {SEED}"
            explained = run("explain", *recorded_pair(folder, runs), "--json", "-")
            check(explained.returncode == 0, f"{what}: {explained.stderr}")
            comparison = json.loads(explained.stdout or "{}")["comparison"]
            first = explained.stderr.split("\n", 1)[0]
            check(first == comparison["sentence"] and words in first, f"{what}: not {words}: {first}")
            check(direction is None or direction in first, f"{what}: not {direction}: {first}")
            named = first.split(": ", 1)[1]
            check(any(named.startswith(part) for part in parts), f"{what}: not {parts} first: {first}")
            sizes = [abs(part["difference_ns"]) for part in comparison["parts"]]
            check(sizes == sorted(sizes, reverse=True), f"{what}: not sorted: {sizes}")
            check(sum(part["difference_ns"] for part in comparison["parts"]) == comparison["difference_ns"] ==
                  comparison["second_ns"] - comparison["first_ns"], f"{what}: the parts do not add up")


if __name__ == "__main__":
    print(f"seed {SEED}, {INSTANCES} of each")
    with tempfile.TemporaryDirectory(dir=os.getcwd()) as temporary:
        test_verdicts(temporary)
        test_pairs(temporary)
    finish()
