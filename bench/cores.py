"""The six indexes of W3 and the order of its commits.

Documents come from `make_corpus.py dspace --core NAME --docs 6000`.
"""

from __future__ import annotations

import json
import pathlib
from typing import Any

from engines.base import Field

Query = tuple[Any, ...]


class Core:
    """One index: its key, facets and filters, where the search word comes from and
    which field it is searched in, and which fields are text."""

    def __init__(
        self,
        name: str,
        key: str,
        facets: str,
        filters: tuple[Query, ...],
        word: tuple[str, str],
        texts: str,
    ) -> None:
        self.name, self.key, self.filters = name, key, filters
        self.facets, self.texts = tuple(facets.split()), texts.split()
        self.word_from, self.word_in = word
        self.docs: list[dict[str, Any]] = []
        self.words: list[str] = []
        self.schema: list[Field] = []

    def load(self, folder: pathlib.Path) -> None:
        kinds: dict[str, str] = {}
        path = folder / f"dspace-{self.name}.jsonl"
        with path.open(encoding="utf-8") as lines:
            self.docs = [self._document(json.loads(line), kinds) for line in lines]
        self.schema = [
            Field(n, k.rstrip("*"), True, k.endswith("*")) for n, k in kinds.items()
        ]
        if self.word_in == "search_text":
            self.schema.append(Field("search_text", "text", False, False))
        self.words = [self._word(doc[self.word_from]) for doc in self.docs]

    def _document(self, row: dict[str, Any], kinds: dict[str, str]) -> dict[str, Any]:
        """Dots in names become underscores, true and false strings, numbers with a
        fraction thousandths."""
        doc: dict[str, Any] = {}
        for name, v in row.items():
            name = name.replace(".", "_")
            if isinstance(v, bool):
                v = ("false", "true")[v]
            elif isinstance(v, float):
                v = round(v * 1000)
            text = name in self.texts
            kind = "key" if name == self.key else "text" if text else "keyword"
            kinds[name] = "int" if isinstance(v, int) else kind
            if isinstance(v, list) and text:
                v = " ".join(v)
            elif isinstance(v, list):
                kinds[name] += "*"
            doc[name] = v
        if self.word_in == "search_text":  # the words of all fields in one
            doc["search_text"] = " ".join(
                " ".join(v) if isinstance(v, list) else str(v) for v in doc.values()
            )
        return doc

    def _word(self, value: str) -> str:
        """The whole value of a keyword field, the first word of a text field."""
        if self.word_in in ("city", "item_submitter"):
            return value
        return value.replace(",", " ").split(" ")[0].lower()

    def query(self, number: int) -> Query:
        text = self.word_in in self.texts or self.word_in == "search_text"
        return ("term" if text else "keyword", self.word_in, self.words[number])


def _all() -> dict[str, Core]:
    cores = (
        Core(
            "search",
            "search_uniqueid",
            "dc_type dc_publisher dc_subject",
            (("read", "g0"), ("withdrawn", "false")),
            ("dc_title", "search_text"),
            "dc_title dc_description_abstract",
        ),
        Core(
            "statistics",
            "uid",
            "countryCode bundleName statistics_type",
            (("isBot", "false"), ("range", "type", 0, 3)),
            ("city", "city"),
            "",
        ),
        Core(
            "oai",
            "item_handle",
            "metadata_dc_type item_collections item_communities",
            (("item_public", "true"), ("item_deleted", "false")),
            ("item_submitter", "item_submitter"),
            "item_compile",
        ),
        Core(
            "authority",
            "id",
            "field authority_type last_name",
            (("deleted", "false"), ("field", "dc_contributor_author")),
            ("last_name", "value"),
            "value name_variant",
        ),
        Core(
            "suggestion",
            "suggestion_fullid",
            "source category contributors",
            (("processed", "false"), ("range", "trust", 200, 1000)),
            ("title", "title"),
            "title abstract",
        ),
        Core(
            "qaevent",
            "event_id",
            "source topic resource_uuid",
            (("source", "openaire"), ("range", "trust", 500, 1000)),
            ("title", "title"),
            "title message",
        ),
    )
    return {core.name: core for core in cores}


CORES = _all()
ORDER = (
    "search statistics search oai search authority search suggestion search qaevent "
    "search statistics"
).split()
