"""Recomputes the scores of placements and evictions from what `vicinal explain TRACE --decisions --json -` prints: a
replay of the log of the run, event by event, that keeps for itself what the runtime kept, and compares every candidate
of every such decision with it.

What each score follows from:

    free_at, tasks, end, transfer   dmdas: earlier placements, starts and ends of tasks; where data are; links
    tasks, end, missing_operands    darts: what nodes have planned and pulled; where data are
    planned_uses, pulled_uses, next_use    darts: likewise
    last_use, saved, claims         memory: requests, starts and evictions so far; where data are; the look-ahead
    awaiting, next_use              memory: tasks that were placed on the node and wait there
"""

from collections import Counter, defaultdict

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
        self.now = 0
        self.just_ended = None            # a task and its node: the policy has not heard of it yet

    # --- the log

    # When a task ends memory goes first, then the policy.
    def is_of_memory(self, event):
        if event["what"] == "decision":
            return self.explained.decisions[event["decision"]]["kind"] in ("victim", "early copy", "write-behind")
        return event["what"] in ("became void", "room freed", "room taken", "room granted", "operands ready",
                                 "evicted", "copy wanted", "copy started")

    def play(self):
        for event in self.explained.log:
            if self.just_ended and not self.is_of_memory(event):
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
            self.leaving.discard((datum, event["node"]))

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


class Lws(Replay):
    turn = 0

    def recompute_placement(self, decision):
        workers = len(self.node_of_worker)
        if decision["rule"] == "released here":
            releasing = number(self.explained.tasks[decision["task"]["task"]]["released_by_worker"], "worker")
            self.compared["releasing worker"] += 1
            if decision["candidates"][0]["worker"] != releasing:
                self.wrong.append(f"decision {decision['decision']}: worker {releasing} released it")
            return
        for candidate in decision["candidates"]:
            self.expect(decision, candidate, "place", (candidate["worker"] - self.turn) % workers)
            self.expect(decision, candidate, "can_run", 1)  # all are alike
        self.turn = (self.turn + 1) % workers


class Dmdas(Replay):
    """The list schedulers' books: what each worker was given and what is queued for it."""

    def __init__(self, explained):
        super().__init__(explained)
        workers = len(self.node_of_worker)
        self.queued = [0] * workers   # ns, with the delays of their data
        self.given = [0] * workers
        self.free_at = [0] * workers
        self.tasks = [0] * workers
        self.placed = {}              # task -> worker, run, delay
        self.requested = defaultdict(set)  # datum -> nodes
        self.links = defaultdict(list)     # into a node: from, latency, ns per byte
        links = explained.run["links"]
        users = Counter(segment for link in links for segment in link["segments"])
        devices = sum(node["kind"] == "device" for node in explained.run["nodes"])
        for link in links:
            # As slow as if all accelerators used what it shares both ways at once.
            shared = any(users[segment] > 1 for segment in link["segments"])
            factor = 2.0 * max(devices, 1) if shared else 1.0
            self.links[link["to"]].append(
                (link["from"], link["latency_ns"], factor * 1e9 / link["bytes_per_second"]))

    # Data are looked at when a task that uses them is placed, comes or goes.
    def look(self, datum, nodes, keep):
        there = {n for n in nodes if self.on_node(datum, n) or n in self.valid[datum]}
        kept = self.requested[datum] if keep else self.requested[datum] - set(nodes)
        self.requested[datum] = kept | there

    def come(self, datum, node):
        self.look(datum, [node], False)

    def gone(self, datum, node):
        self.look(datum, [node], False)

    def transfer(self, task, node):
        return sum(self.copy_time(d, node) for d in self.explained.read_by(task) if node not in self.requested[d])

    def copy_time(self, datum, node):
        return min(latency + int(self.explained.bytes_of(datum) * ns_per_byte)
                   for source, latency, ns_per_byte in self.links[node] if source in self.valid[datum])

    def recompute_placement(self, decision):
        task = decision["task"]["task"]
        for datum, _ in self.explained.accesses(task):
            self.look(datum, self.nodes, True)
        for candidate in decision["candidates"]:
            worker = candidate["worker"]
            free = max(self.free_at[worker], self.now) + self.queued[worker]
            transfer = self.transfer(task, self.node_of_worker[worker])
            run = candidate["scores"]["run_ns"]  # a fact: what the kernel takes there
            self.expect(decision, candidate, "free_at_ns", free)
            self.expect(decision, candidate, "transfer_ns", transfer)
            self.expect(decision, candidate, "end_ns", max(free, self.now + transfer) + run)
            self.expect(decision, candidate, "tasks", self.tasks[worker])

    def decided_on(self, decision):
        if decision["kind"] != "placement":
            return
        task, chosen = decision["task"]["task"], decision["candidates"][decision["winner"]]
        worker, scores = chosen["worker"], chosen["scores"]
        delay = max(0, scores["end_ns"] - scores["run_ns"] - scores["free_at_ns"])
        self.placed[task] = (worker, scores["run_ns"], delay)
        self.queued[worker] += scores["run_ns"] + delay
        self.tasks[worker] += 1
        self.wish(task, self.node_of_worker[worker])

    # Its data are asked for: those that are there count as used now.
    def wish(self, task, node):
        uses = {}
        for datum in self.explained.read_by(task):
            if self.on_node(datum, node):
                self.last_use[datum, node] = self.epoch
            self.requested[datum].add(node)
            if self.limited[node]:
                self.next_number[node] += 1
                uses[datum] = self.next_number[node]
        self.awaits[node][task] = uses

    def on_task_scheduled(self, event):
        super().on_task_scheduled(event)
        task, to = event["task"], event["worker"]
        worker, run, delay = self.placed[task]
        self.queued[worker] -= run + delay
        self.tasks[worker] -= 1
        if worker != to:
            self.wrong.append(f"task {task} was taken from worker {worker}: its time on {to} is not printed")
        self.free_at[to] = max(self.free_at[to], self.now) + run
        self.given[to] += run
        self.tasks[to] += 1
        self.placed[task] = (to, run, delay)

    def ended(self, task, node):
        worker, run, _ = self.placed.pop(task)
        self.given[worker] -= run
        self.free_at[worker] = self.now + self.given[worker]
        self.tasks[worker] -= 1
        for datum in self.explained.written_by(task):
            self.look(datum, self.nodes, False)


class Darts(Replay):
    """Its ledger: which tasks each node has planned and pulled, and which data it takes to be there."""

    def __init__(self, explained):
        super().__init__(explained)
        self.planned = {n: set() for n in self.compute_nodes}
        self.pulled = {n: {} for n in self.compute_nodes}  # task -> number of its pull
        self.present_there = defaultdict(bool)             # (datum, node): as it was seen last
        self.unfinished = {}                               # by node: the victim that may not have gone
        self.pulls = 0
        self.runs = {}                                     # by task: ns

    def uses(self, tasks, datum):
        return [t for t in tasks if any(d == datum for d, _ in self.explained.accesses(t))]

    def present(self, datum, node):
        return self.present_there[datum, node] or bool(self.uses(self.pulled[node], datum))

    def refresh(self, datum, node):
        self.present_there[datum, node] = self.on_node(datum, node)

    # The replica leaves: who has planned to read it has not any more.
    def leave(self, datum, node):
        self.present_there[datum, node] = False
        if not self.present(datum, node):
            self.planned[node] -= {t for t in self.planned[node] if datum in self.explained.read_by(t)}

    def come(self, datum, node):
        if node in self.planned:
            self.refresh(datum, node)

    def gone(self, datum, node):
        if node not in self.planned:
            return
        if self.unfinished.get(node) == datum:
            del self.unfinished[node]
        self.refresh(datum, node)
        if not self.present_there[datum, node]:
            self.leave(datum, node)

    def ended(self, task, node):
        for datum, _ in self.explained.accesses(task):
            if len(self.uses(self.pulled[node], datum)) == 1:
                self.refresh(datum, node)
        self.pulled[node].pop(task, None)

    # --- placements

    def recompute_placement(self, decision):
        task = decision["task"]["task"]
        if decision["rule"] != "set free":
            for datum, _ in self.explained.accesses(task):
                for node in self.compute_nodes:
                    self.refresh(datum, node)
        for candidate in decision["candidates"]:
            node, scores = candidate["node"], candidate["scores"]
            self.runs[task] = scores["run_ns"]  # a fact: what the kernel takes, on all nodes alike
            given = len(self.planned[node]) + len(self.pulled[node])
            self.expect(decision, candidate, "tasks", given)
            self.expect(decision, candidate, "end_ns", self.end(task, node, given))
            missing = [d for d in self.explained.read_by(task)
                       if self.explained.bytes_of(d) > 0 and not self.present(d, node) and
                       not self.uses(self.planned[node], d)]
            self.expect(decision, candidate, "missing_operands", len(missing))

    def end(self, task, node, given):
        workers = self.node_of_worker.count(node)
        busy = sum(self.runs[t] for t in (*self.planned[node], *self.pulled[node])) // workers
        return (0 if given < workers else busy) + self.runs[task]

    # --- victims

    def recompute_victim(self, decision, candidate, datum, node):
        if "planned_uses" not in candidate["scores"]:
            return super().recompute_victim(decision, candidate, datum, node)
        self.expect(decision, candidate, "planned_uses", len(self.uses(self.planned[node], datum)))
        pulled = self.uses(self.pulled[node], datum)
        self.expect(decision, candidate, "pulled_uses", len(pulled))
        if decision["rule"] == "latest first use":
            self.expect(decision, candidate, "next_use", min((self.pulled[node][t] for t in pulled), default=0))
        if decision["rule"] in ("fewest planned uses", "latest first use", "used sooner"):
            claims = sum(datum in (d for d, _ in self.explained.accesses(t)) for t in self.ahead[node])
        else:
            claims = 0  # only such are asked about
        self.expect(decision, candidate, "claims", claims)

    def decided_on(self, decision):
        winner = decision["winner"]
        chosen = None if winner is None else decision["candidates"][winner]
        if decision["kind"] == "victim":
            self.chose_victim(decision, chosen)
        elif chosen is None:
            return
        elif decision["kind"] == "placement":
            self.plan(decision["task"]["task"], chosen["node"])
        elif decision["kind"] == "plan" and decision["among"] == "tasks":
            self.plan(chosen["task"], decision["node"]["node"])
        elif decision["kind"] == "order":
            self.pull(chosen["task"], decision["node"]["node"])
        elif decision["kind"] == "theft":
            self.pull(decision["task"]["task"], decision["node"]["node"])
        elif decision["kind"] == "move":
            for tasks in self.pulled.values():
                tasks.pop(chosen["task"], None)
            self.enter_pulled(chosen["task"], decision["node"]["node"])

    def chose_victim(self, decision, chosen):
        node = decision["node"]["node"]
        if chosen is None or "planned_uses" not in chosen["scores"]:
            return
        self.leave(chosen["handle"], node)
        self.unfinished[node] = chosen["handle"]

    # Before anything else a node that needs room looks whether its last victim went.
    def check_rule(self, decision):
        super().check_rule(decision)
        if decision["kind"] != "victim" or decision["rule"] == "chosen before":
            return
        node = decision["node"]["node"]
        if any("planned_uses" in c["scores"] for c in decision["candidates"]) and node in self.unfinished:
            self.refresh(self.unfinished.pop(node), node)

    def plan(self, task, node):
        self.planned[node].add(task)

    def pull(self, task, node):
        for tasks in self.planned.values():
            tasks.discard(task)
        self.enter_pulled(task, node)
        for datum, _ in self.explained.accesses(task):
            if self.unfinished.get(node) == datum:
                del self.unfinished[node]

    def enter_pulled(self, task, node):
        self.pulls += 1
        self.pulled[node][task] = self.pulls


REPLAYS = {"lws": Lws, "dmdas": Dmdas, "darts": Darts}
