#!/usr/bin/env python3
"""vicinal run on several ranks, over each MPI that was found.

    MPIRUNS=/usr/bin/mpirun.openmpi,/usr/bin/mpirun.mpich tests/cli/ranks.py PATH_OF_VICINAL

Exit status 0 if all is well; every failure is printed.
"""

import filecmp
import json
import os
import subprocess
import tempfile

from vicinal import CACHE, VICINAL, check, finish, policy_names, run

LAUNCHERS = [path for path in os.environ.get("MPIRUNS", "").split(",") if path]
# Tests may run as root in a container, and on fewer cores than there are ranks.
ENVIRONMENT = {**os.environ, "XDG_CACHE_HOME": CACHE.name, "OMPI_ALLOW_RUN_AS_ROOT": "1",
               "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1",
               "OMPI_MCA_mpi_yield_when_idle": "1"}
TILE = 64
BYTES = TILE * TILE * 8  # of a tile


def launch(launcher, ranks, *arguments):
    return subprocess.run([launcher, "-n", str(ranks), VICINAL, *arguments], capture_output=True, text=True,
                          timeout=120, env=ENVIRONMENT, check=False)


def name(launcher, ranks, arguments):
    return f"{os.path.basename(launcher)} -n {ranks} vicinal {' '.join(arguments)}"


def expect_right(launcher, ranks, *arguments):
    """Runs it with --check; its report."""
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "report.json")
        result = launch(launcher, ranks, "run", *arguments, "--check", "--json", file)
        what = name(launcher, ranks, arguments)
        check(result.returncode == 0, f"{what}: exit status {result.returncode}: {result.stderr}")
        check(result.stdout.count("passed") == 1, f"{what}: not one report: {result.stdout}")
        if result.returncode != 0:
            return {"runs": []}
        with open(file, encoding="utf-8") as report:
            parsed = json.load(report)
    for one in parsed["runs"]:
        check(one.get("verified") is True, f"{what}: {one}")
        check(len(one.get("ranks", [])) == (ranks if ranks > 1 else 0), f"{what}: ranks: {one.get('ranks')}")
    return parsed


def size(tiles):
    return ["--size", str(tiles * TILE), "--tile", str(TILE)]


def sent_by_cholesky(tiles, owner):
    """Bytes: each tile of the factor goes once to each rank that reads it."""
    copies = 0
    for k in range(tiles):
        readers = {owner(i, k) for i in range(k + 1, tiles)}
        copies += len(readers - {owner(k, k)})
        for i in range(k + 1, tiles):
            readers = {owner(i, j) for j in range(k + 1, i + 1)} | {owner(m, i) for m in range(i, tiles)}
            copies += len(readers - {owner(i, k)})
    return copies * BYTES


def test_applications(launcher):
    for ranks in (1, 2, 4, 7):
        expect_right(launcher, ranks, "cholesky", *size(6))
    for application in ("lu", "lu-incpiv", "gemm2d", "gemm3d"):
        expect_right(launcher, 4, application, *size(4))
    for tree in ("flat", "binary"):
        for ranks in (1, 2, 4, 7):
            expect_right(launcher, ranks, "qr", *size(6), "--panel-tree", tree)
    expect_right(launcher, 3, "cholesky", "--size", "300", "--tile", "64", "--precision", "float")


# Of each sum all ranks but the first have one, of which few come to the first.
def check_partial_results(launcher, ranks):
    combined = [rank["partial_results"] for rank in ranks]
    sums, rest = divmod(sum(combined), len(ranks) - 1)
    check(sums > 0 and rest == 0, f"{launcher}: partial results: {combined}")
    check(combined[0] == sums * (len(ranks) - 1).bit_length(), f"{launcher}: partial results: {combined}")
    passed_on = sum(rank["partial_results_passed_on"] for rank in ranks)
    check(passed_on == sum(combined) - combined[0], f"{launcher}: {passed_on} passed on, of {combined}")


# Conjugate gradients, in memory and in a quarter of it: 56 blocks, of 10 pages of the matrix and 2 of each of 5 vectors.
def test_rows(launcher, folder):
    solve = ["cg", "--grid", "256x128", "--blocks", "56", "--tolerance", "1e-2"]
    for ranks in (1, 2, 4, 7):
        report = expect_right(launcher, ranks, *solve)
        for one in report["runs"] if ranks > 1 else []:
            check_partial_results(launcher, one["ranks"])
        limit = 56 * 20 * 4096 // ranks // 4
        report = expect_right(launcher, ranks, *solve, "--memory", str(limit), "--disk", folder)
        for one in report["runs"]:
            alone = [{"peak": one["nodes"]["ram"]["peak"], "bytes_in": one["bytes_in"]}]
            for rank in one.get("ranks") or alone:
                check(rank["peak"] <= limit, f"{launcher}: {rank['peak']} bytes, with a limit of {limit}")
                check(rank["bytes_in"] > 0, f"{launcher}: nothing was loaded: {rank}")
    check(os.listdir(folder) == [], f"{launcher}: left in the folder: {os.listdir(folder)}")
    result = launch(launcher, 2, "run", "cg", "--matrix", os.path.join(folder, "none"))
    check(result.returncode == 2 and "No such file" in result.stderr, f"{launcher}: {result.stderr}")


def test_bytes(launcher):
    for ranks, rows, columns in ((4, 2, 2), (6, 2, 3)):
        report = expect_right(launcher, ranks, "cholesky", *size(8), "--distribution", f"{rows}x{columns}")
        for one in report["runs"]:
            sent = sum(rank["sent"] for rank in one["ranks"])
            received = sum(rank["received"] for rank in one["ranks"])
            formula = sent_by_cholesky(8, lambda i, j: i % rows * columns + j % columns)
            check(sent == received == formula, f"{launcher}: {ranks} ranks: {sent}, {received}, not {formula} bytes")


# A quarter of a rank's share, the rest on a disk in a folder that the ranks have in common.
def test_memory(launcher, folder):
    tiles = 12
    share = tiles * (tiles + 1) // 2 * BYTES // 4
    report = expect_right(launcher, 4, "cholesky", *size(tiles), "--memory", str(share // 4), "--disk", folder)
    for one in report["runs"]:
        for rank in one["ranks"]:
            check(rank["peak"] <= share // 4, f"{launcher}: {rank['peak']} bytes, with a limit of {share // 4}")
            check(rank["bytes_in"] > 0, f"{launcher}: nothing was loaded: {rank}")
    # Of QR reflectors and their triangles lie beside the matrix: a quarter of the whole.
    for tree, ranks, more in (("flat", 7, 1.2), ("binary", 2, 1.6)):
        limit = int(tiles * tiles * BYTES * more) // ranks // 4
        expect_right(launcher, ranks, "qr", *size(tiles), "--panel-tree", tree, "--memory", str(limit), "--disk", folder)
    check(os.listdir(folder) == [], f"{launcher}: left in the folder: {os.listdir(folder)}")


def test_accelerators(launcher):
    expect_right(launcher, 2, "cholesky", *size(5), "--accelerators", "1", "--accelerator-memory", str(8 * BYTES))


def test_policies(launcher):
    report = launch(launcher, 2, "run", "cholesky", *size(4), "--check", "--policy", "all")
    check(report.returncode == 0, f"{launcher}: --policy all: {report.stdout} {report.stderr}")
    passed = report.stdout.count("passed")
    check(passed >= min(12, len(policy_names())), f"{launcher}: {passed} policies passed: {report.stdout}")


def test_files(launcher, folder):
    matrix, alone, together = (os.path.join(folder, file) for file in ("matrix", "alone", "together"))
    check(run("generate", "cholesky", *size(5), "--output", matrix).returncode == 0, "generate")
    check(run("run", "cholesky", "--matrix", matrix, "--output", alone).returncode == 0, "one process")
    expect_right(launcher, 3, "cholesky", "--matrix", matrix, "--output", together)
    check(os.path.exists(together) and filecmp.cmp(alone, together, shallow=False),
          f"{launcher}: the ranks left another factor than one process")
    expect_right(launcher, 2, "cholesky", *size(3), "--output", together)  # over what is there


def test_recordings(launcher, folder):
    result = launch(launcher, 2, "run", "cholesky", *size(3), "--trace", os.path.join(folder, "run.vtrace"))
    check(result.returncode == 0, f"{launcher}: --trace: {result.stderr}")
    check(sorted(os.listdir(folder)) == ["run.rank0.vtrace", "run.rank1.vtrace"], f"{launcher}: {os.listdir(folder)}")
    told = run("explain", *(os.path.join(folder, file) for file in sorted(os.listdir(folder))))
    check(told.returncode == 0 and "rank 1" in told.stdout, f"{launcher}: explain: {told.stdout}{told.stderr}")


def test_refusals(launcher, folder):
    for arguments, parts in ((["--distribution", "3x3"], ["--distribution: a grid of 3x3", "use 1x2"]),
                             (["--distribution", "2dcb"], ["did you mean 2dbc"]),
                             (["--memory", "1MiB"], ["--disk DIR"]),
                             (["--disk", folder, "--output", os.path.join(folder, "no", "file")], ["--output", "No such file"])):
        result = launch(launcher, 2, "run", "cholesky", *size(3), *arguments)
        check(result.returncode != 0, f"{launcher}: {arguments}: exit status 0")
        for part in parts:
            check(part in result.stderr, f"{launcher}: {arguments}: no '{part}' in {result.stderr}")
        check("passed" not in result.stdout, f"{launcher}: {arguments}: {result.stdout}")


def main():
    for launcher in LAUNCHERS:
        test_applications(launcher)
        test_bytes(launcher)
        test_accelerators(launcher)
        test_policies(launcher)
        for test in (test_memory, test_rows, test_files, test_recordings, test_refusals):
            with tempfile.TemporaryDirectory() as folder:
                test(launcher, folder)
    alone = run("run", "cholesky", *size(3), "--distribution", "2x1")
    check(alone.returncode == 2 and "there is 1" in alone.stderr, f"one process: {alone.stderr}")
    finish()


main()
