"""The larger workloads: W5, W5t, W6, W7, W8, W9 and W11."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import bulk
import corpora
from plan import Case, Metric, Who

_SLOW = "indexes 1,300 documents a second: in --size small only"
_CLASSES = (
    "intersection",
    "union",
    "phrase",
    "intersection_union",
    "negated",
    "term-high",
    "term-med",
    "term-low",
)


def _wiki(docs: int, case: str, lucene: tuple[str, ...], more: tuple[str, ...]):
    """Grebe and its peers on the wiki, in folders."""
    words = (case, str(docs), *more)
    slow = _SLOW if docs > 20_000 else ""
    who = [
        Who("Grebe", "Python", "grebe", "disk", words),
        Who("FTS5 sql", "Python", "fts5", "wal-normal", words),
        Who("tantivy", "Python", "tantivy", "disk", words),
    ]
    who.append(Who("Xapian", "Python", "xapian", "disk-nosync", words, left_out=slow))
    who.append(Who("Lucene", "Python", "lucene", "mmap", lucene))
    return who


def _file(name: str) -> str:
    return str(corpora.FOLDER / name)


def w5(full: bool) -> Iterator[Case]:
    docs = corpora.DOCS[full]
    who = _wiki(docs, "bulk", ("bulk", "wiki", _file(f"wiki-{docs}.jsonl")), ())
    name = f"{docs:,} documents of the wiki"
    sides = ("Python",)
    metrics = [
        Metric(f"{name}: add and commit", "bulk", unit="docs/s", sides=sides),
        Metric(f"{name}: merge to one", "merge", unit="s", sides=sides),
    ]
    for figure, what in (
        ("MB", "size after the commit"),
        ("MB merged", "size merged"),
        ("MB written", "written"),
    ):
        metrics.append(Metric(f"{name}: {what}", figure=figure, unit="MB", sides=sides))
    metrics.append(
        Metric(f"{name}: peak memory", figure="MiB peak", unit="MiB", sides=sides)
    )
    yield Case("W5", name, who, metrics, 1, 2, needs="wiki")


def w5t(full: bool) -> Iterator[Case]:
    docs = corpora.DOCS[full]
    who = [
        Who("Grebe", "Python", "grebe", "disk", ("taxi", str(docs))),
        Who(
            "Lucene",
            "Python",
            "lucene",
            "mmap",
            ("bulk", "taxi", _file(f"taxi-{docs}.jsonl")),
        ),
    ]
    name = f"{docs:,} records of 22 fields"
    metric = Metric(
        name, "ingest", unit="docs/s", aim={"Python": 300000}, sides=("Python",)
    )
    yield Case("W5t", name, who, [metric], 1, 3, needs="taxi")


def w6(full: bool) -> Iterator[Case]:
    docs = 100_000 if full else 20_000
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
        yield Case("W6", name, who, metrics, 2000, 4)
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
    yield Case("W6", name, who, metrics, 1000, 4)


def w7(full: bool) -> Iterator[Case]:
    docs = corpora.DOCS[full]
    files = _file(f"wiki-{docs}.jsonl"), _file(f"queries-{docs}.jsonl")
    who = _wiki(docs, "queries", ("queries", *files), (str(corpora.STRIDE[docs]),))
    words = ("queries", str(docs), str(corpora.STRIDE[docs]))
    who.append(Who("bm25s", "Python", "bm25s", "disk", words))
    metrics = [
        Metric(f"{kind} {mode}", f"{mode} {kind}", aim_ratio=1, sides=("Python",))
        for mode in bulk.MODES
        for kind in _CLASSES
    ]
    yield Case("W7", f"{docs:,} documents", who, metrics, 1, 3, "counts", "wiki")


def w8(full: bool) -> Iterator[Case]:
    docs = corpora.DOCS[full]
    files = _file(f"wiki-{docs}.jsonl"), _file(f"terms-{docs}.json")
    who = _wiki(docs, "kinds", ("kinds", *files), ())
    names = [*bulk.KIND_NAMES, "get by key, stored fields", "ten passages"]
    metrics = [Metric(name, name, aim_ratio=1.5, sides=("Python",)) for name in names]
    yield Case("W8", f"{docs:,} documents", who, metrics, 1, 3, "found", "wiki")


def w9(full: bool) -> Iterator[Case]:
    docs = "50000" if full else "10000"
    who = [
        Who("Grebe", "C", "grebe-c", "busy_bench", ("busy", docs)),
        Who("Lucene", "C", "lucene", "mmap", ("busy", "mmap", docs)),
        Who("Grebe", "Python", "grebe", "memory", ("busy", docs)),
    ]
    metric = Metric("search while 1,000 documents a second come in", "search")
    yield Case("W9", "busy", who, [metric], 20000, 3)


def w11(full: bool) -> Iterator[Case]:
    docs = corpora.DOCS[full]
    files = _file(f"wiki-{docs}.jsonl"), _file(f"queries-{docs}.jsonl")
    who = _wiki(docs, "deleted", ("deleted", *files), (str(corpora.STRIDE[docs]),))
    metrics = [
        Metric(
            f"{mode} after 30 % deletes, to before",
            figure=f"slower {mode}",
            unit="times",
            aim={"Python": 1.1} if mode == "TOP_10" else {},
            sides=("Python",),
        )
        for mode in ("TOP_10", "COUNT")
    ]
    yield Case("W11", f"{docs:,} documents", who, metrics, 1, 1, needs="wiki")
    for name, words in (("fresh", "0"), ("after 1,000 commits", "1000")):
        who = [Who("Grebe", "C", "grebe-c", "busy_bench", ("held", words))]
        metric = Metric(f"a searcher held, {name}: one term, top 10", "search")
        yield Case("W11", f"held, {name}", who, [metric], 5000, 4)


PLANS: dict[str, Callable[[bool], Iterator[Case]]] = {
    "W5": w5,
    "W5t": w5t,
    "W6": w6,
    "W7": w7,
    "W8": w8,
    "W9": w9,
    "W11": w11,
}
