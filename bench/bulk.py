"""The cases of W5, W5t, W6, W7, W8, W9 and W11 for engines used from Python.

The corpora are those of make_corpus.py; the queries of W7 are the
search-benchmark-game's. See cases.py for what a case is.
"""

from __future__ import annotations

import collections
import datetime
import itertools
import json
import os
import pathlib
import re
import shutil
import threading
import time

import shapes
from engines.base import Field, Unsupported
from measure import folder_bytes, io_bytes, now, peak_kib, settle

_STORED = [Field("id", "key"), Field("title", "text"), Field("body", "text")]
_UNSTORED = [Field("id", "key"), *(Field(n, "text", False) for n in ("title", "body"))]
_KINDS = [
    *_STORED,
    Field("time_sec", "int"),
    Field("views", "int"),
    Field("f50", "keyword"),
    Field("f10k", "keyword"),
    Field("f1m", "keyword"),
]
_FACETS = {"f50": 50, "f10k": 10_000, "f1m": 1_000_000}
# Of each corpus the names of the two texts; they become "title" and "body".
TEXTS = {
    "wiki": ("title", "body"),
    "packages": ("summary", "description"),
    "rfc": ("title", "text"),
}
_BULK = {
    "fts5": {"tuned": True},
    "tantivy": {"heap": 512_000_000},
    "whoosh": {"limitmb": 512},
}
BATCH = 10_000


def data(name: str) -> pathlib.Path:
    return pathlib.Path(os.environ["GREBE_BENCH_DATA"]) / name


def documents(path, docs: int, corpus: str = "wiki", kinds: bool = False):
    """The first documents of a corpus, in lists of BATCH."""
    part, (title, body) = [], TEXTS[corpus]
    with open(path, encoding="utf-8") as lines:
        for i, line in enumerate(itertools.islice(lines, docs)):
            d = json.loads(line)
            doc = {"id": d["id"], "title": d[title], "body": d[body]}
            if kinds:
                z = shapes.mix(i + 1)
                doc.update(time_sec=d["time_sec"], views=d["views"])
                doc.update((name, f"v{z % n}") for name, n in _FACETS.items())
            part.append(doc)
            if len(part) == BATCH:
                yield part
                part = []
    if part:
        yield part


def build(place, path, docs: int, kinds: bool, deletes: bool = False):
    """An index of the wiki, merged as far as the engine can."""
    more = dict(_BULK.get(place.engine, {}))
    if place.engine == "fts5" and kinds:
        more["index_ints"] = True
    schema = _KINDS if kinds else _UNSTORED
    if place.engine in ("fts5", "xapian", "tantivy", "whoosh", "bm25s"):
        # FTS5 cannot delete from a table that keeps no text
        more["store"] = kinds or (deletes and place.engine == "fts5")
    engine = place.open(schema, "wiki", **more)
    for part in documents(path, docs, "wiki", kinds):
        engine.add(part)
    engine.hard()
    engine.optimize()
    return engine


class Bulk:
    """W5: all documents of a corpus (texts not stored), one commit, one merge."""

    def __init__(self, place, corpus, path, docs):
        self.place, self.docs, self.turn = place, int(docs), 0
        self.corpus, self.path = corpus, path
        if place.in_memory:
            raise Unsupported("measured in folders only")

    def block(self, n):
        times, wholes, text, figures = [], [], 0, {}
        for _ in range(n):
            self.turn += 1
            name = f"bulk{self.turn}"
            more = dict(_BULK.get(self.place.engine, {}))
            if self.place.engine != "grebe":
                more["store"] = False
            engine = self.place.open(_UNSTORED, name, **more)
            written, spent, text, done = io_bytes(), 0, 0, 0
            for part in documents(self.path, self.docs, self.corpus):
                done += len(part)
                text += sum(len((d["title"] + d["body"]).encode()) for d in part)
                t = now()
                engine.add(part)
                spent += now() - t
            t = now()
            engine.hard()
            times.append(spent + now() - t)
            path = os.path.join(self.place.root, name)
            figures["MB"] = folder_bytes(path) / 1e6
            t = now()
            engine.optimize()
            wholes.append(times[-1] + now() - t)
            figures["MB merged"] = folder_bytes(path) / 1e6
            figures["MB written"] = (io_bytes() - written) / 1e6
            figures["MB text"] = text / 1e6
            figures["MiB peak"] = peak_kib() / 1024
            engine.close()
            shutil.rmtree(path, ignore_errors=True)
        return {
            "series": {"bulk": times, "whole": wholes},
            "docs": done * n,
            "figures": figures,
        }


class Taxi:
    """W5t: records of 22 fields, from Python dicts (Grebe)."""

    KEYWORDS = (
        "vendor_id vendor_name cab_color rate_code_id store_and_fwd_flag payment_type "
        "trip_type"
    ).split()
    DOUBLES = (
        "trip_distance fare_amount extra mta_tax improvement_surcharge tip_amount "
        "tolls_amount total_amount"
    ).split()

    def __init__(self, place, path, docs):
        if place.engine != "grebe":
            raise Unsupported("no adapter for typed records")
        import grebe

        self.place, self.grebe = place, grebe
        with open(path, encoding="utf-8") as lines:
            some = itertools.islice(lines, int(docs))
            self.docs = [self._record(json.loads(line)) for line in some]

    @staticmethod
    def _record(row):
        for name in ("pickup_datetime", "dropoff_datetime"):
            stamp = datetime.datetime.fromisoformat(row[name] + "+00:00")
            row[name] = int(stamp.timestamp() * 1000)
        for name in ("pickup_location", "dropoff_location"):
            row[name + "_lon"], row[name + "_lat"] = row.pop(name)
        return row

    def _schema(self):
        g, off = self.grebe, {"stored": False}
        fields = {"id": g.key(), "passenger_count": g.int_(**off)}
        fields |= {n: g.keyword(**off) for n in self.KEYWORDS}
        fields |= {n: g.float_(**off) for n in self.DOUBLES}
        for name in ("pickup", "dropoff"):
            fields[f"{name}_datetime"] = g.datetime(**off)
            for part in ("lon", "lat"):
                fields[f"{name}_location_{part}"] = g.float_(**off)
        return fields

    def block(self, n):
        times = []
        settle()
        for i in range(n):
            path = self.place.folder(f"taxi{i}")
            index = self.grebe.open(path or ":memory:", self._schema())
            t = now()
            for at in range(0, len(self.docs), BATCH):
                index.add_many(self.docs[at : at + BATCH])
            index.commit()
            times.append(now() - t)
            if len(index) != len(self.docs):
                raise SystemExit("records are missing")
            index.close()
        return {"series": {"bulk": times}, "docs": len(self.docs) * n}


class Lookup:
    """W6: documents of shape A by key, hit and miss, and replaced."""

    def __init__(self, place, docs):
        self.docs = int(docs)
        self.engine = place.open(shapes.SCHEMAS["A"])
        r = shapes.Random(1)
        for i in range(0, self.docs, BATCH):
            self.engine.add(shapes.batch("A", i, min(BATCH, self.docs - i), r))
        self.engine.hard()
        self.random = shapes.Random(5)

    def block(self, n):
        engine = self.engine
        numbers = [self.random.below(self.docs) for _ in range(n)]
        docs = [shapes.make("A", i, self.random) for i in sorted(set(numbers))]
        series = {"hit": [], "miss": [], "upsert": []}
        settle()
        for letter, name in (("k", "hit"), ("x", "miss")):
            for key in [f"{letter}{i}" for i in numbers]:
                t = now()
                doc = engine.get(key)
                series[name].append(now() - t)
                if (doc is not None) != (name == "hit"):
                    raise SystemExit(f"wrong answer for key {key}")
        for doc in docs:
            t = now()
            engine.upsert([doc])
            series["upsert"].append(now() - t)
        engine.hard()
        if engine.search(engine.prepare(("all",)), 10, True)[1] != self.docs:
            raise SystemExit("wrong number of documents after upserts")
        return {"series": series}


# ---- W7 and W11 ----


def game_query(text: str):
    """The search-benchmark-game's syntax: words, "phrases" (~slop), + and -."""
    must, should, never = [], [], []
    for sign, body, slop in re.findall(r'([+-]?)("[^"]*"|[^\s"]+)(?:~(\d+))?', text):
        words = re.findall(r"[^\W_]+", body.lower())
        if not words:
            continue
        part = ("term", "body", words[0])
        if len(words) > 1:
            part = ("phrase", "body", words, int(slop or 0))
        {"+": must, "-": never, "": should}[sign].append(part)
    if must and not should and not never:
        return ("and", must) if len(must) > 1 else must[0]
    if should and not must and not never:
        return ("or", should) if len(should) > 1 else should[0]
    if not must:
        must, should = [("or", should)], []
    return ("bool", must, should, never)


def frequencies(path, docs: int) -> dict[str, int]:
    """Document frequency of the words of a-z of three letters or more."""
    kept, found = data(f"frequencies-{docs}.json"), collections.Counter()
    if kept.exists():
        known: dict[str, int] = json.loads(kept.read_text())
        return known
    for part in documents(path, docs):
        for doc in part:
            found.update(set(re.findall(r"[^\W_]+", doc["body"].lower())))
    made = {w: n for w, n in found.items() if re.fullmatch("[a-z]{3,}", w)}
    part_path = kept.with_suffix(f".{os.getpid()}")
    part_path.write_text(json.dumps(made))
    part_path.rename(kept)
    return made


def term_classes(found: dict[str, int], docs: int) -> dict[str, list[str]]:
    """50 terms each of high, medium and low document frequency."""
    known, out = sorted(found.items()), {}
    limits = {
        "term-high": (docs / 20, docs),
        "term-med": (docs / 1000, docs / 100),
        "term-low": (10, 100),
    }
    for kind, (low, high) in limits.items():
        fit = [t for t, df in known if low <= df < high]
        count = min(50, len(fit))
        out[kind] = [fit[i * len(fit) // count] for i in range(count)]
    return out


def kinds_terms(found: dict[str, int], docs: int) -> dict[str, list[str]]:
    """The first ten of five letters or more of W7's high and medium terms."""
    classes = term_classes(found, docs)
    return {
        kind: [t for t in classes[f"term-{kind}"] if len(t) >= 5][:10]
        for kind in ("high", "med")
    }


CLASSES = (
    "intersection",
    "union",
    "intersection_union",
    "negated",
    "phrase",
    "sloppy",
    "term-high",
    "term-med",
    "term-low",
)
SLOP = 2


def game(found: dict[str, int], docs: int, stride: int, source) -> list[tuple[str, str]]:
    """(class, text): every stride-th query of each class, class by class."""
    seen, out = {}, []
    with open(source, encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            kind = row["tags"][0]
            if kind == "term" or kind.startswith("two-phase"):
                continue
            seen[kind] = seen.get(kind, -1) + 1
            if seen[kind] % stride:
                continue
            out.append((kind, row["query"]))
            if kind == "phrase":
                out.append(("sloppy", f"{row['query']}~{SLOP}"))
    for kind, terms in term_classes(found, docs).items():
        out += [(kind, t) for t in terms[::stride]]
    return sorted(out, key=lambda q: CLASSES.index(q[0]))


MODES = {
    "TOP_10": (10, False),
    "TOP_100": (100, False),
    "TOP_1000": (1000, False),
    "TOP_100_COUNT": (100, True),
    "COUNT": (0, True),
}


SLOW_NS = 5_000_000


def median_time(run) -> int:
    """The median of three runs; of a slow one the better of two."""
    times = []
    for _ in range(3):
        t = now()
        run()
        times.append(now() - t)
        if len(times) == 2 and min(times) > SLOW_NS:
            return min(times)
    return sorted(times)[1]


class Queries:
    """W7: each query in each mode; a time is the median of three runs."""

    deletes = False

    def __init__(self, place, path, docs, queries):
        self.engine = build(place, path, int(docs), False, self.deletes)
        self.queries, self.missing = [], 0
        with open(queries, encoding="utf-8") as lines:
            for kind, text in map(json.loads, lines):
                try:
                    query = self.engine.prepare(game_query(text))
                    self.queries.append((kind, text, query))
                except Unsupported:
                    self.missing += 1

    def answers(self):
        engine, tops = self.engine, {}
        counts = self._can(10, True)
        for kind, text, query in self.queries:
            hits, total, _ = engine.search(query, 10, counts)
            tops[text] = [total]
            if kind != "sloppy" or engine.name == "grebe":  # tantivy's slop scores
                tops[text] += engine.scored(hits)  # by the plain frequency
        return {"tops": tops}

    def facts(self):
        return {"queries it cannot express": self.missing}

    def block(self, n):
        series, search = {}, self.engine.search
        settle()
        for name, (k, count) in MODES.items():
            if not self._can(k, count):
                continue
            for _ in range(n):
                for kind, _, query in self.queries:
                    times = series.setdefault(f"{name} {kind}", [])
                    times.append(median_time(lambda: search(query, k, count)))
        return {"series": series}

    def _can(self, k, count):
        try:
            self.engine.search(self.queries[0][2], k, count)
        except Unsupported:
            return False
        return True


class Deleted(Queries):
    """W11: how much slower W7 becomes once 30 % of the documents are deleted."""

    MODES = {"TOP_10": (10, False), "COUNT": (0, True)}
    deletes = True

    def __init__(self, place, path, docs, queries):
        super().__init__(place, path, docs, queries)
        self.docs = int(docs)

    def _sum(self, k, count):
        search = self.engine.search
        return sum(
            min(median_time(lambda: search(q, k, count)) for _ in range(3))
            for _, _, q in self.queries
        )

    def block(self, n):
        before = {m: self._sum(*how) for m, how in self.MODES.items()}
        gone = [i for i in range(self.docs) if shapes.mix(i + 11) % 10 < 3]
        self.engine.delete([f"w{i}" for i in gone])
        self.engine.hard()
        live = self.engine.search(self.engine.prepare(("all",)), 10, True)[1]
        if live != self.docs - len(gone):
            raise SystemExit(f"{live} documents are left")
        after = {m: self._sum(*how) for m, how in self.MODES.items()}
        return {
            "series": {},
            "figures": {f"slower {m}": after[m] / before[m] for m in before},
        }


# ---- W8 ----


KIND_NAMES = (
    "prefix, top 10",
    "prefix, count",
    "wildcard, top 10",
    "fuzzy 1, top 10",
    "fuzzy 2, top 10",
    "regexp, top 10",
    "range, count",
    "range, top 10",
    "frequent term by views, top 10",
    "frequent term, facet of 50",
    "all, facet of 50",
    "frequent term, facet of 10,000",
    "all, facet of 10,000",
    "frequent term, facet of 1,000,000",
    "all, facet of 1,000,000",
    "frequent term, filter, top 10",
    "get by key, stored fields",
    "stored fields of ten hits",
    "ten passages",
)


class Kinds:
    """W8: other kinds of queries on stored documents with columns."""

    def __init__(self, place, path, docs, terms):
        self.docs = int(docs)
        self.engine = build(place, path, self.docs, True)
        named = json.loads(pathlib.Path(terms).read_text())
        high, med = named["high"], named["med"]
        self.pairs = list(zip(high, med))
        self.cases, self.found, self.missing = {}, {}, {}
        for name, parts in self._queries(high, med).items():
            self._prepare(name, parts)

    @staticmethod
    def _queries(high, med):
        body, both = "body", high + med
        top, count = {}, {"k": 0, "count": True}
        ranges = [("range", "time_sec", a, a + 8639) for a in range(0, 75000, 7500)]
        highs = [("term", body, t) for t in high]
        return {
            "prefix, top 10": [(("prefix", body, t[:3]), top) for t in both],
            "prefix, count": [(("prefix", body, t[:3]), count) for t in both],
            "wildcard, top 10": [
                (("wild", body, f"{t[:2]}*{t[-2]}?"), top) for t in both
            ],
            "fuzzy 1, top 10": [(("fuzzy", body, t, 1), top) for t in both],
            "fuzzy 2, top 10": [(("fuzzy", body, t, 2), top) for t in both],
            "regexp, top 10": [
                (("regexp", body, f"{t[:2]}[a-m]+{t[-1]}"), top) for t in both
            ],
            "range, count": [(r, count) for r in ranges],
            "range, top 10": [(r, top) for r in ranges],
            "frequent term by views, top 10": [
                (q, {"sort": ("views", True), "count": True}) for q in highs
            ],
            **{
                f"{what}, facet of {size:,}": [(q, {"facets": (name,)}) for q in asked]
                for name, size in _FACETS.items()
                for what, asked in (("frequent term", highs), ("all", [("all",)]))
            },
            "frequent term, filter, top 10": [
                (q, {"filters": (("f50", "v7"),), "count": True}) for q in highs
            ],
        }

    def _prepare(self, name, parts):
        try:
            made = [(self.engine.prepare(q), {"k": 10} | o) for q, o in parts]
            self.found[name] = [self._found(q, o) for q, o in made]
        except Unsupported as reason:
            self.missing[name] = str(reason)
            return
        self.cases[name] = made

    def _found(self, query, options):
        hits, total, facets = self.engine.search(query, **options)
        if options.get("facets"):
            counts = facets[options["facets"][0]]
            return sum(sorted(counts.values(), reverse=True)[:10])
        return total if options.get("count") else len(hits)

    def answers(self):
        return self.found

    def facts(self):
        return {"missing": self.missing}

    def block(self, n):
        search, series = self.engine.search, {}
        settle()
        for name, parts in self.cases.items():
            series[name] = [
                median_time(lambda: search(query, **options))
                for query, options in parts
            ]
        series["get by key, stored fields"] = self._gets()
        try:
            series["ten passages"] = self._passages()
        except Unsupported as reason:
            self.missing["ten passages"] = str(reason)
        return {"series": series}

    def _gets(self):
        r, times = shapes.Random(6), []
        for _ in range(500):
            key = f"w{r.below(self.docs)}"
            t = now()
            doc = self.engine.get(key)
            times.append(now() - t)
            if doc is None:
                raise SystemExit(f"{key} is missing")
        return times

    def _passages(self):
        engine, times = self.engine, []
        for a, b in self.pairs:
            query = ("and", [("term", "body", a), ("term", "body", b)])
            prepared = engine.prepare(query)
            hits = engine.search(prepared, 10)[0]
            times.append(median_time(lambda: engine.snippet(prepared, hits, "body")))
        return times


# ---- W9 ----


PACE_NS = 100_000  # a search: the writer shall have its time


class Busy:
    """W9: one-term queries while a thread adds 1,000 documents a second and makes
    them visible ten at a time."""

    def __init__(self, place, docs):
        from cases import base_docs

        self.engine = place.open(shapes.SCHEMAS["B"])
        self.engine.add(base_docs(int(docs)))
        self.engine.hard()
        self.next, self.random = int(docs), shapes.Random(2)

    def _write(self, docs, stop):
        began = time.perf_counter()
        for i in range(0, len(docs), 10):
            wait = began + i / 1000 - time.perf_counter()
            if wait > 0:
                time.sleep(wait)
            if stop.is_set():
                return
            self.engine.upsert(docs[i : i + 10])
            self.engine.soft()

    def block(self, n):
        # A thousand a second for four times as long as n searches should take.
        docs = shapes.batch("B", self.next, n * 2 // 5, self.random)
        self.next += len(docs)
        queries = [
            self.engine.prepare(("term", "t0", shapes.WORDS[self.random.rank(20000)]))
            for _ in range(n)
        ]
        stop, times = threading.Event(), []
        writer = threading.Thread(target=self._write, args=(docs, stop))
        settle()
        writer.start()
        due = now()
        for query in queries:
            due += PACE_NS
            while now() < due:
                time.sleep(0)
            t = now()
            self.engine.search(query, 10)
            times.append(now() - t)
        stop.set()
        writer.join()
        return {"series": {"search": times}}


CASES = {
    "bulk": Bulk,
    "taxi": Taxi,
    "lookup": Lookup,
    "queries": Queries,
    "deleted": Deleted,
    "kinds": Kinds,
    "busy": Busy,
}
