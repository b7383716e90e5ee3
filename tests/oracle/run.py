"""Recorded answers of another engine through the Python module.

    run.py [random_ops | after_deletes ...]

random_ops: 276 scripts of updates, commits, rollbacks and searches; counts, hits,
order and everything visible are compared at each search, scores to the bit where
nothing dead counts (tests/c/search_recorded_test.c compares the others, fed with the
recorded statistics). after_deletes: searches over collections of which 30 % was
deleted or replaced, before and after a merge to one segment, scores to the bit.
"""

import gzip
import json
import os
import pathlib
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

import grebe

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "model"))

from scoring import f32  # noqa: E402
from trees import query_of  # noqa: E402

SHARED = pathlib.Path(os.environ.get("GREBE_SHARED", HERE.parents[2] / "shared"))
RECORDED = SHARED / "oracle" / "lucene"
Op = dict[str, Any]


class Wrong(Exception):
    """An answer differs from the recorded one."""


def lines(path: pathlib.Path) -> Iterator[dict[str, Any]]:
    """The records of a file."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for line in file:
            yield json.loads(line)


def check(got: Any, want: Any, what: str) -> None:
    """Raises unless both are equal."""
    if got != want:
        raise Wrong(f"{what}: {got}, not {want}")


# ---- random_ops ----

SCRIPT_SCHEMA = grebe.Schema(
    id=grebe.key(),
    v=grebe.int_(indexed=False),
    body=grebe.text(),
    kind=grebe.keyword(many=True),
    n=grebe.int_(),
)
SCRIPT_CONFIGS: list[dict[str, Any]] = [
    {},
    {"docs_max": 8},
    {"docs_max": 30, "store": "pread"},
]


class Script:
    """Plays one script."""

    def __init__(self, path: str, config: dict[str, Any], counts: Counter[str]) -> None:
        self.path, self.counts = path, counts
        self.config = config | {"durability": "none"}
        self.kept: dict[str, grebe.Searcher] = {}
        self.clean = True  # nothing dead counts in the current view
        self.index = grebe.open(path, SCRIPT_SCHEMA, **self.config)

    def _published(self) -> None:
        self.clean = self.index.stats()["docs_deleted"] == 0

    def do(self, op: Op) -> None:
        getattr(self, op["op"])(op)

    def add(self, op: Op) -> None:
        self.index.add(op["doc"], overwrite=op["overwrite"])

    def update(self, op: Op) -> None:
        self.index.add(op["doc"])

    def delete(self, op: Op) -> None:
        self.index.delete(op["id"])

    def delete_query(self, op: Op) -> None:
        self.index.delete_by_query(query_of(op["query"]))

    def soft_commit(self, op: Op) -> None:
        self.index.commit(soft=True)
        self._published()

    def hard_commit(self, op: Op) -> None:
        seen = op.get("open_searcher", True)
        self.index.commit(publish=seen)
        if seen:
            self._published()

    def rollback(self, op: Op) -> None:
        self.index.rollback()
        self._published()

    def close_and_reopen(self, op: Op) -> None:
        self.index.close(commit=op["commit"])
        self.index = grebe.open(self.path, **self.config)
        self._published()

    def merge(self, op: Op) -> None:
        self.index.merge()

    def open_searcher(self, op: Op) -> None:
        self.kept[op["as"]] = self.index.searcher()

    def search(self, op: Op) -> None:
        target = self.kept[op["on"]] if "on" in op else self.index
        hits = target.search(query_of(op["query"]), limit=op["k"])
        check(hits.total, op["count"], "count")
        check(len(target), op["live_count"], "live documents")
        everything = target.search(limit=None, sort="_order").to_dicts()
        if "live" in op:
            check([row["v"] for row in everything], op["live"], "live")
        want = [hit[:2] for hit in op["hits"]]
        stats = op.get("stats")
        known = stats is not None and stats["max_doc"] == stats["num_docs"]
        known = known and self.clean and "on" not in op
        if "sort" in op:
            check(self._sorted(target, op)[: op["k"]], want, "sorted hits")
            self.counts["orders"] += 1
        elif known or "term" not in json.dumps(op["query"]):
            got = [[row["id"], row["v"]] for row in hits.to_dicts()]
            check(got, want, "hits")
            self.counts["orders"] += 1
            if known:
                self._check_scores(hits, op["hits"])
        self.counts["searches"] += 1

    def _sorted(self, target: Any, op: Op) -> list[list[Any]]:
        """Sorted by n, where the recorded order has documents without n among
        those with the last of all numbers; with us they come behind."""
        (name, way) = op["sort"][0]
        query = query_of(op["query"])
        rows = target.search(query, limit=None, sort=f"{name} {way}").to_dicts()
        last = -(2**63) if way == "desc" else 2**63 - 1
        end = [i for i, row in enumerate(rows) if row.get(name, last) == last]
        check(end, list(range(len(rows) - len(end), len(rows))), "the end")
        lacking = [row["v"] for row in rows if name not in row]
        check(
            [row["v"] for row in rows][len(rows) - len(lacking) :], lacking, "missing"
        )
        begin = len(rows) - len(end)
        rows[begin:] = sorted(rows[begin:], key=lambda row: self._place(target, row))
        return [[row["id"], row["v"]] for row in rows]

    def _place(self, target: Any, row: dict[str, Any]) -> int:
        """A row's place in insertion order."""
        everything = target.search(limit=None, sort="_order").to_dicts()
        return everything.index(row)

    def _check_scores(self, hits: grebe.Hits, recorded: list[list[Any]]) -> None:
        for score, hit in zip(hits.scores, recorded, strict=True):
            if len(hit) == 3:
                check(score, f32(hit[2]), "score")
                self.counts["scores"] += 1


def random_ops() -> bool:
    """Plays all scripts over each configuration."""
    counts: Counter[str] = Counter()
    failed = 0
    for config in SCRIPT_CONFIGS:
        for line in lines(RECORDED / "random_ops.jsonl.gz"):
            if "id" not in line:
                continue
            counts["scripts"] += 1
            with tempfile.TemporaryDirectory(prefix="grebe-oracle-") as folder:
                script = Script(os.path.join(folder, "index"), config, counts)
                for place, op in enumerate(line["ops"]):
                    try:
                        script.do(op)
                    except Wrong as fault:
                        failed += 1
                        print(f"{line['id']}, operation {place}, {config}: {fault}")
                        print("  ", json.dumps(op)[:2000])
                        break
                script.index.close(commit=False)
                script.kept.clear()
    print(
        f"random_ops: {counts['scripts']} scripts, {counts['searches']} searches, "
        f"{counts['orders']} orders, {counts['scores']} scores, {failed} wrong"
    )
    enough = counts["searches"] > 10000 and counts["scores"] > 1000
    return failed == 0 and enough


# ---- after_deletes ----


class NotSayable(Exception):
    """A query that the Python surface has no words for."""


class Collection:
    """A collection with its history of deletes and replacements."""

    def __init__(self, line: dict[str, Any]) -> None:
        name = line["collection"]
        self.analyzer = "en" if line["analyzer"] == "english" else line["analyzer"]
        schema = grebe.Schema(id=grebe.key(), body=grebe.text(self.analyzer))
        self.index = grebe.Index(schema, merging="manual")
        rows = lines(SHARED / "data" / "relevance" / name / "docs.jsonl.gz")
        texts = {
            row["id"]: " ".join(part for part in (row["title"], row["text"]) if part)
            for row in rows
        }
        ids = list(texts)
        for verb, *rest in line["ops"]:
            if verb == "add":
                for key in ids[rest[0] : rest[1]]:
                    self.index.add({"id": key, "body": texts[key]}, overwrite=False)
            elif verb == "delete":
                self.index.delete(rest[0])
            elif verb == "update":
                self.index.add({"id": rest[0], "body": texts[rest[1]]})
            else:
                self.index.commit(soft=True)
        self.before = self.index.searcher()
        self.index.merge()
        self.index.commit(soft=True)
        stats = line["stats_after_merge"]
        check(len(self.index), stats["num_docs"], "documents")

    def query(self, line: dict[str, Any]) -> grebe.Q:
        """The query of a line; NotSayable where only the C interface can."""
        if "terms" in line:
            terms = [grebe.Q.term("body", term) for term in line["terms"]]
            return grebe.Q.bool(should=terms)
        return query_of(self._sayable(line["query"]))

    def _sayable(self, tree: Any) -> Any:
        """The tree with the terms of phrases as text that is analysed to them."""
        if isinstance(tree, list):
            return [self._sayable(part) for part in tree]
        if not isinstance(tree, dict):
            return tree
        if set(tree) & {"wildcard", "regexp", "fuzzy"}:
            raise NotSayable(next(iter(tree)))
        if "phrase" in tree:
            return {"phrase": self._phrase(tree["phrase"])}
        return {name: self._sayable(part) for name, part in tree.items()}

    def _phrase(self, body: dict[str, Any]) -> dict[str, Any]:
        terms = body["terms"]
        places = body.get("positions", list(range(len(terms))))
        if any(isinstance(term, list) for term in terms):
            raise NotSayable("a phrase with several terms at a place")
        words = ["the"] * (places[-1] + 1)
        for place, term in zip(places, terms, strict=True):
            words[place] = term
        text = " ".join(words)
        found = [(t.text, t.position) for t in self.index.analyze("body", text)]
        if found != list(zip(terms, places, strict=True)):
            raise NotSayable("a phrase whose terms no text is analysed to")
        return {"field": body["field"], "text": text, "slop": body.get("slop", 0)}


def compare(view: Any, query: grebe.Q, line: dict[str, Any], name: str) -> None:
    """One search against its recorded hits."""
    want = line[name]
    hits = view.search(query, limit=len(want))
    check(hits.total, line.get("total_after", line["total"]), f"{name}: total")
    check(hits.ids, [hit[0] for hit in want], f"{name}: hits")
    check(list(hits.scores), [f32(hit[1]) for hit in want], f"{name}: scores")


def after_deletes() -> bool:
    """Every search before and after the merge."""
    compared = failed = 0
    left: Counter[str] = Counter()
    collection: Any = None
    for line in lines(RECORDED / "after_deletes.jsonl.gz"):
        if line["kind"] == "sequence":
            collection = Collection(line)
        if "id" not in line:
            continue
        try:
            query = collection.query(line)
        except NotSayable as why:
            left[str(why)] += 1
            continue
        try:
            compare(collection.before, query, line, "before_merge")
            compare(collection.index, query, line, "after_merge")
        except Wrong as fault:
            failed += 1
            print(f"{line['id']}: {fault}"[:600])
        compared += 1
    print(f"after_deletes: {compared} searches compared twice, {failed} wrong")
    for why, count in left.items():
        print(f"  skipped {count}: {why}")
    return failed == 0 and compared > 750


PARTS = {"random_ops": random_ops, "after_deletes": after_deletes}


def main() -> int:
    """Command line; the exit status."""
    if not RECORDED.is_dir():
        print(f"skipped: {RECORDED} is not there (set GREBE_SHARED)")
        return 0
    good = True
    for name in sys.argv[1:] or PARTS:
        begin = time.monotonic()
        good = PARTS[name]() and good
        print(f"  {time.monotonic() - begin:.1f} s")
    return int(not good)


if __name__ == "__main__":
    sys.exit(main())
