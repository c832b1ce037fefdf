"""Runs that are made up so that what binds them is known: graphs and machines as files, played by vicinal simulate."""

import json
import os

MIB = 1 << 20


def machine(cpus=4, gpus=0, ram=None, disk=None, gpu_memory="1 GiB", link="10 GB/s", overhead="1 us", submit="0 us"):
    """The text of a machine file; `disk`: its bandwidth, both ways together."""
    text = f'name = "made"\nsentence = "made up"\nsubmit_overhead = "{submit}"\n'
    if ram is not None:
        text += f'[ram]\nlimit = "{ram // MIB} MiB"\n'
    if cpus > 0:
        text += f'[cpu]\nmost = {cpus}\ntask_overhead = "{overhead}"\n'
    if disk is not None:
        text += f'[disk]\nread = "{disk}"\nwrite = "{disk}"\nduplex = "half"\n'
    if gpus > 0:
        text += (f'[gpu]\nmost = {gpus}\nmemory = "{gpu_memory}"\npipeline = 2\ntask_overhead = "{overhead}"\n'
                 f'[[link]]\nbetween = ["ram", "gpu"]\nbandwidth = "{link}"\nserialise = ["same"]\n')
    return text


class Graph:
    """A graph file in the making."""

    def __init__(self):
        self.data, self.kernels, self.tasks = {}, {}, []

    def datum(self, name, mib, home=None):
        self.data[name] = {"bytes": int(mib * MIB), **({"home": home} if home else {})}
        return name

    def kernel(self, name, **seconds):
        self.kernels[name] = {"seconds": seconds}
        return name

    def task(self, kernel, *accesses, priority=0):
        self.tasks.append({"kernel": kernel, "accesses": [list(a) for a in accesses], "priority": priority})

    def text(self):
        return json.dumps({"format": "vicinal-graph-1", "name": "made", "data": self.data, "kernels": self.kernels,
                           "tasks": self.tasks})


def write(folder, name, text):
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def independent(count, seconds, mib=0.001, home="ram", kernel="work", mode="RW"):
    """Tasks that have a datum each."""
    graph = Graph()
    graph.kernel(kernel, cpu=seconds, gpu=seconds)
    for i in range(count):
        graph.task(kernel, (graph.datum(f"d{i}", mib, home), mode))
    return graph


def slow_kernel(steps, width, slow, fast):
    """Each step: one `factor`, then `width` tasks that read its result."""
    graph = Graph()
    graph.kernel("factor", cpu=slow)
    graph.kernel("update", cpu=fast)
    graph.datum("pivot", 0.01, "ram")
    for i in range(width):
        graph.datum(f"d{i}", 0.01, "ram")
    for _ in range(steps):
        graph.task("factor", ("pivot", "RW"), *[(f"d{i}", "R") for i in range(width)])
        for i in range(width):
            graph.task("update", ("pivot", "R"), (f"d{i}", "RW"))
    return graph


def chain(length, seconds, others):
    """One chain; beside it tasks that hang on nothing."""
    graph = Graph()
    graph.kernel("step", cpu=seconds)
    graph.kernel("aside", cpu=seconds)
    graph.datum("x", 0.01, "ram")
    for i in range(length):
        graph.task("step", ("x", "RW"))
        if i < others:
            graph.task("aside", (graph.datum(f"a{i}", 0.01, "ram"), "RW"))
    return graph


def products(rows, columns, mib, seconds, home="ram", order=None):
    """Each task reads a row and a column and writes a small result."""
    graph = Graph()
    graph.kernel("product", cpu=seconds, gpu=seconds)
    for i in range(rows):
        graph.datum(f"r{i}", mib, home)
    for j in range(columns):
        graph.datum(f"c{j}", mib, home)
    pairs = [(i, j) for i in range(rows) for j in range(columns)]
    if order is not None:
        order.shuffle(pairs)
    for i, j in pairs:
        graph.task("product", (f"r{i}", "R"), (f"c{j}", "R"))
    return graph


def makers(count, mib, make, use, gpu=False):
    """Pairs of tasks: the first makes a block, the second uses the block and the result of the pair before."""
    graph = Graph()
    kind = "gpu" if gpu else "cpu"
    graph.kernel("make", **{kind: make})
    graph.kernel("use", **{kind: use})
    graph.datum("sum", 0.01, "ram")
    for i in range(count):
        graph.task("make", (graph.datum(f"b{i}", mib), "W"))
        graph.task("use", (f"b{i}", "R"), ("sum", "RW"))
    return graph


def two_kinds(count, cpu, gpu):
    """Large tasks that a core takes far longer for than an accelerator."""
    graph = Graph()
    graph.kernel("large", cpu=cpu, gpu=gpu)
    for i in range(count):
        graph.task("large", (graph.datum(f"d{i}", 0.01, "ram"), "RW"))
    return graph
