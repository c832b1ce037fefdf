#!/usr/bin/env python3
"""The files that vicinal reads and writes, and devices that are full.

    tests/cli/files.py PATH_OF_VICINAL

Exit status 0 if all is well; every failure is printed.
"""

import json
import os
import struct
import subprocess
import tempfile

from vicinal import CACHE, SMALL, VICINAL, check, expect_refusal, finish, run


# A full device: what has been printed is lost, and the command says so.
def test_full_device(folder):
    trace = os.path.join(folder, "run.vtrace")
    result = run("simulate", "cholesky", "--tiles", "4", "--machine", "v100", "--trace", trace)
    check(result.returncode == 0, f"--trace: {result.stderr}")
    if not os.path.exists("/dev/full"):
        print("skipped: a full device (there is no /dev/full)")
        return
    for arguments in (["policies"], ["options"], ["options", "--markdown"], ["--help"], ["run", "--help"],
                      ["--version"], ["events"], ["events", "--markdown"], ["man"], ["completion", "bash"],
                      ["reproduce"], ["explain", trace], ["report", trace, "-o", "-"],
                      ["export", trace, "--format", "dot", "-o", "-"], ["simulate", "--help"], ["machine"], ["machine", "--list"], ["bounds", "cholesky"],
                      ["bounds", "cholesky", "--json", "-"], ["simulate", "cholesky"],
                      ["simulate", "cholesky", "--json", "-"], ["run", "cholesky", *SMALL],
                      ["run", "cholesky", *SMALL, "--json", "-"],
                      ["calibrate", "--tile", "16", "--workers", "1"],
                      ["calibrate", "--tile", "16", "--workers", "1", "--output", "-"]):
        with open("/dev/full", "w", encoding="utf-8") as full:
            result = subprocess.run([VICINAL, *arguments], stdout=full, stderr=subprocess.PIPE, text=True,
                                    timeout=120, env={**os.environ, "XDG_CACHE_HOME": CACHE.name})
        check(result.returncode == 1, f"{arguments} into a full device: {result.returncode}")
        check("standard output" in result.stderr and "No space left" in result.stderr,
              f"{arguments} into a full device: {result.stderr}")
    result = run("simulate", "cholesky", "--tiles", "4", "--json", "/dev/full")
    check(result.returncode == 1 and "/dev/full" in result.stderr, f"--json /dev/full: {result.stderr}")
    closed = subprocess.run(["sh", "-c", '"$0" policies >&-', VICINAL], stderr=subprocess.PIPE, text=True,
                            timeout=120)
    check(closed.returncode == 1 and "standard output" in closed.stderr, f"closed output: {closed.stderr}")


# What is not whole is said, also when it is the recording alone; the run's figures are printed all the same.
def test_cut_recording(folder):
    if not os.path.exists("/dev/full"):
        print("skipped: a recording on a full device (there is no /dev/full)")
        return
    for job in (["simulate", "cholesky", "--tiles", "4"], ["run", "cholesky", *SMALL]):
        result = run(*job, "--trace", "/dev/full")
        check(result.returncode == 1 and "is not whole" in result.stderr, f"{job} --trace /dev/full: {result.stderr}")
        check("GFlop/s" in result.stdout, f"{job} --trace /dev/full: {result.stdout}")
    whole, cut = os.path.join(folder, "whole.vtrace"), os.path.join(folder, "cut.vtrace")
    run("simulate", "cholesky", "--tiles", "4", "--trace", whole)
    with open(whole, "rb") as file, open(cut, "wb") as part:
        part.write(file.read()[:-40])
    result = run("explain", cut)
    check("killed, or there was no room" in result.stdout, f"explain: {result.stdout}")


def test_json_file(folder):
    job = ["simulate", "cholesky", "--tiles", "4", "--machine", "v100"]
    target, link = os.path.join(folder, "target.json"), os.path.join(folder, "link.json")
    with open(target, "w", encoding="utf-8") as file:
        file.write("old")
    os.chmod(target, 0o640)
    os.symlink(target, link)
    result = run(*job, "--json", link)
    check(result.returncode == 0, f"--json to a link: {result.stderr}")
    check(os.path.islink(link) and os.stat(target).st_mode & 0o777 == 0o640, "link and mode are kept")
    with open(target, encoding="utf-8") as file:
        check("runs" in json.load(file), "the file behind the link is written")
    # The file behind a link need not be there yet.
    os.remove(target)
    result = run(*job, "--json", link)
    check(result.returncode == 0, f"--json to a link that leads nowhere: {result.stderr}")
    check(os.path.islink(link) and os.path.isfile(target), "the link is kept, the file behind it is made")
    # What is refused leaves no file behind.
    absent = os.path.join(folder, "absent.json")
    expect_refusal(run(*job, "--memory", "1MiB", "--json", absent), 2, ["bytes"], "too little memory")
    check(not os.path.exists(absent), "a refused command leaves no file")


def test_disk_in_memory():
    if not os.path.ismount("/dev/shm") or not os.access("/dev/shm", os.W_OK):
        print("skipped: a disk folder in memory (there is no /dev/shm)")
        return
    result = run("machine", "--disk", "/dev/shm", "--disk-space", "1MiB")
    check(result.returncode == 0 and "tmpfs" in result.stderr, f"a disk folder in memory: {result.stderr}")


def test_files(folder):
    a, l = os.path.join(folder, "a.tiles"), os.path.join(folder, "l.tiles")
    for precision, element in (("double", 8), ("float", 4)):
        result = run("generate", "cholesky", *SMALL, "--precision", precision, "--output", a)
        check(result.returncode == 0, f"generate: {result.stderr}")
        with open(a, "rb") as file:
            header = struct.unpack("<8sQQQQQ", file.read(48))
        check(header == (b"VICTILE1", 1, 300, 64, element, 1), f"header: {header}")
        result = run("run", "cholesky", "--matrix", a, "--output", l, "--check", "--json", "-")
        check(result.returncode == 0, f"--matrix: {result.stderr}")
        check(json.loads(result.stdout)["parameters"]["size"] == 300, "the size is the file's")
        with open(l, "rb") as file:
            header = struct.unpack("<8sQQQQQ", file.read(48))
        check(header == (b"VICTILE1", 1, 300, 64, element, 2), f"header: {header}")
    expect_refusal(run("run", "cholesky", "--matrix", a, "--size", "200"), 2, ["--size", "300"],
                   "--size differs from the file's")
    expect_refusal(run("run", "cholesky", "--matrix", a, "--output", a), 2, [a, "overwrite"],
                   "--output is --matrix")


def test_failure(folder):
    # Not positive definite: element (0,0) of tile (1,1) of doubles is -5. Slots are 32 KiB; tile
    # (1,1) is the sixth of 5 x 5 tiles.
    a = os.path.join(folder, "bad.tiles")
    run("generate", "cholesky", *SMALL, "--output", a)
    with open(a, "r+b") as file:
        file.seek(4096 + 5 * 32768)
        file.write(struct.pack("<d", -5.0))
    result = run("run", "cholesky", "--matrix", a, "--check", "--json", "-")
    check(result.returncode == 1, f"not positive definite: exit status {result.returncode}")
    entry = json.loads(result.stdout)["runs"][0]
    check("potrf(1)" in entry["error"] and "row 64" in entry["error"], f"error: {entry}")
    check(entry["verified"] is False, "a failed run is not verified")
    # The disk is full: the run ends with an error that names the data and the remedy.
    result = run("run", "cholesky", *SMALL, "--memory", "200KiB", "--disk", folder, "--disk-space",
                 "100KiB")
    check(result.returncode == 1 and "disk full" in result.stdout + result.stderr,
          f"disk full: {result.returncode} {result.stdout} {result.stderr}")


with tempfile.TemporaryDirectory(dir=os.getcwd()) as temporary:
    test_full_device(temporary)
    test_cut_recording(temporary)
    test_json_file(temporary)
    test_disk_in_memory()
    test_files(temporary)
    test_failure(temporary)
finish()
