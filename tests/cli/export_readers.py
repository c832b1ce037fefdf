"""What other people's programs read in an exported run, in one form.

Names are compared without what not every format can hold: quotation marks and line feeds.
"""

import csv
import html
import json
import os
import re
import shutil
import subprocess
from collections import Counter
from dataclasses import dataclass, field

import trace_processor


@dataclass
class Seen:
    """None: the format does not say."""
    tasks: dict = field(default_factory=dict)  # number -> (worker, start in ns, end in ns)
    codelets: dict = None  # number of task -> name
    titles: dict = field(default_factory=dict)  # likewise: its own name, or its codelet's
    copies: Counter = None  # (link, start, end, bytes)
    dependencies: int = None
    operands: int = None  # arrows from copies to tasks
    levels: dict = None  # node -> [(time, bytes)]
    evictions: int = None
    marks: Counter = None  # texts of marks and regions


def plain(name):
    return name.replace('"', "'").replace("\n", " ")


def owner(row):
    """What overlaps lies on further rows: "gpu0 (2)"."""
    return plain(re.sub(r" \(\d+\)$", "", row))


def output(*command):
    result = subprocess.run(command, capture_output=True, timeout=120)
    if result.returncode != 0 or result.stderr:
        raise RuntimeError(f"{command[0]}: {result.returncode}, {result.stderr.decode()[-1000:]}")
    return result.stdout.decode()  # UTF-8, or an exception


def needs(program, package):
    return None if shutil.which(program) else f"{program} (Debian: {package})"


def read_table(folder, name):
    with open(os.path.join(folder, name + ".csv"), encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file, strict=True))
    for number, row in enumerate(rows):
        if len(row) != len(rows[0]):
            raise RuntimeError(f"{name}.csv: row {number} has {len(row)} cells, not {len(rows[0])}")
    return [dict(zip(rows[0], row)) for row in rows[1:]]


def read_csv(folder):
    seen = Seen(codelets={}, copies=Counter(), levels={}, marks=Counter())
    for row in read_table(folder, "tasks"):
        if row["started_ns"]:
            number = int(row["task"])
            seen.tasks[number] = (plain(row["worker_name"]), int(row["started_ns"]), int(row["ended_ns"]))
            seen.codelets[number] = plain(row["codelet"])
            seen.titles[number] = plain(row["name"] or row["codelet"])
    for row in read_table(folder, "copies"):
        if row["started_ns"]:
            link = plain(f"{row['from_name']} -> {row['to_name']}")
            seen.copies[link, int(row["started_ns"]), int(row["ended_ns"]), int(row["bytes"])] += 1
    ran = [row for row in read_table(folder, "dependencies")
           if int(row["task"]) in seen.tasks and int(row["after"]) in seen.tasks]
    seen.dependencies = len(ran)
    memory = read_table(folder, "memory")
    for row in memory:
        if row["used_bytes"]:
            seen.levels.setdefault(plain(row["node_name"]), []).append((int(row["time_ns"]), int(row["used_bytes"])))
    seen.evictions = sum(row["change"] == "evicted" for row in memory)
    seen.marks.update(plain(row["text"]) for row in read_table(folder, "marks"))
    return seen


def read_perfetto(path):
    processor = trace_processor.TraceProcessor(path)
    seen = Seen(codelets={}, copies=Counter(), levels={}, marks=Counter())
    wrong = processor.query("select name, value from stats where value != 0 and severity != 'info'")
    if wrong:
        raise RuntimeError(f"Perfetto: {[(row.name, row.value) for row in wrong]}")
    for row in processor.query("""
            select s.ts, s.dur, s.name, t.name as track, extract_arg(s.arg_set_id, 'debug.task') as number,
                   extract_arg(s.arg_set_id, 'debug.codelet') as codelet
            from slice s join track t on s.track_id = t.id where s.category = 'task'"""):
        seen.tasks[row.number] = (owner(row.track), row.ts, row.ts + row.dur)
        seen.codelets[row.number] = plain(row.codelet)
        seen.titles[row.number] = plain(row.name)
    for row in processor.query("""
            select s.ts, s.dur, t.name as track, extract_arg(s.arg_set_id, 'debug.bytes') as bytes
            from slice s join track t on s.track_id = t.id where s.category = 'copy'"""):
        seen.copies[owner(row.track), row.ts, row.ts + row.dur, row.bytes] += 1
    flows = processor.query("""
        select a.category, a.ts + a.dur as ended, b.ts as started
        from flow f join slice a on f.slice_out = a.id join slice b on f.slice_in = b.id
        where b.category = 'task'""")
    seen.dependencies = sum(row.category == "task" for row in flows)
    seen.operands = sum(row.category == "copy" for row in flows)
    if any(row.started < row.ended for row in flows):
        raise RuntimeError("Perfetto: an arrow leads back in time")
    for row in processor.query("""
            select t.name, c.ts, c.value from counter c join counter_track t on c.track_id = t.id
            where t.name != 'ready tasks' order by c.id"""):
        seen.levels.setdefault(plain(row.name.removesuffix(" in use")), []).append((row.ts, int(row.value)))
    seen.evictions = processor.query("select count(*) as n from slice where category = 'memory'")[0].n
    seen.marks.update(plain(row.name) for row in processor.query(
        "select name from slice where category = 'application' and name != 'what ran'"))
    processor.close()
    return seen


def read_otf2(folder):
    anchor = os.path.join(folder, "traces.otf2")
    locations = {int(number): name for number, name in re.findall(
        r'^LOCATION +(\d+)  Name: "(.*)" <\d+>, Type', output("otf2-print", "-G", anchor), re.M)}
    seen = Seen(codelets={}, copies=Counter(), levels={}, marks=Counter())
    entered = {}
    lines = output("otf2-print", anchor).splitlines()
    for line, after in zip(lines, lines[1:] + [""]):
        match = re.match(r'(ENTER|LEAVE|METRIC) +(\d+) +(\d+)  \w+: (.*)$', line)
        if not match:
            continue
        event, location, time = match[1], locations[int(match[2])], int(match[3])
        if event == "METRIC":
            name, value = re.search(r'\("(.*)" <\d+>; UINT64; (\d+)\)', match[4]).groups()
            if name != "ready tasks":
                seen.levels.setdefault(plain(name.removesuffix(" in use")), []).append((time, int(value)))
            continue
        if event == "ENTER":
            after = after if "ADDITIONAL" in after else ""
            said = dict(re.findall(r'\("(\w+)" <\d+>; U?INT64; (-?\d+)\)', after))
            said.update(re.findall(r'\("(title)" <\d+>; STRING; "(.*?)" <\d+>\)', after))
            if location in entered:
                raise RuntimeError(f"OTF2: two regions at once in {location}")
            entered[location] = (time, said)
            continue
        start, said = entered.pop(location)
        region = plain(re.match(r'"(.*)" <\d+>', match[4])[1])
        if "task" in said:
            number = int(said["task"])
            seen.tasks[number] = (owner(location), start, time)
            seen.codelets[number] = region
            seen.titles[number] = plain(said.get("title", region))
        elif "copy" in said:
            seen.copies[owner(location), start, time, int(said["bytes"])] += 1
        else:
            seen.marks[region] += 1
    if entered:
        raise RuntimeError(f"OTF2: regions without an end: {entered}")
    return seen


def read_paje(path):
    def ns(text):
        return round(float(text) * 1e9)

    seen = Seen(codelets={}, copies=Counter(), dependencies=0, operands=0, levels={}, evictions=0, marks=Counter())
    for line in output("pj_dump", "-u", "-l", "9", path).splitlines():
        sort, container, kind, *rest = line.split(", ")
        if sort == "State" and kind == "Task" and rest[4] != "idle":
            number = int(rest[5])
            seen.tasks[number] = (owner(container), ns(rest[0]), ns(rest[1]))
            seen.codelets[number], seen.titles[number] = rest[4], rest[6]
        elif sort == "State" and kind == "Copy" and rest[4] != "unused":
            seen.copies[owner(container), ns(rest[0]), ns(rest[1]), int(rest[-1])] += 1
        elif sort == "State" and kind == "Region" and rest[4] != "outside":
            seen.marks[rest[4]] += 1
        elif sort == "Link":
            seen.dependencies += kind == "Dependency"
            seen.operands += kind == "Operand"
            if ns(rest[1]) < ns(rest[0]):
                raise RuntimeError(f"Paje: a link leads back in time: {line}")
        elif sort == "Variable" and kind == "Bytes in use":
            seen.levels.setdefault(container, []).append((ns(rest[0]), int(float(rest[3]))))
        elif sort == "Event":
            seen.evictions += kind == "Eviction"
            if kind == "Mark":
                seen.marks[rest[1]] += 1
    return seen


def read_dot(path):
    graph = json.loads(output("dot", "-Tdot_json", path), strict=False)
    ran = {node["_gvid"] for node in graph["objects"] if "started_ns" in node}
    seen = Seen(dependencies=sum({edge["tail"], edge["head"]} <= ran for edge in graph.get("edges", [])))
    for node in graph["objects"]:
        if "started_ns" not in node:
            continue
        # The label as graphviz draws it: name and number, worker, times.
        label = html.unescape(re.sub(r"\\(.)", lambda escape: "\n" if escape[1] == "n" else escape[1], node["label"]))
        name, worker, _ = label.rsplit("\n", 2)
        seen.tasks[int(node["task"])] = (plain(worker), int(node["started_ns"]), int(node["ended_ns"]))
        seen.titles[int(node["task"])] = plain(name.rsplit(" #", 1)[0])
    return seen


# By format: the reader, and what it needs that is not there.
READERS = {
    "perfetto": (read_perfetto, trace_processor.missing),
    "otf2": (read_otf2, lambda: needs("otf2-print", "otf2-tools")),
    "paje": (read_paje, lambda: needs("pj_dump", "pajeng")),
    "dot": (read_dot, lambda: needs("dot", "graphviz")),
}
