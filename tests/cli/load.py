#!/usr/bin/env python3
"""Policies and devices in shared objects, which --load opens.

    tests/cli/load.py PATH_OF_VICINAL PATH_OF_THE_CUDA_STAND_IN COMPILER

Exit status 0 if all is well; every failure is printed.
"""

import os
import shlex
import subprocess
import sys
import tempfile

from vicinal import VICINAL, check, expect_refusal, finish, run

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
COMPILER = sys.argv[3] if len(sys.argv) > 3 else "c++"
SIMULATE = ["simulate", "cholesky", "--tiles", "6", "--memory", "64MiB"]

# What is asked for by the environment goes wrong.
OBJECT = """
#include <cstdlib>
#include <stdexcept>
#include <sys/prctl.h>
#include <unistd.h>
#include "docs/examples/extension/nearest.cpp"
#include "docs/examples/extension/serial_device.cpp"

namespace {
// In a worker process, once.
std::unique_ptr<vicinal::sched::Policy> make_fragile(const vicinal::sched::Settings& settings) {
  int signal_of_parent = 0;
  ::prctl(PR_GET_PDEATHSIG, &signal_of_parent);
  const char* const once = std::getenv("FRAGILE_ONCE");
  if (signal_of_parent != 0 && once != nullptr && ::unlink(once) == 0) std::abort();
  return make_nearest(settings);
}
}  // namespace

extern "C" void vicinal_register() {
  if (std::getenv("NAME_TAKEN")) vicinal::sched::register_policy({"lws", "taken", make_nearest});
  if (std::getenv("THROWS")) throw std::runtime_error("no licence");
  if (std::getenv("REGISTERS_NOTHING")) return;
  vicinal::sched::register_policy(kNearest);
  vicinal::sched::register_policy({"fragile", "dies once", make_fragile});
  vicinal::drivers::register_device_kind(kSerial);
}
"""

SYMBOL = "vicinal_extension_" + "_".join(run("--version").stdout.split()[1].split(".")[:2])
# Each without a header of the library: the message says what is wrong with it.
WRONG = {
    "version": ('extern "C" const char vicinal_extension_0_1; const char* version = &vicinal_extension_0_1;',
                ["version 0.1", "compile it again"]),
    "library": (f'extern "C" {{ extern const char {SYMBOL}; const char {SYMBOL} = 0; }}',
                ["library of its own", "without libvicinal"]),
    "symbol": ("int lacking(int); int x = lacking(3);", ["lacking(int)", "neither the file nor the library"]),
    "nothing": ("int x = 3;", ["registers nothing", "vicinal_register"]),
    "initialiser": ('#include <stdexcept>\nstruct T { T() { throw std::logic_error("too early"); } } t;',
                    ["an initialiser throws", "too early"]),
}


def compiled(folder, name, text, *options):
    source, target = os.path.join(folder, name + ".cpp"), os.path.join(folder, name + ".so")
    with open(source, "w", encoding="utf-8") as file:
        file.write(text)
    subprocess.run([*shlex.split(COMPILER), "-std=c++20", "-fPIC", "-shared", *options, source, "-o", target], check=True)
    return target


def test_policy(path):
    result = run(*SIMULATE, "--load", path, "--policy", "nearest,lws,eager")
    check(result.returncode == 0 and "nearest" in result.stdout, f"simulate: {result.stderr}")
    everyone = run(*SIMULATE, f"--load={path}", "--policy", "all", "--verbose")
    check(everyone.returncode == 0 and "nearest" in everyone.stdout, f"all: {everyone.stderr}")
    listed = run("policies", "--load", path)
    check("nearest" in listed.stdout and "nearest" not in run("policies").stdout, f"policies: {listed.stdout}")
    near = run(*SIMULATE, "--load", path, "--policy", "nearst")
    expect_refusal(near, 2, ["--policy", "nearest"], "a policy that is misspelt")
    relative = run(*SIMULATE, "--load", os.path.basename(path), "--policy", "nearest", folder=os.path.dirname(path))
    check(relative.returncode == 0, f"without a folder: {relative.stderr}")


def test_run(path):
    """For real, on a device of one's own; where there is no BLAS nothing runs."""
    result = run("run", "cholesky", "--size", "256", "--tile", "64", "--check", "--load", path, "--policy", "nearest",
                 "--devices", "serial:1", "--workers", "1")
    if "without OpenBLAS" in result.stderr:
        return
    check(result.returncode == 0 and "nearest" in result.stdout, f"run: {result.stderr}")


def test_worker_that_dies(path, folder):
    once, table = os.path.join(folder, "once"), os.path.join(folder, "table.csv")
    arguments = [*SIMULATE, "--load", path, "--policy", "lws,fragile", "--seeds", "4", "--csv", table]
    whole = run(*arguments)
    check(whole.returncode == 0, f"whole: {whole.stderr}")
    with open(table, encoding="utf-8") as file:
        rows = file.read()
    os.remove(table)
    with open(once, "w", encoding="utf-8"):
        pass
    result = run(*arguments, "--processes", "2", environment={"FRAGILE_ONCE": once})
    check(result.returncode == 1, f"died: exit status {result.returncode}")
    check("fragile" in result.stderr and "signal 6" in result.stderr and "1 run has not" in result.stderr,
          f"died: {result.stderr}")
    with open(table, encoding="utf-8") as file:
        left = file.read().splitlines()
    check(len(left) == 8 and set(left) < set(rows.splitlines()), f"rows: {left}")
    check("3 of 4 runs" in result.stdout, f"table: {result.stdout}")
    again = run(*arguments, "--processes", "2")
    with open(table, encoding="utf-8") as file:
        check(again.returncode == 0 and file.read() == rows, f"again: {again.stderr}")
    # Rows of an object that is compiled anew are not kept.
    with open(path, "ab") as file:
        file.write(b"\0")
    expect_refusal(run(*arguments), 2, ["--csv", "--load", "other content"], "another object")


def test_wrong(path, folder):
    for name, (text, parts) in WRONG.items():
        wrong = compiled(folder, name, text)
        expect_refusal(run(*SIMULATE, "--load", wrong), 2, ["--load", name + ".so", *parts], name)
    for name, parts in (("NAME_TAKEN", ["lws", "there already"]), ("THROWS", ["vicinal_register() failed", "no licence"]),
                        ("REGISTERS_NOTHING", ["registers nothing"])):
        expect_refusal(run(*SIMULATE, "--load", path, environment={name: "1"}), 2, ["--load", *parts], name)
    expect_refusal(run(*SIMULATE, "--load", path, "--load", path), 2, ["nearest", "there already"], "twice")
    text = os.path.join(folder, "text.so")
    with open(text, "w", encoding="utf-8") as file:
        file.write("no shared object")
    pipe = os.path.join(folder, "pipe.so")
    os.mkfifo(pipe)
    for file, parts in ((os.path.join(folder, "none.so"), ["No such file"]), (folder, ["folder"]), (pipe, ["pipe"]),
                        (text, ["shared object", "-shared"]), (VICINAL, ["-fPIC -shared"]), ("", ["--load"])):
        expect_refusal(run(*SIMULATE, "--load", file), 2, ["--load", *parts], f"--load {file}")
    expect_refusal(run(*SIMULATE, "--load", path, "--json", path), 2, ["--json", "--load"], "overwritten")


with tempfile.TemporaryDirectory() as shared:
    mine = compiled(shared, "mine", OBJECT, "-O1", "-I", os.path.join(ROOT, "include"), "-I", os.path.join(ROOT, "src"),
                    "-I", ROOT, "-I", os.path.join(ROOT, "docs", "examples", "extension"))
    test_policy(mine)
    test_run(mine)
    test_wrong(mine, shared)
    test_worker_that_dies(mine, shared)
finish()
