#!/usr/bin/env python3
"""The recordings of several ranks read as one run: vicinal report, explain and export.

    tests/cli/rank_recordings.py PATH_OF_VICINAL

The recordings are those of simulations, to which what ranks record is added by hand. Exit status 0 if all is well;
every failure is printed.
"""

import csv
import json
import os
import struct
import tempfile

import trace_processor
from vicinal import check, expect_refusal, finish, run

WORD = 0xFFFFFFFFFFFFFFFF
FRONT, SEGMENT = 32, 40
DATA, END = 0x474D4753, 0x21444E45
MS = 1_000_000


def step(state, word):
    product = ((state ^ word) * 0x9E3779B97F4A7C15) & WORD
    return ((product << 29) | (product >> 35)) & WORD


def checksum(about, words):
    """As src/trace/file_form.cpp has it."""
    rows = [step(row + 1, about[row]) for row in range(4)]
    whole = len(words) // 4 * 4
    for i, word in enumerate(words[:whole]):
        rows[i % 4] = step(rows[i % 4], word)
    total = len(words)
    for word in rows + words[whole:]:
        total = step(total, word)
    return total ^ (total >> 32)


def segment(kind, lane, words):
    head = struct.pack("<IIQQQ", kind, lane, 0, 0, 8 * len(words))
    total = checksum(struct.unpack("<4Q", head), words)
    return head + struct.pack(f"<{len(words) + 1}Q", total, *words)


class Events:
    """A segment in the making, of a recording whose head is known."""

    def __init__(self, recording):
        size = struct.unpack_from("<Q", recording, 16)[0]
        head = json.loads(recording[FRONT:FRONT + size])
        self.numbers = {event["name"]: event["number"] for event in head["events"]}
        self.words = []

    def add(self, time, name, first, *fields):
        self.words += [time, self.numbers[name] | (len(fields) + 2) << 16 | first << 32]
        self.words += [field & WORD for field in fields]


def record(folder):
    path = os.path.join(folder, "simulated.vtrace")
    result = run("simulate", "cholesky", "--tiles", "5", "--machine", "v100p", "--gpus", "2", "--policy", "dmdas",
                 "--trace", path)
    check(result.returncode == 0, f"simulate --trace: {result.stderr}")
    with open(path, "rb") as file:
        recording = file.read()
    assert recording[-SEGMENT - 8:][:4] == struct.pack("<I", END)
    return recording[:-SEGMENT - 8]


def write(folder, name, recording, events, ended=True):
    path = os.path.join(folder, name)
    with open(path, "wb") as file:
        file.write(recording + segment(DATA, 900, events.words) + (segment(END, 0, [0]) if ended else b""))
    return path


def rank_events(recording, rank, ranks=2, key=35):
    events = Events(recording)
    events.add(0, "rank known", rank, ranks, key)
    if rank > 0:
        events.add(0, "clock compared", 0, 0, -2 * MS, 900)
        events.add(0, "clock compared", 0, 1000 * MS, -2 * MS + 500, 700)
    return events


def two_ranks(folder, recording):
    first, second = (rank_events(recording, rank) for rank in range(2))
    for number in range(1, 4):
        begin = number * MS
        first.add(begin, "message began", 1, 1, 0, 1, number, 4096)
        first.add(begin + MS // 2, "message ended", 1, 1, 0, 1, number)
        second.add(begin + 2 * MS - 100, "message began", 0, 1, 1, 1, number, 4096)
        second.add(begin + 2 * MS + 3 * MS // 4, "message ended", 0, 1, 1, 1, number)
    return [write(folder, f"run.rank{rank}.vtrace", recording, events)
            for rank, events in enumerate((first, second))]


def test_explain(files):
    result = run("explain", *reversed(files), "--json", files[0] + ".json")
    check(result.returncode == 0, f"explain: {result.stderr}")
    for part in ("\nRanks:\n", "rank 0: its clock is that of the run; sent 3 messages, 12 KiB; received 0 messages",
                 "rank 1: its clock is 2 ms before that of rank 0, drifts by +0.500 ppm, and is wrong by 900 ns "
                 "at most; sent 0 messages, 0 B; received 3 messages, 12 KiB\n", "Between them went 3 messages, 12 KiB."):
        check(part in result.stdout, f"explain: no '{part}' in {result.stdout}")
    with open(files[0] + ".json", encoding="utf-8") as file:
        explained = json.load(file)
    names = [worker["name"] for worker in explained["run"]["workers"]]
    check("rank 0: gpu0" in names and "rank 1: gpu1" in names, f"workers: {names}")
    ranks = explained["summary"]["ranks"]
    check([rank["bytes_sent"] for rank in ranks] == [12288, 0], f"ranks: {ranks}")
    # 2 ms before that of rank 0: the zero is the earliest start, that of rank 1.
    messages = explained["summary"]["messages"]
    check([(m["departs_ns"], m["from"], m["to"]) for m in messages] == [(n * MS + 2 * MS, 0, 1) for n in (1, 2, 3)],
          f"messages: {messages}")
    check(all(abs(m["arrived_ns"] - m["departs_ns"] - 3 * MS // 4) < 10 for m in messages), f"messages: {messages}")
    alone = run("explain", files[1])
    check("is that of rank 1 of 2 alone" in alone.stdout, f"explain of one file: {alone.stdout}")
    for question in (["--task", "3"], ["--worker", "rank 1: gpu0"], ["--at", "3 ms"], ["--evictions"],
                     ["--decisions", "--json", files[0] + ".json"]):
        result = run("explain", *files, *question)
        check(result.returncode == 0 and result.stdout != "", f"explain {question}: {result.stderr}")


def test_report(files):
    page = files[0] + ".html"
    result = run("report", *files, "-o", page)
    check(result.returncode == 0, f"report: {result.stderr}")
    if result.returncode == 0:
        with open(page, encoding="utf-8") as file:
            check("run.rank0.vtrace to run.rank1.vtrace" in file.read(), "report: no name of the recordings")


def test_export(files, recording):
    folder = os.path.dirname(files[0])
    paths = {}
    for form in ("perfetto", "paje", "csv", "dot"):
        paths[form] = os.path.join(folder, "export." + form)
        result = run("export", *files, "--format", form, "-o", paths[form])
        check(result.returncode == 0 and result.stderr == "", f"export as {form}: {result.stderr}")
    with open(os.path.join(paths["csv"], "events/message_ended.csv"), encoding="utf-8", newline="") as file:
        check(len(list(csv.DictReader(file))) == 6, "export as csv: not six ends of messages")
    if trace_processor.missing():
        print("skipped: processes and arrows, for lack of", trace_processor.missing())
        return
    processor = trace_processor.TraceProcessor(paths["perfetto"])
    processes = [row.name for row in processor.query("select name from process where pid > 0 order by pid")]
    check(processes == ["rank 0", "rank 1"], f"perfetto: processes {processes}")
    arrows = [(row.came_from, row.went_to, row.later) for row in processor.query(
        "select a.name as came_from, b.name as went_to, r.ts > s.ts as later from flow "
        "join slice s on s.id = flow.slice_out join slice r on r.id = flow.slice_in "
        "join process_track a_track on a_track.id = s.track_id join process_track b_track on b_track.id = r.track_id "
        "join process a on a.upid = a_track.upid join process b on b.upid = b_track.upid "
        "where a.upid != b.upid")]
    check(arrows == [("rank 0", "rank 1", 1)] * 3, f"perfetto: arrows {arrows}")
    processor.close()


def test_killed(folder, recording, files):
    killed = write(folder, "killed.vtrace", recording, rank_events(recording, 1), ended=False)
    result = run("explain", files[0], killed)
    check(result.returncode == 0 and "The recording has no end" in result.stdout, f"killed: {result.stderr}")
    result = run("export", files[0], killed, "--format", "paje", "-o", os.path.join(folder, "killed.paje"))
    check(result.returncode == 0 and "and 1 more: the recording was not ended" in result.stderr, f"{result.stderr}")


def test_refusals(folder, recording, files):
    def refused(parts, *given, command=("explain",)):
        expect_refusal(run(*command, *given), 2, parts, f"{command[0]} {[os.path.basename(file) for file in given]}")

    other = write(folder, "other.vtrace", recording, rank_events(recording, 1, key=36))
    third = write(folder, "third.vtrace", recording, rank_events(recording, 2))
    plain = write(folder, "plain.vtrace", recording, Events(recording))
    of_three = [write(folder, f"three{rank}.vtrace", recording, rank_events(recording, rank, ranks=3)) for rank in (0, 2)]
    export = ("export", "--format", "dot", "-o", os.path.join(folder, "no.dot"))
    report = ("report", "-o", os.path.join(folder, "no.html"))
    for command in (("explain",), export, report):
        refused(["other.vtrace: the recording is of another run than", "give the recordings of one run"],
                files[0], other, command=command)
        refused(["its run has 3 ranks, and the recording of rank 1 is not there"], *of_three, command=command)
        refused(["run.rank1.vtrace: the recording is of rank 1, as", "give each rank once"], *files, files[1],
                command=command)
        refused(["plain.vtrace: the recording does not say that it is of one of several ranks"], *files, plain,
                command=command)
        refused(["third.vtrace: the recording is of rank 2 of a run of 2 ranks"], *files, third, command=command)
    refused(["plain.vtrace: the recording does not say"], plain, plain, command=export)
    refused(["a question is about one recording"], plain, files[0], command=("explain", "--waits"))
    # Two runs are compared as ever.
    compared = run("explain", plain, files[0])
    check(compared.returncode == 0 and "Ranks:" not in compared.stdout, f"two runs: {compared.stderr}")


def main():
    with tempfile.TemporaryDirectory() as folder:
        recording = record(folder)
        files = two_ranks(folder, recording)
        test_explain(files)
        test_report(files)
        test_export(files, recording)
        test_killed(folder, recording, files)
        test_refusals(folder, recording, files)
    finish()


main()
