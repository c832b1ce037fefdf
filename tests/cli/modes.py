"""Graph files whose tasks reduce, commute and use scratch: simulated under every policy, and bounded."""

import json
import os
import tempfile

from vicinal import check, expect_refusal, finish, policy_names, run

BLOCKS = 12
MIB = 1 << 20


def dot_product():
    """Sums over blocks, in a sum with content and in one without; each task has a buffer of its own, and counts."""
    reduction = {"neutral": "zero", "combine": "add"}
    data = {f"x{b}": {"bytes": 4 * MIB, "home": "ram"} for b in range(BLOCKS)}
    data["sum"] = {"bytes": MIB, "home": "ram", "reduction": reduction}
    data["norm"] = {"bytes": MIB, "reduction": reduction}
    data["buffer"] = {"bytes": 2 * MIB}
    data["count"] = {"bytes": 8, "home": "ram"}
    tasks = [{"kernel": "dot", "accesses": [[f"x{b}", "R"], ["sum", "reduction"], ["norm", "reduction"],
                                            ["buffer", "scratch"]]} for b in range(BLOCKS)]
    tasks += [{"kernel": "count", "accesses": [["count", "commute"]]} for _ in range(BLOCKS)]
    tasks.append({"kernel": "dot", "accesses": [["sum", "RW"], ["norm", "R"]]})
    tasks += [{"kernel": "dot", "accesses": [[f"x{b}", "R"], ["sum", "reduction"]]} for b in range(BLOCKS)]
    return {"name": "dot", "precision": "float", "data": data, "tasks": tasks,
            "kernels": {"zero": {"seconds": {"gpu": 1e-5, "cpu": 1e-4}},
                        "add": {"seconds": {"gpu": 2e-5, "cpu": 2e-4}},
                        "dot": {"seconds": {"gpu": 1e-3}},
                        "count": {"seconds": {"gpu": 1e-4, "cpu": 1e-4}}}}


def test_every_policy(path):
    arguments = ["simulate", "--graph", path, "--machine", "v100p", "--gpus", "4", "--memory", "64MiB", "--policy",
                 ",".join(policy_names()), "--json", "-"]
    result = run(*arguments)
    check(result.returncode == 0, f"simulate: {result.stderr}")
    report = json.loads(result.stdout)
    again = json.loads(run(*arguments).stdout)
    check(len(report["runs"]) == len(policy_names()), f"runs: {len(report['runs'])}")
    for entry, repeated in zip(report["runs"], again["runs"]):
        what = entry["policy"]
        check("error" not in entry, f"{what}: {entry.get('error')}")
        # 37 tasks; combinations are the runtime's own.
        check(entry["tasks"] == 3 * BLOCKS + 1, f"{what}: tasks: {entry['tasks']}")
        check(entry["seconds"] >= entry["bound_seconds"] > 0, f"{what}: seconds: {entry}")
        check(entry["bytes_in"] >= entry["bound_bytes"] > 0, f"{what}: bytes_in: {entry}")
        check(entry["bytes_out"] >= entry["bound_bytes_out"] > 0, f"{what}: bytes_out: {entry}")
        # On one GPU the 25 reducing tasks of 1 ms each would run in turn, for 25 ms.
        check(entry["seconds"] < 25e-3, f"{what}: nothing runs at once: {entry['seconds']}")
        check(entry["seconds"] == repeated["seconds"] and entry["bytes_in"] == repeated["bytes_in"],
              f"{what}: another result")


def test_bounds(path):
    result = run("bounds", "--graph", path, "--machine", "v100p", "--gpus", "4", "--json", "-")
    check(result.returncode == 0, f"bounds: {result.stderr}")
    bounds = json.loads(result.stdout)
    check(bounds["tasks"] == 3 * BLOCKS + 1, f"tasks: {bounds['tasks']}")
    time = {entry["name"]: entry["seconds"] for entry in bounds["time"]}
    # dot, combination, dot, dot, combination. None of those that reduce follows another.
    check(abs(time["critical path"] - 3.04e-3) < 1e-8, f"critical path: {time}")
    # 25 dot, 12 count, three copies that begin and norm, three combinations: over 4 GPUs.
    work = (25 * 1e-3 + 12 * 1e-4 + 4 * 1e-5 + 3 * 2e-5) / 4
    check(abs(time["work"] - work) < 1e-7, f"work: {time['work']}, not {work}")


def test_refusal(path):
    with open(path, "w") as file:
        json.dump({"data": {"x": {"bytes": 8}}, "kernels": {"k": {}},
                   "tasks": [{"kernel": "k", "accesses": [["x", "reduction"]]}]}, file)
    expect_refusal(run("simulate", "--graph", path), 2, ["tasks[0]", "x", "reduction"], "no reduction")
    # Copies begin where the tasks run.
    with open(path, "w") as file:
        json.dump({"data": {"x": {"bytes": 8, "reduction": {"neutral": "zero", "combine": "zero"}}},
                   "kernels": {"k": {"seconds": {"gpu": 1}}, "zero": {"seconds": {"cpu": 1}}},
                   "tasks": [{"kernel": "k", "accesses": [["x", "reduction"]]}]}, file)
    expect_refusal(run("simulate", "--graph", path, "--machine", "idgraf", "--policy", "lws"), 2,
                   ["task k", "no worker can run it", "neutral element"], "neutral elsewhere")


with tempfile.TemporaryDirectory(dir=os.getcwd()) as temporary:
    file_name = os.path.join(temporary, "dot.json")
    with open(file_name, "w") as graph_file:
        json.dump(dot_product(), graph_file)
    test_every_policy(file_name)
    test_bounds(file_name)
    test_refusal(os.path.join(temporary, "wrong.json"))
finish()
