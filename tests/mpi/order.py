#!/usr/bin/env python3
"""In which order versions come to the ranks that read them, as the recordings of four ranks say.

    order.py VICINAL PROGRAM MPIRUN...

VICINAL is the executable, PROGRAM tests/mpi/order_program.cpp, MPIRUN what starts it on ranks up to their number.

  single sends  large content leaves for the readers with the largest priorities first, if all wait for their turn: other content
                has the network before
  chain         content goes along the chain in the order of the priorities. Large: who has sent it to whom is recorded. Small: the
                last one alone sends nothing on
  readers       those on a rank that sends large content on start before it has been sent on

A rank on which others keep the cores answers late, is served by the root itself, or after its turn. So large content has to show this
in three rounds of five, where by chance it is one of six; small content in all of them.
"""

import collections
import csv
import os
import re
import subprocess
import sys
import tempfile

from job import ENVIRONMENT

RANKS = 4
ROUNDS = 10
MOST_RUNS = 6  # for as many rounds in which there is a choice as tell something
failures = []


def check(condition, what):
    print(f"{'ok' if condition else 'FAILED'}: {what}", flush=True)
    if not condition:
        failures.append(what)


def table(folder, name):
    with open(os.path.join(folder, f"{name}.csv"), encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


class Recorded:
    """By round: messages (from, to, departs, left), and when the readers have started, by rank; what ranks have sent on."""

    def __init__(self, vicinal, program, mpirun, tree, size, before=0):
        with tempfile.TemporaryDirectory() as folder:
            recording = os.path.join(folder, "run.vtrace")
            command = [*mpirun, str(RANKS), program, tree, str(size), str(ROUNDS), str(before)]
            run = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False, start_new_session=True,
                                 env={**os.environ, **ENVIRONMENT, "VICINAL_TRACE": recording})
            if run.returncode != 0:
                sys.exit(f"{' '.join(command)}: exit status {run.returncode}\n{run.stdout}{run.stderr}")
            self.forwarded = {int(rank): int(sent) for rank, sent in re.findall(r"forwarded (\d+) (\d+), ", run.stdout)}
            files = [os.path.join(folder, f"run.rank{rank}.vtrace") for rank in range(RANKS)]
            tables = os.path.join(folder, "tables")
            subprocess.run([vicinal, "export", *files, "--format", "csv", "--output", tables], check=True,
                           stdout=subprocess.DEVNULL)
            self.messages = collections.defaultdict(list)
            for row in table(tables, "messages"):
                number = row["sent_datum_name"].removeprefix("x")
                if number.isdigit():
                    self.messages[int(number)].append({name: int(row[name]) for name in
                                                       ("from_rank", "to_rank", "departs_ns", "left_ns", "expected_ns")})
            self.started = collections.defaultdict(dict)
            for row in table(tables, "tasks"):
                words = row["name"].split()
                if len(words) == 3 and words[0] == "look":
                    self.started[int(words[1])][int(words[2])] = int(row["started_ns"])


def by_priority(number):
    """The readers of a round, the most urgent first."""
    return sorted(range(1, RANKS), key=lambda rank: -((rank + number) % (RANKS - 1)))


def most(good):
    return 5 * good >= 3 * ROUNDS


def test_single_sends(record):
    good = 0
    rounds = 0
    for _ in range(MOST_RUNS):
        recorded = record()
        for number in range(ROUNDS):
            sent = sorted(recorded.messages[number], key=lambda message: message["departs_ns"])
            if max(message["expected_ns"] for message in sent) > sent[0]["departs_ns"]:
                continue  # there was no choice
            rounds += 1
            good += [message["to_rank"] for message in sent] == by_priority(number)
        if rounds >= ROUNDS // 2:
            break
    check(5 * good >= 3 * rounds, f"large content, single sends: by priority in {good} of {rounds} rounds in which all waited")


def test_chain(recorded):
    good = 0
    for number in range(ROUNDS):
        order = [0, *by_priority(number)]
        hops = sorted((message["from_rank"], message["to_rank"]) for message in recorded.messages[number])
        good += hops == sorted(zip(order, order[1:]))
    check(most(good), f"large content: along the chain by priority in {good} rounds of {ROUNDS}")


def test_small_chain(recorded, size):
    expected = {rank: size * sum(by_priority(number)[-1] != rank for number in range(ROUNDS)) for rank in range(1, RANKS)}
    check(recorded.forwarded == {0: 0, **expected}, f"small content, chain: sent on by all but the last: {recorded.forwarded}")


def test_readers(recorded):
    good = 0
    for number in range(ROUNDS):
        forwards = [message for message in recorded.messages[number] if message["from_rank"] != 0]
        inner = {message["from_rank"] for message in forwards}
        good += any(recorded.started[number][rank] < max(message["left_ns"] for message in forwards
                                                         if message["from_rank"] == rank) for rank in inner)
    check(most(good), f"large content: a reader starts before its rank has sent the content on in {good} rounds of {ROUNDS}")


def main():
    vicinal, program, *mpirun = sys.argv[1:]

    def recorded(tree, size, before=0):
        return Recorded(vicinal, program, mpirun, tree, size, before)

    large, small = 4 << 20, 1024
    test_single_sends(lambda: recorded("off", large, 16 * large))
    test_chain(recorded("chain", large))
    test_small_chain(recorded("chain", small), small)
    # The first recipient serves the others one after the other.
    test_readers(recorded("delegated", large))
    sys.exit(1 if failures else 0)


main()
