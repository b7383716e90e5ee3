"""What is measured: the cases of a workload, who takes part, what is aimed at; here
W1, W2, W3, W3b, W4, W10 and W12."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator


@dataclasses.dataclass(frozen=True)
class Who:
    """One engine in one case."""

    label: str  # "Grebe" or the column of a peer
    side: str  # "C" (also Java), "Python", "Lua"
    kind: str  # what workers.Runner starts
    variant: str
    words: tuple[str, ...]  # of the open command
    turns: int = 0  # a block; 0: the case's
    blocks_max: int = 99
    full_only: str = ""  # why it is left out of the small size
    left_out: str = ""  # why it takes no part at all

    @property
    def peer(self) -> str:
        """The name in peers.NAMES that must be present."""
        return {"fts5-c": "FTS5 C", "fts5": "FTS5"}.get(self.kind, self.label)


@dataclasses.dataclass(frozen=True)
class Metric:
    """One row for each side (or the sides named) made from a case."""

    what: str
    series: str = ""  # nanoseconds; the p50 is shown
    figure: str = ""  # or a single figure
    unit: str = "us"  # us, ms, s, docs/s, raw syncs, ...
    aim: dict[str, float] = dataclasses.field(default_factory=dict)  # side -> value
    aim_ratio: float | dict[str, float] = 0  # times the best peer; by side
    over: str = ""  # divided by the p50 of this series
    beside: str = ""  # the share that Grebe adds to what this side of it takes
    per: float = 1
    quantile: float = 0.5  # of a series
    sides: tuple[str, ...] = ("C", "Python")


@dataclasses.dataclass(frozen=True)
class Size:
    """How much work: small is the default run, full takes an hour or more."""

    full: bool
    docs: int  # of the corpora


@dataclasses.dataclass(frozen=True)
class Case:
    workload: str
    name: str
    contestants: list[Who]
    metrics: list[Metric]
    turns: int
    blocks: int
    compare: str = ""  # which answers must be equal
    needs: str = ""  # a corpus: see corpora.py
    docs: int = 0  # of that corpus


SLOW = "slow: in --size full only"


def _cycle(shape: str, base: int, batch: int, full: bool) -> list[Who]:
    """W1: in memory, soft commits."""
    words = ("cycle", shape, str(base), str(batch), "soft")
    slow = "" if not base or full else SLOW
    turns = 400 if full else 30
    out = [
        Who("Grebe", "C", "grebe-c", "cycle_bench", (*words, "-")),
        Who("FTS5", "C", "fts5-c", "", (*words, "-", "fts")),
        Who("FTS5 sql", "C", "fts5-c", "", (*words, "-", "sql")),
        Who("Lucene", "C", "lucene", "ram", ("cycle", "ram", *words[1:]), turns),
        Who("Grebe", "Python", "grebe", "memory", words),
        Who("FTS5", "Python", "fts5", "memory", (*words, "fts")),
        Who("FTS5 sql", "Python", "fts5", "memory", (*words, "sql")),
        Who("Xapian", "Python", "xapian", "memory", words, full_only=slow),
        Who("tantivy", "Python", "tantivy", "memory", words, turns, full_only=slow),
    ]
    if not base:
        out.append(Who("Whoosh", "Python", "whoosh", "memory", words, 20, 2))
    return out


_W1_AIM = {
    "A": {"C": 3.0, "Python": 12.0},
    "B": {"C": 10.0, "Python": 18.0},
    "C": {"C": 15.0, "Python": 25.0},
}
_SHAPES = {"A": "8 words", "B": "100 words", "C": "40 fields"}


def w1(size: Size) -> Iterator[Case]:
    full = size.full
    plans = [(s, 0, 1) for s in "ABC"] + [("B", 50000, 1)]
    if full:
        plans += [("A", 50000, 1), ("A", 0, 10), ("B", 0, 10), ("C", 0, 10)]
        plans += [("B", 50000, 10)]
    for shape, base, batch in plans:
        name = f"{shape} ({_SHAPES[shape]})"
        name += f" on {base:,} documents" if base else ""
        name += f", {batch} a cycle" if batch > 1 else ""
        aim = _W1_AIM[shape] if batch == 1 else {}
        metrics = [
            Metric(f"{name}: add, soft commit, find", "cycle", aim=aim, aim_ratio=2),
            Metric(
                f"{name}: soft commit alone", "commit", aim={"C": 1.0}, sides=("C",)
            ),
        ]
        yield Case(
            "W1",
            name,
            _cycle(shape, base, batch, full),
            metrics,
            400,
            10 if full else 5,
        )
    for name, words in (
        ("on 1,000 fields, all filled", ("soft", "999", "0", "0")),
        ("on 1,000,000 documents", ("soft", "1", "1000000", "0")),
        ("after 1,000,000 soft commits", ("soft", "1", "0", "1000000")),
    ):
        metric = Metric(f"soft commit alone {name}", "soft commit", aim={"C": 1.0})
        who = Who("Grebe", "C", "grebe-c", "commit_bench", words)
        yield Case("W1", name, [who], [metric], 500, 4)


def w2(size: Size) -> Iterator[Case]:
    full = size.full
    for shape in "ABC":
        words = ("cycle", shape, "0", "1", "hard")
        slow = "" if full else SLOW
        few = 100 if full else 20
        who = [
            Who("Grebe", "C", "grebe-c", "cycle_bench", (*words, "FOLDER")),
            Who("FTS5", "C", "fts5-c", "", (*words, "FOLDER", "fts")),
            Who("FTS5 sql", "C", "fts5-c", "", (*words, "FOLDER", "sql")),
            Who("Lucene", "C", "lucene", "mmap", ("cycle", "mmap", *words[1:]), few),
            Who("Grebe", "Python", "grebe", "disk", words),
            Who("FTS5 sql", "Python", "fts5", "wal-full", (*words, "sql")),
            Who("Xapian", "Python", "xapian", "disk", words, few),
            Who("tantivy", "Python", "tantivy", "disk", words, few),
            Who("Whoosh", "Python", "whoosh", "disk", words, few, 2, slow),
        ]
        name = f"{shape} ({_SHAPES[shape]})"
        metrics = [
            Metric(f"{name}: add, hard commit, find", "cycle", aim_ratio=1.5),
            Metric(
                f"{name}: the same in raw syncs",
                "cycle",
                unit="raw syncs",
                over="floor",
                aim={"C": 1.3},
            ),
            Metric(f"{name}: bytes written", figure="bytes", unit="bytes"),
        ]
        yield Case("W2", name, who, metrics, 200 if full else 60, 10 if full else 4)


def w3(size: Size) -> Iterator[Case]:
    full = size.full
    slow = "" if full else "15 s a pass: in --size full only"
    for kind in ("soft", "hard") if full else ("soft",):
        words = ("replay", "83", kind)
        memory, disk = kind == "soft", "disk"
        lucene = ("replay", "nrtcaching", kind, "DATA")
        who = [
            Who("Grebe", "Python", "grebe", "memory" if memory else disk, words),
            Who(
                "FTS5 sql", "Python", "fts5", "memory" if memory else "wal-full", words
            ),
            Who(
                "Xapian", "Python", "xapian", "memory" if memory else disk, words, 0, 1
            ),
            Who(
                "tantivy",
                "Python",
                "tantivy",
                "memory" if memory else disk,
                words,
                0,
                1,
                slow,
            ),
            Who("Lucene", "Python", "lucene", "nrtcaching", lucene, 0, 2, slow),
        ]
        aim = {"Python": 0.25} if kind == "soft" else {}
        metrics = [
            Metric(
                f"83 tests of 24 {kind} commits, six cores",
                "total",
                unit="s",
                aim=aim,
                aim_ratio=5,
                sides=("Python",),
            )
        ]
        metrics.append(
            Metric("... in processor time", "cpu", unit="s", aim=aim, sides=("Python",))
        )
        for part in ("upserts", "commit", "search", "wipe"):
            metrics.append(Metric(f"... {part}", part, unit="s", sides=("Python",)))
        yield Case("W3", kind, who, metrics, 1, 3, "totals", needs="dspace")


def w3b(_: Size) -> Iterator[Case]:
    words = ("reset", "10000")
    who = [
        Who("Grebe", "C", "grebe-c", "cycle_bench", words),
        Who("Grebe", "Python", "grebe", "memory", words),
    ]
    metric = Metric(
        "back to a snapshot of 10,000 documents", "restore", aim={"C": 5, "Python": 10}
    )
    yield Case("W3b", "restore", who, [metric], 500, 4)


def w4(size: Size) -> Iterator[Case]:
    full = size.full
    plans = [("S", 20000, call) for call in (10, 100, 1000, 10000)]
    docs = 2000 if full else 200
    plans += [("R", docs, call) for call in ((10, 100, 1000) if full else (10, 100))]
    for shape, docs, call in plans:
        words = ("ingest", shape, str(docs), str(call))
        few = ("ingest", shape, str(docs // 10), str(call))
        slow = "" if call == 1000 or full else "one size of call is enough for it"
        who = [
            Who("Grebe", "Python", "grebe", "memory", words),
            Who("FTS5 sql", "Python", "fts5", "memory", words),
            Who("tantivy", "Python", "tantivy", "memory", words),
            Who("Xapian", "Python", "xapian", "memory", words, 0, 1, slow),
            Who("Whoosh", "Python", "whoosh", "memory", few, 0, 1, slow),
            Who("Grebe", "Lua", "grebe-lua", "", words),
        ]
        if shape == "S":
            core = ("ingest", shape, str(docs))
            who.append(Who("Grebe", "C", "grebe-c", "cycle_bench", core))
        kind = "small documents" if shape == "S" else "8 fields, 24 KB"
        aim = {"Python": 275000.0, "Lua": 275000.0} if shape == "S" else {}
        metrics = [
            Metric(
                f"{kind}, {call:,} a call",
                "ingest",
                unit="docs/s",
                aim=aim,
                aim_ratio=2,
                sides=("C", "Python", "Lua"),
            ),
            Metric(
                f"{kind}, {call:,} a call, a processor second",
                "cpu",
                unit="docs/s",
                aim=aim,
                aim_ratio=2,
                sides=("Python", "Lua"),
            ),
            Metric(
                f"{kind}, {call:,} a call: share of the binding",
                "cpu",
                unit="%",
                aim={"Python": 20, "Lua": 20},
                beside="C",
                sides=("Python", "Lua"),
            ),
        ]
        yield Case("W4", f"{shape} {call}", who, metrics, 1, 10 if full else 2)


def w10(size: Size) -> Iterator[Case]:
    full = size.full
    few = 20
    for name, variant, aim in (
        ("create and close in memory", "memory", 4.0),
        ("open and close a folder", "disk", 40.0),
    ):
        memory = variant == "memory"
        where = "-" if memory else "FOLDER"
        lucene = "ram" if memory else "mmap"
        who = [
            Who("Grebe", "C", "grebe-c", "cycle_bench", ("opening", where)),
            Who("Lucene", "C", "lucene", lucene, ("opening", lucene), few),
            Who("Grebe", "Python", "grebe", variant, ("opening",)),
            Who(
                "FTS5 sql",
                "Python",
                "fts5",
                variant if memory else "wal-normal",
                ("opening",),
            ),
            Who(
                "Xapian",
                "Python",
                "xapian",
                variant if memory else "disk-nosync",
                ("opening",),
            ),
            Who("tantivy", "Python", "tantivy", variant, ("opening",)),
        ]
        metrics = [Metric(name, "open and close", aim={"C": aim, "Python": aim})]
        if not memory:
            metrics.append(Metric("first search after opening", "first search"))
        yield Case("W10", name, who, metrics, 200 if full else 50, 4)
    yield from _held(full)
    words = ("import",)
    who = [
        Who("Grebe", "Python", "grebe", "memory", words),
        Who("FTS5 sql", "Python", "fts5", "memory", words),
        Who("Xapian", "Python", "xapian", "memory", words),
        Who("tantivy", "Python", "tantivy", "memory", words),
        Who("Whoosh", "Python", "whoosh", "memory", words, 2),
    ]
    metric = Metric(
        "import, over a bare interpreter", "import", unit="ms", aim={"Python": 4.0}
    )
    spent = Metric("... in processor time", "cpu", unit="ms", aim={"Python": 4.0})
    yield Case("W10", "import", who, [metric, spent], 20 if full else 5, 4)
    box = Who("Grebe", "Python", "grebe", "memory", ("container",))
    metric = Metric(
        "container of ten cores, made and closed", "ten cores", "", "ms", {"Python": 5}
    )
    yield Case("W10", "container", [box], [metric], 50, 4)


def _held(full: bool) -> Iterator[Case]:
    words, some = ("held",), 1000 if full else 200
    for place, fds in (("memory", 0.0), ("disk", 1.0)):
        files = {"memory": "memory", "disk": "wal-normal"}[place]
        xapian = {"memory": "memory", "disk": "disk-nosync"}[place]
        who = [
            Who("Grebe", "Python", "grebe", place, words, 10000 if full else some),
            Who("FTS5 sql", "Python", "fts5", files, words, some),
            Who("Xapian", "Python", "xapian", xapian, words, some),
            Who("tantivy", "Python", "tantivy", place, words, 50),
        ]
        where = "in memory" if place == "memory" else "in folders"
        kib = {"Python": 4.0} if place == "memory" else {}
        metrics = [
            Metric(
                f"held open {where}: memory", figure="KiB each", unit="KiB", aim=kib
            ),
            Metric(
                f"held open {where}: file descriptors",
                figure="fds each",
                unit="fds",
                aim={"Python": fds},
            ),
            Metric(
                f"held open {where}: threads",
                figure="threads each",
                unit="threads",
                aim={"Python": 0.0},
            ),
        ]
        yield Case("W10", f"held {place}", who, metrics, 200, 1)


def w12(size: Size) -> Iterator[Case]:
    full = size.full
    for rank in (100, 0, 10, 1000) if full else (100, 0):
        words, few = ("term", str(rank)), 20 if rank == 0 else 100
        who = [
            Who("Grebe", "C", "grebe-c", "cycle_bench", words),
            Who("FTS5", "C", "fts5-c", "", words, few),
            Who("Lucene", "C", "lucene", "mmap", ("term", "mmap", str(rank))),
            Who("Grebe", "Python", "grebe", "memory", words),
            Who("FTS5", "Python", "fts5", "memory", words, few),
            Who("Xapian", "Python", "xapian", "memory", words),
            Who("tantivy", "Python", "tantivy", "memory", words),
            Who("Whoosh", "Python", "whoosh", "memory", words, 20),
        ]
        name = f"one term (rank {rank}) on 1,000 documents"
        aimed = rank == 100
        metrics = [
            Metric(
                f"{name}, top 10",
                "search",
                aim={"C": 1.0, "Python": 2.5} if aimed else {},
            ),
            Metric(
                f"{name}, top 10 with keys",
                "with keys",
                aim={"Python": 5.0} if aimed else {},
            ),
        ]
        yield Case("W12", name, who, metrics, 1000, 10 if full else 4, "keys")


PLANS: dict[str, Callable[[Size], Iterator[Case]]] = {
    "W1": w1,
    "W2": w2,
    "W3": w3,
    "W3b": w3b,
    "W4": w4,
    "W10": w10,
    "W12": w12,
}
