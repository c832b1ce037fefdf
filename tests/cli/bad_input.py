#!/usr/bin/env python3
"""The command line of vicinal refuses bad input: exit status 2, and one line with the remedy.

    tests/cli/bad_input.py PATH_OF_VICINAL

Exit status 0 if all is well; every failure is printed.
"""

import fcntl
import os
import pty
import re
import struct
import subprocess
import termios

from vicinal import SMALL, VICINAL, WHOLE, check, expect_refusal, finish, has_terminals, run

# Command line, exit status, what stderr says (all of it one line).
BAD_INPUT = [
    ([], 2, ["say what to do"]),
    (["rum", "cholesky"], 2, ["rum", "unknown command", "did you mean run"]),
    (["run"], 2, ["say which application", "cholesky", "lu", "gemm2d", "gemm3d"]),
    (["run", "choleski"], 2, ["choleski", "did you mean cholesky"]),
    (["run", "cholesky", "--polcy", "darts"], 2, ["--polcy", "did you mean --policy"]),
    (["run", "cholesky", "--policy", "drts"], 2, ["drts", "did you mean", "darts", "lws"]),
    (["run", "cholesky", "--size", "20x"], 2, ["--size", "20x", "integer"]),
    (["run", "cholesky", "--size", "0"], 2, ["--size", "0", "from 1"]),
    (["run", "cholesky", "--size", "-5"], 2, ["--size", "-5"]),
    (["run", "cholesky", "--size"], 2, ["--size"]),
    (["run", "cholesky", "--tile", "1.5"], 2, ["--tile", "1.5", "integer"]),
    (["run", "cholesky", "--size", "100", "--tile", "200"], 2, ["--tile", "200", "at most 100"]),
    (["run", "cholesky", "--precision", "half"], 2, ["half", "double", "float"]),
    (["run", "cholesky", "--priorities", "some"], 2, ["some", "bottom-level", "none"]),
    (["run", "cholesky", "--workers", "many"], 2, ["--workers", "many", "integer"]),
    (["run", "cholesky", "--memory", "800Mib/s"], 2, ["--memory", "800Mib/s"]),
    (["run", "cholesky", "--memory", "64gb"], 2, ["--memory", "64gb", "gigabits? write 8 GB", "64 GB"]),
    (["run", "cholesky", "--accelerator-bandwidth", "100 Gb/s"], 2, ["100 Gb/s", "write 12.5 GB/s"]),
    (["run", "cholesky", "--bind=maybe"], 2, ["--bind", "maybe"]),
    (["run", "cholesky", *SMALL, "extra"], 2, ["extra", "unknown"]),
    # One tile of 64 x 64 doubles is 32 KiB; gemm needs three.
    (["run", "cholesky", *SMALL, "--memory", "64KiB"], 2,
     ["64 KiB", "96 KiB", "--memory 98304", "--tile"]),
    (["run", "cholesky", *SMALL, "--memory", "200KiB"], 2, ["--memory", "--disk"]),
    (["run", "cholesky", *SMALL, "--memory", "200KiB", "--disk", "/no/such/folder"], 2,
     ["/no/such/folder", "No such file", "disk"]),
    # Nobody, not even root, can create a file there.
    (["run", "cholesky", *SMALL, "--memory", "200KiB", "--disk", "/proc"], 2, ["/proc", "disk"]),
    (["run", "cholesky", *SMALL, "--json", "/no/such/folder/r"], 2, ["/no/such/folder/r"]),
    (["run", "cholesky", *SMALL, "--matrix", "/no/such/file"], 2, ["/no/such/file"]),
    (["run", "cholesky", "--matrix", VICINAL], 2, [VICINAL, "not a tile file"]),
    (["run", "cholesky", *SMALL, "--output", "/no/such/folder/l"], 2, ["/no/such/folder/l"]),
    (["run", "lu", *SMALL], 2, ["--size", "300", "64", "256 or 320", "--tile"]),
    (["run", "lu", *WHOLE, "--matrix", "a"], 2, ["--matrix", "lu", "only cholesky"]),
    (["run", "gemm2d", *WHOLE, "--output", "c"], 2, ["--output", "gemm2d", "only cholesky"]),
    (["run", "lu", *WHOLE, "--inner", "64"], 2, ["--inner", "lu", "gemm2d and gemm3d"]),
    (["run", "cholesky", *WHOLE, "--inner", "64"], 2, ["--inner", "cholesky", "gemm2d"]),
    (["run", "lu", *WHOLE, "--panel", "16"], 2, ["--panel", "lu", "cholesky, lu-incpiv and qr"]),
    (["run", "cholesky", *WHOLE, "--panel", "24"], 2, ["--panel", "24", "64", "divides"]),
    (["run", "cholesky", *WHOLE, "--panel", "65"], 2, ["--panel", "65", "64"]),
    (["run", "lu-incpiv", *WHOLE, "--panel", "65"], 2, ["--panel", "65", "64"]),
    (["run", "qr", *WHOLE, "--panel", "65"], 2, ["--panel", "65", "64"]),
    (["run", "qr", *WHOLE, "--panel-tree", "bush"], 2, ["--panel-tree", "bush", "neither flat nor binary"]),
    (["run", "lu", *WHOLE, "--panel-tree", "flat"], 2, ["--panel-tree", "lu", "only qr"]),
    (["run", "cholesky", *WHOLE, "--panel-tree", "flat"], 2, ["--panel-tree", "cholesky", "only qr"]),
    (["simulate", "qr", "--panel-tree", "bush"], 2, ["--panel-tree", "bush", "neither flat nor binary"]),
    (["simulate", "lu", "--panel-tree", "flat"], 2, ["--panel-tree", "lu has", "only qr has it"]),
    (["run", "lu-incpiv", *WHOLE, "--inner", "64"], 2, ["--inner", "lu-incpiv", "gemm2d and gemm3d"]),
    (["simulate", "cholesky", "--tile", "64", "--panel", "24"], 2, ["panel", "24", "64", "divides"]),
    (["simulate", "lu-incpiv", "--tile", "64", "--panel", "65"], 2, ["panel", "65", "64"]),
    (["run", "gemm3d", *WHOLE, "--inner", "100"], 2, ["inner", "100", "64"]),
    (["run", "gemm2d", *WHOLE, "--inner", "0"], 2, ["--inner", "0", "from 1"]),
    # A block row and a block column of 64 x 256 doubles are 128 KiB each, a tile is 32 KiB.
    (["run", "gemm2d", *WHOLE, "--memory", "200KiB"], 2,
     ["200 KiB", "288 KiB", "--memory 294912", "--tile"]),
    (["run", "lu", *WHOLE, "--memory", "200KiB"], 2, ["--memory", "--disk"]),
    (["generate", "lu", *WHOLE, "--output", "a"], 2, ["lu", "there are cholesky"]),
    (["generate", "cholesky", *SMALL], 2, ["--output"]),
    (["calibrate", "--tile", "5"], 2, ["--tile", "5", "from 16"]),
    (["calibrate", "--output", "/no/such/folder/m.toml"], 2, ["/no/such/folder/m.toml"]),
    (["calibrate", "--policy", "drts"], 2, ["drts", "darts"]),
    (["simulate"], 2, ["cholesky", "--graph"]),
    (["simulate", "choleski"], 2, ["choleski", "cholesky"]),
    (["simulate", "cholesky", "--machine", "v10p"], 2, ["v10p", "v100p"]),
    (["simulate", "cholesky", "--gpus", "9", "--machine", "v100p"], 2, ["9", "v100p"]),
    (["simulate", "cholesky", "--memory", "4MiB", "--machine", "v100p"], 2, ["gpu3", "bytes"]),
    (["simulate", "--graph", "/no/such/graph.json"], 2, ["/no/such/graph.json"]),
    (["simulate", "cholesky", "--against", "unreal"], 2, ["unreal", "real"]),
    (["simulate", "cholesky", "--disk", "."], 2, ["--disk", "--against"]),
    (["simulate", "cholesky", "--real-runs", "5"], 2, ["--real-runs", "--against"]),
    (["simulate", "cholesky", "--memory-rules", "clear"], 2, ["clear", "starpu", "clean"]),
    (["simulate", "cholesky", "--memory-rules", "lru", "--policy", "darts"], 2, ["--memory-rules", "darts"]),
    (["simulate", "cholesky", "--machine", "v100p", "--memory-rules", "unified", "--policy", "directed"], 2,
     ["--memory-rules", "[unified_memory]"]),
    (["simulate", "cholesky", "--policy", "load:skew=some"], 2, ["load", "skew", "some", "number"]),
    (["simulate", "cholesky", "--memory-rules", "lru", "--against", "real"], 2, ["--memory-rules", "real"]),
    (["run", "cholesky", *SMALL, "--memory-rules", "lru"], 2, ["--memory-rules", "simulated"]),
    (["simulate", "cholesky", "--machine", "v100", "--against", "real"], 2, ["calibrate"]),
    (["simulate", "cholesky", "--count-scheduling", "v100"], 2, ["v100", "calibrate"]),
    (["simulate", "cholesky", "--vary", "100"], 2, ["--vary", "100"]),
    (["simulate", "cholesky", "--vary", "some"], 2, ["--vary", "some"]),
    (["simulate", "cholesky", "--vary", "1", "--against", "real"], 2, ["--vary", "--against"]),
    (["policies", "darts"], 2, ["darts", "unknown"]),
    (["run", "cholesky", "--policy"], 2, ["--policy", "value is missing", "--policy VALUE"]),
    (["simulate", "--graph"], 2, ["--graph", "value is missing"]),
    (["run", "cholesky", "--size", "100", "--size", "200"], 2, ["--size", "more than once"]),
    (["run", "cholesky", "--check=maybe"], 2, ["--check", "takes no value"]),
    (["simulate", "cholesky", "--disk", "."], 2, ["--disk", "without --against"]),
    (["run", "cholesky", "--policy", "darts,drts"], 2, ["--policy", "drts", "did you mean"]),
    (["run", "cholesky", "--policy", "darts,"], 2, ["--policy", "there is no policy"]),
    # Sizes whose products do not fit 64 bits, or tiles that no computer can keep account of.
    (["run", "cholesky", "--size", "100000000"], 2, ["--size", "100000000", "to 33554432"]),
    (["run", "cholesky", "--size", "4294967295", "--tile", "1"], 2, ["--size", "4294967295"]),
    (["run", "cholesky", "--size", "33554432", "--tile", "1"], 2, ["--tile", "33554432", "too many"]),
    (["generate", "cholesky", "--size", "33554432", "--tile", "32", "--output", "a"], 2,
     ["--tile", "too many", "larger"]),
    (["run", "cholesky", "--size", "33554432", "--tile", "1048576"], 2, ["--memory", "--disk DIR"]),
    (["simulate", "cholesky", "--tiles", "4294967295"], 2, ["tiles", "4294967295"]),
    (["simulate", "cholesky", "--tile", "4294967295"], 2, ["tile", "4294967295"]),
    (["simulate", "cholesky", "--memory", "1KiB"], 2, ["--memory", "1KiB", "from 4096"]),
    (["bounds", "cholesky", "--ram", "0"], 2, ["--ram", "from 4096"]),
    (["simulate", "cholesky", "--memory", "18446744073709551615"], 2, ["--memory", "from 4096 to"]),
    (["simulate", "bipartite", "--bytes", "17179869184GiB"], 2, ["--bytes", "too large"]),
    (["run", "cholesky", "--workers", "100000"], 2, ["--workers", "100000", "from 0 to 4096"]),
    (["run", "cholesky", *SMALL, "--memory", "200KiB", "--disk", ".", "--disk-copies", "0"], 2,
     ["--disk-copies", "from 1 to 1024"]),
    (["run", "cholesky", "--stall-seconds", "nan"], 2, ["--stall-seconds", "nan", "finite"]),
    (["simulate", "cholesky", "--plot", "a.pdf"], 2, ["--plot", "a.pdf", "FILE.svg"]),
    (["simulate", "cholesky", "--plot", "/no/such/folder/a.svg"], 2, ["--plot", "/no/such/folder/a.svg"]),
    (["explain"], 2, ["which recording", "vicinal explain TRACE"]),
    (["report"], 2, ["vicinal report"]),
    (["export"], 2, ["TRACE"]),
    (["explain", "a", "b", "c"], 2, ["cannot read the recording", "\"a\""]),
    (["simulate", "cholesky", "lu"], 2, ["lu", "unknown argument"]),
    (["policies", "--verbose"], 2, ["--verbose", "unknown option"]),
    (["-x"], 2, ["-x", "unknown option", "--help"]),
    (["man", "run"], 2, ["run", "unknown argument"]),
    (["--size", "5", "run"], 2, ["--size"]),
    (["machine", "--list=maybe"], 2, ["--list", "takes no value"]),
    (["machine", "--machine", "ocigen"], 2, ["ocigen", "did you mean \"occigen\"?"]),
    (["machine", "--machine", "cluster:gpus=4"], 2, ["cluster:gpus=4", "cluster:ranks=64,gpus=4"]),
    (["bounds", "cholesky", "--machine", "occigen"], 2, ["cluster of 1260 hosts", "--ranks 1"]),
    (["simulate", "cholesky", "--machine", "occigen", "--ranks", "2000"], 2, ["1260 hosts", "2000"]),
    (["simulate", "cholesky", "--machine", "occigen", "--ranks", "4", "--tree", "oak"], 2, ["oak", "binomial"]),
    (["simulate", "cholesky", "--machine", "occigen", "--ranks", "4", "--distribution", "3x3"], 2, ["3x3", "2x2"]),
    (["simulate", "cholesky", "--machine", "cluster:ranks=4,gpus=6", "--distribution", "2x2,2x2"], 2, ["2x2", "3x2"]),
    (["simulate", "cholesky", "--machine", "occigen", "--ranks", "4", "--distribution", "2x2,2x1"], 2, ["has none"]),
    (["simulate", "cholesky", "--machine", "cluster:ranks=4,gpus=6", "--distribution", "2x2,six"], 2,
     ["--distribution", "six", "3x2"]),
    (["simulate", "cholesky", "--machine", "cluster:ranks=2,gpus=2", "--receive-placement", "nearest"], 2,
     ["--receive-placement", "nearest", "advised"]),
    (["simulate", "cholesky", "--machine", "occigen", "--ranks", "4", "--against", "real"], 2, ["--against", "--ranks 1"]),
    (["simulate", "cholesky", "--machine", "occigen", "--ranks", "0"], 2, ["--ranks", "0"]),
    (["simulate", "stencil", "--task-seconds", "soon"], 2, ["--task-seconds", "soon", "number"]),
    (["simulate", "stencil", "--steps", "3.5"], 2, ["--steps", "3.5", "integer"]),
    # Options of another graph.
    (["simulate", "stencil", "--tiles", "5"], 2,
     ["--tiles", "stencil", "only cholesky, lu, lu-incpiv, qr, gemm2d, gemm3d have it", "leave it away"]),
    (["simulate", "bipartite", "--tile", "100", "--steps", "4"], 2, ["--tile", "bipartite", "cholesky"]),
    (["simulate", "bipartite", "--steps", "4"], 2, ["--steps", "bipartite", "only stencil, task_bench have it"]),
    (["simulate", "cholesky", "--inner", "64"], 2, ["--inner", "cholesky", "gemm2d, gemm3d have"]),
    (["simulate", "lu", "--panel", "64"], 2, ["--panel", "lu has", "only cholesky, lu-incpiv, qr have it"]),
    (["simulate", "cholesky", "--bytes", "1MiB"], 2, ["--bytes", "bipartite, stencil, random"]),
    (["bounds", "random", "--width", "4"], 2, ["--width", "random", "stencil"]),
    (["bounds", "stencil", "--task-seconds", "1", "--data", "4"], 2, ["--data", "stencil", "bipartite"]),
    (["bounds", "cholesky", "--seed", "4"], 2, ["--seed", "cholesky", "bipartite, random"]),
    (["simulate", "--graph", "g.json", "--tiles", "4"], 2, ["--tiles", "a graph file"]),
    (["simulate", "cholesky", "--vary-seed", "4"], 2, ["--vary-seed", "--vary"]),
    (["help", "rum"], 2, ["rum", "unknown command", "did you mean run"]),
    (["help", "run", "more"], 2, ["more", "unknown argument"]),
    (["calibrate", "--tile"], 2, ["--tile", "value is missing"]),
    (["options", "--markdwon"], 2, ["--markdwon", "did you mean --markdown"]),
]

BAD_VARIABLES = [
    ({"VICINAL_MEMROY": "1GiB"}, ["VICINAL_MEMROY", "did you mean VICINAL_MEMORY"]),
    ({"VICINAL_MACHINE": "v100"}, ["VICINAL_MACHINE", "runs on the machine that is there", "simulate --machine"]),
    ({"VICINAL_WORKERS": "two"}, ["VICINAL_WORKERS", "two", "integer"]),
    ({"VICINAL_POLICY": "darts,drts"}, ["VICINAL_POLICY", "drts", "did you mean"]),
]


def test_bad_input():
    for arguments, status, parts in BAD_INPUT:
        expect_refusal(run(*arguments), status, parts, " ".join(arguments))
    for variables, parts in BAD_VARIABLES:
        expect_refusal(run("run", "cholesky", *SMALL, environment=variables), 2, parts,
                       str(variables))


def test_help():
    for arguments in ([], ["run"], ["simulate"], ["help"]):
        result, usual = run("help", *arguments), run(*arguments, "--help")
        check(result.returncode == 0 and result.stdout == usual.stdout, f"help {arguments}: {result.stdout}")


def on_terminal(columns, *arguments):
    """What is printed on a terminal of that width."""
    master, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    process = subprocess.Popen([VICINAL, *arguments], stdout=terminal, stderr=subprocess.DEVNULL)
    os.close(terminal)
    text = b""
    while True:
        try:
            part = os.read(master, 65536)
        except OSError:  # as the last one closes the terminal
            break
        if not part:
            break
        text += part
    os.close(master)
    process.wait(timeout=60)
    return text.decode().replace("\r\n", "\n")


def test_width_and_examples():
    commands = re.findall(r"^  ([a-z]+) {2,}", run("--help").stdout.split("ubcommands:")[1].split("Examples:")[0],
                          flags=re.MULTILINE)
    check(len(commands) > 12, f"commands: {commands}")
    for command in ("", *commands):
        text = run(*[word for word in (command, "--help") if word]).stdout
        if "not in this build" in text:
            continue
        for line in text.splitlines():
            check(len(line) <= 80, f"{command} --help: a line of {len(line)} columns: {line}")
        check("\nExamples:\n" in text, f"{command} --help ends in no examples")
        # Lines behind the first of an example are set in further than its sentence.
        examples = text.split("\nExamples:\n")[1].replace("\n      ", " ")
        for line in re.findall(r"^  (?:source <\()?vicinal (.*)", examples, flags=re.MULTILINE):
            words = line.split()
            known = run(words[0], "--help").stdout
            for option in [word for word in words if word.startswith("-")]:
                check(re.search(rf"^  (-.,)?{option}( |,|$)", known, flags=re.MULTILINE), f"{command}: {line}: {option}")
    for columns in (50, 72) if has_terminals("the width of the output") else ():
        for arguments in (["run", "--help"], ["simulate", "cholesky", "--policy", "lws,darts,eager"], ["reproduce"]):
            for line in on_terminal(columns, *arguments).splitlines():
                check(len(line) <= columns, f"{arguments} in {columns} columns: {line}")


test_bad_input()
test_width_and_examples()
test_help()
finish()
