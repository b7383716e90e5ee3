"""Queries as objects."""

import grebe_core as core

_OPERATORS = {"or": core.OR, "and": core.AND}


def _listed(given, name):
    """A list of queries from one, several or None."""
    if given is None:
        return []
    if isinstance(given, Q):
        return [given]
    given = list(given)
    for query in given:
        if not isinstance(query, Q):
            raise TypeError(f"{name} holds Q, not {type(query).__name__}")
    return given


def _count(name, number, least=0, most=2**32 - 1):
    if isinstance(number, bool) or not isinstance(number, int):
        raise TypeError(f"{name} is an int, not {type(number).__name__}")
    if not least <= number <= most:
        raise ValueError(f"{name} cannot be {number}")
    return number


class Q(core.handle):
    """A query, made by the methods below and joined with `&`, `|` and `~`.

    Immutable and free of any schema: names and types are bound when a search runs,
    so a wrong one is SchemaError there. `str(q)` is its text. `term` and the like
    take the exact term, `match` and `phrase` analyse their text.
    """

    __slots__ = ("_parts",)

    @staticmethod
    def all():
        """Every document, score 1."""
        return core.query_all()

    @staticmethod
    def none():
        """No document."""
        return core.query_none()

    @staticmethod
    def term(field, value):
        """Documents with exactly this term or value; nothing is analysed."""
        return core.query_term(field, value)

    @staticmethod
    def match(field, text, op="or"):
        """Analyses `text` and joins its terms by `op`, "or" or "and"."""
        if op not in _OPERATORS:
            raise ValueError(f'op is "or" or "and", not {op!r}')
        return core.query_match(field, text, _OPERATORS[op])

    @staticmethod
    def phrase(field, text, slop=0):
        """The analysed terms in a row, or within `slop` moves (0 to 10,000)."""
        return core.query_phrase(field, text, _count("slop", slop))

    @staticmethod
    def prefix(field, value):
        """Documents with a term that begins with `value`; score 1."""
        return core.query_prefix(field, value)

    @staticmethod
    def range(field, *, gte=None, gt=None, lte=None, lt=None):
        """Documents with a value between the bounds; score 1. None: open."""
        if gte is not None and gt is not None:
            raise ValueError("range takes gte or gt, not both")
        if lte is not None and lt is not None:
            raise ValueError("range takes lte or lt, not both")
        lower = gt if gte is None else gte
        upper = lt if lte is None else lte
        return core.query_range(field, lower, upper, gt is not None, lt is not None)

    @staticmethod
    def exists(field):
        """Documents with any value in the field; score 1."""
        return core.query_exists(field)

    @staticmethod
    def bool(must=None, should=None, must_not=None, filter=None, mm=0):
        """Joins clauses, each a Q or a list of Q.

        Without `must` and `filter` at least one of `should` must match; `mm` asks
        for that many. Only `must_not`, or nothing: matches nothing.
        """
        clauses = [(core.MUST, q) for q in _listed(must, "must")]
        clauses += [(core.SHOULD, q) for q in _listed(should, "should")]
        clauses += [(core.MUST_NOT, q) for q in _listed(must_not, "must_not")]
        clauses += [(core.FILTER, q) for q in _listed(filter, "filter")]
        return core.query_bool(clauses, _count("mm", mm))

    @staticmethod
    def boost(query, by):
        """Multiplies the scores; ValueError for a negative or endless factor."""
        return core.query_boost(query, by)

    @staticmethod
    def constant(query, score):
        """Gives every match the same score."""
        return core.query_constant(query, score)

    @staticmethod
    def dismax(queries, tie=0.0):
        """The best clause's score plus `tie` (0 to 1) times the others'."""
        return core.query_dismax(_listed(queries, "dismax"), tie)

    def _taken_as(self, sign):
        """The clauses under `sign`, so that a chain makes one flat query."""
        mine, clauses = getattr(self, "_parts", (None, None))
        if mine == sign:
            return clauses
        if sign == "&":
            return [(core.MUST_NOT, clauses)] if mine == "~" else [(core.MUST, self)]
        return [(core.SHOULD, self)]

    def _joined(self, other, sign):
        if not isinstance(other, Q):
            return NotImplemented
        parts = self._taken_as(sign) + other._taken_as(sign)
        clauses = parts
        if all(occur == core.MUST_NOT for occur, _ in parts):
            clauses = [(core.FILTER, core.query_all()), *parts]
        query = core.query_bool(clauses, 0)
        query._parts = (sign, parts)
        return query

    def __and__(self, other):
        return self._joined(other, "&")

    def __or__(self, other):
        return self._joined(other, "|")

    def __invert__(self):
        clauses = [(core.FILTER, core.query_all()), (core.MUST_NOT, self)]
        query = core.query_bool(clauses, 0)
        query._parts = ("~", self)
        return query

    def __str__(self):
        return core.query_text(self)

    def __repr__(self):
        return f"<grebe.Q {core.query_text(self)}>"
