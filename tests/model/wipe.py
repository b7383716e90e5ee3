"""Wipe and soft commit, over and over, on six indexes of one container.

    wipe.py [--rounds N]

Each round empties one core as a test suite does between tests (delete everything,
soft commit), fills it again and looks: after each commit exactly the right documents
are visible, in this core and in the five others, and old searchers stand still.
"""

import argparse
import random
import sys
import tempfile
import time

import grebe

CORES = ("search", "statistics", "authority", "oai", "qaevent", "suggestion")
SCHEMA = grebe.Schema(
    id=grebe.key(), body=grebe.text("en"), kind=grebe.keyword(many=True), n=grebe.int_()
)


class Core:
    """A core with the keys that must be visible in it."""

    def __init__(self, box: grebe.Container, name: str) -> None:
        self.name = name
        self.index = box.core(name, SCHEMA)
        self.visible: list[str] = []

    def fault(self, view: grebe.Index | grebe.Searcher, keys: list[str]) -> str:
        """What is wrong with a view that must show `keys`, "" if nothing."""
        everything = view.search(limit=None, sort="_order", facets=["kind"])
        if everything.ids != keys:
            return f"{self.name} shows {everything.ids}, not {keys}"
        if len(view) != len(keys) or view.count("body:fox") != len(keys):
            return f"{self.name} counts {len(view)} and {view.count('body:fox')}"
        counted = everything.facets["kind"].get("all", 0)
        if counted != len(keys):
            return f"{self.name} has {counted} in its facet, not {len(keys)}"
        return ""


def one_round(core: Core, number: int, rng: random.Random) -> str:
    """Wipes, commits, fills, commits; the first fault or ""."""
    old, before = core.index.searcher(), list(core.visible)
    if rng.random() < 0.3:  # buffered, must vanish as well
        core.index.add({"id": "buffered", "body": "fox", "kind": ["all"]})
    core.index.delete_by_query("*:*")
    if rng.random() < 0.7:
        core.index.commit(soft=True)
        core.visible = []
        fault = core.fault(core.index, [])
        if fault:
            return fault
    keys = [f"{number}-{i}" for i in range(rng.choice((1, 1, 3, 8, 30)))]
    for i, key in enumerate(keys):
        core.index.add({"id": key, "body": "The foxes run", "kind": ["all", key],
                        "n": i})  # fmt: skip
    info = core.index.commit(soft=True)
    core.visible = keys
    if info.syncs:
        return f"a soft commit made {info.syncs} syncs"
    with old:
        return core.fault(core.index, keys) or core.fault(old, before)


def run(path: str | None, rounds: int, seed: int) -> str:
    """All rounds on one container; the first fault or ""."""
    rng = random.Random(seed)
    with grebe.Container(path, durability="none", docs_max=200) as box:
        cores = [Core(box, name) for name in CORES]
        for number in range(rounds):
            fault = one_round(rng.choice(cores), number, rng)
            for core in cores:
                fault = fault or core.fault(core.index, core.visible)
            if fault:
                return f"round {number}: {fault}"
            if number % 100 == 99 and path is not None:
                rng.choice(cores).index.commit()
    return ""


def main() -> int:
    """Command line; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    failed = 0
    with tempfile.TemporaryDirectory(prefix="grebe-wipe-") as folder:
        for path in (None, folder):
            begin = time.monotonic()
            fault = run(path, given.rounds, given.seed)
            seconds = time.monotonic() - begin
            where = "in a folder" if path else "in memory"
            print(f"{given.rounds} rounds {where}, {seconds:.1f} s: {fault or 'ok'}")
            failed |= bool(fault)
    return failed


if __name__ == "__main__":
    sys.exit(main())
