"""Random operations on Grebe and on a brute-force model, compared at each step.

    run.py [--ops N] [--seed S] [--long] [--fault NAME] [--faults] [--replay FILE]

Runs in episodes, each over a new index of the next configuration. A mismatch is
shrunk to a short script, which is printed and can be replayed. Without options the
ten faults of faults.py are tried too: each must be caught.
"""

import argparse
import json
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from typing import Any

import grebe
from faults import FAULTS
from generate import Generator, Op
from library import Config, Library
from world import Mismatch, World

EPISODE = 400
FAULT_EPISODES = 6
SHRINK_SECONDS = 30
SEED = 137243637
FLOOR = 50  # of each of NEEDED in a run of the default size
NEEDED = ("filter_hits", "freezes", "merges", "reopen", "restore", "rollback")

CONFIGS: list[Config] = [
    {"key": "str", "store": None, "keys": 40, "docs_max": 16},
    {"key": "str", "store": "mmap", "durability": "none", "keys": 40, "docs_max": 8},
    {"key": "int", "store": "pread", "durability": "none", "keys": 60, "docs_max": 32},
    {"key": "none", "store": None, "keys": 40, "memory_max": 65536},
    {"key": "str", "store": "mmap", "durability": "full", "keys": 300, "docs_max": 64},
    {"key": "int", "store": None, "keys": 200},
    {"key": "str", "store": "ram", "durability": "none", "keys": 40, "docs_max": 12},
    {"key": "none", "store": "mmap", "durability": "none", "keys": 9, "docs_max": 20},
    {"key": "str", "store": "pread", "durability": "full", "keys": 40,
     "memory_max": 65536, "merging": "manual"},
    {"key": "int", "store": "mmap", "durability": "none", "keys": 25, "docs_max": 5},
    {"key": "str", "store": None, "keys": 100000, "docs_max": 24, "calm": True},
    {"key": "int", "store": "mmap", "durability": "none", "keys": 100000,
     "docs_max": 40, "calm": True},
    {"key": "str", "store": "pread", "durability": "none", "keys": 4000,
     "docs_max": 1400, "bulk": 3000, "ops": 120, "where": 0.9},
    {"key": "str", "store": None, "keys": 100000, "calm": True},
    {"key": "int", "store": None, "keys": 10**6, "calm": True, "bulk": 4500, "ops": 60},
    {"key": "int", "store": None, "keys": 10**6, "docs_max": 1200, "calm": True,
     "bulk": 2600, "ops": 150, "where": 0.9},
    {"key": "str", "store": "mmap", "durability": "none", "keys": 10**6,
     "docs_max": 1400, "calm": True, "bulk": 3000, "ops": 90, "where": 0.9},
]  # fmt: skip


def replay(
    config: Config, ops: Sequence[Op], kind: type[Library]
) -> tuple[str, int] | None:
    """Runs a script anew; the message and place of its mismatch, or None."""
    with tempfile.TemporaryDirectory(prefix="grebe-model-") as folder:
        world = World(config, folder, kind)
        try:
            for place, op in enumerate(ops):
                try:
                    world.do(op)
                except Mismatch as fault:
                    return str(fault), place
        finally:
            world.close()
    return None


def shrink(config: Config, ops: list[Op], kind: type[Library]) -> list[Op]:
    """A shorter script that still fails, by leaving out ever smaller parts."""
    until = time.monotonic() + SHRINK_SECONDS
    size = max(len(ops) // 2, 1)
    while time.monotonic() < until:
        begin, shorter = 0, False
        while begin < len(ops) and time.monotonic() < until:
            tried = ops[:begin] + ops[begin + size :]
            found = replay(config, tried, kind)
            if found is None:
                begin += size
            else:
                ops, shorter = tried[: found[1] + 1], True
        if size == 1 and not shorter:
            break
        size = max(size // 2, 1)
    return simplify(config, ops, kind, until)


def simplify(
    config: Config, ops: list[Op], kind: type[Library], until: float
) -> list[Op]:
    """Leaves out fields of documents and operations of batches."""
    ops = json.loads(json.dumps(ops))
    for op in ops:
        inner = op.get("ops", [])
        for part in list(inner):
            inner.remove(part)
            if time.monotonic() > until or replay(config, ops, kind) is None:
                inner.append(part)
        for doc in [op.get("doc", {}), *op.get("docs", ())]:
            for name in [n for n in doc if n not in ("id", "v")]:
                value = doc.pop(name)
                if time.monotonic() > until or replay(config, ops, kind) is None:
                    doc[name] = value
    return ops


def episode(
    number: int, seed: int, ops: int, kind: type[Library]
) -> tuple[Counter[str], list[Op], str]:
    """One index with random operations: counts, script, message of a mismatch."""
    config = CONFIGS[number % len(CONFIGS)]
    generator = Generator(random.Random(f"{seed}/{number}"), config)
    ops = min(ops, config.get("ops", ops))
    script: list[Op] = []
    with tempfile.TemporaryDirectory(prefix="grebe-model-") as folder:
        world = World(config, folder, kind)
        try:
            for op in generator.beginning():
                script.append(op)
                world.do(op)
            while sum(world.counts[name] for name in generator.names) < ops:
                script.append(generator.operation(world.usable))
                world.do(script[-1])
        except Mismatch as fault:
            return world.counts, script, str(fault)
        finally:
            world.close()
    return world.counts, script, ""


def report_failure(
    number: int, script: list[Op], message: str, kind: type[Library], to: str
) -> None:
    """Prints a shrunk script and writes it for --replay."""
    config = CONFIGS[number % len(CONFIGS)]
    print(
        f"MISMATCH in episode {number}: {message}\nshrinking {len(script)} operations"
    )
    small = shrink(config, script, kind)
    found = replay(config, small, kind)
    if found is None:
        print("the script alone passes: the mismatch needs more than it", flush=True)
        small = script
    lines = [json.dumps(config), *(json.dumps(op) for op in small)]
    print("\n".join(lines))
    print("then:", found[0] if found else message)
    with open(to, "w") as file:
        file.write("\n".join(lines) + "\n")
    print(f"written to {to}; run it again with --replay {to}", flush=True)


def run(ops: int, seed: int, size: int, to: str) -> bool:
    """The comparison; prints what ran. False after a mismatch."""
    counts: Counter[str] = Counter()
    names = set(Generator(random.Random(0), CONFIGS[0]).names)
    begin, done, number = time.monotonic(), 0, 0
    while done < ops:
        found, script, message = episode(number, seed, min(size, ops - done), Library)
        counts.update(found)
        if message:
            report_failure(number, script, message, Library, to)
            return False
        done += sum(found[name] for name in names)
        number += 1
    seconds = time.monotonic() - begin
    print(f"{done} operations in {number} episodes, seed {seed}, {seconds:.0f} s:")
    print("  " + ", ".join(f"{name} {counts[name]}" for name in sorted(counts)))
    few = [name for name in NEEDED if counts[name] < FLOOR]
    if few and ops >= 20000:
        print("too few of:", ", ".join(few))
        return False
    return True


def caught(name: str, seed: int) -> str:
    """The mismatch that a fault leads to, "" if none."""
    for number in range(FAULT_EPISODES * 3):
        _, _, message = episode(number, seed, EPISODE, FAULTS[name])
        if message:
            return message
    return ""


def try_faults(seed: int) -> bool:
    """Whether every fault is caught."""
    missed = []
    for name in FAULTS:
        message = caught(name, seed)
        print(f"fault {name}: {message[:90] or 'NOT CAUGHT'}", flush=True)
        if not message:
            missed.append(name)
    return not missed


def main() -> int:
    """Command line; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ops", type=int)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--long", action="store_true", help="150,000 operations")
    parser.add_argument("--fault", choices=FAULTS)
    parser.add_argument("--faults", action="store_true")
    parser.add_argument("--replay", metavar="FILE")
    parser.add_argument("--write", default="model-failure.jsonl", metavar="FILE")
    given: Any = parser.parse_args()
    if given.replay:
        with open(given.replay) as file:
            config, *ops = [json.loads(line) for line in file]
        found = replay(config, ops, FAULTS.get(given.fault, Library))
        print(f"operation {found[1]}: {found[0]}" if found else "no mismatch")
        return int(found is not None)
    seed = given.seed
    if seed is None:  # the default run is the same everywhere, long ones differ
        seed = random.SystemRandom().randrange(10**9) if given.long else SEED
    print(f"seed {seed}", flush=True)
    if given.fault:
        message = caught(given.fault, seed)
        print(message or "no mismatch")
        return int(bool(message))
    if given.faults:
        return int(not try_faults(seed))
    ops = given.ops or (150_000 if given.long else 20_000)
    size = 2 * EPISODE if given.long else EPISODE
    good = run(ops, seed, size, given.write)
    if good and given.ops is None:
        good = try_faults(seed)
    print(f"live handles left: {grebe.live_handles()}")
    return int(not good or grebe.live_handles() != 0)


if __name__ == "__main__":
    sys.exit(main())
