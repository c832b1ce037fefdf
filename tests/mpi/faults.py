#!/usr/bin/env python3
"""Ranks in processes that die, are stopped, throw, leave, differ or compute: all end, and say which rank it was.

    faults.py PROGRAM MPIRUN

PROGRAM is tests/mpi/faults_program.cpp, started by MPIRUN on three ranks. Each fault comes at VICINAL_FAULT_MOMENTS random
moments (2), drawn from VICINAL_FAULT_SEED.
"""

import os
import random
import re
import signal
import subprocess
import sys
import threading
import time

PROGRAM, MPIRUN = sys.argv[1:3]
RANKS = 3
MOMENTS = int(os.environ.get("VICINAL_FAULT_MOMENTS", "2"))
SEED = int(os.environ.get("VICINAL_FAULT_SEED", "1"))
failures = []


class Job:
    def __init__(self, mode, **options):
        environment = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
                       "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_mpi_yield_when_idle": "1"}
        environment.update({f"VICINAL_{name.upper()}": str(value) for name, value in options.items()})
        self.began = time.monotonic()
        self.process = subprocess.Popen(
            [MPIRUN, "-n", str(RANKS), PROGRAM, mode], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            env={**os.environ, **environment}, start_new_session=True)
        self.text = ""
        self.pids = {}
        self.begins = threading.Event()
        self.reader = threading.Thread(target=self.read)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            self.text += line
            # Lines of several ranks may come as one: each ends with a space.
            for rank, pid in re.findall(r"ready (\d+) (\d+) ", line):
                self.pids[int(rank)] = int(pid)
            if "begins" in line:
                self.begins.set()
        self.begins.set()

    def wait_for_tasks(self):
        self.begins.wait(60)
        while len(self.pids) < RANKS and self.process.poll() is None and time.monotonic() < self.began + 60:
            time.sleep(0.01)

    # The seconds until all have ended; what is left is killed.
    def end(self, most):
        since = time.monotonic()
        try:
            self.process.wait(most)
        except subprocess.TimeoutExpired:
            pass
        seconds = time.monotonic() - since
        for pid in self.pids.values():
            if self.process.poll() is None or alive(pid):
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.reader.join()
        return seconds


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


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
        job = Job(mode, **options)
        job.wait_for_tasks()
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

job = Job("kernel", rank_timeout=1)
job.end(60)
check(job.process.returncode == 0, f"a long kernel: exit status {job.process.returncode}", job)

# Nobody can be told while a kernel, or the program itself, computes.
for mode in ("long", "computes"):
    job = Job(mode, rank_timeout=2)
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
    job = Job(mode, rank_timeout=2)
    # MPICH's launcher ends all ranks, with status 0, once a rank has called exit.
    expect_end(job, mode, 20, parts, any_status=mode == "exits")

job = Job("endless")
job.wait_for_tasks()
job.process.send_signal(signal.SIGINT)
expect_end(job, "SIGINT", 10)

print(f"{len(failures)} failures")
sys.exit(1 if failures else 0)
