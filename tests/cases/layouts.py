"""Sizes and layouts over which the kinds of faults are varied."""

import tempfile
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import grebe

SIZES = (1, 7, 8, 9, 127, 128, 129, 255, 256, 257, 4095, 4096, 4097, 10_000)
SMALL = tuple(size for size in SIZES if size <= 257)
View = grebe.Index | grebe.Searcher


class Wrong(AssertionError):
    """A kind of fault is there."""


def same(got: Any, want: Any, what: str = "") -> None:
    """Raises unless both are equal."""
    if got != want:
        raise Wrong(f"{what}: {str(got)[:300]}, not {str(want)[:300]}")


class Layout:
    """How documents lie: in one segment or many, committed or not."""

    def __init__(self, segments: int, shown: str, path: str | None = None) -> None:
        self.segments, self.shown, self.path = segments, shown, path

    def open(self, size: int, **fields: grebe.Field) -> grebe.Index:
        """An empty index for about `size` documents."""
        options = {}
        if self.segments > 1:
            options["docs_max"] = max(size // self.segments, 1)
        if self.path is None:
            return grebe.Index(grebe.Schema(fields), **options)
        return grebe.open(
            tempfile.mkdtemp(dir=self.path), grebe.Schema(fields),
            durability="none", **options,
        )  # fmt: skip

    def show(self, index: grebe.Index) -> View:
        """A view of everything added."""
        if self.shown == "uncommitted":
            return index.searcher(uncommitted=True)
        index.commit(soft=self.shown == "soft")
        return index

    def fill(
        self, size: int, docs: Iterable[dict[str, Any]], **fields: grebe.Field
    ) -> tuple[grebe.Index, View]:
        """An index with these documents and a view of them."""
        index = self.open(size, **fields)
        index.add_many(docs)
        return index, self.show(index)

    def __str__(self) -> str:
        place = "folder" if self.path else "memory"
        return f"{place}, {self.segments} segments, {self.shown}"


def layouts(folder: str) -> Iterator[Layout]:
    """One segment or several, seen by each kind of commit or by none."""
    yield Layout(1, "soft")
    yield Layout(5, "soft")
    yield Layout(1, "uncommitted")
    yield Layout(7, "uncommitted", folder)
    yield Layout(1, "hard", folder)
    yield Layout(6, "hard", folder)


Kind = Callable[[Layout, int], None]
