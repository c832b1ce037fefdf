"""What lws, dmdas and darts keep beside memory, for the replay of explain_replay.py."""

from collections import Counter, defaultdict

from explain_replay import Replay, number


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
            run = self.expect_run(decision, candidate, task, worker)
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
        self.prefetch(task, self.node_of_worker[worker])

    # Its data are asked for: those that are there count as used now.
    def prefetch(self, task, node):
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
        self.runs = {}                                     # by task and kind of worker: ns
        self.kinds = {w["node"]: w["kind"] for w in explained.run["workers"]}

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
            node = candidate["node"]
            self.runs[task, self.kinds[node]] = self.expect_run(decision, candidate, task,
                                                                self.node_of_worker.index(node))
            given = len(self.planned[node]) + len(self.pulled[node])
            self.expect(decision, candidate, "tasks", given)
            self.expect(decision, candidate, "end_ns", self.end(task, node, given))
            missing = [d for d in self.explained.read_by(task)
                       if self.explained.bytes_of(d) > 0 and not self.present(d, node) and
                       not self.uses(self.planned[node], d)]
            self.expect(decision, candidate, "missing_operands", len(missing))

    def end(self, task, node, given):
        workers = self.node_of_worker.count(node)
        kind = self.kinds[node]
        busy = sum(self.runs[t, kind] for t in (*self.planned[node], *self.pulled[node])) // workers
        return (0 if given < workers else busy) + self.runs[task, kind]

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
        if decision["kind"] in ("plan", "order") and decision["among"] == "tasks":
            for candidate in decision["candidates"]:
                kind = self.kinds[decision["node"]["node"]]
                self.runs[candidate["task"], kind] = candidate["scores"]["run_ns"]
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
