#!/usr/bin/env python3
"""No command overwrites what it reads, nor writes two things to one file.

    tests/cli/own_files.py PATH_OF_VICINAL

Exit status 0 if all is well; every failure is printed.
"""

import os
import tempfile

from vicinal import SMALL, check, expect_refusal, finish, run

GRAPH = '{"format": "vicinal-graph-1", "data": {"A": {"bytes": 100}}, ' \
        '"kernels": {"k": {"seconds": {"cpu": 0.1}}}, "tasks": [{"kernel": "k", "accesses": [["A", "W"]]}]}'
JOB = ["simulate", "cholesky", "--tiles", "4"]


def content(path):
    with open(path, "rb") as file:
        return file.read()


# By its name, another way to it, a symbolic and a hard link.
def names_of(path):
    folder, name = os.path.split(path)
    names = [path, os.path.join(folder, ".", name), f"{path}.symbolic", f"{path}.hard"]
    os.symlink(name, names[2])
    os.link(path, names[3])
    return names


def expect_kept(path, arguments, parts=("overwrite",)):
    before = content(path)
    names = sorted(os.listdir(os.path.dirname(path)))
    expect_refusal(run(*arguments), 2, parts, " ".join(arguments))
    check(content(path) == before, f"{arguments}: {path} is changed")
    check(sorted(os.listdir(os.path.dirname(path))) == names, f"{arguments}: {os.listdir(os.path.dirname(path))}")


def test_inputs(folder):
    trace, graph, machine, matrix = (os.path.join(folder, name) for name in ("a.vtrace", "g.json", "m.toml", "a.tiles"))
    check(run(*JOB, "--trace", trace).returncode == 0, "a recording")
    with open(graph, "w", encoding="utf-8") as file:
        file.write(GRAPH)
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    with open(machine, "wb") as file:
        file.write(content(os.path.join(root, "machines", "idgraf.toml")))
    for name in names_of(trace):
        expect_kept(trace, ["report", trace, "-o", name])
        expect_kept(trace, ["explain", trace, "--json", name])
        for form in ("paje", "perfetto", "dot", "graph"):
            expect_kept(trace, ["export", trace, "--format", form, "-o", name])
    expect_kept(trace, ["report", f"{trace}.symbolic", "-o", trace])
    expect_kept(trace, ["report", trace, trace, "-o", trace])
    for name in names_of(graph):
        for option in ("--json", "--report", "--trace"):
            expect_kept(graph, ["simulate", "--graph", graph, "--machine", "idgraf", option, name])
            if option != "--trace":
                expect_kept(graph, ["bounds", "--graph", graph, "--machine", "idgraf", option, name])
    for name in names_of(machine):
        expect_kept(machine, [*JOB, "--machine", machine, "--json", name])
        expect_kept(machine, ["simulate", "cholesky", "--count-scheduling", machine, "--json", name])
        expect_kept(machine, ["bounds", "cholesky", "--machine", machine, "--json", name])
    if run("generate", "cholesky", *SMALL, "--output", matrix).returncode != 0:
        print("skipped: matrices (this vicinal has no applications)")
        return
    for name in names_of(matrix):
        for option in ("--output", "--json", "--report", "--trace", "--status"):
            expect_kept(matrix, ["run", "cholesky", "--matrix", matrix, option, name])
    status = os.path.join(folder, "status")
    for _ in range(2):  # it may replace its own
        check(run("run", "cholesky", *SMALL, "--status", status).returncode == 0, "a status file")
        check(content(status).startswith(b"# HELP vicinal_"), f"--status: {content(status)[:100]}")
    expect_kept(graph, ["run", "cholesky", *SMALL, "--status", graph], ["status", "another kind"])
    expect_kept(trace, ["run", "cholesky", *SMALL, "--status", trace], ["--status", "recording"])


def test_outputs(folder):
    both, link = os.path.join(folder, "both"), os.path.join(folder, "link")
    os.symlink("both", link)  # to what is not there yet
    for first, second in ((both, both), (both, link), (link, both), (both, os.path.join(folder, ".", "both"))):
        for options in (["--trace", first, "--json", second], ["--json", first, "--report", second]):
            expect_refusal(run(*JOB, *options), 2, ["overwrite"], f"{JOB} {options}")
            check(not os.path.exists(both), f"{options} leaves a file")
    expect_refusal(run(*JOB, "--policy", "lws,lws", "--trace", both), 2, ["--trace", "lws", "once"], "a policy twice")
    # What everybody may write to.
    result = run(*JOB, "--json", "/dev/null", "--report", "/dev/null")
    check(result.returncode == 0, f"two outputs to /dev/null: {result.stderr}")


def test_recordings(folder):
    notes, trace = os.path.join(folder, "notes.txt"), os.path.join(folder, "again.vtrace")
    with open(notes, "w", encoding="utf-8") as file:
        file.write("mine")
    expect_kept(notes, [*JOB, "--trace", notes], ["--trace", "another kind", "remove it"])
    result = run(*JOB, environment={"VICINAL_TRACE": notes})
    check(result.returncode == 2 and "VICINAL_TRACE" in result.stderr and content(notes) == b"mine",
          f"VICINAL_TRACE over another file: {result.stderr}")
    other = os.path.join(folder, "more.dmda.vtrace")  # of the second policy: nothing has run when it is refused
    os.link(notes, other)
    expect_kept(other, [*JOB, "--policy", "lws,dmda", "--trace", os.path.join(folder, "more.vtrace")],
                ["more.dmda.vtrace", "another kind"])
    for _ in range(2):
        check(run(*JOB, "--trace", trace).returncode == 0, "a recording replaces a recording")
    expect_kept(trace, [*JOB, "--json", trace], ["--json", "is a recording"])
    page = os.path.join(folder, "page.html")
    for _ in range(2):
        check(run("report", trace, "-o", page).returncode == 0, "a page replaces a page")


with tempfile.TemporaryDirectory(dir=os.getcwd()) as temporary:
    for number, test in enumerate((test_inputs, test_outputs, test_recordings)):
        own = os.path.join(temporary, str(number))
        os.mkdir(own)
        test(own)
finish()
