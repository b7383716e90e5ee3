"""A user's own JSON lines: reading, guessing a schema, searching."""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import show

import grebe

Document = dict[str, Any]
ENGLISH = frozenset("the of and to in is that for with are was this as by".split())
KEY_NAMES = ("id", "key", "uuid", "guid", "isbn", "doi", "url", "path", "name")
WHEN = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)$")
KEYWORD_BYTES, DISTINCT_SEEN = 256, 50_000


class Unreadable(Exception):
    """What is wrong with the file, and where."""


@dataclass
class Seen:
    """What the values of one field look like."""

    documents: int = 0
    values: int = 0
    many: bool = False
    kinds: set[str] = field(default_factory=set)
    words: int = 0
    english: int = 0
    bytes_most: int = 0
    dates: int = 0
    distinct: set[Any] = field(default_factory=set)


def _flat(value: Any, name: str, into: dict[str, list[Any]]) -> None:
    """Nested objects become dotted names, lists several values."""
    if isinstance(value, dict):
        for part, below in value.items():
            _flat(below, f"{name}.{part}" if name else part, into)
    elif isinstance(value, list):
        for below in value:
            _flat(below, name, into)
        if len(value) > 1:
            into.setdefault(name, []).append(...)
    elif value is not None:
        into.setdefault(name, []).append(value)


def _field_name(name: str) -> str:
    name = re.sub(r"[^A-Za-z0-9_.-]", "_", name).lstrip("_.-0123456789")
    return name[:100] or "field"


def read(path: Path) -> list[Document]:
    """One JSON object a line, flattened: name -> list of values.

    A value `...` at a list's end says that it was a list in the file.
    """
    documents = []
    try:
        opened = gzip.open if path.suffix == ".gz" else open
        with opened(path, "rt", encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                if not line.strip():
                    continue
                try:
                    found = json.loads(line)
                except json.JSONDecodeError as error:
                    raise Unreadable(f"{path}, line {number}: {error}") from None
                if not isinstance(found, dict):
                    raise Unreadable(f"{path}, line {number}: not an object")
                flat: dict[str, list[Any]] = {}
                _flat(found, "", flat)
                documents.append({_field_name(n): v for n, v in flat.items()})
    except (OSError, UnicodeDecodeError) as error:
        raise Unreadable(f"{path}: {error}") from None
    if not documents:
        raise Unreadable(f"{path} has no documents")
    return documents


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int):
        return "int" if -(2**63) <= value < 2**63 else "str"
    return "float" if isinstance(value, float) else "str"


def _look(seen: Seen, values: list[Any]) -> None:
    seen.documents += 1
    for value in values:
        if value is ...:
            seen.many = True
            continue
        seen.values += 1
        seen.kinds.add(_kind(value))
        if len(seen.distinct) < DISTINCT_SEEN:
            seen.distinct.add(value)
        if isinstance(value, str):
            words = value.lower().split()
            seen.words += len(words)
            seen.english += sum(word in ENGLISH for word in words)
            size = len(value.encode("utf-8", "replace"))
            seen.bytes_most = max(seen.bytes_most, size)
            seen.dates += WHEN.match(value) is not None
    seen.many = seen.many or sum(v is not ... for v in values) > 1


def _survey(documents: list[Document]) -> dict[str, Seen]:
    fields: dict[str, Seen] = {}
    for document in documents:
        for name, values in document.items():
            _look(fields.setdefault(name, Seen()), values)
    return fields


def _guess_key(documents: list[Document], fields: dict[str, Seen]) -> str | None:
    """The first field that is a word or number of its own in every document."""
    order = [n for n in KEY_NAMES if n in fields] + [n for n in fields]
    for name in order:
        seen = fields[name]
        if seen.many or seen.documents != len(documents) or len(seen.kinds) != 1:
            continue
        if not seen.kinds <= {"str", "int"} or seen.bytes_most > KEYWORD_BYTES:
            continue
        if seen.words > 1.5 * seen.values:
            continue
        values = {document[name][0] for document in documents}
        if len(values) == len(documents):
            return name
    return None


def _guess_field(seen: Seen) -> grebe.Field:
    many = seen.many
    if seen.kinds == {"bool"}:
        return grebe.bool_(many=many)
    if seen.kinds == {"int"}:
        return grebe.int_(many=many)
    if seen.kinds <= {"int", "float"}:
        return grebe.float_(many=many)
    if seen.kinds == {"str"} and seen.dates == seen.values:
        return grebe.datetime(many=many)
    one_word = seen.words <= 1.2 * seen.values
    repeated = len(seen.distinct) <= seen.values / 4 and seen.words <= 4 * seen.values
    if seen.bytes_most <= KEYWORD_BYTES and (one_word or repeated):
        return grebe.keyword(many=many)
    english = seen.english > seen.words / 20
    return grebe.text("en" if english else "standard", many=many)


def guess(documents: list[Document]) -> grebe.Schema:
    """Kinds, lists, text or keyword, and the key, from all documents."""
    fields = _survey(documents)
    key = _guess_key(documents, fields)
    made = {}
    for name, seen in fields.items():
        if name == key:
            made[name] = grebe.key("int" if seen.kinds == {"int"} else "str")
        else:
            made[name] = _guess_field(seen)
    return grebe.Schema(made)


def _as(kind: str, value: Any) -> Any:
    if kind == "float":
        return float(value)
    if kind in ("text", "keyword") and not isinstance(value, str):
        return json.dumps(value)
    return value


def fitted(documents: list[Document], schema: grebe.Schema) -> list[Document]:
    """The documents as the schema wants them."""
    result = []
    for document in documents:
        made = {}
        for name, values in document.items():
            kind = schema[name].kind
            plain = [_as(kind, value) for value in values if value is not ...]
            if plain:
                made[name] = plain if schema[name].many else plain[0]
        result.append(made)
    return result


def _main_text(documents: list[Document], schema: grebe.Schema) -> str | None:
    """The text field that holds most."""
    sizes: Counter[str] = Counter()
    for document in documents[:1000]:
        for name, values in document.items():
            if schema[name].kind == "text":
                sizes[name] += sum(len(v) for v in values if isinstance(v, str))
    return sizes.most_common(1)[0][0] if sizes else None


def _telling_words(documents: list[Document], name: str) -> str:
    """Two words that some, but not most, documents hold together."""
    pairs: Counter[tuple[str, str]] = Counter()
    for document in documents[:2000]:
        text = " ".join(v for v in document.get(name, ()) if isinstance(v, str))
        words = re.findall(r"[^\W\d_]{5,}", text.lower())[:60]
        pairs.update({(a, b) for a, b in zip(words, words[1:]) if a != b})
    if not pairs:
        return "*"
    return " ".join(pairs.most_common(1)[0][0])


def _search_text(index: grebe.Index, documents: list[Document]) -> None:
    name = _main_text(documents, index.schema)
    if name is None:
        return
    words = _telling_words(documents, name)
    show.search(index, words, fields=[name], highlight=[name], limit=5)


def _facet_fields(index: grebe.Index) -> list[str]:
    """Up to three fields whose values repeat, those with the fewest first."""
    fields = index.schema.items()
    names = [n for n, f in fields if f.kind in ("keyword", "bool") and not f.is_key]
    if not names:
        return []
    found = index.search(facets=dict.fromkeys(names), limit=0).facets
    sizes = sorted((len(found[name]), name) for name in names)
    return [name for size, name in sizes if 1 < size <= len(index) / 3][:3]


def _search_columns(index: grebe.Index) -> None:
    fields = index.schema.items()
    facets = _facet_fields(index)
    if facets:
        shown = dict.fromkeys(facets, 6)
        show.search(index, facets=shown, limit=0)
    sorts = [
        n for n, f in fields if f.kind in ("int", "float", "datetime") and not f.is_key
    ]
    if sorts:
        name = sorts[0]
        show.search(
            index, sort=f"{name} desc", where=f"{name}:*", limit=5, show_fields=[name]
        )


def search(index: grebe.Index, documents: list[Document]) -> None:
    """A search in the largest text, facets, a sort, as far as there are fields."""
    _search_text(index, documents)
    _search_columns(index)
