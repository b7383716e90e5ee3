"""The made documents of the workloads.

They follow from SplitMix64, as in bench/c/bench.h, bench/java and bench/lua, so that
every engine indexes the same ones. Shapes:

A  key, text of 8 words                B  key, text of 100 words
C  key, 10 texts of 5 words, 20 keywords, 10 integers
S  key, 2 texts of 4 words, 3 integers ("small")
R  key, 2 keywords, 2 texts of 312 words of 10 to 64 letters, 3 integers (24 KB)
"""

from __future__ import annotations

from typing import Any

from engines.base import Field

Document = dict[str, Any]

_MASK = (1 << 64) - 1
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_SYLLABLES = [c + v for c in "bcdfghjklmnpqrstvwxz" for v in "aeiou"]
WORDS = [
    _SYLLABLES[r // 10000 % 100] + _SYLLABLES[r // 100 % 100] + _SYLLABLES[r % 100]
    for r in range(20000)
]


def mix(z: int) -> int:
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & _MASK
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB & _MASK
    return z ^ (z >> 31)


class Random:
    """SplitMix64."""

    def __init__(self, seed: int) -> None:
        self.state = seed

    def next(self) -> int:
        self.state = (self.state + 0x9E3779B97F4A7C15) & _MASK
        return mix(self.state)

    def below(self, n: int) -> int:
        return (self.next() >> 33) % n

    def rank(self, n: int) -> int:
        """Skewed towards small ranks."""
        u = (self.next() >> 11) * 2.0**-53
        return int(n * u * u * u)

    def words(self, n: int) -> str:
        return " ".join([WORDS[self.rank(20000)] for _ in range(n)])

    def letters(self) -> str:
        """10 to 64 letters: below(55) for the length, then 13 letters (base 26,
        lowest digit first) from each number."""
        n, out = 10 + self.below(55), []
        while len(out) < n:
            x = self.next()
            for _ in range(13):
                x, digit = divmod(x, 26)
                out.append(_LETTERS[digit])
        return "".join(out[:n])


KEY = Field("key", "key")
_TEXT, _INTS = Field("t0", "text"), [Field(f"n{i}", "int") for i in range(10)]
SCHEMAS = {
    "A": [KEY, _TEXT],
    "B": [KEY, _TEXT],
    "C": [KEY]
    + [Field(f"t{i}", "text") for i in range(10)]
    + [Field(f"s{i}", "keyword") for i in range(20)]
    + _INTS,
    "S": [KEY, _TEXT, Field("t1", "text"), *_INTS[:3]],
    "R": [KEY, Field("s0", "keyword"), Field("s1", "keyword"), _TEXT]
    + [Field("t1", "text"), *_INTS[:3]],
}


def make(shape: str, number: int, r: Random) -> Document:
    """One document; `r` gives the numbers it is made from."""
    doc: Document = {"key": f"k{number}"}
    if shape == "A":
        doc["t0"] = r.words(8)
    elif shape == "B":
        doc["t0"] = r.words(100)
    elif shape == "C":
        for i in range(10):
            doc[f"t{i}"] = r.words(5)
        for i in range(20):
            doc[f"s{i}"] = WORDS[r.rank(1000)]
        for i in range(10):
            doc[f"n{i}"] = r.below(1000000)
    elif shape == "S":
        doc["t0"], doc["t1"] = r.words(4), r.words(4)
        _numbers(doc, r)
    elif shape == "R":
        doc["s0"], doc["s1"] = r.letters(), r.letters()
        for name in ("t0", "t1"):
            doc[name] = " ".join([r.letters() for _ in range(312)])
        _numbers(doc, r)
    else:
        raise ValueError(f"no shape {shape!r}")
    return doc


def _numbers(doc: Document, r: Random) -> None:
    doc["n0"], doc["n1"] = r.below(1 << 31), r.below(1 << 31)
    doc["n2"] = r.next() >> 11


def batch(shape: str, first: int, n: int, r: Random) -> list[Document]:
    return [make(shape, i, r) for i in range(first, first + n)]
