#!/usr/bin/env python3
"""Makes the pictures of README.md and docs/tutorial.md, and the output of a command in README.md, anew. scripts/make-pages
installs and builds what it needs, and calls it.

    docs/pictures/make.py             measures, writes the tables beside this file, and draws them
    docs/pictures/make.py --draw      draws the tables that are there
    docs/pictures/make.py --check     says whether pictures and output are those of the tables and of the executable

 --executable FILE   the vicinal to run (build/release/vicinal)
 --examples FOLDER   where the programs of the tutorial are (build/release/examples)
 --only NAME,NAME    these pictures alone: loaded, tutorial_1 ... tutorial_4; output: that of the command

Each picture is drawn twice, for light and for dark pages. The same table gives the same picture to the byte with the same
matplotlib; --check leaves pictures of another version alone, and the output where there is no executable.
"""

import argparse
import csv
import datetime
import filecmp
import json
import os
import re
import subprocess
import sys
import tempfile

try:
    import matplotlib
    matplotlib.use("svg")
    import matplotlib.pyplot as plt
except ImportError:
    matplotlib = None

FOLDER = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(FOLDER))
OUTPUT_OF = re.compile(r"(```text\n\$ vicinal ([^\n]*)\n)(.*?)(```\n)", re.S)

# Colours that people with any colour vision tell apart (Okabe and Ito 2008), lighter on dark pages.
THEMES = {
    "light": {"ink": "#1f2328", "faint": "#8c959f", "horizon": "#a6761d", "darts": "#0072b2", "dmdas": "#009e73",
              "lws": "#d55e00", "eager": "#b07aa1", "bar": "#0072b2", "bar2": "#7fb8d8"},
    "dark": {"ink": "#e6edf3", "faint": "#7d8590", "horizon": "#e6c34a", "darts": "#56b4e9", "dmdas": "#2bc493",
             "lws": "#ff8f4d", "eager": "#d9a9cc", "bar": "#56b4e9", "bar2": "#2a6a94"},
}
MARKERS = {"horizon": "v", "darts": "o", "dmdas": "s", "lws": "^", "eager": "D"}


# --- tables: a line that says where the numbers come from, then CSV

class Table:
    def __init__(self, facts, rows):
        self.facts = facts  # name: text; of the first line
        self.rows = rows  # list of dictionaries of text

    @staticmethod
    def read(name):
        with open(os.path.join(FOLDER, name + ".csv"), encoding="utf-8", newline="") as stream:
            facts = dict(part.split("=", 1) for part in stream.readline()[2:].strip().split("; "))
            return Table(facts, list(csv.DictReader(stream)))

    def write(self, name):
        with open(os.path.join(FOLDER, name + ".csv"), "w", encoding="utf-8", newline="") as stream:
            stream.write("# " + "; ".join(f"{key}={value}" for key, value in self.facts.items()) + "\n")
            writer = csv.DictWriter(stream, list(self.rows[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(self.rows)


def machine():
    name = "a processor"
    with open("/proc/cpuinfo", encoding="utf-8") as stream:
        for line in stream:
            if line.startswith("model name"):
                name = line.split(":", 1)[1].strip()
                break
    today = datetime.date.today().isoformat()
    return f"{len(os.sched_getaffinity(0))} shared cores of {name}, {today}"


def run(command, **environment):
    """Runs in an empty folder on the disk of the build, which is where data go that do not fit."""
    os.makedirs(os.path.join(ROOT, "build"), exist_ok=True)
    with tempfile.TemporaryDirectory(dir=os.path.join(ROOT, "build")) as folder:
        done = subprocess.run(command, cwd=folder, env={**os.environ, **environment}, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"make-pages: {' '.join(command)} failed ({done.returncode}): {done.stderr.strip()}")
    return done.stdout


def median(values):
    return sorted(values)[len(values) // 2]


# --- measuring

def measure_loaded(arguments):
    """Bytes that a Cholesky factorisation loads from the disk, by policy and memory: real runs."""
    size, tile, rounds = 4096, 256, 3
    lower = size * (size + tile) // 2 * 8  # bytes of the tiles of the lower triangle
    rows = []
    for percent in (10, 15, 25, 40, 60, 80):
        limit = lower * percent // 100
        runs = {}
        bound = 0
        for _ in range(rounds):
            text = run([arguments.executable, "run", "cholesky", "--size", str(size), "--tile", str(tile), "--memory",
                        str(limit), "--disk", ".", "--policy", "horizon,darts,dmdas,lws,eager", "--json", "-"])
            for one in json.loads(text)["runs"]:
                runs.setdefault(one["policy"], []).append(one["bytes_in"])
                bound = one["bound_bytes"]
        for policy, loaded in runs.items():
            rows.append({"policy": policy, "memory_percent": percent, "loaded_bytes": median(loaded),
                         "least_bytes": min(loaded), "most_bytes": max(loaded), "bound_bytes": bound,
                         "matrix_bytes": lower})
        print(f"loaded: {percent} %", file=sys.stderr)
    return Table({"from": f"vicinal run cholesky --size {size} --tile {tile}", "on": machine(),
                  "rounds": rounds}, rows)


def measure_tutorial_1(arguments):
    rows = []
    program = os.path.join(arguments.examples, "tutorial_1_loop")
    for order in (512, 768, 1024, 1280, 1536):
        seconds = min(float(run([program, str(order)]).split(",")[1]) for _ in range(5))
        rows.append({"order": order, "seconds": seconds})
    return Table({"from": "tutorial_1_loop", "on": machine()}, rows)


def recorded(arguments, program, order):
    """The tables of a recorded run of the program, and what it printed."""
    with tempfile.TemporaryDirectory(dir=os.path.join(ROOT, "build")) as folder:
        trace = os.path.join(folder, "run.vtrace")
        said = run([os.path.join(arguments.examples, program), str(order)], VICINAL_TRACE=trace)
        run([arguments.executable, "export", trace, "--format", "csv", "--output", os.path.join(folder, "run")])
        tables = {}
        for name in ("tasks", "memory", "nodes"):
            with open(os.path.join(folder, "run", name + ".csv"), encoding="utf-8", newline="") as stream:
                tables[name] = list(csv.DictReader(stream))
    return tables, said.strip().split(",")


def measure_tutorial_2(arguments):
    order = 1024
    loop = min(float(run([os.path.join(arguments.examples, "tutorial_1_loop"), str(order)]).split(",")[1])
               for _ in range(7))
    tables, _ = min((recorded(arguments, "tutorial_2_tasks", order) for _ in range(7)),
                    key=lambda each: float(each[1][1]))
    tasks = [task for task in tables["tasks"] if task["codelet"] == "multiply"]
    begin = min(int(task["started_ns"]) for task in tasks)
    rows = [{"worker": task["worker_name"], "started_ms": f"{(int(task['started_ns']) - begin) / 1e6:.3f}",
             "ended_ms": f"{(int(task['ended_ns']) - begin) / 1e6:.3f}"} for task in tasks]
    return Table({"from": f"tutorial_2_tasks {order}", "on": machine(), "loop_seconds": loop}, rows)


def measure_tutorial_3(arguments):
    tables, said = recorded(arguments, "tutorial_3_limit", 1024)
    limit = next(int(node["limit_bytes"]) for node in tables["nodes"] if node["name"] == "ram")
    changes = [(int(row["time_ns"]), int(row["used_bytes"])) for row in tables["memory"]
               if row["node_name"] == "ram" and row["used_bytes"]]
    # The most that was in use in each of 300 pieces of the time.
    end = changes[-1][0]
    most = {}
    for time, used in changes:
        piece = min(299, time * 300 // max(1, end))
        most[piece] = max(most.get(piece, 0), used)
    rows = []
    last = 0
    for piece in range(300):
        last = most.get(piece, last)
        rows.append({"time_ms": f"{end / 1e6 * piece / 300:.2f}", "used_bytes": last})
    return Table({"from": "tutorial_3_limit 1024", "on": machine(), "limit_bytes": limit,
                  "matrices_bytes": 3 * 1024 * 1024 * 8, "loaded_bytes": said[2]}, rows)


def measure_tutorial_4(arguments):
    order, rate = 16384, 7e12  # of a V100 in double precision, as machines/v100.toml has it
    rows = []
    for policy in ("eager", "lws", "dmdas", "darts"):
        for gpus in range(1, 5):
            said = run([os.path.join(arguments.examples, "tutorial_2_tasks"), str(order)],
                       VICINAL_MACHINE=f"v100,gpus={gpus},memory=1GiB", VICINAL_POLICY=policy)
            rows.append({"policy": policy, "gpus": gpus, "seconds": said.strip().split(",")[1],
                         "work_seconds": f"{2 * order**3 / rate / gpus:.4f}"})
    return Table({"from": f"VICINAL_MACHINE=v100,gpus=...,memory=1GiB tutorial_2_tasks {order}",
                  "on": "simulated: the same on every machine"}, rows)


# --- drawing

def spread(wanted, gap):
    """Places for labels, in the order given by `wanted`, at least `gap` apart and near what is wanted."""
    order = sorted(range(len(wanted)), key=lambda i: wanted[i])
    places = list(wanted)
    for _ in range(200):
        for low, high in zip(order, order[1:]):
            short = gap - (places[high] - places[low])
            if short > 0:
                places[low] -= short / 2
                places[high] += short / 2
    return places


class Drawing:
    def __init__(self, theme, table, height=3.6):
        self.colours = THEMES[theme]
        plt.rcParams.update({
            "svg.hashsalt": "vicinal", "svg.fonttype": "path", "font.size": 11, "text.color": self.colours["ink"],
            "axes.labelcolor": self.colours["ink"], "xtick.color": self.colours["ink"],
            "ytick.color": self.colours["ink"], "axes.edgecolor": self.colours["faint"],
            "axes.spines.top": False, "axes.spines.right": False, "axes.titlesize": 12, "axes.titlelocation": "left",
        })
        self.figure, self.axes = plt.subplots(figsize=(8, height))
        self.figure.patch.set_alpha(0)
        self.axes.patch.set_alpha(0)
        self.axes.grid(axis="y", color=self.colours["faint"], alpha=0.25, linewidth=0.7)
        self.axes.set_axisbelow(True)
        self.figure.text(0.995, 0.01, table.facts["on"], ha="right", va="bottom", fontsize=8.5,
                         color=self.colours["faint"])

    def lines(self, curves, right, gap):
        """Curves by name, each labelled at its right end."""
        ends = []
        for name, (x, y) in curves.items():
            self.axes.plot(x, y, color=self.colours[name], marker=MARKERS[name], linewidth=2, markersize=6, zorder=3)
            ends.append(y[-1])
        for name, place in zip(curves, spread(ends, gap)):
            self.axes.text(right, place, name, color=self.colours[name], va="center", fontweight="bold")

    def bound(self, x, y, text, at, **where):
        self.axes.plot(x, y, color=self.colours["ink"], linestyle="--", linewidth=1.4, zorder=2)
        self.axes.text(*at, text, color=self.colours["ink"], fontsize=10, **where)

    def save(self, path):
        self.figure.tight_layout(rect=(0, 0.05, 1, 1))
        self.figure.savefig(path, metadata={"Date": None})
        plt.close(self.figure)


def draw_loaded(table, theme):
    drawing = Drawing(theme, table, 4.0)
    curves = {}
    bound = {}
    for row in table.rows:
        x, y = curves.setdefault(row["policy"], ([], []))
        x.append(int(row["memory_percent"]))
        y.append(int(row["loaded_bytes"]) / int(row["matrix_bytes"]))
        bound[int(row["memory_percent"])] = int(row["bound_bytes"]) / int(row["matrix_bytes"])
    axes = drawing.axes
    order = sorted(curves, key=lambda name: -curves[name][1][0])
    left = [curves[name][1][0] for name in order]
    top = max(left)
    for name in order:
        x, y = curves[name]
        axes.plot(x, y, color=drawing.colours[name], marker=MARKERS[name], linewidth=2, markersize=6, zorder=3)
    for name, place in zip(order, spread(left, top / 14)):
        axes.text(9, place, name, ha="right", va="center", color=drawing.colours[name], fontweight="bold")
    drawing.bound(list(bound), list(bound.values()), "no schedule loads less", (10, list(bound.values())[0] * 0.12),
                  va="bottom")
    axes.set_xlim(1, 82)
    axes.set_ylim(0, top * 1.06)
    axes.set_xticks(sorted(bound))
    axes.set_xlabel("memory limit, % of the matrix")
    axes.set_ylabel("loaded from the disk, × the matrix")
    axes.set_title("A Cholesky factorisation in less memory than its matrix takes, under five policies")
    return drawing


def draw_tutorial_1(table, theme):
    drawing = Drawing(theme, table, 3.2)
    orders = [int(row["order"]) for row in table.rows]
    seconds = [float(row["seconds"]) for row in table.rows]
    axes = drawing.axes
    axes.plot(orders, seconds, color=drawing.colours["bar"], marker="o", linewidth=2, zorder=3)
    for order, second in zip(orders, seconds):
        axes.annotate(f"{2 * order ** 3 / second / 1e9:.1f} GFlop/s", (order, second), xytext=(-8, 6),
                      textcoords="offset points", ha="right", fontsize=10, color=drawing.colours["ink"])
    axes.set_xlim(min(orders) - 260, max(orders) + 60)
    axes.set_ylim(0, max(seconds) * 1.15)
    axes.set_xticks(orders)
    axes.set_xlabel("order of the matrices")
    axes.set_ylabel("seconds")
    axes.set_title("The loop, on one core")
    return drawing


def draw_tutorial_2(table, theme):
    drawing = Drawing(theme, table, 2.9)
    axes = drawing.axes
    workers = sorted({row["worker"] for row in table.rows})
    loop = float(table.facts["loop_seconds"])
    end = 0
    for place, worker in enumerate(workers):
        bars = [(float(row["started_ms"]) / 1e3, (float(row["ended_ms"]) - float(row["started_ms"])) / 1e3)
                for row in table.rows if row["worker"] == worker]
        bars.sort()
        end = max([end] + [start + length for start, length in bars])
        colours = [drawing.colours["bar" if i % 2 else "bar2"] for i in range(len(bars))]
        axes.broken_barh(bars, (place - 0.35, 0.7), facecolors=colours, linewidth=0)
    axes.broken_barh([(0, loop)], (len(workers) - 0.35, 0.7), facecolors=drawing.colours["lws"], linewidth=0)
    for place, worker in enumerate(workers):
        axes.text(end, place, f" {end:.2f} s" if place == 0 else "", va="center", color=drawing.colours["ink"])
    axes.text(loop, len(workers), f" {loop:.2f} s", va="center", color=drawing.colours["ink"])
    axes.set_yticks(range(len(workers) + 1), workers + ["the loop"])
    axes.set_ylim(len(workers) + 0.6, -0.6)
    axes.set_xlim(0, max(loop, end) * 1.12)
    axes.grid(False)
    axes.set_xlabel("seconds")
    axes.set_title(f"{len(table.rows)} tasks on {len(workers)} cores, each a stripe; below, the loop of step 1")
    return drawing


def draw_tutorial_3(table, theme):
    drawing = Drawing(theme, table, 3.4)
    axes = drawing.axes
    times = [float(row["time_ms"]) / 1e3 for row in table.rows]
    used = [int(row["used_bytes"]) / 2**20 for row in table.rows]
    limit = int(table.facts["limit_bytes"]) / 2**20
    matrices = int(table.facts["matrices_bytes"]) / 2**20
    axes.fill_between(times, used, step="post", color=drawing.colours["bar2"], alpha=0.6, linewidth=0)
    axes.step(times, used, where="post", color=drawing.colours["bar"], linewidth=1.2)
    axes.text(times[-1] / 2, limit * 0.45, "data in memory", ha="center", color=drawing.colours["ink"])
    ends = [times[0], times[-1]]
    drawing.bound(ends, [limit] * 2, f"limit, {limit:.1f} MiB", (times[-1], limit * 1.04), ha="right", va="bottom")
    drawing.bound(ends, [matrices] * 2, f"the three matrices, {matrices:.0f} MiB", (times[-1], matrices * 0.98), ha="right",
                  va="top")
    axes.set_xlim(0, times[-1])
    axes.set_ylim(0, matrices * 1.06)
    axes.set_xlabel("seconds since the start, the tasks that fill the matrices included")
    axes.set_ylabel("MiB")
    axes.set_title(f"{int(table.facts['loaded_bytes']) / 2**20:.0f} MiB come back from the disk, and the limit holds")
    return drawing


def draw_tutorial_4(table, theme):
    drawing = Drawing(theme, table, 3.8)
    axes = drawing.axes
    curves = {}
    work = {}
    for row in table.rows:
        x, y = curves.setdefault(row["policy"], ([], []))
        x.append(int(row["gpus"]))
        y.append(float(row["seconds"]))
        work[int(row["gpus"])] = float(row["work_seconds"])
    top = max(max(y) for _, y in curves.values())
    drawing.lines(curves, 4.08, top / 15)
    drawing.bound(list(work), list(work.values()), "the work, shared evenly", (1.0, work[1] * 0.5), va="top")
    axes.set_xticks(list(work))
    axes.set_xlim(0.9, 4.5)
    axes.set_ylim(0, top * 1.06)
    axes.set_xlabel("GPUs (V100, 1 GiB of each for the data)")
    axes.set_ylabel("simulated seconds")
    axes.set_title("The same tasks on a machine that is not there")
    return drawing


PICTURES = {
    "loaded": (measure_loaded, draw_loaded),
    "tutorial_1": (measure_tutorial_1, draw_tutorial_1),
    "tutorial_2": (measure_tutorial_2, draw_tutorial_2),
    "tutorial_3": (measure_tutorial_3, draw_tutorial_3),
    "tutorial_4": (measure_tutorial_4, draw_tutorial_4),
}


def draw(names, folder):
    for name in names:
        for theme in THEMES:
            PICTURES[name][1](Table.read(name), theme).save(os.path.join(folder, f"{name}_{theme}.svg"))


# --- the output of a command

def with_output(text, executable):
    def fresh(match):
        return match[1] + run([executable] + match[2].split()).rstrip("\n") + "\n" + match[4]
    return OUTPUT_OF.sub(fresh, text)


def read_page():
    with open(os.path.join(ROOT, "README.md"), encoding="utf-8") as stream:
        return stream.read()


def same_drawer(path):
    with open(path, encoding="utf-8") as stream:
        return f"Matplotlib v{matplotlib.__version__}," in stream.read()


def check(arguments, names):
    findings = []
    if matplotlib is None:
        print("make-pages: no matplotlib, the pictures are not looked at")
    else:
        with tempfile.TemporaryDirectory() as folder:
            draw(names, folder)
            for file in sorted(os.listdir(folder)):
                kept = os.path.join(FOLDER, file)
                if not os.path.exists(kept):
                    findings.append(f"docs/pictures/{file} is missing. Remedy: scripts/make-pages --draw")
                elif not same_drawer(kept):
                    print(f"make-pages: docs/pictures/{file} was drawn by another matplotlib than {matplotlib.__version__}")
                elif not filecmp.cmp(os.path.join(folder, file), kept, shallow=False):
                    findings.append(f"docs/pictures/{file} is not what its table gives. Remedy: scripts/make-pages --draw")
    if os.path.exists(arguments.executable):
        page = read_page()
        if with_output(page, arguments.executable) != page:
            findings.append("README.md: the output of the command is another now. Remedy: docs/pictures/make.py --only output")
    for finding in findings:
        print(finding)
    print(f"make-pages: {len(findings)} finding(s)")
    return 1 if findings else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draw", action="store_true")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--executable", default=os.path.join(ROOT, "build/release/vicinal"))
    parser.add_argument("--examples", default=os.path.join(ROOT, "build/release/examples"))
    parser.add_argument("--only", default=",".join(PICTURES) + ",output")
    arguments = parser.parse_args()
    arguments.executable = os.path.abspath(arguments.executable)
    arguments.examples = os.path.abspath(arguments.examples)
    wanted = arguments.only.split(",")
    names = [name for name in PICTURES if name in wanted]
    if arguments.check:
        return check(arguments, names)
    if matplotlib is None:
        print("make-pages: needs matplotlib. Remedy: scripts/setup, which installs python3-matplotlib", file=sys.stderr)
        return 1
    if not arguments.draw:
        os.makedirs(FOLDER, exist_ok=True)
        for name in names:
            PICTURES[name][0](arguments).write(name)
        if "output" in wanted:
            page = with_output(read_page(), arguments.executable)
            with open(os.path.join(ROOT, "README.md"), "w", encoding="utf-8") as stream:
                stream.write(page)
    draw(names, FOLDER)
    return 0


if __name__ == "__main__":
    sys.exit(main())
