"""Documents of the model: fields, values and a tiny analysis of its own.

The texts are drawn from a restricted vocabulary, so that lower-casing and a table
of stems say all that the analyzers "standard" and "en" do to them.
"""

import datetime as dt
import re
from typing import Any

import grebe

# A word and what "en" makes of it; None: a stop word, which leaves a gap.
EN_TERMS: dict[str, str | None] = {
    "the": None, "of": None, "and": None, "fox": "fox", "foxes": "fox",
    "run": "run", "running": "run", "runs": "run", "jumps": "jump",
    "jumped": "jump", "quick": "quick", "quickly": "quickli", "lazy": "lazi",
    "dog": "dog", "dogs": "dog", "ponies": "poni", "sky": "sky",
    "technology": "technolog", "possibly": "possibl", "stone": "stone",
}  # fmt: skip
WORDS = sorted(EN_TERMS) + ["k9", "42", "naïve", "straße", "лиса"]
EN_WORDS = sorted(EN_TERMS)
TAGS = ["a", "ab", "abc", "b", "Blue", "dark blue", "é", "zz", ""]
LANGS = ["xx", "en", "de"]
VALUE_GAP = 100
EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc)

KINDS = {
    "v": "int", "body": "text", "title": "en", "names": "text", "tags": "keyword",
    "lang": "keyword", "n": "int", "ns": "int", "x": "float", "flag": "bool",
    "when": "datetime", "blob": "bytes", "e1": "keyword", "e2": "int",
}  # fmt: skip
MANY = {"names", "tags", "ns"}
DEFAULTS = {"lang": "xx", "e2": 7}
TEXTS = ("body", "title", "names")
EXTRA = ("e1", "e2")


def schema_of(key: str) -> grebe.Schema:
    """The schema at the beginning; `key` is "str", "int" or "none"."""
    first = {} if key == "none" else {"id": grebe.key(key)}
    return grebe.Schema(
        {
            **first,
            "v": grebe.int_(),
            "body": grebe.text(),
            "title": grebe.text("en"),
            "names": grebe.text(many=True),
            "tags": grebe.keyword(many=True),
            "lang": grebe.keyword(default="xx"),
            "n": grebe.int_(),
            "ns": grebe.int_(many=True),
            "x": grebe.float_(),
            "flag": grebe.bool_(),
            "when": grebe.datetime(),
            "blob": grebe.bytes_(),
        }
    )


def extra_field(name: str) -> grebe.Field:
    """A field that add_fields may bring later."""
    return grebe.keyword() if name == "e1" else grebe.int_(default=7)


def analyze(kind: str, text: str) -> list[tuple[str, int]]:
    """Terms with their positions."""
    found = []
    for position, word in enumerate(re.findall(r"\w+", text.lower())):
        term = EN_TERMS[word] if kind == "en" else word
        if term is not None:
            found.append((term, position))
    return found


def word_count(text: str) -> int:
    """Words, stop words too: the position after the last."""
    return len(re.findall(r"\w+", text))


class Doc:
    """A document as the index is to hold it; immutable and shared by states."""

    __slots__ = ("v", "key", "stored", "values", "tokens", "lengths")

    def __init__(self, given: dict[str, Any], extra: tuple[str, ...]) -> None:
        self.v = given["v"]
        self.key = given.get("id")
        self.stored: dict[str, Any] = {}
        self.values: dict[str, list[Any]] = {}
        self.tokens: dict[str, dict[str, list[int]]] = {}
        self.lengths: dict[str, int] = {}
        filled = {
            name: default
            for name, default in DEFAULTS.items()
            if name not in given and (name not in EXTRA or name in extra)
        }
        for name, value in (given | filled).items():
            if value is None or value == []:
                continue
            items = value if isinstance(value, list) else [value]
            self._take(name, items)

    def _take(self, name: str, items: list[Any]) -> None:
        kind = KINDS.get(name, "keyword")
        shown = [give_back(kind, item) for item in items]
        self.stored[name] = shown if name in MANY else shown[0]
        if kind in ("text", "en"):
            self._take_text(name, kind, items)
        elif kind != "bytes":
            self.values[name] = items

    def _take_text(self, name: str, kind: str, items: list[str]) -> None:
        table: dict[str, list[int]] = {}
        base = length = 0
        for item in items:
            for term, position in analyze(kind, item):
                table.setdefault(term, []).append(base + position)
                length += 1
            base += word_count(item) + VALUE_GAP
        self.tokens[name] = table
        self.lengths[name] = length


def give_back(kind: str, value: Any) -> Any:
    """What a stored value comes back as."""
    if kind == "datetime":
        return EPOCH + dt.timedelta(milliseconds=value)
    if kind == "bytes":
        return bytes.fromhex(value)
    return value


def for_library(given: dict[str, Any]) -> dict[str, Any]:
    """A document as it is handed to `add`: replayable JSON made into values."""
    ready = dict(given)
    if isinstance(ready.get("blob"), str):
        ready["blob"] = bytes.fromhex(ready["blob"])
    return ready
