#!/usr/bin/env python3
"""What it costs to record a run: figures 3.2 and 3.8 to 3.12 of Swartvagher's thesis (2022), on this machine.

    bench/tracing.py [--vicinal EXECUTABLE] [--repetitions N] [--size N] [--output FOLDER] [FIGURE...]

FIGURE: 3.2   the speed of runs one after the other, each with all events written to disk while it runs, beside
              runs without a recording; there the runtime stopped for the disk, and some runs took three times as long
        3.8   the speed by what is recorded, of short tasks (tiles of 64), with the number of events
        3.9   the same of tasks that take longer (tiles of 256)
        3.10  the speed by the number of cores, with a recording of everything and without, of short tasks
        3.11, 3.12  the same of tiles of 128 and of 256: there, of kernels that are badly and well set up
All of them if none is named. Each number is the median of N runs (7), the ways in turn; Cholesky of --size (4096).
Writes FOLDER/tracing.csv, and tracing_<figure>.svg where matplotlib is there (FOLDER: build/tracing).

Bound: an event takes a look at the clock (10 to 25 ns here) and the writing of 24 to 80 bytes.
"""

import argparse
import csv
import json
import os
import statistics
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
WAYS = ["none", "tasks", "tasks,submission", "tasks,submission,scheduler", "all but decisions", "all"]
ALL_BUT_DECISIONS = "tasks,transfers,memory,scheduler,submission,application"


class Runs:
    def __init__(self, vicinal, size, folder):
        self.vicinal, self.size, self.folder = vicinal, size, folder

    def once(self, tile, way, workers):
        """GFlop/s, and the size of the recording in bytes."""
        trace = os.path.join(self.folder, "run.vtrace")
        command = [self.vicinal, "run", "cholesky", "--size", str(self.size), "--tile", str(tile),
                   "--workers", str(workers), "--json", "-"]
        if way != "none":
            events = ALL_BUT_DECISIONS if way == "all but decisions" else way
            command += ["--trace", trace, "--trace-events", events]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, text=True)
        if done.returncode != 0 or "lacks" in done.stderr:
            sys.exit(f"{' '.join(command)}: {done.stderr}")
        run = json.loads(done.stdout)["runs"][0]
        return run["gflops"], os.path.getsize(trace) if way != "none" else 0

    def medians(self, tile, ways, workers, repetitions):
        """By way: the median speed, its quartiles, the bytes, and the median of the ratios to `none` of the same round."""
        speeds = {way: [] for way in ways}
        sizes = {}
        for _ in range(repetitions):
            for way in ways:
                speed, sizes[way] = self.once(tile, way, workers)
                speeds[way].append(speed)
        rows = {}
        for way in ways:
            ratios = [speed / base for speed, base in zip(speeds[way], speeds[ways[0]])]
            ordered = sorted(speeds[way])
            rows[way] = {"gflops": statistics.median(ordered), "low": ordered[len(ordered) // 4],
                         "high": ordered[-1 - len(ordered) // 4], "bytes": sizes[way],
                         "of_none": statistics.median(ratios)}
        return rows


def rows_of(figure, runs, repetitions):
    """(figure, what is on the x axis, curve, median GFlop/s, quartiles, bytes, ratio)"""
    def row(x, curve, cells):
        return [figure, x, curve] + [f"{cells[key]:.4g}" for key in ("gflops", "low", "high")] + [
            cells["bytes"], f"{cells['of_none']:.4f}"]
    if figure == "3.2":
        rows = []
        for run in range(3 * repetitions):
            for way in ("none", "all"):
                speed, size = runs.once(128, way, os.cpu_count())
                rows.append([figure, run, way, f"{speed:.4g}", "", "", size, ""])
        return rows
    if figure in ("3.8", "3.9"):
        tile = 64 if figure == "3.8" else 256
        medians = runs.medians(tile, WAYS, os.cpu_count(), repetitions)
        return [row(way, "recorded", medians[way]) for way in WAYS]
    tile = {"3.10": 64, "3.11": 128, "3.12": 256}[figure]
    rows = []
    for workers in range(1, os.cpu_count() + 1):
        medians = runs.medians(tile, ["none", "all"], workers, repetitions)
        rows += [row(workers, way, medians[way]) for way in medians]
    return rows


def draw(figure, rows, path):
    try:
        import matplotlib
        matplotlib.use("Agg")
        import matplotlib.pyplot as plt
    except ImportError:
        print(f"no picture of figure {figure}: matplotlib is not installed", file=sys.stderr)
        return
    plt.rcParams.update({"svg.hashsalt": "vicinal", "font.size": 9, "axes.grid": True, "grid.alpha": 0.3})
    chart, axes = plt.subplots(figsize=(6.4, 3.2))
    if figure in ("3.8", "3.9"):
        axes.bar([row[1].replace(",", ",\n") for row in rows], [float(row[3]) for row in rows], color="#4878a8")
        events = axes.twinx()
        events.plot(range(len(rows)), [row[6] / 1e6 for row in rows], "o", color="#c44e52")
        events.set_ylabel("recording, MB (dots)")
        events.set_ylim(bottom=0)
        axes.tick_params(axis="x", labelsize=7)
    else:
        for curve, colour in (("none", "#4878a8"), ("all", "#c44e52")):
            points = [(float(row[1]), float(row[3])) for row in rows if row[2] == curve]
            axes.plot(*zip(*points), "o-", color=colour, label="no recording" if curve == "none" else "all is recorded")
        axes.set_xlabel("run" if figure == "3.2" else "cores")
        axes.legend()
    axes.set_ylim(bottom=0)
    axes.set_ylabel("GFlop/s")
    axes.set_title(f"Figure {figure}, here")
    chart.tight_layout()
    chart.savefig(path, metadata={"Date": None})


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    known = ["3.2", "3.8", "3.9", "3.10", "3.11", "3.12"]
    parser.add_argument("figures", nargs="*", metavar="FIGURE")
    parser.add_argument("--vicinal", default=os.path.join(ROOT, "build/release/vicinal"))
    parser.add_argument("--repetitions", type=int, default=7)
    parser.add_argument("--size", type=int, default=4096)
    parser.add_argument("--output", default=os.path.join(ROOT, "build/tracing"))
    given = parser.parse_args()
    os.makedirs(given.output, exist_ok=True)
    for figure in given.figures:
        if figure not in known:
            parser.error(f"figure {figure} is not known; there are {', '.join(known)}")
    rows = []
    with tempfile.TemporaryDirectory(dir=".") as folder:
        runs = Runs(given.vicinal, given.size, folder)
        for figure in given.figures or known:
            of_figure = rows_of(figure, runs, given.repetitions)
            draw(figure, of_figure, os.path.join(given.output, f"tracing_{figure}.svg"))
            for row in of_figure:
                print(*row, sep="\t")
            rows += of_figure
    with open(os.path.join(given.output, "tracing.csv"), "w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(["figure", "x", "curve", "gflops", "low_quartile", "high_quartile", "bytes", "of_none"])
        writer.writerows(rows)


if __name__ == "__main__":
    main()
