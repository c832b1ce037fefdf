#!/usr/bin/env python3
"""Ranks in processes that die, are stopped, throw, leave, differ or compute: all end, and say which rank it was.

    faults.py PROGRAM MPIRUN

PROGRAM is tests/mpi/faults_program.cpp, started by MPIRUN on three ranks. Each fault comes at VICINAL_FAULT_MOMENTS random
moments (2), drawn from VICINAL_FAULT_SEED.
"""

import os
import random
import signal
import sys
import time

from job import Job

PROGRAM, MPIRUN = sys.argv[1:3]
RANKS = 3
MOMENTS = int(os.environ.get("VICINAL_FAULT_MOMENTS", "2"))
SEED = int(os.environ.get("VICINAL_FAULT_SEED", "1"))
failures = []


def start(mode, **options):
    return Job([MPIRUN, "-n", str(RANKS), PROGRAM, mode], RANKS, **options)


def check(condition, what, job):
    if condition:
        return
    failures.append(what)
    print(f"FAILED: {what}\n--- it said\n{job.text}---", flush=True)


# `parts`: what the ranks say, each a list of what may stand there.
def expect_end(job, what, most, parts=(), any_status=False):
    seconds = job.end(most + 15)
    print(f"{what}: {seconds:.1f} s, status {job.process.returncode}", flush=True)
    check(seconds <= most, f"{what}: it ended after {seconds:.1f} s", job)
    check(any_status or job.process.returncode != 0, f"{what}: exit status 0", job)
    for part in parts:
        check(any(text in job.text for text in part), f"{what}: none of {part} was said", job)


def at_random_moments(mode, number, what, most, parts=lambda rank: (), **options):
    drawn = random.Random(f"{SEED} {what}")
    for moment in range(MOMENTS):
        rank = drawn.randrange(RANKS)
        job = start(mode, **options)
        job.wait_for_tasks()
        # A program that has ended before says nothing of faults.
        check("begins" in job.text and len(job.pids) == RANKS, f"{what}, moment {moment}: no tasks ran", job)
        time.sleep(drawn.random() * 0.5)
        if rank in job.pids:
            os.kill(job.pids[rank], number)
        expect_end(job, f"{what} of rank {rank}, moment {moment} of seed {SEED}", most, parts(rank))


def lost(rank):
    # One that was stopped before its first sign of life has said nothing of its tasks.
    return [[f"rank {rank} is lost: nothing was heard of it for"]]


at_random_moments("endless", signal.SIGKILL, "kill -9", 5)
at_random_moments("submits", signal.SIGKILL, "kill -9 with a full window", 5)
at_random_moments("endless", signal.SIGSTOP, "stop", 12, lost, rank_timeout=2)

job = start("kernel", rank_timeout=1)
job.end(60)
check(job.process.returncode == 0, f"a long kernel: exit status {job.process.returncode}", job)

# Nobody can be told while a kernel, or the program itself, computes.
for mode in ("long", "computes"):
    job = start(mode, rank_timeout=2)
    job.wait_for_tasks()
    time.sleep(1.5)
    if 2 in job.pids:
        os.kill(job.pids[2], signal.SIGSTOP)
    expect_end(job, mode, 20, [["rank 2 is lost"]])

for mode, parts in (
        ("throws", [["rank 1 has left early: an exception ends its program"]]),
        # The launcher may end the others before they have said it.
        ("fails", [["task fails failed: the 7th tile is not finite"]]),
        ("leaves", [["rank 1 ends its runtime", "rank 1 waits for all tasks"]]),
        ("differs", [[f"submission {4 * RANKS + 201}: rank "], ["rank 1 submits step(RW x2, R x4)"]]),
        ("exits", [])):
    job = start(mode, rank_timeout=2)
    # MPICH's launcher ends all ranks, with status 0, once a rank has called exit.
    expect_end(job, mode, 20, parts, any_status=mode == "exits")

job = start("endless")
job.wait_for_tasks()
job.process.send_signal(signal.SIGINT)
# MPICH's launcher ends with 0, 2 or 11 then, also where the program does nothing but MPI's own initialisation.
expect_end(job, "SIGINT", 10, any_status=True)

print(f"{len(failures)} failures")
sys.exit(1 if failures else 0)
