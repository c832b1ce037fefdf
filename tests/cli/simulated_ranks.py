#!/usr/bin/env python3
"""Recordings of simulated ranks: all in one file, and what report, explain and export make of it.

    tests/cli/simulated_ranks.py PATH_OF_VICINAL

Exit status 0 if all is well; every failure is printed.
"""

import csv
import json
import os
import re
import tempfile

from vicinal import check, expect_refusal, finish, run

JOB = ["simulate", "cholesky", "--tiles", "12", "--tile", "480", "--machine", "occigen", "--policy", "lws"]


def record(folder, name, *arguments, ranks=9):
    result = run(*JOB, "--ranks", str(ranks), "--tree", "binomial", "--trace", name, *arguments, folder=folder)
    check(result.returncode == 0, f"simulate --trace: {result.stderr}")
    check(f"recording: {name}, " in result.stdout, f"the recording is named: {result.stdout}")
    return os.path.join(folder, name)


def content(path):
    with open(path, "rb") as file:
        return file.read()


def explained(path, *arguments):
    name = path + ".json"
    result = run("explain", path, "--json", name, *arguments)
    check(result.returncode == 0, f"explain: {result.stderr}")
    with open(name, encoding="utf-8") as file:
        return result.stdout, json.load(file)


def test_same_bytes(folder):
    files = []
    for name in ("one", "two"):
        os.mkdir(os.path.join(folder, name))
        files.append(record(os.path.join(folder, name), "run.vtrace"))
    check(content(files[0]) == content(files[1]), "the same command gives the same bytes")
    check(os.listdir(os.path.join(folder, "one")) == ["run.vtrace"], "all ranks are in one file")


def test_says_what_the_report_says(folder):
    report = os.path.join(folder, "report.json")
    path = record(folder, "run.vtrace", "--json", report)
    with open(report, encoding="utf-8") as file:
        written = json.load(file)
    counted = written["runs"][0]["ranks"]
    check("verdict" in written, f"what binds is known of a recorded run: {written.keys()}")
    text, whole = explained(path)
    ranks = whole["summary"]["ranks"]
    check([rank["bytes_sent"] for rank in ranks] == [rank["sent"] for rank in counted], f"sent: {ranks}, {counted}")
    check([rank["bytes_received"] for rank in ranks] == [rank["received"] for rank in counted], "received")
    check("\n  rank 8: sent " in text and "clock" not in text, f"ranks have one clock: {text}")
    check(sum(rank["tasks"] for rank in counted) == 12 * 13 * 14 // 6, f"tasks: {counted}")
    workers = {worker["name"] for worker in whole["run"]["workers"]}
    check("rank 0: core 0" in workers and "rank 8: core 27" in workers, f"workers: {sorted(workers)}")
    # What is sent on, segment by segment, leaves and arrives after what it came by, and has the name that its owner gave it.
    messages = whole["summary"]["messages"]
    arrived = {}
    forwarded = 0
    for message in messages:
        check(message["received"]["name"] == message["sent"]["name"], f"names: {message}")
        check(message["departs_ns"] <= message["arrived_ns"], f"times: {message}")
        place = message["from"], message["sent"]["name"]
        if place in arrived:
            forwarded += message["bytes"]
            brought = arrived[place]
            check(brought["departs_ns"] < message["departs_ns"] and brought["arrived_ns"] < message["arrived_ns"],
                  f"{message} goes before {brought}")
        arrived[message["to"], message["received"]["name"]] = message
    check(forwarded == sum(rank["forwarded"] for rank in counted) > 0, f"forwarded: {forwarded}, {counted}")
    return path, messages


def test_way_of_a_datum(path, messages):
    owners = {message["sent"]["name"]: message["from"] for message in reversed(messages)}
    message = next(m for m in messages if owners[m["sent"]["name"]] != m["from"])
    text, _ = explained(path, "--handle", message["sent"]["name"])
    check(f"rank {message['from']} passed it on to rank {message['to']}, " in text, f"passed on: {text}")
    check(f"sent to rank {message['from']}, " in text or "passed it on to rank" in text, f"sent: {text}")


def test_exports(folder, path, messages):
    for name in ("perfetto", "paje", "sqlite", "dot"):
        result = run("export", path, "--format", name, "--output", os.path.join(folder, f"run.{name}"))
        check(result.returncode == 0 or "was built without" in result.stderr, f"export {name}: {result.stderr}")
    perfetto = content(os.path.join(folder, "run.perfetto"))
    check(b"rank 8" in perfetto and b"messages" in perfetto and b"received" in perfetto, "export perfetto: ranks")
    tables = os.path.join(folder, "tables")
    result = run("export", path, "--format", "csv", "--output", tables)
    check(result.returncode == 0, f"export csv: {result.stderr}")
    with open(os.path.join(tables, "messages.csv"), encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    check([(row["from_rank"], row["to_rank"], row["bytes"]) for row in rows] ==
          [(str(m["from"]), str(m["to"]), str(m["bytes"])) for m in messages], "export csv: messages")


def test_pages(folder, path):
    page = os.path.join(folder, "run.html")
    result = run("report", path, "-o", page)
    check(result.returncode == 0, f"report: {result.stderr}")
    check(b'"rank_rows":[]' in content(page), "216 workers have a row each")
    many = record(folder, "many.vtrace", "--report", os.path.join(folder, "many.html"), ranks=100)
    text = content(os.path.join(folder, "many.html")).decode()
    check('"rank_rows":["rank 0","rank 1",' in text and '"rank 99"]' in text, "100 ranks are rows")
    check(len(text) < 4e6, f"a page of 100 ranks has {len(text)} bytes")
    lines = explained(many)[0].splitlines()
    check(any(line.startswith("  ranks 15 to 98: sent ") for line in lines), f"many ranks share a line: {lines}")
    check(len(lines) < 150, f"explain of 100 ranks has {len(lines)} lines")
    both = os.path.join(folder, "both.html")
    result = run("report", path, many, "-o", both)
    check(result.returncode == 0, f"report of two runs: {result.stderr}")
    result = run("explain", path, many)
    check(result.returncode == 0 and "many.vtrace" in result.stdout, f"explain of two runs: {result}")
    result = run("export", path, many, "--format", "csv", "--output", os.path.join(folder, "of_two"))
    expect_refusal(result, 2, ["many.vtrace", "give the recordings of one run"], "export of two runs")
    # Without a recording the page has the ranking alone.
    alone = os.path.join(folder, "alone.html")
    result = run(*JOB, "--ranks", "4", "--report", alone)
    check(result.returncode == 0, f"--report: {result.stderr}")
    check(b'"runs":[]' in content(alone), "a page without a recording")


def test_policies(folder):
    result = run("simulate", "cholesky", "--tiles", "6", "--machine", "occigen", "--ranks", "4", "--policy",
                 "lws,dmdas", "--trace", "both.vtrace", "--report", "policies.html", folder=folder)
    check(result.returncode == 0, f"two policies: {result.stderr}")
    for policy in ("lws", "dmdas"):
        check(os.path.exists(os.path.join(folder, f"both.{policy}.vtrace")), f"a recording of {policy}")


def test_hints(folder):
    # cg has no tiles that another distribution could deal otherwise.
    texts = [run("simulate", "cg", "--grid", "64x64", "--blocks", "8", "--machine", "occigen", "--ranks", ranks).stdout
             for ranks in ("2", "8")]
    check(all("More ranks help little" in text for text in texts), f"cg: {texts}")
    check(not any("distribution" in text for text in texts), f"cg has no --distribution: {texts}")
    text = run(*JOB, "--ranks", "9").stdout
    check(re.search(r"distribution", text), f"cholesky has one: {text}")


def main():
    with tempfile.TemporaryDirectory() as folder:
        test_same_bytes(folder)
        path, messages = test_says_what_the_report_says(folder)
        test_way_of_a_datum(path, messages)
        test_exports(folder, path, messages)
        test_pages(folder, path)
        test_policies(folder)
        test_hints(folder)
    finish()


main()
