"""The rules of docs/decisions.md for placements and evictions, applied to what `vicinal explain` prints of a decision:
who should have won? An index of its candidates, or None."""

import math


class NoRule(Exception):
    pass


def score(candidate, name):
    return candidate["scores"][name]


def first_least(candidates, key, may_win=lambda candidate: True):
    """The first of those that may win than which none is less."""
    best = None
    for i, candidate in enumerate(candidates):
        if may_win(candidate) and (best is None or key(candidate) < key(candidates[best])):
            best = i
    return best


def one_of_least(decision, key):
    """Which of several that are equal cannot be told from outside."""
    candidates = decision["candidates"]
    first, won = first_least(candidates, key), decision["winner"]
    return won if won is not None and key(candidates[won]) == key(candidates[first]) else first


def only(decision):
    if len(decision["candidates"]) != 1:
        raise NoRule("more than one candidate, or none")
    return 0


def none_if(holds):
    if not holds:
        raise NoRule("there should have been a winner")
    return None


def first_that_can(decision):
    return next(i for i, c in enumerate(decision["candidates"]) if score(c, "can_run") == 1)


def is_unclaimed(candidate):
    return score(candidate, "claims") == 0 and score(candidate, "pulled_uses") == 0


def is_used_sooner(candidate):
    if "claims" in candidate["scores"]:
        return not is_unclaimed(candidate)
    return score(candidate, "next_use") > 0 and score(candidate, "queued") == 0


def is_faster_elsewhere(decision):
    ram = decision["candidates"][-1]
    return any(score(c, "run_ns") <= score(ram, "run_ns") or score(c, "end_ns") <= score(ram, "end_ns")
               for c in decision["candidates"][:-1])


PLACEMENTS = {
    "least cost": lambda d: first_least(d["candidates"],
                                        lambda c: score(c, "end_ns") + score(c, "transfer_ns")),
    "earliest end": lambda d: first_least(d["candidates"], lambda c: score(c, "end_ns")),
    "fewest tasks": lambda d: first_least(d["candidates"], lambda c: score(c, "tasks")),
    "released here": only,
    "next in turn": first_that_can,
    "set free": only,
    "free nowhere": lambda d: none_if(all(score(c, "missing_operands") > 0 for c in d["candidates"])),
    "faster elsewhere": lambda d: none_if(is_faster_elsewhere(d)),
}


def with_saved(decision, saved):
    won = decision["winner"]
    if score(decision["candidates"][won], "saved") != saved:
        return None
    return one_of_least(decision, lambda c: score(c, "last_use"))


VICTIMS = {
    "chosen before": only,
    "no planned use": lambda d: next((i for i, c in enumerate(d["candidates"])
                                      if is_unclaimed(c) and score(c, "planned_uses") == 0), None),
    "fewest planned uses": lambda d: first_least(d["candidates"], lambda c: score(c, "planned_uses"),
                                                 is_unclaimed),
    "latest first use": lambda d: first_least(d["candidates"], lambda c: -score(c, "next_use")),
    "used sooner": lambda d: none_if(all(is_used_sooner(c) for c in d["candidates"])),
    "unused and saved": lambda d: with_saved(d, 1),
    "unused": lambda d: with_saved(d, 0),
    "least recently used": lambda d: one_of_least(d, lambda c: score(c, "last_use")),
    "none unclaimed": lambda d: one_of_least(d, lambda c: score(c, "last_use")),
    "awaited last": lambda d: one_of_least(d, lambda c: (score(c, "awaiting"), -score(c, "next_use"))),
}


def winner_by_rule(decision):
    rules = {"placement": PLACEMENTS, "victim": VICTIMS}.get(decision["kind"], {})
    if decision["rule"] not in rules:
        raise NoRule(f"no rule {decision['rule']}")
    return rules[decision["rule"]](decision)
