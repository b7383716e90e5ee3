"""Ten faults, each breaking one call between the random operations and Grebe.

A run with one of them must fail: that proves that the model would notice. Each
works with public calls only; the library has no switch.
"""

from typing import Any

import grebe
from answers import Answer, Request
from library import Library


class CommitSkipsDelete(Library):
    """A delete by key is counted and forgotten."""

    def delete(self, key: Any) -> int:
        return int(self.index.get(key) is not None)


class _Remembers(Library):
    """Keeps the document that was added last, to bring it back."""

    last: dict[str, Any] | None = None

    def add(self, doc: dict[str, Any], overwrite: bool) -> None:
        super().add(doc, overwrite)
        self.last = doc

    def bring_back(self) -> None:
        if self.last is not None:
            self.index.add(
                {k: v for k, v in self.last.items() if k in ("id", "v")},
                overwrite=False,
            )
            self.index.commit(soft=True)


class RollbackKeepsOne(_Remembers):
    """A rollback leaves one document."""

    def rollback(self) -> None:
        super().rollback()
        self.bring_back()


class RestoreForgetsDelete(Library):
    """A restore leaves one document deleted that was there."""

    def restore(self, snapshot: grebe.Snapshot) -> None:
        super().restore(snapshot)
        hits = self.index.search(limit=1, sort="_order")
        if len(hits):
            self.index.delete_by_query(f"v:{hits[0]['v']}")
            self.index.commit(soft=True)


class FilterIgnored(Library):
    """`where` has no force."""

    def search(self, target: Any, request: Request) -> Answer:
        return super().search(target, request | {"where": []})


class WrongTies(Library):
    """Two hits that are equal in the order stand the wrong way round."""

    def search(self, target: Any, request: Request) -> Answer:
        found = super().search(target, request)
        if request.get("sort") is None:
            for i in range(len(found.dicts) - 1):
                if found.scores[i] == found.scores[i + 1]:
                    rows = found.dicts
                    rows[i], rows[i + 1] = rows[i + 1], rows[i]
                    break
        return found


class FacetOffByOne(Library):
    """Facets count one dead document."""

    def search(self, target: Any, request: Request) -> Answer:
        found = super().search(target, request)
        if target is self.index and self.stats()["docs_deleted"]:
            for rows in found.facets.values():
                if rows:
                    rows[0] = (rows[0][0], rows[0][1] + 1)
        return found


class SearcherMoves(Library):
    """A kept searcher shows the present view."""

    def search(self, target: Any, request: Request) -> Answer:
        moved = self.index if isinstance(target, grebe.Searcher) else target
        return super().search(moved, request)


class UndoLeavesOne(_Remembers):
    """A batch that is undone leaves one document."""

    def batch_undo(self, batch: grebe.Batch) -> None:
        super().batch_undo(batch)
        self.bring_back()


class ReopenLosesCommit(Library):
    """Closing with a commit does not commit."""

    def close(self, commit: bool) -> None:
        super().close(False)


class MergeResurrects(Library):
    """A merge brings a deleted document back."""

    dead: dict[str, Any] | None = None

    def delete(self, key: Any) -> int:
        self.dead = self.index.get(key) or self.dead
        return super().delete(key)

    def merge(self, order: str | None) -> None:
        super().merge(order)
        if self.dead is not None:
            kept = {k: v for k, v in self.dead.items() if k in ("id", "v")}
            self.index.add(kept, overwrite=False)


FAULTS: dict[str, type[Library]] = {
    "commit_skips_delete": CommitSkipsDelete,
    "rollback_keeps_one": RollbackKeepsOne,
    "restore_forgets_delete": RestoreForgetsDelete,
    "filter_ignored": FilterIgnored,
    "wrong_ties": WrongTies,
    "facet_off_by_one": FacetOffByOne,
    "searcher_moves": SearcherMoves,
    "undo_leaves_one": UndoLeavesOne,
    "reopen_loses_commit": ReopenLosesCommit,
    "merge_resurrects": MergeResurrects,
}
