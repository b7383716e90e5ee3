"""Kills a writing process at random and looks what is left.

    run.py [--kills N] [--seed S] [--long]

A child adds, replaces, deletes, merges and commits hard, batch after batch, and
acknowledges each commit by a line in a pipe. The parent kills it by SIGKILL, opens
the index and compares: it must stand exactly at one batch, the last acknowledged
one or, if the kill came between commit and pipe, the next. The next child goes on
in the same folder; every few kills it is a new one, so that creation is hit too.
"""

import argparse
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from typing import Any

import grebe

SCHEMA = grebe.Schema(
    id=grebe.key(), body=grebe.text(), n=grebe.int_(), tags=grebe.keyword(many=True)
)
CONFIGS: list[dict[str, Any]] = [
    {"docs_max": 4, "durability": "none"},
    {"docs_max": 25, "durability": "full"},
    {"docs_max": 7, "durability": "none", "store": "pread"},
    {"durability": "none"},
]
KILLS_A_FOLDER = 10
State = dict[str, int]


def document(key: str, batch: int) -> dict[str, Any]:
    """What stands under `key` after `batch` wrote it."""
    words = " ".join(f"w{(batch * 7 + i) % 50}" for i in range(batch % 23))
    return {"id": key, "body": words, "n": batch, "tags": [f"b{batch}", "all"]}


def new_keys(batch: int) -> list[str]:
    """Keys that the batch writes."""
    return [f"{batch}-{i}" for i in range(batch % 4)] + ["left", "right"]


def write_batch(ix: grebe.Index, batch: int) -> None:
    """All of a batch but its commit; work that is taken back comes in between."""
    ix.delete("unfinished")
    if batch % 9 == 0:
        ix.add(document("lost", batch))
        ix.commit(soft=True)
        ix.rollback()
    if batch % 37 == 0:
        ix.delete_by_query("*:*")
    if batch % 13 == 0:
        ix.delete_by_query(f"n:[{batch - 20} TO {batch - 15}]")
    for key in new_keys(batch):
        ix.add(document(key, batch))
    if batch % 5 == 0:
        try:
            with ix.batch():
                ix.add(document("undone", batch))
                ix.delete("left")
                raise KeyError
        except KeyError:
            pass
    ix.delete(f"{batch - 5}-0")
    if batch % 3 == 0:
        ix.commit(soft=True)
    if batch % 11 == 0:
        ix.merge()


def expect_batch(state: State, batch: int) -> None:
    """What the batch does to the state; keys stand in insertion order."""
    if batch % 37 == 0:
        state.clear()
    if batch % 13 == 0:
        for key in [k for k, n in state.items() if batch - 20 <= n <= batch - 15]:
            del state[key]
    for key in new_keys(batch):
        state.pop(key, None)
        state[key] = batch
    state.pop(f"{batch - 5}-0", None)


def child(path: str, config: dict[str, Any], batch: int, pipe: int) -> None:
    """Writes until it is killed. With "lies" in the configuration it acknowledges
    what is not yet committed, which the parent must notice."""
    options = {name: value for name, value in config.items() if name != "lies"}
    ix = grebe.open(path, SCHEMA, **options)
    while True:
        batch += 1
        write_batch(ix, batch)
        if batch % 4 or "lies" not in config:
            ix.commit(publish=batch % 4 != 0)
        os.write(pipe, b"%d\n" % batch)
        ix.add(document("unfinished", batch))


def run_child(
    path: str, config: dict[str, Any], batch: int, rng: random.Random
) -> tuple[int, str]:
    """Forks a child and kills it; the last batch acknowledged, a fault or ""."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.close(reading)
            child(path, config, batch, writing)
        except BaseException as error:
            os.write(writing, f"!{type(error).__name__}: {error}\n".encode())
        finally:
            os._exit(1)
    os.close(writing)
    acked, left = batch, b""
    patience = rng.choice((0, 0, 1, 3, 10, 40))
    with open(reading, "rb", buffering=0) as pipe:
        while acked - batch < patience:
            got = pipe.read(64)
            if not got:
                break
            left += got
            acked = max([acked, *_numbers(left)])
        time.sleep(rng.random() * rng.choice((0, 0.0005, 0.005)))
        os.kill(pid, signal.SIGKILL)
        while got := pipe.read(65536):
            left += got
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    acked = max([acked, *_numbers(left)])
    fault = left[left.index(b"!") :].decode() if b"!" in left else ""
    if not fault and status != -signal.SIGKILL:
        fault = f"the child ended with {status}"
    return acked, fault


def _numbers(lines: bytes) -> list[int]:
    """Whole lines of the pipe."""
    return [int(line) for line in lines.split(b"\n")[:-1] if line[:1].isdigit()]


def listed(ix: grebe.Index) -> list[tuple[str, int]]:
    """Every document in order, each compared with what its batch wrote."""
    found = []
    for row in ix.scan():
        if row != document(row["id"], row["n"]):
            raise AssertionError(f"half a document: {row}")
        found.append((row["id"], row["n"]))
    return found


def look(
    path: str, config: dict[str, Any], acked: int, state: State
) -> tuple[int, str]:
    """Opens what is left: the batch it stands at, a fault or "". Brings `state`
    (which stands at batch `state[""]`) there."""
    if not grebe.exists(path):
        return 0, f"acknowledged {acked}, but there is no index" if acked else ""
    grebe.check(path)
    with grebe.open(path, mode="r") as reader:
        seen = listed(reader)
    with grebe.open(path, **config) as ix:
        found = listed(ix)
        counts = ix.count("tags:all"), len(ix)
    if seen != found:
        return 0, f"a reader sees {seen}, the writer {found}"
    if counts != (len(found), len(found)):
        return 0, f"counts are {counts}, not {len(found)}"
    batch = dict(found).get("left", 0)
    if not acked <= batch <= acked + 1:
        return batch, f"acknowledged {acked}, but batch {batch} is there"
    base = state.pop("", 0)
    for number in range(base + 1, batch + 1):
        expect_batch(state, number)
    if found != list(state.items()):
        return batch, f"batch {batch} is {found}, not {list(state.items())}"
    return batch, ""


def run(kills: int, seed: int, lies: bool = False) -> str:
    """All kills; the first fault or ""."""
    counts: Counter[str] = Counter()
    lie = {"lies": True} if lies else {}
    for first in range(0, kills, KILLS_A_FOLDER):
        rng = random.Random(f"{seed}/{first}")
        config = CONFIGS[first // KILLS_A_FOLDER % len(CONFIGS)]
        state: State = {}
        batch = 0
        with tempfile.TemporaryDirectory(prefix="grebe-kill-") as folder:
            path = os.path.join(folder, "index")
            for number in range(first, min(first + KILLS_A_FOLDER, kills)):
                acked, fault = run_child(path, config | lie, batch, rng)
                begun = batch
                try:
                    state[""] = batch
                    batch, other = look(path, config, acked, state)
                    fault = fault or other
                except (grebe.Error, AssertionError) as error:
                    fault = f"{type(error).__name__}: {error}"
                if fault:
                    return f"kill {number}, {config}: {fault}"
                counts["batches"] += batch - begun
                counts["between commit and pipe"] += batch > acked
                counts["before the first commit"] += batch == 0
    print("  " + ", ".join(f"{name} {count}" for name, count in counts.items()))
    return "every lie was believed" if lies else ""


def main() -> int:
    """Command line; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--long", action="store_true", help="2,000 kills")
    given = parser.parse_args()
    kills = given.kills or (2000 if given.long else 200)
    seed = random.SystemRandom().randrange(10**9) if given.seed is None else given.seed
    begin = time.monotonic()
    fault = run(kills, seed)
    seconds = time.monotonic() - begin
    print(f"{kills} kills, seed {seed}, {seconds:.1f} s: {fault or 'ok'}")
    noticed = run(100, seed, lies=True)
    print(f"a child that acknowledges too early: {noticed}")
    return int(bool(fault) or not noticed.startswith("kill"))


if __name__ == "__main__":
    sys.exit(main())
