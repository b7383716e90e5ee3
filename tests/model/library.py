"""The real library behind the calls that the random operations make.

faults.py breaks one of these calls at a time; the library itself has no switch.
"""

import os
from typing import Any

import grebe
from answers import Answer, Request
from documents import extra_field, for_library, schema_of
from trees import Tree, query_of

Config = dict[str, Any]


class Library:
    """One index, opened as a configuration says."""

    def __init__(self, config: Config, folder: str) -> None:
        self.config = config
        self.path = os.path.join(folder, "index") if config["store"] else None
        self.reader: grebe.Index | None = None
        self.index = self._open()

    def _open(self) -> grebe.Index:
        config = self.config
        names = ("docs_max", "memory_max", "merging")
        options = {name: config[name] for name in names if name in config}
        schema = schema_of(config["key"])
        if self.path is None:
            return grebe.Index(schema, **options)
        stored = None if grebe.exists(self.path) else schema
        return grebe.open(
            self.path,
            stored,
            store=config["store"],
            durability=config["durability"],
            **options,
        )

    # Writing

    def add(self, doc: dict[str, Any], overwrite: bool) -> None:
        self.index.add(for_library(doc), overwrite)

    def add_many(self, docs: list[dict[str, Any]], overwrite: bool) -> None:
        self.index.add_many((for_library(doc) for doc in docs), overwrite=overwrite)

    def delete(self, key: Any) -> int:
        return self.index.delete(key)

    def delete_query(self, tree: Tree) -> int:
        return self.index.delete_by_query(query_of(tree))

    def wipe(self) -> int:
        return self.index.delete_by_query("*:*")

    def commit(self, kind: str) -> grebe.CommitInfo:
        if kind == "unseen":
            return self.index.commit(publish=False)
        return self.index.commit(soft=kind == "soft")

    def rollback(self) -> None:
        self.index.rollback()

    def batch(self, soft: bool) -> grebe.Batch:
        return self.index.batch(soft)

    def batch_begin(self, batch: grebe.Batch) -> None:
        batch.__enter__()

    def batch_end(self, batch: grebe.Batch) -> None:
        batch.__exit__(None, None, None)

    def batch_undo(self, batch: grebe.Batch) -> None:
        batch.__exit__(RuntimeError, RuntimeError("undo"), None)

    def snapshot(self) -> grebe.Snapshot:
        return self.index.snapshot()

    def restore(self, snapshot: grebe.Snapshot) -> None:
        self.index.restore(snapshot)

    def branch(self) -> grebe.Index:
        return self.index.branch()

    def merge(self, order: str | None) -> None:
        self.index.merge(order)

    def add_fields(self, names: list[str]) -> None:
        self.index.add_fields({name: extra_field(name) for name in names})

    def close(self, commit: bool) -> None:
        self.index.close(commit=commit)

    def reopen(self, commit: bool) -> None:
        self.close(commit)
        self.index = self._open()

    def take_branch(self, index: grebe.Index) -> None:
        """Goes on with a branch in place of the index."""
        self.index.close()
        self.index = index

    # Reading

    def get(self, key: Any) -> dict[str, Any] | None:
        return self.index.get(key)

    def length(self) -> int:
        return len(self.index)

    def stats(self) -> dict[str, int]:
        return self.index.stats()

    def terms(self, field: str) -> list[tuple[str, int]]:
        return self.index.terms(field)

    def searcher(self, uncommitted: bool) -> grebe.Searcher:
        return self.index.searcher(uncommitted=uncommitted)

    def other_reader(self) -> grebe.Index:
        """The view of a second opener that only reads."""
        if self.reader is None:
            assert self.path is not None
            self.reader = grebe.open(self.path, mode="r", store=self.config["store"])
        return self.reader

    def search(self, target: Any, request: Request) -> Answer:
        """Runs a request on an Index or a Searcher."""
        query = request["text"] if "text" in request else query_of(request["tree"])
        where = [query_of(tree) for tree in request.get("where", ())]
        common = {
            "fields": request.get("fields"),
            "where": where or None,
            "sort": request.get("sort"),
            "op": request.get("op", "or"),
        }
        facets = {
            name: {"limit": limit, "missing": True}
            for name, limit in request.get("facets", {}).items()
        }
        hits = target.search(
            query,
            limit=request.get("limit"),
            offset=request.get("offset", 0),
            facets=facets or None,
            highlight=request.get("highlight"),
            **common,
        )
        found = hits.facets if facets else {}
        field = (request.get("highlight") or [None])[0]
        return Answer(
            total=hits.total,
            dicts=hits.to_dicts(),
            scores=list(hits.scores),
            facets={name: list(rows.items()) for name, rows in found.items()},
            missing={name: rows.missing for name, rows in found.items()},
            passages=[hit.highlights[field] for hit in hits] if field else [],
            paged=self._pages(target, query, common, request),
        )

    @staticmethod
    def _pages(target: Any, query: Any, common: Request, request: Request) -> list[int]:
        """All pages joined, by cursor or by offset."""
        how, size = request.get("pages") or (None, 0)
        found: list[int] = []
        if how == "cursor":
            hits = target.search(query, limit=size, **common)
            while True:
                found += [row["v"] for row in hits.to_dicts()]
                if hits.cursor is None:
                    return found
                hits = target.search(query, limit=size, after=hits.cursor, **common)
        while how == "offset":
            hits = target.search(query, limit=size, offset=len(found), **common)
            if len(hits) == 0:
                return found
            found += [row["v"] for row in hits.to_dicts()]
        return found

    def forget(self) -> None:
        """Closes what is open, without a commit."""
        if self.reader is not None:
            self.reader.close()
            self.reader = None
        self.index.close(commit=False)
