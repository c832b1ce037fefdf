#!/usr/bin/env python3
"""Four ranks on a network of 1 Gbit/s, each in a network namespace of its own: what goes over it, and what ranks cost.

    network.py VICINAL PROGRAM MPI...

VICINAL is the executable, PROGRAM tests/mpi/faults_program.cpp, MPI openmpi or mpich. For each MPI:

  bytes   vicinal run: the bytes that the interfaces count are at least those that the report says
  idle    while rank 0 alone computes, the others use 5 % of a core at most
  cable   a rank whose interface is set down ends the run on all ranks within 30 s, and is named

Exit status 77, skipped: not root, or the system gives no namespaces. All is done inside namespaces that end with the
program.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import time

from job import ENVIRONMENT, Job, processor_seconds
from rank_network import NETWORK, enter_namespaces, set_up

RANKS = 4
RATE = "1gbit"
failures = []


def check(condition, what, text=""):
    if condition:
        return
    failures.append(what)
    print(f"FAILED: {what}\n--- it said\n{text}---", flush=True)


def command(mpi, *program):
    return [os.path.join(NETWORK, mpi), str(RANKS), *program]


def counted():
    """(bytes sent, bytes received) of each rank's interface so far."""
    counts = []
    for rank in range(RANKS):
        shown = subprocess.run(["ip", "-n", f"vic{rank}", "-s", "-j", "link", "show", "e0"], capture_output=True,
                               check=True)
        stats = json.loads(shown.stdout)[0]["stats64"]
        counts.append((stats["tx"]["bytes"], stats["rx"]["bytes"]))
    return counts


def test_bytes(mpi, vicinal, *arguments):
    what = f"{mpi}: vicinal run {' '.join(arguments)}"
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "report.json")
        before = counted()
        result = subprocess.run(command(mpi, vicinal, "run", *arguments, "--json", file), capture_output=True, text=True,
                                timeout=120, env={**os.environ, **ENVIRONMENT, "XDG_CACHE_HOME": folder}, check=False)
        after = counted()
        check(result.returncode == 0, f"{what}: exit status {result.returncode}", result.stdout + result.stderr)
        if result.returncode != 0:
            return
        with open(file, encoding="utf-8") as report:
            (run,) = json.load(report)["runs"]
    print(f"{what}: {run['seconds']:.2f} s", flush=True)
    check(run.get("verified") is True and len(run["ranks"]) == RANKS, f"{what}: {run}")
    # Some ranks of a product own all that they read.
    check(sum(told["sent"] for told in run["ranks"]) > 0, f"{what}: nothing was sent: {run['ranks']}")
    for rank, told in enumerate(run["ranks"]):
        for side, name in enumerate(("sent", "received")):
            bytes_counted = after[rank][side] - before[rank][side]
            said = f"rank {rank}: {told[name] / 1e6:.2f} MB {name}, {bytes_counted / 1e6:.2f} on the interface"
            print(f"  {said}", flush=True)
            check(bytes_counted >= told[name], f"{what}: {said}: fewer bytes went over the network than that")


def test_idle(mpi, program, seconds=10, most=0.05):
    what = f"{mpi}: idle ranks"
    job = Job(command(mpi, program, "long"), RANKS)
    job.wait_for_tasks()
    time.sleep(1.5)  # until the last tasks before the long kernel have ended
    before = [processor_seconds(job.pids.get(rank, 0)) for rank in range(RANKS)]
    since = time.monotonic()
    time.sleep(seconds)
    elapsed = time.monotonic() - since
    after = [processor_seconds(job.pids.get(rank, 0)) for rank in range(RANKS)]
    running = job.alive()
    job.end(0)
    check(running == list(range(RANKS)), f"{what}: of the ranks {running} run alone", job.text)
    shares = [(end - begin) / elapsed for begin, end in zip(before, after)]
    print(f"{what}: {', '.join(f'{share:.1%}' for share in shares)} of a core", flush=True)
    check(max(shares) <= most, f"{what}: more than {most:.0%} of a core", job.text)


def test_cable(mpi, program, rank=2, most=30):
    what = f"{mpi}: interface of rank {rank} down"
    job = Job(command(mpi, program, "endless"), RANKS)
    job.wait_for_tasks()
    time.sleep(0.5)
    subprocess.run(["ip", "-n", f"vic{rank}", "link", "set", "e0", "down"], check=True)
    seconds = job.wait_for_ranks(most)
    running = job.alive()
    # A launcher may wait longer for the daemon of a host that it does not reach.
    more = job.end(5)
    subprocess.run(["ip", "-n", f"vic{rank}", "link", "set", "e0", "up"], check=True)
    print(f"{what}: the ranks ended after {seconds:.1f} s, the launcher after {seconds + more:.1f} s", flush=True)
    check(len(job.pids) == RANKS and running == [], f"{what}: {running} run after {most} s", job.text)
    check(re.search(rf"rank {rank} is lost", job.text), f"{what}: nobody named it", job.text)


def main():
    vicinal, program, *mpis = sys.argv[1:]
    enter_namespaces()
    set_up(RANKS, RATE)
    for mpi in mpis:
        for application in ("cholesky", "gemm2d"):
            test_bytes(mpi, vicinal, application, "--size", "4096", "--tile", "256", "--check")
        test_idle(mpi, program)
        test_cable(mpi, program)
    print(f"{len(failures)} failures")
    sys.exit(1 if failures else 0)


main()
