"""The larger workloads: W5, W5t, W6, W7, W8, W9, W11, and of W10 the first search."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator

import bulk
from plan import Case, Metric, Size, Who

_SLOW = "indexes 500 documents a second: in W7 and packages of --size small only"
_RFC_DOCS = 300_000


def _peers(words: tuple[str, ...], size: Size, few: int, whoosh: bool) -> list[Who]:
    """Grebe and its peers as Python modules, in folders; `few`: blocks of the slow."""
    slow = "" if whoosh and not size.full else _SLOW
    return [
        Who("Grebe", "Python", "grebe", "disk", words),
        Who("tantivy", "Python", "tantivy", "disk", words),
        Who("FTS5 sql", "Python", "fts5", "wal-normal", words, blocks_max=few),
        Who("Xapian", "Python", "xapian", "disk-nosync", words, 0, few),
        Who("Whoosh", "Python", "whoosh", "disk", words, 0, 1, left_out=slow),
    ]


def _core(program: str, words: tuple[str, ...]) -> list[Who]:
    """Grebe in C and Lucene in Java; "-" is Lucene's folder, which it chooses."""
    java = tuple("-" if w == "FOLDER" else w for w in words)
    return [
        Who("Grebe", "C", "grebe-c", program, words),
        Who("Lucene", "C", "lucene", "mmap", java),
    ]


_LOAD_FIGURES = (
    ("MB", "MB", "size after the commit"),
    ("MB merged", "MB", "size merged"),
    ("MB written", "MB", "written"),
    ("MiB peak", "MiB", "peak memory"),
)


def _load(corpus: str, docs: int, name: str, threads: int, size: Size) -> Case:
    words = ("bulk", corpus, "FILE", str(docs))
    core = (*words[1:], "FOLDER", str(threads))
    who = [
        Who("Grebe", "C", "grebe-c", "load_bench", core),
        Who("Lucene", "C", "lucene", "mmap", (*words, "-", str(threads))),
    ]
    if threads == 1:
        who += _peers(words, size, 1, corpus == "packages")
    else:
        who.append(Who("tantivy", "C", "tantivy", "disk-threads", words))
        name += f", {threads} threads"
    # Beside Lucene in C, and beside tantivy.
    aim = {"C": 2.5 if threads == 1 else 1.7, "Python": 1.7} if corpus == "wiki" else {}
    metrics = [
        Metric(f"{name}: add and commit", "bulk", unit="docs/s", aim_ratio=aim),
        Metric(f"{name}: add, commit and merge to one", "whole", unit="docs/s"),
    ]
    for figure, unit, what in _LOAD_FIGURES:
        least = {"C": 1.0} if figure in ("MB merged", "MB written") else {}
        made = Metric(f"{name}: {what}", figure=figure, unit=unit, aim_ratio=least)
        metrics.append(made)
    return Case("W5", name, who, metrics, 1, 3, needs=corpus, docs=docs)


def w5(size: Size) -> Iterator[Case]:
    yield _load("wiki", size.docs, "wiki", 1, size)
    yield _load("wiki", size.docs, "wiki", 2, size)
    few = 100_000 if size.full else 2_000  # there are some 65,000
    yield _load("packages", few, "Debian packages", 1, size)
    if size.full:
        yield _load("rfc", _RFC_DOCS, "RFC passages", 1, size)


def w5t(size: Size) -> Iterator[Case]:
    docs = str(size.docs)
    who = [
        Who("Grebe", "C", "grebe-c", "load_bench", ("taxi", "FILE", docs, "FOLDER", "1")),
        Who("Lucene", "C", "lucene", "mmap", ("bulk", "taxi", "FILE", docs, "-", "1")),
        Who("Grebe", "Python", "grebe", "disk", ("taxi", "FILE", docs)),
    ]
    aim = {"C": 300000.0, "Python": 300000.0}
    metrics = [
        Metric("records of 22 fields", "bulk", unit="docs/s", aim=aim, aim_ratio=3),
        Metric("records of 22 fields: size", figure="MB merged", unit="MB", sides=("C",)),
    ]
    yield Case("W5t", "taxi", who, metrics, 1, 3, needs="taxi", docs=size.docs)


def w6(size: Size) -> Iterator[Case]:
    docs = 100_000 if size.full else 20_000
    for segments, aim in ((1, 0.5), (10, 0), (30, 1.0), (400, 10.0)):
        count = str(segments)
        who = [
            Who("Grebe", "C", "grebe-c", "lookup_bench", ("lookup", count)),
            Who("Lucene", "C", "lucene", "mmap", ("lookup", "mmap", count)),
        ]
        name = f"key of 100,000 in {segments} segment{'s' if segments > 1 else ''}"
        metrics = [
            Metric(f"{name}: get", "get", aim={"C": aim} if aim else {}, sides=("C",)),
            Metric(f"{name}: search, hit", "hit", sides=("C",)),
            Metric(f"{name}: search, miss", "miss", sides=("C",)),
            Metric(f"{name}: replaced", "upsert", sides=("C",)),
        ]
        yield Case("W6", name, who, metrics, 2000, 10 if size.full else 4)
    words = ("lookup", str(docs))
    who = [
        Who("Grebe", "Python", "grebe", "memory", words),
        Who("FTS5 sql", "Python", "fts5", "memory", words),
        Who("Xapian", "Python", "xapian", "disk-nosync", words),
        Who("tantivy", "Python", "tantivy", "memory", words),
    ]
    name = f"{docs:,} documents"
    metrics = [
        Metric(f"{name}: get by key, hit", "hit"),
        Metric(f"{name}: get by key, miss", "miss"),
        Metric(f"{name}: upsert of a key that is there", "upsert", aim={"Python": 3.0}),
    ]
    yield Case("W6", name, who, metrics, 1000, 10 if size.full else 4)


# Aims of W7 as times the best peer, where they are more than to be ahead.
_W7_AIMS = {
    "TOP_10 intersection": 1.3,
    "TOP_10 union": 1.3,
    "COUNT union": 3.0,
    "TOP_100_COUNT union": 3.0,
}


def w7(size: Size) -> Iterator[Case]:
    docs = str(size.docs)
    who = _core("classes_bench", ("queries", "FILE", docs, "FOLDER", "QUERIES"))
    words = ("queries", "FILE", docs, "QUERIES")
    who += _peers(words, size, 3, True)
    who.append(Who("bm25s", "Python", "bm25s", "disk", words))
    metrics = []
    for mode in bulk.MODES:
        for kind in bulk.CLASSES:
            series = f"{mode} {kind}"
            aim = _W7_AIMS.get(series, 1.05)
            metrics.append(Metric(f"{kind} {mode}", series, aim_ratio=aim))
    yield Case("W7", "queries", who, metrics, 1, 10, "tops", "wiki", size.docs)


def w8(size: Size) -> Iterator[Case]:
    docs = str(size.docs)
    who = _core("kinds_bench", ("kinds", "FILE", docs, "FOLDER", "TERMS"))
    who += _peers(("kinds", "FILE", docs, "TERMS"), size, 3, False)
    metrics = [Metric(name, name, aim_ratio=1.5) for name in bulk.KIND_NAMES]
    yield Case("W8", "kinds", who, metrics, 1, 10, "found", "wiki", size.docs)


def w9(size: Size) -> Iterator[Case]:
    docs = "50000" if size.full else "10000"
    who = [
        Who("Grebe", "C", "grebe-c", "busy_bench", ("busy", docs)),
        Who("Lucene", "C", "lucene", "mmap", ("busy", "mmap", docs)),
        Who("Grebe", "Python", "grebe", "memory", ("busy", docs)),
    ]
    name = "search while 1,000 documents a second come in"
    metrics = [
        Metric(f"{name}: p50", "search"),
        Metric(f"{name}: p99", "search", quantile=0.99, aim_ratio=3),
    ]
    yield Case("W9", "busy", who, metrics, 10000, 10 if size.full else 3)


def first(size: Size) -> Iterator[Case]:
    """W10: the first search after opening a large index from a folder."""
    docs = str(size.docs)
    who = _core("classes_bench", ("first", "FILE", docs, "FOLDER", "QUERIES"))
    name = f"wiki of {size.docs:,}"
    both = f"{name}: open and first query, warm page cache"
    metrics = [
        Metric(both, "both", aim={"C": 1000.0}),
        Metric(f"{name}: open", "open"),
        Metric(f"{name}: first query", "first"),
        Metric(f"{name}: bytes read while opening", figure="bytes read", unit="bytes"),
        Metric(f"{name}: mapped by opening", figure="KiB mapped", unit="KiB"),
    ]
    yield Case("W10", "first query", who, metrics, 50, 10, needs="wiki", docs=size.docs)


def w11(size: Size) -> Iterator[Case]:
    docs = str(size.docs)
    who = _core("classes_bench", ("deleted", "FILE", docs, "FOLDER", "QUERIES"))
    words = ("deleted", "FILE", docs, "QUERIES")
    # From Python the deletes are part of the only block.
    who += [dataclasses.replace(w, blocks_max=1) for w in _peers(words, size, 1, False)]
    metrics = [
        Metric(
            f"{mode} after 30 % deletes, to before",
            figure=f"slower {mode}",
            unit="times",
            aim={"C": 1.1, "Python": 1.1} if mode == "TOP_10" else {},
            aim_ratio=1.0 if mode == "COUNT" else 0,
        )
        for mode in ("TOP_10", "COUNT")
    ]
    yield Case("W11", "deletes", who, metrics, 1, 5, "tops", "wiki", size.docs)
    for name, count in (("fresh", "0"), ("after 1,000 commits", "1000")):
        held = [Who("Grebe", "C", "grebe-c", "busy_bench", ("held", count))]
        metric = Metric(f"a searcher held, {name}: one term, top 10", "search")
        yield Case("W11", f"held, {name}", held, [metric], 5000, 4)


PLANS: dict[str, Callable[[Size], Iterator[Case]]] = {
    "W5": w5,
    "W5t": w5t,
    "W6": w6,
    "W7": w7,
    "W8": w8,
    "W9": w9,
    "W10": first,
    "W11": w11,
}
