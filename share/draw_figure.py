#!/usr/bin/env python3
"""Draws what `vicinal reproduce` has measured, and the pictures of `--plot`: of a comparison, or of a sweep.

    draw_figure.py PICTURE.json STEM
    draw_figure.py REPORT.json FILE.svg
    draw_figure.py SWEEP.json FILE.svg

writes STEM.svg and STEM.png, or the one file. The JSON says all that is drawn (apps/reproduction/picture.hpp,
docs/report.md); nothing here knows a paper. Exit status 3: there is no matplotlib.
"""

import json
import math
import os
import re
import sys
import textwrap

try:
    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    from matplotlib.colors import to_rgb
    from matplotlib.patches import Rectangle
    from matplotlib.ticker import MaxNLocator
except ImportError:
    sys.exit(3)

COLOURS = ["#d62728", "#1f77b4", "#ff7f0e", "#2ca02c", "#9467bd", "#8c564b", "#e377c2", "#17becf", "#7f7f7f"]
MARKERS = ["o", "s", "^", "D", "v", "P", "X", "*", "<"]
# Of the groups of an order: red, green, blue, yellow, magenta, cyan, orange, then anew.
GROUPS = ["#d62728", "#2ca02c", "#1f3fd6", "#e6c800", "#d62fd0", "#17becf", "#ff7f0e"]

# As src/base/legible.hpp: what XML cannot hold, and what turns the direction of writing.
ILLEGIBLE = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ufffe\uffff]")


def legible(name):
    """Of a file: it may hold anything, also what would be a formula to matplotlib."""
    return ILLEGIBLE.sub("\ufffd", name).replace("$", r"\$")


plt.rcParams.update({
    "font.size": 9, "axes.titlesize": 10, "axes.grid": True, "grid.alpha": 0.3, "grid.linewidth": 0.6,
    "axes.spines.top": False, "axes.spines.right": False,
    # The same input gives the same SVG.
    "svg.hashsalt": "vicinal", "svg.fonttype": "path",
})


def draw_limit(axes, limit):
    """A style is a colour and a dash: "k:" or "0.6 -"."""
    colour, dash = limit["style"].rsplit(" ", 1) if " " in limit["style"] else limit["style"]
    if len(limit["x"]) > 1:
        return axes.plot(limit["x"], limit["y"], linestyle=dash, color=colour, linewidth=1.3, zorder=20)[0]
    return axes.axhline(limit["y"][0], linestyle=dash, color=colour, linewidth=1.3, zorder=20)


def draw_panel(axes, panel, series, handles):
    axes.set_xscale(panel.get("x_scale", "linear"))
    for curve in panel["curves"]:
        number = series.index(curve["series"])
        # Curves that coincide are seen beneath each other: the first is the widest.
        width = 1.2 + 1.8 * (1 - (number + 1) / len(series))
        handles.setdefault(curve["series"], axes.plot(
            curve["x"], curve["y"], color=COLOURS[number % len(COLOURS)], marker=MARKERS[number % len(MARKERS)],
            linestyle=curve.get("dash", "-"),
            linewidth=width, markersize=3 + 1.6 * width, markeredgecolor="white", markeredgewidth=0.6,
            zorder=3 + number)[0])
        if curve.get("low", curve["y"]) != curve.get("high", curve["y"]):  # quartiles
            axes.vlines(curve["x"], curve["low"], curve["high"], color=COLOURS[number % len(COLOURS)],
                        linewidth=width, alpha=0.6, zorder=2)
    curves_top = max((max(curve.get("high", curve["y"])) for curve in panel["curves"]), default=1)
    left, right = axes.get_xlim()
    for limit in panel["limits"]:
        handles.setdefault(limit["label"], draw_limit(axes, limit))
    for mark in panel["marks"]:
        if left <= mark["x"] <= right:
            line = axes.axvline(mark["x"], linestyle="--", color=mark["colour"], linewidth=1.2, zorder=1)
            handles.setdefault(mark["label"], line)
    # A limit far above the curves would press them to the ground.
    limits_top = max((max(limit["y"]) for limit in panel["limits"]), default=0)
    axes.set_ylim(0, 1.08 * max(curves_top, min(limits_top, 1.6 * curves_top)))
    axes.set_xlim(left, right)
    axes.set_title(panel["name"])
    axes.set_xlabel(panel["x_label"])
    if panel["x_label"] in ("GPUs", "gpus", "tiles", "recipients", "rank", "cores that compute"):
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))


def shape_of(plots):
    """Rows and columns: a row per plot; panels of one plot alone are wrapped; plots of one panel stand side by side."""
    panels = max(len(plot["panels"]) for plot in plots)
    if len(plots) > 1:
        return (1, len(plots)) if panels == 1 else (len(plots), panels)
    columns = panels if panels <= 3 else 2 if panels == 4 else 3
    return math.ceil(panels / columns), columns


def draw_curves(picture):
    plots = picture["plots"]
    rows, columns = shape_of(plots)
    wide = 5.0 if columns < 3 else 3.6
    figure, grid = plt.subplots(rows, columns, figsize=(max(6.0, wide * columns), 3.2 * rows + 1.1),
                                squeeze=False)
    handles = {}
    free = list(grid.flat)
    for plot in plots:
        for column, panel in enumerate(plot["panels"]):
            axes = free.pop(0)
            draw_panel(axes, panel, picture["series"], handles)
            if column % columns == 0 or rows == 1 and len(plots) > 1:
                axes.set_ylabel(f"{plot['name']} ({plot['unit']})")
    for axes in free:
        axes.set_visible(False)
    order = [label for label in picture["series"] if label in handles]
    order += [label for label in handles if label not in order]
    figure.suptitle("\n".join(textwrap.wrap(picture["title"], int(13 * figure.get_figwidth()))), fontsize=11)
    per_row = max(2, int(figure.get_figwidth() / 1.9))
    figure.legend([handles[label] for label in order], order, loc="lower center", frameon=False,
                  ncol=min(per_row, len(order)), fontsize=8.5)
    legend_rows = math.ceil(len(order) / per_row)
    height = figure.get_figheight()
    figure.tight_layout(rect=(0, (0.12 + 0.2 * legend_rows) / height, 1, 1))
    return figure


def shade(place, colour):
    """Each group from light to dark in the order of its tasks."""
    base = to_rgb(GROUPS[(place // colour) % len(GROUPS)])
    dark = (place % colour) / colour
    light = 0.55 * (1 - dark)
    return tuple((channel + (1 - channel) * light) * (1 - 0.3 * dark) for channel in base)


def draw_cells(axes, cells, order):
    size = order["size"]
    for row, column, place in cells:
        axes.add_patch(Rectangle((column, row), 1, 1, facecolor=shade(place, order["colour"]), linewidth=0))
    # So many tiles fit in the memory, drawn in the corner that the lower triangle leaves free.
    side = math.sqrt(order["capacity"])
    if side < size:
        axes.add_patch(Rectangle((size - side, 0), side, side, facecolor="black", linewidth=0))
    axes.set_xlim(0, size)
    axes.set_ylim(size, 0)
    axes.set_aspect("equal")
    axes.grid(False)
    axes.tick_params(labelsize=7)


def draw_order(picture):
    order = picture["order"]
    views = order["views"]
    columns = max(order["steps"], len(views)) if order["steps"] == 1 else order["steps"]
    rows = len(views) if order["steps"] > 1 else 1
    figure, grid = plt.subplots(rows, columns, figsize=(max(6.0, 2.9 * columns), 2.9 * rows + 1.4), squeeze=False)
    for number, view in enumerate(views):
        for step in range(order["steps"]):
            axes = grid[number][step] if order["steps"] > 1 else grid[0][number]
            draw_cells(axes, view["cells"][step], order)
            axes.set_title(view["name"] if order["steps"] == 1 else f"{view['name']}, step {step + 1}")
            axes.set_xlabel("column of tiles")
            if axes is grid[0][0] or (step == 0 and order["steps"] > 1):
                axes.set_ylabel("row of tiles")
    places = 1 + max(cell[2] for view in views for cells in view["cells"] for cell in cells)
    groups = range(min(len(GROUPS), math.ceil(places / order["colour"])))
    keys = [Rectangle((0, 0), 1, 1, facecolor=GROUPS[group]) for group in groups]
    names = [f"{group * order['colour'] + 1} to {(group + 1) * order['colour']}" for group in groups]
    keys.append(Rectangle((0, 0), 1, 1, facecolor="black"))
    names.append("fits in memory")
    figure.suptitle("\n".join(textwrap.wrap(picture["title"], int(13 * figure.get_figwidth()))), fontsize=11)
    figure.legend(keys, names, loc="lower center", frameon=False, ncol=4 if columns < 3 else 8, fontsize=8,
                  title="tasks in the order of their ends, light to dark; later ones begin with the first colour again",
                  title_fontsize=8)
    rows_of_keys = math.ceil(len(keys) / (4 if columns < 3 else 8))
    figure.tight_layout(rect=(0, (0.35 + 0.2 * rows_of_keys) / figure.get_figheight(), 1, 1))
    return figure


# --- the comparison of a report

# Ink on paper and on a dark page. Bars are of colours that both take.
INK, LIGHT_INK = "#1f2328", "#e6edf3"
TIME, LOADED, WRITTEN = "#2f81c7", "#d9822b", "#a371c9"
SECONDS = [(1, "s"), (1e-3, "ms"), (1e-6, "µs")]
BYTES = [(1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"), (1, "bytes")]


def scale_of(largest, units):
    return next((unit for unit in units if largest >= unit[0]), units[-1])


def draw_bars(axes, runs, title, field, bound, units, colour):
    """A bar per run, and the bound as a line."""
    scale, unit = scale_of(max(run[field] for run in runs), units)
    values = [run[field] / scale for run in runs]
    axes.barh(range(len(runs)), values, height=0.7, color=colour)
    for place, value in enumerate(values):
        axes.annotate(f"{value:.3g}", (value, place), xytext=(3, 0), textcoords="offset points", va="center",
                      fontsize=8, color=INK)
    lowest = min(run[bound] for run in runs) / scale
    if lowest > 0:
        axes.axvline(lowest, linestyle="--", linewidth=1.2, color=INK)
        axes.annotate(f"bound {lowest:.3g}", (lowest, 1), xycoords=("data", "axes fraction"), xytext=(0, 3),
                      textcoords="offset points", ha="center", fontsize=8, color=INK)
    axes.set_xlim(0, 1.18 * max(*values, lowest, 1e-9))
    axes.set_xlabel(f"{title} ({unit})", color=INK)
    axes.set_yticks(range(len(runs)), [run["policy"] for run in runs])
    axes.set_ylim(len(runs) - 0.5, -0.5)
    axes.tick_params(colors=INK)
    axes.grid(axis="y", visible=False)
    for spine in axes.spines.values():
        spine.set_color(INK)


def draw_comparison(report):
    runs = sorted((run for run in report["runs"] if "error" not in run), key=lambda run: run["seconds"])
    if not runs:
        sys.exit("there is nothing to draw: no run has ended well")
    panels = [("time", "seconds", "bound_seconds", SECONDS, TIME), ("loaded", "bytes_in", "bound_bytes", BYTES, LOADED),
              ("written back", "bytes_out", "bound_bytes_out", BYTES, WRITTEN)]
    panels = [panel for panel in panels if panel[1] == "seconds" or any(run[panel[1]] > 0 for run in runs)]
    figure, grid = plt.subplots(1, len(panels), figsize=(1 + 3.2 * len(panels), 1.4 + 0.3 * max(2, len(runs))),
                                squeeze=False, sharey=True)
    for axes, panel in zip(grid[0], panels):
        draw_bars(axes, runs, *panel)
    facts = [f"{name} {legible(str(value))}" for name, value in report["parameters"].items()
             if name in ("size", "tile", "tiles", "precision", "tasks")]
    figure.suptitle(f"{legible(report['application'])}: {', '.join(facts)}", fontsize=10, color=INK)
    figure.tight_layout()
    return figure


def for_both_pages(path):
    """An SVG whose ink follows the page: dark on a light one, light on a dark one."""
    with open(path, encoding="utf-8") as stream:
        text = stream.read()
    rules = "".join(f'[style*="{what}: {INK}"] {{ {what}: {LIGHT_INK} !important }}\n' for what in ("fill", "stroke"))
    style = f"<style>@media (prefers-color-scheme: dark) {{\n{rules}}}</style>\n"
    with open(path, "w", encoding="utf-8") as stream:
        stream.write(text.replace("<defs>", "<defs>\n" + style, 1))


def save(figure, path, **how):
    """The file has its old content or all of the new one: a disk may be full."""
    target = os.path.realpath(path)
    beside = f"{target}.{os.getpid()}.tmp"
    try:
        figure.savefig(beside, format=path.rsplit(".", 1)[1], **how)
        if "transparent" in how:
            for_both_pages(beside)
        os.replace(beside, target)
    except OSError as error:
        if os.path.exists(beside):
            os.remove(beside)
        sys.exit(f"cannot write {path}: {error.strerror}")


def main(arguments):
    if len(arguments) != 2:
        print("usage: draw_figure.py PICTURE.json STEM, or REPORT.json or SWEEP.json FILE.svg", file=sys.stderr)
        return 2
    with open(arguments[0], encoding="utf-8") as stream:
        picture = json.load(stream)
    if "runs" in picture:
        save(draw_comparison(picture), arguments[1], metadata={"Date": None}, transparent=True, bbox_inches="tight")
        return 0
    if arguments[1].endswith(".svg"):  # of a sweep
        plt.rcParams.update({what: INK for what in ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color",
                                                    "ytick.color")})
        picture["title"] = legible(picture["title"])
        save(draw_curves(picture), arguments[1], metadata={"Date": None}, transparent=True, bbox_inches="tight")
        return 0
    figure = draw_order(picture) if "order" in picture else draw_curves(picture)
    save(figure, arguments[1] + ".svg", metadata={"Date": None})
    save(figure, arguments[1] + ".png", dpi=150)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
