"""Runs the operations of a listed case through the Python module."""

import datetime as dt
import json
import math
import os
import resource
import sys
import time
from collections import Counter
from typing import Any

import grebe
from trees import query_of

Op = dict[str, Any]
TYPES = {
    "string": grebe.keyword,
    "long": grebe.int_,
    "boolean": grebe.bool_,
    "date": grebe.datetime,
}
ANALYZERS = {"standard": "standard", "std_stop": "en"}
ERRORS = {
    "invalid_document": (grebe.DocumentError, grebe.LimitError),
    "query_syntax": (grebe.QuerySyntaxError,),
    "unknown_field": (grebe.QuerySyntaxError, grebe.SchemaError),
    "query_value": (grebe.QuerySyntaxError, grebe.SchemaError),
    "query_too_complex": (grebe.LimitError,),
    "invalid_argument": (ValueError, TypeError),
    "limit": (grebe.LimitError,),
}


class Failed(Exception):
    """A case did not come out as it must."""


def schema_of(fields: dict[str, Any]) -> grebe.Schema:
    """The schema of a case."""
    made = {}
    for name, how in fields.items():
        if how.get("unique_key"):
            made[name] = grebe.key()
        elif how["type"] == "text":
            many = how.get("multi_valued", False)
            made[name] = grebe.text(ANALYZERS[how["analyzer"]], many=many)
        else:
            made[name] = TYPES[how["type"]](many=how.get("multi_valued", False))
    return grebe.Schema(made)


def positive(tree: Any) -> Any:
    """The tree with clauses of nothing but negatives as `~q`, all minus them: the
    tree bool(must_not) alone matches nothing with us, as in Lucene."""
    if isinstance(tree, list):
        return [positive(part) for part in tree]
    if not isinstance(tree, dict):
        return tree
    made = {name: positive(part) for name, part in tree.items()}
    if set(made.get("bool", ())) == {"must_not"}:
        made["bool"]["must"] = [{"all": {}}]
    return made


def dated(tree: Any, fields: dict[str, Any]) -> Any:
    """The tree with texts in ranges over dates as datetimes."""
    if isinstance(tree, list):
        return [dated(part, fields) for part in tree]
    if not isinstance(tree, dict):
        return tree
    if "range" in tree and fields[tree["range"]["field"]]["type"] == "date":
        read = dt.datetime.fromisoformat
        body = {
            name: read(value.replace("Z", "+00:00")) if name != "field" else value
            for name, value in tree["range"].items()
        }
        return {"range": body}
    return {name: dated(part, fields) for name, part in tree.items()}


def computed(op: Op, name: str) -> Any:
    """A member of an operation, given as it is or as a Python expression."""
    if name in op:
        return op[name]
    source = op.get(name + "_py")
    return None if source is None else eval(source)  # the cases are ours


def peak_mib() -> float:
    """The most memory this process has had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


class Player:
    """Plays one case over one way of opening."""

    def __init__(
        self, case: dict[str, Any], options: dict[str, Any], path: str
    ) -> None:
        self.fields = case["schema"]["fields"]
        # Without a text field a person's words find nothing.
        self.no_text = all(how["type"] != "text" for how in self.fields.values())
        self.options = dict(options)
        self.hard = self.options.pop("hard", False)
        self.path = path
        self.searchers: dict[str, grebe.Searcher] = {}
        self.skipped: Counter[str] = Counter()
        self.index = self._open()

    def _open(self) -> grebe.Index:
        schema = None if grebe.exists(self.path) else schema_of(self.fields)
        return grebe.open(self.path, schema, durability="none", **self.options)

    def play(self, ops: list[Op]) -> None:
        """Runs the operations in order."""
        for place, op in enumerate(ops):
            try:
                getattr(self, "_" + op["op"])(op)
            except Failed as fault:
                shown = json.dumps(op)[:300]
                raise Failed(f"operation {place}: {fault}\n    {shown}") from None

    def close(self) -> None:
        for searcher in self.searchers.values():
            searcher.close()
        self.index.close(commit=False)

    # Writing

    def _config(self, op: Op) -> None:
        self.index.close(commit=False)
        self.options["docs_max"] = op["max_buffered_docs"]
        self.index = self._open()

    def _add(self, op: Op) -> None:
        for doc in computed(op, "docs"):
            try:
                self.index.add(doc)
                outcome = "ok"
            except ERRORS["invalid_document"]:
                outcome = "invalid_document"
                if self.index.get(doc["id"]) is not None:
                    raise Failed("a refused document can be read") from None
            choice = op.get("expect", {}).get("any_of")
            if choice is None and outcome != op.get("expect_error", "ok"):
                raise Failed(f"add: {outcome}")

    def _add_if_accepted(self, op: Op) -> None:
        self._add(op)

    def _add_bytes(self, op: Op) -> None:
        """Broken UTF-8 can only come as what Python makes of it."""
        text = bytes.fromhex(op["hex"]).decode("utf-8", "surrogateescape")
        self._add({"docs": [{"id": "bytes", op["field"]: text}],
                   "expect_error": op["expect_error"]})  # fmt: skip

    def _delete(self, op: Op) -> None:
        for key in op["ids"]:
            self.index.delete(key)

    def _delete_by_query(self, op: Op) -> None:
        self.index.delete_by_query(op.get("q") or query_of(positive(op["query"])))

    def _soft_commit(self, op: Op) -> None:
        self.index.commit(soft=not self.hard)

    def _hard_commit(self, op: Op) -> None:
        self.index.commit()

    def _rollback(self, op: Op) -> None:
        self.index.rollback()

    def _reopen(self, op: Op) -> None:
        self.index.close(commit=False)
        self.index = self._open()

    def _open_searcher(self, op: Op) -> None:
        self.searchers[op["as"]] = self.index.searcher()

    def _loop_py(self, op: Op) -> None:
        for i in range(op["count"]):
            self.play(eval(op["ops_py"], {"i": i}))

    # Reading

    def _get(self, op: Op) -> None:
        got = self.index.get(op["id"])
        for name, value in computed(op, "expect_stored").items():
            if got is None or got[name] != value:
                raise Failed(f"get gives {got!r}")

    def _check_index(self, op: Op) -> None:
        self.index.commit()
        grebe.check(self.path)

    def _escape_roundtrip(self, op: Op) -> None:
        """Special characters behind a backslash stand for themselves."""
        self.skipped["there is no function that escapes a text"] += 1
        for text in op["texts"]:
            special = '+-&|!(){}[]^"~*?:\\/'
            escaped = "".join("\\" + c if c in special else c for c in text)
            grebe.parse(escaped, self.index, fields=[op["field"]])

    def _page_all(self, op: Op) -> None:
        found: list[str] = []
        sort = self._sort(op)
        query = query_of(op["query"])
        hits = self.index.search(query, sort=sort, limit=op["rows"])
        while True:
            found += hits.ids
            if hits.cursor is None:
                break
            hits = self.index.search(
                query, sort=sort, limit=op["rows"], after=hits.cursor
            )
        want = computed(op["expect"], "ids_ordered")
        if found != want:
            raise Failed(f"pages joined are {found}, not {want}")

    @staticmethod
    def _sort(op: Op) -> str | None:
        parts = [
            f"{field} {way}" + (" missing last" if rest else "")
            for field, way, *rest in op.get("sort", ())
        ]
        return ", ".join(parts) or None

    def _search(self, op: Op) -> None:
        tree = computed(op, "query")
        text = computed(op, "q")
        if tree is not None:
            try:
                query = query_of(dated(positive(tree), self.fields))
            except KeyError as kind:
                self.skipped[f"there is no query of kind {kind}"] += 1
            except grebe.LimitError as error:  # a value that no add would take
                self._judge(op["expect"], {"ids": [], "error": error}, lenient=False)
            else:
                self._one_search(op, query, strict=True)
        if text is None:
            return
        if "wildcard" in (tree or ()) and ("?" in text or "*" in text):
            self.skipped["there is no query of kind 'wildcard'"] += 1
            return
        self._one_search(op, text, strict=True)
        if tree is None:
            self._one_search(op, text, strict=False)

    def _one_search(self, op: Op, query: Any, strict: bool) -> None:
        """A text is read strictly by `where`, else as a person's words."""
        begin, memory = time.monotonic(), peak_mib()
        outcome: dict[str, Any] = {}
        try:
            outcome = self._ask(op, query, strict)
        except (grebe.Error, ValueError, TypeError) as error:
            outcome = {"error": error}
        seconds = time.monotonic() - begin
        if seconds * 1000 > op.get("max_ms", 60_000):
            raise Failed(f"took {seconds:.2f} s")
        if peak_mib() - memory > op.get("max_rss_growth_mib", 1 << 20):
            raise Failed(f"memory grew by {peak_mib() - memory:.0f} MiB")
        self._judge(op.get("expect", {}), outcome, lenient=not strict)

    def _ask(self, op: Op, query: Any, strict: bool) -> dict[str, Any]:
        target = self.searchers[op["searcher"]] if "searcher" in op else self.index
        fields = [op["df"]] if "df" in op else None
        if strict and isinstance(query, str):
            query = grebe.parse(query, self.index, fields=fields)
        how = op.get("highlight")
        results = {}
        for size in self._sizes(op):
            shown = [
                grebe.Highlight(
                    how["field"], how["pre"], how["post"], size=size,
                    encoder=how.get("encoder"),
                )
            ] if how else None  # fmt: skip
            hits = target.search(
                query,
                fields=None if isinstance(query, grebe.Q) else fields,
                where=[query_of(tree) for tree in op.get("filter", ())] or None,
                sort=self._sort(op),
                limit=op.get("rows", 10),
                offset=op.get("start", 0),
                facets={name: 100 for name in op.get("facets", ())} or None,
                highlight=shown,
            )
            results = {
                "ids": hits.ids,
                "num_found": hits.total,
                "scores": list(hits.scores),
                "facets": hits.facets if "facets" in op else {},
            }
            if how:
                results["passages"] = {
                    hit.id: (hit[how["field"]], hit.highlights[how["field"]])
                    for hit in hits
                }
                self._judge_passages(op["expect"], results["passages"], how)
        return results

    @staticmethod
    def _sizes(op: Op) -> Any:
        if "sweep_fragsize" in op:
            low, high = op["sweep_fragsize"].split("..")
            return range(int(low), int(high) + 1)
        return [op.get("highlight", {}).get("fragsize") or 1 << 30]

    @staticmethod
    def _judge_passages(expect: Op, found: dict[str, Any], how: Op) -> None:
        for key, (source, passages) in found.items():
            whole = "".join(passages)
            plain = whole.replace(how["pre"], "").replace(how["post"], "")
            if "highlight_contains" in expect:
                if expect["highlight_contains"] not in whole or plain not in source:
                    raise Failed(f"passage {whole!r}")
                whole.encode("utf-8")
            for name in ("highlight", "highlight_any"):
                if key in expect.get(name, {}) and whole not in [
                    *([expect[name][key]] if name == "highlight" else expect[name][key])
                ]:
                    raise Failed(f"passage {whole!r}")

    # Judging

    def _judge(self, expect: Op, outcome: dict[str, Any], lenient: bool) -> None:
        never = expect.get("never", ())
        ids = sorted(outcome["ids"]) if "ids" in outcome else None
        if ids is not None and "ids:" + ",".join(ids) in never:
            raise Failed(f"never {ids}")
        if lenient:
            # Without a text field there are no words to search for: the strict
            # reading's error is the answer.
            allowed = (grebe.LimitError, type(None))
            allowed += (grebe.QuerySyntaxError,) if self.no_text else ()
            if not isinstance(outcome.get("error"), allowed):
                raise Failed(f"a text raised {outcome['error']!r}")
            return
        if "any_of" in expect:
            if not any(self._fits(choice, outcome) for choice in expect["any_of"]):
                raise Failed(f"none of the allowed: {self._told(outcome)}")
        elif not self._fits(expect, outcome):
            raise Failed(f"{self._told(outcome)} is not what is expected")

    @staticmethod
    def _told(outcome: dict[str, Any]) -> str:
        return repr(outcome.get("error") or outcome)[:600]

    def _fits(self, expect: Op, outcome: dict[str, Any]) -> bool:
        error = outcome.get("error")
        if "error" in expect:
            allowed = ERRORS.get(expect["error"], ())
            if not isinstance(error, allowed) or not str(error):
                return False
            if expect["error"] == "query_syntax" and error.offset is None:
                return False
            return expect.get("mentions", "") in str(error)
        if error is not None:
            return isinstance(error, grebe.LimitError) and expect.get("ids") == []
        return self._fits_hits(expect, outcome)

    def _fits_hits(self, expect: Op, outcome: dict[str, Any]) -> bool:
        ids = outcome["ids"]
        want = computed(expect, "ids")
        order = computed(expect, "ids_ordered")
        count = computed(expect, "num_found")
        if want is not None and sorted(ids) != sorted(want):
            return False
        if order is not None and ids != order:
            return False
        if count is not None and outcome["num_found"] != count:
            return False
        if expect.get("unique_ids") and len(set(ids)) != len(ids):
            return False
        if any(
            outcome["facets"][name] != rows
            for name, rows in expect.get("facets", {}).items()
        ):
            return False
        if "scores" in expect and not all(
            math.isfinite(s) and s >= 0 for s in outcome["scores"]
        ):
            return False
        best = expect.get("top_in")
        return best is None or set(ids[: len(best)]) == set(best)


LAYOUTS: list[dict[str, Any]] = [
    {},
    {"hard": True},
    {"docs_max": 3},
    {"docs_max": 1, "hard": True, "store": "pread"},
]


def play_listed(case: dict[str, Any], folder: str) -> Counter[str]:
    """Runs a case over all layouts; what had to be skipped, with reasons."""
    skipped: Counter[str] = Counter()
    for place, options in enumerate(LAYOUTS):
        for again in range(min(case.get("repeat", 1), 20)):
            path = os.path.join(folder, f"{case['id']}-{place}-{again}")
            player = Player(case, options, path)
            try:
                player.play(case["ops"])
            except Failed as fault:
                raise Failed(f"{options}: {fault}") from None
            finally:
                player.close()
            skipped = player.skipped
    return skipped


if __name__ == "__main__":
    sys.exit("run.py is the entry")
