"""Query trees (plain JSON) as grebe.Q; the trees of the recorded answers too."""

from typing import Any

import grebe

Tree = dict[str, Any]
_Q = grebe.Q


def _bool(body: Tree) -> grebe.Q:
    lists = {
        name: [query_of(child) for child in body.get(name, ())]
        for name in ("must", "should", "must_not", "filter")
    }
    return _Q.bool(mm=body.get("mm", 0), **lists)


def _phrase(body: Tree) -> grebe.Q:
    text = body["text"] if "text" in body else " ".join(body["terms"])
    return _Q.phrase(body["field"], text, body.get("slop", 0))


def _range(body: Tree) -> grebe.Q:
    bounds = {k: body[k] for k in ("gte", "gt", "lte", "lt") if k in body}
    return _Q.range(body["field"], **bounds)


_MAKERS = {
    "all": lambda b: _Q.all(),
    "none": lambda b: _Q.none(),
    "term": lambda b: _Q.term(b["field"], b["value"]),
    "match": lambda b: _Q.match(b["field"], b["text"], b.get("operator", "or")),
    "phrase": _phrase,
    "prefix": lambda b: _Q.prefix(b["field"], b["value"]),
    "range": _range,
    "exists": lambda b: _Q.exists(b["field"]),
    "bool": _bool,
    "boost": lambda b: _Q.boost(query_of(b["query"]), b["boost"]),
    "const": lambda b: _Q.constant(query_of(b["query"]), b["score"]),
    "dismax": lambda b: _Q.dismax([query_of(q) for q in b["queries"]], b["tie"]),
}


def query_of(tree: Tree) -> grebe.Q:
    """The query of a tree; KeyError for a kind that there is not."""
    ((kind, body),) = tree.items()
    return _MAKERS[kind](body)
