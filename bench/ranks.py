#!/usr/bin/env python3
"""What many runtimes in one simulated world cost beside one: resident memory, and instructions per task.

    bench/ranks.py [--executable EXECUTABLE] [--total N] [--ranks N...] [--check]

Memory: bench/ranks with 1,000 runtimes, 10,000 data declared by each and 100 used.
Instructions: callgrind counts those of registration, submissions and waits; not the making of runtimes. Totals of
tasks and data are equal: one runtime has N of each, 1,000 runtimes have N / 1,000. A count is the same on every run.

--total  tasks of all runtimes together, and data (100000)
--ranks  the numbers of runtimes that are compared with one (100 1000)
--check  exit status 1 if more than 1.5 GiB is resident, or a task takes more than 1.15 times the instructions

Needs valgrind.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile

MOST_MIB = 1536
MOST_GROWTH = 1.15


def instructions(executable, ranks, total):
    each = str(total // ranks)
    with tempfile.TemporaryDirectory() as folder:
        command = ["valgrind", "--tool=callgrind", "--collect-atstart=no", "--toggle-collect=ranks_counted",
                   "--callgrind-out-file=" + os.path.join(folder, "out"), executable, "--ranks", str(ranks),
                   "--declared", each, "--used", each, "--tasks", each]
        run = subprocess.run(command, capture_output=True, text=True, check=False)
    found = re.search(r"Collected\s*:\s*(\d+)", run.stderr)
    if run.returncode != 0 or not found:
        sys.exit(f"{' '.join(command)}: exit status {run.returncode}\n{run.stderr}")
    return int(found.group(1)) / total


def main():
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--executable", default=os.path.join(root, "build/release/bench/ranks"))
    parser.add_argument("--total", type=int, default=100000)
    parser.add_argument("--ranks", type=int, nargs="*", default=[100, 1000])
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    if shutil.which("valgrind") is None:
        sys.exit("bench/ranks.py needs valgrind (Debian: valgrind)")
    good = subprocess.run([arguments.executable, "--most", str(MOST_MIB)], check=False).returncode == 0
    one = instructions(arguments.executable, 1, arguments.total)
    print(f"   1 runtime: {one:8.1f} instructions per task and datum")
    for ranks in arguments.ranks:
        count = instructions(arguments.executable, ranks, arguments.total)
        good = good and count <= MOST_GROWTH * one
        print(f"{ranks:4} runtimes: {count:8.1f} instructions per task and datum, {count / one:.3f} times")
    if arguments.check and not good:
        sys.exit(1)


if __name__ == "__main__":
    main()
