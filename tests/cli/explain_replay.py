"""Recomputes the scores of placements and evictions from what `vicinal explain TRACE --decisions --json -` prints: a
replay of the log of the run, event by event, that keeps for itself what the runtime kept, and compares every candidate
of every such decision with it. Here is what all policies share; explain_policies.py has their books.

What each score follows from:

    free_at, tasks, end, transfer   dmdas: earlier placements, starts and ends of tasks; where data are; links
    tasks, end, missing_operands    darts: what nodes have planned and pulled; where data are
    planned_uses, pulled_uses, next_use    darts: likewise
    last_use, saved, claims         memory: requests, starts and evictions so far; where data are; the look-ahead
    awaiting, next_use              memory: tasks that were placed on the node and wait there
"""

from collections import defaultdict

from decision_rules import NoRule, winner_by_rule


def number(reference, what):
    return None if reference is None else reference[what]


class Explained:
    """The JSON, with each decision by its number."""

    def __init__(self, printed):
        self.run, self.tasks, self.handles, self.log = (printed[k] for k in ("run", "tasks", "handles", "log"))
        self.decisions = {}
        for task in self.tasks:
            self.add(task["decisions"])
        self.add(e["decision"] for e in printed["evictions"])
        for handle in self.handles:
            self.add(copy["decision"] for copy in handle["copies"])
        self.add(printed["other_decisions"])

    def add(self, decisions):
        for decision in decisions:
            if decision is not None:
                self.decisions[decision["decision"]] = decision

    def bytes_of(self, datum):
        return self.handles[datum]["bytes"]

    def accesses(self, task):
        """Pairs (datum, mode)."""
        return [(a["handle"], a["mode"]) for a in self.tasks[task]["accesses"]]

    def read_by(self, task):
        return [d for d, mode in self.accesses(task) if mode in ("R", "RW", "commute")]

    def written_by(self, task):
        return [d for d, mode in self.accesses(task) if mode in ("W", "RW", "commute")]


class Replay:
    """Memory, which is the same under every policy. `wrong` lists what differs."""

    def __init__(self, explained):
        self.explained = explained
        self.wrong = []
        self.compared = defaultdict(int)  # by score
        self.decided = defaultdict(int)   # by rule
        self.node_of_worker = [w["node"] for w in explained.run["workers"]]
        self.nodes = range(len(explained.run["nodes"]))
        self.limited = [n["limit"] is not None for n in explained.run["nodes"]]
        self.compute_nodes = sorted(set(self.node_of_worker))
        self.valid = {d: ({number(h["home"], "node")} - {None}) for d, h in enumerate(explained.handles)}
        self.version = defaultdict(int)   # of a datum: how often it was written
        self.room = set()                 # (datum, node)
        self.leaving = set()              # likewise: chosen to leave, and not gone
        self.voided = {}                  # likewise: when
        self.coming = {}                  # likewise: the version that a copy brings
        self.running_copies = {}          # copies that have started: the datum
        self.epoch = 1                    # of memory: how many requests and evictions there were
        self.last_use = defaultdict(int)  # (datum, node): the epoch
        self.ahead = defaultdict(set)     # by node: tasks that were given to it and have not started
        self.granted = set()              # tasks that got their operands by a request
        self.worker_of = {}
        self.awaits = defaultdict(dict)   # by node: task -> {datum: number of its use}
        self.next_number = defaultdict(int)
        self.starts = self.tasks_with_start()
        self.predicted = {}               # by task and kind of worker: ns
        self.now = 0
        self.just_ended = None            # a task and its node: the policy has not heard of it yet

    # --- the log

    # When a task ends memory goes first, then the policy.
    def is_of_memory(self, event):
        if event["what"] == "decision":
            return self.explained.decisions[event["decision"]]["kind"] in ("victim", "prefetch", "write-behind")
        return event["what"] in ("became void", "room freed", "room taken", "room granted", "operands ready",
                                 "evicted", "copy wanted", "copy started")

    def play(self):
        for event in self.explained.log:
            if self.just_ended and (event["time_ns"] > self.now or not self.is_of_memory(event)):
                self.ended(*self.just_ended)
                self.just_ended = None
            self.now = event["time_ns"]
            getattr(self, "on_" + event["what"].replace(" ", "_"), lambda event: None)(event)
        return self.wrong

    def on_decision(self, event):
        decision = self.explained.decisions.get(event["decision"])
        if decision is None:
            self.wrong.append(f"decision {event['decision']} is not printed")
            return
        if decision["kind"] in ("placement", "victim"):
            self.check_rule(decision)
            self.recompute(decision)
            self.decided[decision["rule"]] += 1
        if decision["kind"] == "start":
            self.started_by_choice(decision)
        self.decided_on(decision)

    def on_room_taken(self, event):
        place = (event["handle"], event["node"])
        self.room.add(place)
        self.last_use[place] = self.epoch

    def on_room_freed(self, event):
        place = (event["handle"], event["node"])
        self.room.discard(place)
        self.leaving.discard(place)
        was_valid = event["node"] in self.valid[event["handle"]]
        self.valid[event["handle"]].discard(event["node"])
        # A copy that was wanted and had not begun is taken back. That content is void the policy hears when its room is
        # free, if that is at once.
        is_taken_back = self.coming.pop(place, None) is not None
        if was_valid or is_taken_back or self.voided.pop(place, None) == self.now:
            self.gone(*place)

    def on_evicted(self, event):
        self.epoch += 1
        self.leaving.add((event["handle"], event["node"]))

    def on_kept(self, event):
        self.leaving.discard((event["handle"], event["node"]))

    def on_became_void(self, event):
        self.valid[event["handle"]].discard(event["node"])
        self.voided[event["handle"], event["node"]] = self.now
        self.gone(event["handle"], event["node"])

    def on_copy_wanted(self, event):
        # What is saved, and what passes RAM, asks for its room there by a request.
        if event["cause"] in ("eviction", "through RAM"):
            self.epoch += 1
            self.last_use[event["handle"], event["to"]] = self.epoch
        self.coming[event["handle"], event["to"]] = self.version[event["handle"]]

    def on_copy_started(self, event):
        self.running_copies[event["copy"]] = event["handle"]

    def on_copy_ended(self, event):
        datum, node = self.running_copies[event["copy"]], event["to"]
        version = self.coming.pop((datum, node), None)
        if event["failed"] == 0 and version == self.version[datum]:
            self.valid[datum].add(node)
            self.come(datum, node)

    def on_room_granted(self, event):
        self.epoch += 1
        self.granted.add(event["task"])
        for datum, _ in self.explained.accesses(event["task"]):
            self.last_use[datum, event["node"]] = self.epoch

    def on_task_scheduled(self, event):
        task, node = event["task"], self.node_of_worker[event["worker"]]
        for waits in self.awaits.values():
            waits.pop(task, None)
        if task in self.starts or task in self.granted:
            self.ahead[node].add(task)
        else:  # it found its operands there, and started at once
            self.use(task, node)

    def on_task_moved(self, event):
        for tasks in self.ahead.values():
            tasks.discard(event["task"])
        self.ahead[self.node_of_worker[event["worker"]]].add(event["task"])

    def on_task_started(self, event):
        self.worker_of[event["task"]] = event["worker"]

    def on_task_ended(self, event):
        if event["worker"] is None:  # something that the application asked for
            return
        task, node = event["task"], self.node_of_worker[event["worker"]]
        for datum in self.explained.written_by(task):
            self.version[datum] += 1
            self.valid[datum] = self.valid[datum] | {node}
        self.just_ended = (task, node)

    # --- what follows

    def tasks_with_start(self):
        """Those that a look-ahead started."""
        return {c["task"] for d in self.explained.decisions.values() if d["kind"] == "start"
                for i, c in enumerate(d["candidates"]) if i == d["winner"]}

    def started_by_choice(self, decision):
        task, node = decision["candidates"][decision["winner"]]["task"], decision["node"]["node"]
        self.ahead[node].discard(task)
        if task not in self.granted:
            self.use(task, node)

    def use(self, task, node):
        for datum, _ in self.explained.accesses(task):
            self.last_use[datum, node] = self.epoch

    def on_node(self, datum, node):
        """Valid or on its way there, and not leaving."""
        place = (datum, node)
        if place in self.leaving:
            return False
        return node in self.valid[datum] or place in self.room or place in self.coming

    # What a policy does then.
    def come(self, datum, node):
        pass

    def gone(self, datum, node):
        pass

    def ended(self, task, node):
        pass

    def decided_on(self, decision):
        pass

    # --- what is compared

    def check_rule(self, decision):
        try:
            if winner_by_rule(decision) != decision["winner"]:
                self.wrong.append(f"decision {decision['decision']}: \"{decision['rule']}\" has another winner")
        except (NoRule, KeyError) as error:
            self.wrong.append(f"decision {decision['decision']}: {error}")

    def expect(self, decision, candidate, name, value):
        self.compared[name] += 1
        if candidate["scores"].get(name) != value:
            self.wrong.append(f"decision {decision['decision']}, {decision['rule']}, at {self.now}: {name} of "
                              f"{candidate['name']} is {candidate['scores'].get(name)}, not {value}")

    # What the task's kernel takes on a kind of worker is a fact that a policy is told, and that stays.
    def expect_run(self, decision, candidate, task, worker):
        key = (task, self.explained.run["workers"][worker]["kind"])
        run = self.predicted.setdefault(key, candidate["scores"]["run_ns"])
        self.expect(decision, candidate, "run_ns", run)
        return run

    def recompute(self, decision):
        if decision["kind"] == "victim":
            for candidate in decision["candidates"]:
                self.recompute_victim(decision, candidate, candidate["handle"], decision["node"]["node"])
        else:
            self.recompute_placement(decision)

    def recompute_placement(self, decision):
        raise NotImplementedError

    def recompute_victim(self, decision, candidate, datum, node):
        self.expect(decision, candidate, "last_use", self.last_use[datum, node])
        self.expect(decision, candidate, "saved", int(bool(self.valid[datum] - {node})))
        claims = sum(datum in (d for d, _ in self.explained.accesses(t)) for t in self.ahead[node])
        self.expect(decision, candidate, "claims", claims)
        if decision["rule"] == "awaited last":
            uses = [number for use in self.awaits[node].values() for d, number in use.items() if d == datum]
            self.expect(decision, candidate, "awaiting", len(uses))
            self.expect(decision, candidate, "next_use", min(uses, default=0))
