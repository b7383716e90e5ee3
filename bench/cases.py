"""The cases of W1, W2, W3, W3b, W4, W10 and W12 for engines used from Python.

A case is made ready by its constructor, `block(n)` runs n turns of it, `answers()`
says what was found. Making documents and checking results is outside the clock.
"""

from __future__ import annotations

import os
import pathlib
import pickle
import subprocess
import sys
import time

import cores
import shapes
from engines.base import Unsupported
from measure import Floor, children_cpu, cpu_now, io_bytes, now, rss_kib, settle


def base_docs(count: int) -> list[shapes.Document]:
    """Documents of shape B; kept between runs, as making them takes seconds."""
    folder = pathlib.Path(os.environ["GREBE_BENCH_DATA"])
    path = folder / f"base-{count}.pickle"
    if not path.exists():
        made = shapes.batch("B", 0, count, shapes.Random(1))
        part = path.with_suffix(f".{os.getpid()}")
        part.write_bytes(pickle.dumps(made))
        part.rename(path)
    docs: list[shapes.Document] = pickle.loads(path.read_bytes())
    return docs


class Cycle:
    """W1, W2: upsert, make visible (or durable), find the new key."""

    def __init__(self, place, shape, base, batch, kind, keys=""):
        more = {"keywords": keys} if keys else {}
        self.engine = place.open(shapes.SCHEMAS[shape], **more)
        self.shape, self.batch = shape, int(batch)
        self.hard = kind == "hard"
        self.next = int(base)
        if self.next:
            self.engine.add(base_docs(self.next))
            self.engine.hard()
        self.random = shapes.Random(2)
        self.floor = Floor(place.root) if self.hard else None

    def block(self, n):
        size = self.batch
        docs = [
            shapes.batch(self.shape, self.next + i * size, size, self.random)
            for i in range(n)
        ]
        self.next += n * size
        times = {"cycle": [], "commit": [], "find": []}
        if self.hard:
            times["floor"] = []
        settle()
        cpu, written = time.process_time_ns(), io_bytes()
        for part in docs:
            self._turn(part, times)
        cpu = time.process_time_ns() - cpu
        written = io_bytes() - written - (4096 * n if self.hard else 0)
        return {"series": times, "cpu_ns": cpu, "bytes": written}

    def _turn(self, part, times):
        engine, key = self.engine, part[-1]["key"]
        commit = engine.hard if self.hard else engine.soft
        t0 = now()
        engine.upsert(part)
        t1 = now()
        commit()
        t2 = now()
        hits, _, _ = engine.search(engine.prepare(("key", key)), 10)
        found = len(hits)
        t3 = now()
        if found != 1:
            raise SystemExit(f"key {key} has {found} hits")
        times["cycle"].append(t3 - t0)
        times["commit"].append(t2 - t1)
        times["find"].append(t3 - t2)
        if self.floor:
            times["floor"].append(self.floor.step())


class Term:
    """W12: a one-term query, top 10, on 1,000 documents."""

    def __init__(self, place, rank):
        self.engine = place.open(shapes.SCHEMAS["B"])
        self.engine.add(shapes.batch("B", 0, 1000, shapes.Random(1)))
        self.engine.hard()
        self.query = ("term", "t0", shapes.WORDS[int(rank)])
        self.prepared = self.engine.prepare(self.query)

    def answers(self):
        hits, total, _ = self.engine.search(self.prepared, 10, True)
        return {"total": total, "keys": self.engine.keys(hits)}

    def block(self, n):
        engine, prepared, query = self.engine, self.prepared, self.query
        runs = {
            "search": lambda: engine.search(prepared, 10),
            "build and search": lambda: engine.search(engine.prepare(query), 10),
            "with keys": lambda: engine.keys(engine.search(prepared, 10)[0]),
        }
        series = {}
        settle()
        for name, run in runs.items():
            times = series[name] = []
            for _ in range(n):
                t = now()
                run()
                times.append(now() - t)
        return {"series": series}


class Reset:
    """W3b: five documents, a soft commit, then back to a snapshot."""

    def __init__(self, place, docs):
        self.engine = place.open(shapes.SCHEMAS["A"])
        if not hasattr(self.engine, "restore"):
            raise Unsupported("cannot go back to a snapshot")
        self.engine.add(shapes.batch("A", 0, int(docs), shapes.Random(1)))
        self.snapshot = self.engine.snapshot()
        self.next, self.random, self.live = int(docs), shapes.Random(2), int(docs)

    def block(self, n):
        engine, times = self.engine, []
        everything = engine.prepare(("all",))
        settle()
        for _ in range(n):
            docs = shapes.batch("A", self.next, 5, self.random)
            docs[3]["key"], docs[4]["key"] = "k0", "k1"
            self.next += 5
            engine.upsert(docs)
            engine.soft()
            t = now()
            engine.restore(self.snapshot)
            times.append(now() - t)
            if engine.search(everything, 0, True)[1] != self.live:
                raise SystemExit("restore left documents behind")
        return {"series": {"restore": times}}


class Opening:
    """W10: creating and closing an index in memory, opening one in a folder."""

    def __init__(self, place):
        self.place, self.schema = place, shapes.SCHEMAS["B"]
        if place.in_memory:
            return
        engine = place.open(self.schema)
        engine.add(shapes.batch("B", 0, 1, shapes.Random(1)))
        engine.hard()
        engine.close()

    def block(self, n):
        place, times, firsts = self.place, [], []
        for _ in range(n):
            t0 = now()
            engine = place.open(self.schema, create=place.in_memory)
            t1 = t2 = now()
            if not place.in_memory:
                found = len(engine.search(engine.prepare(("key", "k0")), 10)[0])
                t2 = now()
                firsts.append(t2 - t1)
                if found != 1:
                    raise SystemExit("k0 was not found")
                t2 = now()
            engine.close()
            times.append(now() - t2 + t1 - t0)
        series = {"open and close": times}
        return {"series": series | ({"first search": firsts} if firsts else {})}


class Held:
    """W10: what an open index of one document holds."""

    def __init__(self, place):
        self.place, self.schema = place, shapes.SCHEMAS["B"]
        self.doc = shapes.batch("B", 0, 1, shapes.Random(1))
        self.kept = [self._one("warm")]

    def _one(self, name):
        engine = self.place.open(self.schema, name)
        engine.add(self.doc)
        engine.soft()
        return engine

    def block(self, n):
        settle()
        rss, fds = rss_kib(), len(os.listdir("/proc/self/fd"))
        threads = len(os.listdir("/proc/self/task"))
        for i in range(n):
            self.kept.append(self._one(f"h{i}"))
        now_fds = len(os.listdir("/proc/self/fd"))
        now_threads = len(os.listdir("/proc/self/task"))
        return {
            "series": {},
            "figures": {
                "KiB each": (rss_kib() - rss) / n,
                "fds each": (now_fds - fds) / n,
                "threads each": (now_threads - threads) / n,
            },
        }


MODULES = {
    "grebe": "grebe",
    "fts5": "sqlite3",
    "tantivy": "tantivy",
    "xapian": "xapian",
    "whoosh": "whoosh.index, whoosh.fields, whoosh.query",
    "bm25s": "bm25s",
}


class Import:
    """W10: importing the module, over a bare interpreter, the two in turn."""

    def __init__(self, place):
        self.code = "import " + MODULES[place.engine]
        # Installed modules have their bytecode; so shall one run from a tree.
        self.env = dict(os.environ)
        self.env.pop("PYTHONDONTWRITEBYTECODE", None)

    def block(self, n):
        bare, full = ([], []), ([], [])
        for _ in range(n):
            for code, (times, spent) in (("pass", bare), (self.code, full)):
                c, t = children_cpu(), now()
                subprocess.run([sys.executable, "-c", code], check=True, env=self.env)
                times.append(now() - t)
                spent.append(children_cpu() - c)
        series = {}
        for name, without, with_it in zip(("import", "cpu"), bare, full):
            floor = sorted(without)[len(without) // 2]
            series[name] = [max(0, t - floor) for t in with_it]
        return {"series": series}


class Container:
    """W10: a container with ten cores in memory, opened and closed (Grebe)."""

    def __init__(self, place):
        if place.engine != "grebe":
            raise Unsupported("has no containers")
        import grebe

        self.make = grebe.Container
        self.schema = {"key": grebe.key(), "t0": grebe.text()}

    def block(self, n):
        times = []
        for _ in range(n):
            t = now()
            box = self.make()
            for i in range(10):
                box.core(f"core{i}", self.schema)
            box.close()
            times.append(now() - t)
        return {"series": {"ten cores": times}}


class Ingest:
    """W4: documents handed over in calls of `call`, one commit at the end."""

    def __init__(self, place, shape, docs, call):
        self.place, self.schema = place, shapes.SCHEMAS[shape]
        self.docs = shapes.batch(shape, 0, int(docs), shapes.Random(1))
        self.call = int(call)

    def block(self, n):
        times, spent = [], []
        settle()
        for _ in range(n):
            engine = self.place.open(self.schema)
            c, t = cpu_now(), now()
            for i in range(0, len(self.docs), self.call):
                engine.add(self.docs[i : i + self.call])
            engine.hard()
            times.append(now() - t)
            spent.append(cpu_now() - c)
            last = engine.prepare(("key", self.docs[-1]["key"]))
            if len(engine.search(last, 10)[0]) != 1:
                raise SystemExit("the last document is missing")
            engine.close()
        return {"series": {"ingest": times, "cpu": spent}, "docs": len(self.docs) * n}


class Replay:
    """W3: tests x 24 commits over six indexes; a turn is one pass of all tests."""

    def __init__(self, place, tests, kind="soft"):
        self.tests, self.hard, self.place = int(tests), kind == "hard", place
        self.cores = cores.CORES
        self.sums = [0, 0]
        folder = pathlib.Path(os.environ["GREBE_BENCH_DATA"])
        for core in self.cores.values():
            core.load(folder)

    def answers(self):
        return {"hits": self.sums[0], "facet counts": self.sums[1]}

    def block(self, n):
        totals, spent_cpu = [], []
        parts = {"upserts": [], "commit": [], "search": [], "wipe": []}
        for turn in range(n):
            index = {
                name: self.place.open(core.schema, f"{name}{turn}")
                for name, core in self.cores.items()
            }
            self.index, self.sums, self.cpu = index, [0, 0], 0
            settle()
            spent = self._pass()
            totals.append(sum(sum(v) for v in spent.values()))
            spent_cpu.append(self.cpu)
            for name, v in spent.items():
                parts[name].append(sum(v))
            for engine in index.values():
                engine.close()
        return {"series": {"total": totals, "cpu": spent_cpu} | parts}

    def _pass(self):
        spent = {"upserts": [], "commit": [], "search": [], "wipe": []}
        at = dict.fromkeys(self.cores, 0)
        r = shapes.Random(3)
        for _ in range(self.tests):
            mine = {name: [] for name in self.cores}
            for step in range(24):
                name = cores.ORDER[step % 12]
                self._commit(name, self._numbers(name, mine[name], at, r), spent)
                self._check(name, mine[name])
            self._wipe(spent)
        return spent

    def _numbers(self, name, own, at, r):
        numbers = []
        for _ in range(1 + r.below(5)):
            again = r.below(4) == 0 and own
            if again:
                numbers.append(own[r.below(len(own))])
            else:
                numbers.append(at[name] % len(self.cores[name].docs))
                at[name] += 1
                own.append(numbers[-1])
        return numbers

    def _commit(self, name, numbers, spent):
        core, engine = self.cores[name], self.index[name]
        c0, t0 = cpu_now(), now()
        for i in numbers:
            engine.upsert([core.docs[i]])
        t1 = now()
        engine.hard() if self.hard else engine.soft()
        t2 = now()
        self.cpu += cpu_now() - c0
        spent["upserts"].append(t1 - t0)
        spent["commit"].append(t2 - t1)
        self.last = core.query(numbers[-1])
        for query in (("all",), self.last):
            c0, t0 = cpu_now(), now()
            hits, total, counts = engine.search(
                engine.prepare(query),
                10,
                True,
                filters=core.filters,
                facets=core.facets,
            )
            engine.keys(hits)
            spent["search"].append(now() - t0)
            self.cpu += cpu_now() - c0
            self.sums[0] += total
            self.sums[1] += sum(sum(per.values()) for per in counts.values())

    def _check(self, name, own):
        """Not timed: what this test added, and nothing else, is there."""
        engine = self.index[name]
        live = engine.search(engine.prepare(("all",)), 1, True)[1]
        found = engine.search(engine.prepare(self.last), 1, True)[1]
        if live != len(set(own)) or not found:
            raise SystemExit(f"wrong documents visible in {name}")

    def _wipe(self, spent):
        c0, t0 = cpu_now(), now()
        for engine in self.index.values():
            engine.wipe()
            engine.soft()
        spent["wipe"].append(now() - t0)
        self.cpu += cpu_now() - c0
        for name, engine in self.index.items():
            if engine.search(engine.prepare(("all",)), 1, True)[1]:
                raise SystemExit(f"documents left after a wipe of {name}")


CASES = {
    "cycle": Cycle,
    "term": Term,
    "reset": Reset,
    "opening": Opening,
    "held": Held,
    "import": Import,
    "container": Container,
    "ingest": Ingest,
    "replay": Replay,
}
