"""Which documents a tree matches, and with what score, by brute force.

The arithmetic is that of the recorded answers: floats of 32 bits (a double that is
rounded after each operation), sums in double rounded once a level.
"""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from documents import KINDS, Doc
from rewrite import f32
from trees import Tree

K1, B = f32(1.2), f32(0.75)


def coded_length(length: int) -> int:
    """The length that is left after it was kept in one byte."""
    if length < 24:
        return length
    rest = length - 24
    shift = max(rest.bit_length() - 4, 0)
    return 24 + (rest >> shift << shift)


def sloppy_frequency(slots: Sequence[tuple[int, list[int]]], slop: int) -> float:
    """Weighted number of places for slots (offset, positions) of different terms."""
    at = [0] * len(slots)
    values = [positions[0] - offset for offset, positions in slots]
    end, frequency = max(values), 0.0
    while True:
        slot = values.index(min(values))
        spread = end - values[slot]
        second = min(value for i, value in enumerate(values) if i != slot)
        offset, positions = slots[slot]
        over = False
        while True:
            at[slot] += 1
            if at[slot] == len(positions):
                over = True
                break
            values[slot] = positions[at[slot]] - offset
            end = max(end, values[slot])
            if values[slot] > second:
                break
            spread = min(spread, end - values[slot])
        if spread <= slop:
            frequency = f32(frequency + f32(1.0 / (1.0 + spread)))
        if over:
            return frequency


def exact_frequency(slots: Sequence[tuple[int, list[int]]]) -> float:
    """Number of places where every slot stands at its offset."""
    first, positions = slots[0]
    sets = [(offset - first, set(found)) for offset, found in slots[1:]]
    return sum(all(p + d in found for d, found in sets) for p in positions)


def phrase_frequency(doc: Doc, body: Tree) -> float:
    """How often an expanded phrase stands in the document."""
    table = doc.tokens.get(body["field"], {})
    slots = []
    for term, offset in body["slots"]:
        if term not in table:
            return 0.0
        slots.append((offset, table[term]))
    if body.get("slop", 0) == 0:
        return exact_frequency(slots)
    return sloppy_frequency(slots, body["slop"])


Matcher = Callable[[Doc], bool]


def _range_matcher(body: Tree) -> Matcher:
    field = body["field"]
    tests = []
    if "gte" in body:
        tests.append(lambda v: v >= body["gte"])
    if "gt" in body:
        tests.append(lambda v: v > body["gt"])
    if "lte" in body:
        tests.append(lambda v: v <= body["lte"])
    if "lt" in body:
        tests.append(lambda v: v < body["lt"])

    def holds(value: Any) -> bool:
        return all(test(value) for test in tests)

    return lambda d: any(map(holds, _terms_of(d, field)))


def _terms_of(doc: Doc, field: str) -> Any:
    return doc.tokens[field] if field in doc.tokens else doc.values.get(field, ())


def _bool_matcher(body: Tree) -> Matcher:
    need = [matcher(t) for t in body["must"] + body["filter"]]
    should = [matcher(t) for t in body["should"]]
    never = [matcher(t) for t in body["must_not"]]
    least = body["mm"] or (0 if need else 1)

    def matches(doc: Doc) -> bool:
        if not all(m(doc) for m in need) or any(m(doc) for m in never):
            return False
        return least == 0 or sum(m(doc) for m in should) >= least

    return matches


def matcher(tree: Tree) -> Matcher:
    """A function that says whether a document matches the expanded tree."""
    ((kind, body),) = tree.items()
    field = body.get("field")
    if kind == "all":
        return lambda d: True
    if kind in ("none", "empty"):
        return lambda d: False
    if kind == "term":
        value = body["value"]
        return lambda d: value in _terms_of(d, field)
    if kind == "phrase":
        return lambda d: phrase_frequency(d, body) > 0
    if kind == "prefix":
        begin = body["value"]
        return lambda d: any(t.startswith(begin) for t in _terms_of(d, field))
    if kind == "range":
        return _range_matcher(body)
    if kind == "exists":
        return lambda d: bool(d.tokens.get(field) or d.values.get(field))
    if kind == "bool":
        return _bool_matcher(body)
    if kind in ("boost", "const"):
        return matcher(body["query"])
    assert kind == "dismax", kind
    parts = [matcher(t) for t in body["queries"]]
    return lambda d: any(m(d) for m in parts)


class Scorer:
    """Scores over a state in which nothing dead counts."""

    def __init__(self, docs: Sequence[Doc]) -> None:
        self.docs = docs
        self._fields: dict[str, tuple[int, float, Counter[str]]] = {}

    def _field(self, field: str) -> tuple[int, float, Counter[str]]:
        if field not in self._fields:
            df: Counter[str] = Counter()
            count = total = 0
            for doc in self.docs:
                if KINDS.get(field) in ("text", "en"):
                    terms, length = doc.tokens.get(field, ()), doc.lengths.get(field, 0)
                else:
                    terms = set(doc.values.get(field, ()))
                    length = len(terms)
                df.update(list(terms))
                count += length > 0
                total += length
            self._fields[field] = count, f32(total / count) if count else 0.0, df
        return self._fields[field]

    def _idf(self, field: str, term: str) -> float:
        count, _, table = self._field(field)
        df = table[term]
        return f32(math.log(1 + (count - df + 0.5) / (df + 0.5)))

    def _curve(self, field: str, weight: float) -> Callable[[float, int], float]:
        average = self._field(field)[1]

        def score(tf: float, length: int) -> float:
            part = f32(f32(B * f32(coded_length(length))) / average)
            inv = f32(1 / f32(K1 * f32(f32(1 - B) + part)))
            return f32(weight - f32(weight / f32(1 + f32(tf * inv))))

        return score

    def of(self, tree: Tree, boost: float = 1.0) -> Callable[[Doc], float]:
        """The score of a document that matches the expanded tree."""
        ((kind, body),) = tree.items()
        field = body.get("field")
        if kind == "term" and KINDS.get(field, "keyword") in ("text", "en", "keyword"):
            return self._term(field, body["value"], boost)
        if kind == "phrase":
            total = sum(self._idf(field, term) for term, _ in body["slots"])
            curve = self._curve(field, f32(boost * f32(total)))
            return lambda d: curve(phrase_frequency(d, body), d.lengths[field])
        if kind == "bool":
            return self._bool(body, boost)
        if kind == "boost":
            return self.of(body["query"], f32(boost * body["boost"]))
        if kind == "const":
            return lambda d: boost
        if kind == "dismax":
            return self._dismax(body, boost)
        return lambda d: boost

    def _term(self, field: str, term: str, boost: float) -> Callable[[Doc], float]:
        curve = self._curve(field, f32(boost * self._idf(field, term)))
        if KINDS.get(field) in ("text", "en"):
            return lambda d: curve(len(d.tokens[field][term]), d.lengths[field])
        return lambda d: curve(1, 1)

    def _parts(self, trees: list[Tree], boost: float) -> list[Any]:
        """Pairs (matcher, score)."""
        return [(matcher(tree), self.of(tree, boost)) for tree in trees]

    def _bool(self, body: Tree, boost: float) -> Callable[[Doc], float]:
        musts = self._parts(body["must"], boost)
        shoulds = self._parts(body["should"], boost)

        def score(doc: Doc) -> float:
            sure = f32(sum(s(doc) for _, s in musts))
            maybe = f32(sum(s(doc) for m, s in shoulds if m(doc)))
            return f32(sure + maybe)

        return score

    def _dismax(self, body: Tree, boost: float) -> Callable[[Doc], float]:
        parts = self._parts(body["queries"], boost)
        tie = f32(body["tie"])

        def score(doc: Doc) -> float:
            found = [s(doc) for m, s in parts if m(doc)]
            return f32(max(found) + (sum(found) - max(found)) * tie)

        return score
