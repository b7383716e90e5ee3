"""The right answer to a request over a list of documents."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from documents import Doc
from rewrite import expand
from scoring import Scorer, matcher

Request = dict[str, Any]


@dataclass
class Answer:
    """What a search says, from the library or from the model."""

    total: int
    dicts: list[dict[str, Any]]
    scores: list[float]
    facets: dict[str, list[tuple[Any, int]]] = field(default_factory=dict)
    missing: dict[str, int] = field(default_factory=dict)
    passages: list[list[str]] = field(default_factory=list)
    paged: list[int] = field(default_factory=list)

    @property
    def vs(self) -> list[int]:
        """Serial numbers of the page."""
        return [row["v"] for row in self.dicts]


def matching(docs: Sequence[Doc], request: Request) -> list[Doc]:
    """What the query and all filters match, in insertion order."""
    tests = [matcher(expand(request["tree"]))]
    tests += [matcher(expand(tree)) for tree in request.get("where", ())]
    return [doc for doc in docs if all(test(doc) for test in tests)]


def sort_part(text: str) -> tuple[str, bool, bool]:
    """Field, descending, missing first of one part of a sort text."""
    words = text.split()
    return words[0], "desc" in words, words[-1] == "first"


def ordered(found: list[Doc], sort: str | None, scores: dict[int, float]) -> list[Doc]:
    """The documents in the order asked for, ties in insertion order."""
    result = list(found)
    for part in reversed((sort or "score").split(", ")):
        name, descending, missing_first = sort_part(part)
        if name == "score":
            result.sort(key=lambda d: scores[d.v], reverse="asc" not in part)
            continue
        if name == "_order":
            places = {d.v: i for i, d in enumerate(found)}
            result.sort(key=lambda d: places[d.v], reverse=descending)
            continue
        with_value = [d for d in result if d.values.get(name)]
        without = [d for d in result if not d.values.get(name)]
        pick = max if descending else min
        with_value.sort(key=lambda d: pick(d.values[name]), reverse=descending)
        result = without + with_value if missing_first else with_value + without
    return result


def facet(found: list[Doc], name: str, limit: int) -> list[tuple[Any, int]]:
    """Values with the number of documents that have them."""
    counts: Counter[Any] = Counter()
    for doc in found:
        counts.update(set(doc.values.get(name, ())))
    rows = sorted(counts.items(), key=lambda row: (-row[1], row[0]))
    return rows[:limit]


def answer(docs: Sequence[Doc], request: Request, exact: bool) -> Answer:
    """The right answer. Without `exact` scores are unknown: an order by score
    comes back in insertion order, `scores` empty."""
    found = matching(docs, request)
    scores: dict[int, float] = {}
    by_score = "score" in (request.get("sort") or "score")
    if exact:
        of = Scorer(docs).of(expand(request["tree"]))
        scores = {doc.v: of(doc) for doc in found}
    if by_score and not exact:
        rows = list(found)
    else:
        rows = ordered(found, request.get("sort"), scores)
    begin = request.get("offset", 0)
    limit = request.get("limit")
    page = rows[begin:] if limit is None else rows[begin : begin + limit]
    names = request.get("facets", {})
    return Answer(
        total=len(found),
        dicts=[doc.stored for doc in page],
        scores=[scores[doc.v] for doc in page] if exact and by_score else [],
        facets={name: facet(found, name, limit) for name, limit in names.items()},
        missing={
            name: sum(not doc.values.get(name) for doc in found) for name in names
        },
        paged=[doc.v for doc in rows],
    )


def difference(got: Answer, want: Answer, request: Request, exact: bool) -> str:
    """What is wrong in words, "" if nothing is."""
    if got.total != want.total:
        return f"total is {got.total}, not {want.total}"
    by_score = "score" in (request.get("sort") or "score")
    known = exact or not by_score
    if known and got.vs != want.vs:
        return f"hits are {got.vs}, not {want.vs}"
    if known and got.dicts != want.dicts:
        return f"stored fields are {got.dicts}, not {want.dicts}"
    if want.scores and got.scores != want.scores:
        return f"scores are {got.scores}, not {want.scores}"
    if not known and (request.get("sort") or "score") == "score":
        fault = order_fault(got, want)
        if fault:
            return fault
    for name, rows in want.facets.items():
        if got.facets[name] != rows:
            return f"facet {name} is {got.facets[name]}, not {rows}"
        if got.missing[name] != want.missing[name]:
            return f"{got.missing[name]} lack {name}, not {want.missing[name]}"
    if request.get("pages") and known and got.paged != want.paged:
        return f"pages joined are {got.paged}, not {want.paged}"
    if request.get("pages") and sorted(got.paged) != sorted(want.paged):
        return f"pages joined hold {sorted(got.paged)}, not {sorted(want.paged)}"
    return ""


def order_fault(got: Answer, want: Answer) -> str:
    """By score, where only the order of equal scores is known."""
    places = {v: i for i, v in enumerate(want.paged)}
    stored = {row["v"]: row for row in want.dicts}
    rows = list(zip(got.scores, got.vs, got.dicts, strict=True))
    for row in rows:
        if row[1] not in places:
            return f"{row[1]} does not match"
        if row[1] in stored and stored[row[1]] != row[2]:
            return f"stored fields are {row[2]}, not {stored[row[1]]}"
    for one, two in zip(rows, rows[1:]):
        if one[0] < two[0] or (one[0] == two[0] and places[one[1]] >= places[two[1]]):
            return f"{one[1]} with {one[0]} stands before {two[1]} with {two[0]}"
    return ""
