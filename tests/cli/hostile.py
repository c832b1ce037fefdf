#!/usr/bin/env python3
"""Files from somebody else: names that would move a terminal, and what is no file.

    tests/cli/hostile.py PATH_OF_VICINAL

Exit status 0 if all is well; every failure is printed.
"""

import json
import os
import subprocess
import tempfile
import unicodedata
import xml.dom.minidom

from vicinal import CACHE, VICINAL, check, expect_refusal, finish, run

# A title, a cleared screen, red; a forged line; a C1 control; DEL; an override of the direction; a line separator.
EVIL = "\x1b]0;PWNED\x07\x1b[2J\x1b[31m\r\nforged\x9b2J\x7f\u202e\u2066\u2028\u2029\ufffe<script>--$a$b{$"
TOML_EVIL = "\\u001b]0;PWNED\\u0007\\u001b[2J\\n\\u009b2J\\u202e"


def is_clean(text):
    return all(char in "\n\t" or unicodedata.category(char) not in ("Cc", "Cf", "Zl", "Zp", "Cn") for char in text)


def expect_clean(arguments, statuses):
    result = subprocess.run([VICINAL, *arguments], capture_output=True, timeout=120,
                            env={**os.environ, "XDG_CACHE_HOME": CACHE.name})
    check(result.returncode in statuses, f"{arguments}: exit status {result.returncode}: {result.stderr}")
    for name, output in (("stdout", result.stdout), ("stderr", result.stderr)):
        text = output.decode("utf-8")
        check(is_clean(text), f"{arguments}: {name}: {text!r}")
        check(not any(line.startswith("forged") for line in text.splitlines()), f"{arguments}: {name} forged: {text}")
    return result


def graph_of(name, kernel, datum, task, seconds=True, mode="W"):
    return {"format": "vicinal-graph-1", "name": name, "data": {datum: {"bytes": 100}},
            "kernels": {kernel: {"seconds": {"cpu": 0.1}} if seconds else {}},
            "tasks": [{"kernel": kernel, "accesses": [[datum, mode]], "name": task}] * 2}


def test_graphs(folder):
    path, trace = os.path.join(folder, "g.json"), os.path.join(folder, "g.vtrace")
    job = ["simulate", "--graph", path, "--machine", "idgraf"]

    def write(graph):
        with open(path, "w", encoding="utf-8") as file:
            json.dump(graph, file)

    write(graph_of(EVIL, EVIL, EVIL, EVIL))
    expect_clean([*job, "--verbose"], [0])
    expect_clean([*job, "--json", "-"], [0])
    expect_clean([*job, "--trace", trace], [0])
    expect_clean(["bounds", "--graph", path, "--machine", "idgraf"], [0])
    expect_clean(["bounds", "--graph", path, "--machine", "idgraf", "--json", "-"], [0])
    for question in ([], ["--task", "0"], ["--handle", "0"], ["--waits"], ["--decisions"], ["--json", "-"],
                     ["--task", EVIL]):
        expect_clean(["explain", trace, *question], [0, 2])
    for form in ("dot", "paje", "graph"):
        expect_clean(["export", trace, "--format", form, "-o", "-"], [0])
    write(graph_of(EVIL, EVIL, EVIL, EVIL, seconds=False))  # nobody knows how long it takes
    expect_clean(job, [2])
    write(graph_of(EVIL, EVIL, EVIL, EVIL, mode="R" + EVIL))
    expect_clean(job, [2])
    write({**graph_of("g", "k", "d", "t"), EVIL: 1})
    expect_clean(job, [2])
    write({**graph_of("g", "k", EVIL, "t"), "tasks": [{"kernel": EVIL}]})
    expect_clean(job, [2])
    write({**graph_of("g", "k", EVIL, "t"), "data": {EVIL: {"bytes": 1 << 60}}})
    expect_clean(job, [2])
    with open(path, "wb") as file:
        file.write(b'{"format": "vicinal-graph-1", \x1b[2J\x9b\xff')
    expect_clean(job, [2])
    write(graph_of("g", "k", "d", "t"))
    evil_path = os.path.join(folder, "\x1b[2J\x9b.json")
    os.rename(path, evil_path)
    expect_clean(["simulate", "--graph", evil_path, "--machine", "idgraf"], [0])
    expect_clean(["simulate", "--graph", evil_path + "x", "--machine", "idgraf"], [2])
    expect_clean(["simulate", "cholesky", "--tile\x1b[2J"], [2])
    expect_clean(["simulate", "cholesky", "--policy", "\x1b[2J"], [2])


def test_machines(folder):
    path = os.path.join(folder, "m.toml")
    for text in (f'["{TOML_EVIL}"]\ny = 1\n', f'name = "{TOML_EVIL}"\n', f'name = "a"\nsentence = "b"\n"{TOML_EVIL}" = 1\n',
                 'name = "\x1b[2J"\n', "\x1b[2J = 1\n", f'name = "a"\nsentence = "b"\n[[link]]\nfrom = "{TOML_EVIL}"\n'):
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        expect_clean(["simulate", "cholesky", "--machine", path], [2])
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    with open(os.path.join(root, "machines", "idgraf.toml"), encoding="utf-8") as file:
        lines = [f'name = "{TOML_EVIL}"' if line.startswith("name = ") else line for line in file.read().splitlines()]
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(lines))
    expect_clean(["simulate", "cholesky", "--tiles", "2", "--machine", path], [0])


def test_picture(folder):
    path, picture = os.path.join(folder, "g.json"), os.path.join(folder, "p.svg")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(graph_of(EVIL, "k", "d", "t"), file)
    result = run("simulate", "--graph", path, "--machine", "idgraf", "--plot", picture)
    if "matplotlib" in result.stderr:
        print("skipped: the picture (there is no matplotlib)")
        return
    check(result.returncode == 0, f"--plot: {result.stderr}")
    xml.dom.minidom.parse(picture)
    check(sorted(os.listdir(folder)) == ["g.json", "p.svg"], f"--plot leaves {os.listdir(folder)}")


def test_no_files(folder):
    pipe, large = os.path.join(folder, "pipe"), os.path.join(folder, "large")
    os.mkfifo(pipe)
    with open(large, "wb") as file:
        file.truncate(1 << 42)
    jobs = [["simulate", "--machine", "idgraf", "--graph"], ["bounds", "--machine", "idgraf", "--graph"],
            ["simulate", "cholesky", "--machine"], ["bounds", "cholesky", "--machine"],
            ["simulate", "cholesky", "--count-scheduling"]]
    if "not in this build" not in run("--help").stdout:
        jobs.append(["run", "cholesky", "--matrix"])
    for job in jobs:
        for path, why in ((pipe, "a device or a pipe"), ("/dev/zero", "a device or a pipe"), (folder + "/", "a folder")):
            expect_refusal(run(*job, path), 2, [path, why], " ".join([*job, path]))
        if job[-1] != "--matrix":
            expect_refusal(run(*job, large if job[-1] == "--graph" else os.path.join(folder, ".", "large")), 2,
                           ["larger than"], f"{job} of 4 TiB")


with tempfile.TemporaryDirectory(dir=os.getcwd()) as temporary:
    for number, test in enumerate((test_graphs, test_machines, test_picture, test_no_files)):
        own = os.path.join(temporary, str(number))
        os.mkdir(own)
        test(own)
finish()
