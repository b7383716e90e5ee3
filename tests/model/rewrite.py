"""The one form of a query tree before it is scored.

Scores are sums that are rounded once a list, so it matters which clauses stand in
one list. The form is that of the recorded answers: text is analysed, the same clause
several times is one with the boosts added, a list of nothing but the same kind of
clauses is taken into the list around it, one clause alone is itself.
"""

import json
import struct
from math import inf, nextafter
from typing import Any

from documents import KINDS, analyze
from trees import Tree

_FLOAT = struct.Struct("f")
LISTS = ("must", "should", "must_not", "filter")
EMPTY: Tree = {"empty": {}}  # stop words alone: vanishes from lists, else no hit
NONE: Tree = {"none": {}}


def f32(number: float) -> float:
    """The nearest float of 32 bits."""
    return _FLOAT.unpack(_FLOAT.pack(number))[0]


def _parted(tree: Tree) -> tuple[Tree, float]:
    """An expanded tree as (tree, boost)."""
    if "boost" in tree:
        return tree["boost"]["query"], tree["boost"]["boost"]
    return tree, 1.0


def _boosted(tree: Tree, by: float) -> Tree:
    if by == 1.0 or tree in (EMPTY, NONE):
        return tree
    return {"boost": {"query": tree, "boost": by}}


def _identity(tree: Tree) -> str:
    """Equal for trees that differ in the order of their lists alone."""

    def sorted_lists(value: Any) -> Any:
        if isinstance(value, list):
            return sorted(map(sorted_lists, value), key=json.dumps)
        if isinstance(value, dict):
            same = value.keys() & {"slots"}  # the order of a phrase counts
            return {k: v if k in same else sorted_lists(v) for k, v in value.items()}
        return value

    return json.dumps(sorted_lists(tree), sort_keys=True)


def _merged(trees: list[Tree]) -> list[Tree]:
    """Equal clauses as one, at the place of the first, their boosts added."""
    seen: dict[str, tuple[Tree, float]] = {}
    for tree in trees:
        inner, by = _parted(tree)
        name = _identity(inner)
        seen[name] = inner, seen.get(name, (inner, 0.0))[1] + by
    return [_boosted(inner, f32(by)) for inner, by in seen.values()]


def _flattened(trees: list[Tree], name: str) -> list[Tree]:
    """Clauses with bools of nothing but such clauses taken in."""
    found = []
    for tree in trees:
        body = tree.get("bool")
        alone = body is not None and not any(
            body[other] for other in LISTS if other != name
        )
        if body is not None and alone and (name == "must" or body["mm"] <= 1):
            found += body[name]
        else:
            found.append(tree)
    return found


def _settled(trees: list[Tree], name: str) -> list[Tree]:
    while True:
        merged = _merged(trees)
        trees = _flattened(merged, name)
        if trees == merged:
            return trees


def _bool(lists: dict[str, list[Tree]], mm: int) -> Tree:
    """A bool of expanded clauses."""
    empty = sum(tree == EMPTY for trees in lists.values() for tree in trees)
    if empty and empty == sum(map(len, lists.values())):
        return EMPTY
    if NONE in lists["must"] + lists["filter"]:
        return NONE
    made = {
        name: [tree for tree in trees if tree not in (EMPTY, NONE)]
        for name, trees in lists.items()
    }
    if mm <= 1:
        made["should"] = _settled(made["should"], "should")
    if mm and mm == len(made["should"]):
        made["must"] += made["should"]
        made["should"], mm = [], 0
    made["must"] = _settled(made["must"], "must")
    positive = made["must"] + made["should"]
    if mm > len(made["should"]) or not positive + made["filter"]:
        return NONE
    if len(positive) == 1 and not made["filter"] and not made["must_not"]:
        return positive[0]
    return {"bool": made | {"mm": mm}}


def _text(kind: str, body: Tree) -> Tree:
    field = body["field"]
    found = analyze(KINDS[field], body["text"])
    terms = [{"term": {"field": field, "value": term}} for term, _ in found]
    if not terms:
        return EMPTY
    if len(terms) == 1:
        return terms[0]
    if kind == "phrase":
        return {"phrase": {"field": field, "slop": body.get("slop", 0), "slots": found}}
    name = "must" if body.get("operator") == "and" else "should"
    return _bool(dict.fromkeys(LISTS, []) | {name: terms}, 0)


def _dismax(body: Tree) -> Tree:
    parts = [expand(tree) for tree in body["queries"]]
    made = [tree for tree in parts if tree not in (EMPTY, NONE)]
    if not made:
        return EMPTY if parts and all(tree == EMPTY for tree in parts) else NONE
    return {"dismax": body | {"queries": made}} if len(made) > 1 else made[0]


def _range(body: Tree) -> Tree:
    """A range of numbers with closed ends; NONE if nothing lies between them."""
    kind = KINDS[body["field"]]
    if kind not in ("int", "datetime", "float", "bool"):
        return {"range": body}

    def beside(value: Any, way: int) -> Any:
        return nextafter(value, way * inf) if kind == "float" else int(value) + way

    least, most = (-inf, inf) if kind == "float" else (-(2**63), 2**63 - 1)
    low = beside(body["gt"], 1) if "gt" in body else body.get("gte", least)
    high = beside(body["lt"], -1) if "lt" in body else body.get("lte", most)
    if low > high or (kind == "float" and body.get("gt") == inf):
        return NONE
    ends = {"gte": low, "lte": high}
    return {"range": {"field": body["field"]} | ends}


def expand(tree: Tree) -> Tree:
    """The tree in its one form."""
    ((kind, body),) = tree.items()
    if kind in ("match", "phrase"):
        return _text(kind, body)
    if kind == "range":
        return _range(body)
    if kind == "bool":
        lists = {name: list(map(expand, body.get(name, ()))) for name in LISTS}
        return _bool(lists, body.get("mm", 0))
    if kind == "dismax":
        return _dismax(body)
    if kind == "boost":
        inner, by = _parted(expand(body["query"]))
        return _boosted(inner, f32(f32(body["boost"]) * by))
    if kind == "const":
        inner, _ = _parted(expand(body["query"]))
        if inner in (EMPTY, NONE):
            return inner
        inner = inner if "const" in inner else {"const": {"query": inner}}
        return _boosted(inner, f32(body["score"]))
    return tree
