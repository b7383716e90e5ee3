"""Runs operations on the library and on the model side by side."""

import json
from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

import grebe
from answers import answer, difference, matching
from documents import EXTRA, Doc
from generate import Op
from library import Config, Library
from rewrite import expand
from scoring import matcher

KEPT_MAX = 6


class Mismatch(Exception):
    """The library and the model differ."""


class State(NamedTuple):
    """What a view shows: documents in insertion order, fields added later."""

    docs: tuple[Doc, ...] = ()
    extra: tuple[str, ...] = ()


class View(NamedTuple):
    """A state with whether nothing dead counts in its statistics."""

    state: State
    exact: bool


class World:
    """One index with its model. `do` runs an operation and compares."""

    def __init__(
        self, config: Config, folder: str, kind: Callable[..., Library] = Library
    ) -> None:
        self.library = kind(config, folder)
        self.config = config
        self.work: list[Doc] = []
        self.extra: tuple[str, ...] = ()
        self.hard = State()
        self.view = View(State(), True)
        self.kept: list[tuple[grebe.Searcher, View]] = []
        self.snapshots: list[tuple[grebe.Snapshot, State]] = []
        self.counts: Counter[str] = Counter()
        self.commit_number = -1

    @property
    def usable(self) -> tuple[str, ...]:
        """Added fields that both the view and the writer know."""
        known = self.view.state.extra
        return tuple(name for name in self.extra if name in known)

    def do(self, op: Op) -> bool:
        """Runs one operation; False if it does not apply here (replays)."""
        if not self._applies(op):
            return False
        try:
            getattr(self, "_" + op["op"])(op)
        except grebe.Error as error:
            raise Mismatch(f"{type(error).__name__}: {error}") from error
        self.counts[op["op"]] += 1
        self._check_size()
        return True

    def _applies(self, op: Op) -> bool:
        name = op["op"]
        if name == "add_fields":
            return not set(op["names"]) & (set(self.extra) - set(self.usable))
        text = json.dumps(op)
        for field in EXTRA:  # a word of a text may be the same
            used = f'"{field}":' in text or f'"field": "{field}"' in text
            if used and field not in self.usable:
                return False
        if name in ("delete", "get") and self.config["key"] == "none":
            return False
        if name in ("ask_kept", "restore", "upsert"):
            return bool({"ask_kept": self.kept, "restore": self.snapshots}.get(
                name, self.work))  # fmt: skip
        if name in ("reopen", "reopen_lost", "reader"):
            return self._in_folder() and (name != "reader" or self._durable())
        return name != "take_branch" or not self.config["store"]

    def _in_folder(self) -> bool:
        """Whether anything outlives the handle."""
        return self.config["store"] in ("mmap", "pread")

    def _durable(self) -> bool:
        """Whether the folder has an index that a reader can open."""
        return grebe.exists(self.library.path)

    # Comparing

    def _check_size(self) -> None:
        size = self.library.length()
        if size != len(self.view.state.docs):
            raise Mismatch(f"len is {size}, not {len(self.view.state.docs)}")

    def _check_all(self) -> None:
        request = {"tree": {"all": {}}, "sort": "_order"}
        self._compare(self.library.index, self.view, request)

    def _compare(self, target: Any, view: View, request: dict[str, Any]) -> None:
        got = self.library.search(target, request)
        want = answer(view.state.docs, request, view.exact)
        fault = difference(got, want, request, view.exact)
        if not fault and request.get("highlight"):
            fault = self._passages_fault(view, request, got)
        if fault:
            exactly = "scores known" if view.exact else "scores not known"
            raise Mismatch(f"{fault} ({len(view.state.docs)} documents, {exactly})")
        self.counts["scored"] += bool(want.scores)
        self.counts["paged"] += "pages" in request

    @staticmethod
    def _passages_fault(view: View, request: dict[str, Any], got: Any) -> str:
        bodies = {d.v: d.stored.get("body", "") for d in view.state.docs}
        for v, passages in zip(got.vs, got.passages, strict=True):
            for passage in passages:
                plain = passage.replace("<em>", "").replace("</em>", "")
                if plain not in bodies[v] or "<em>" not in passage:
                    return f"passage {passage!r} is not of {bodies[v]!r}"
        return ""

    # Publishing

    def _publish(self, state: State) -> None:
        """The public view is `state` now, and the writer stands there too."""
        self.view = View(state, self.library.stats()["docs_deleted"] == 0)
        self._check_all()

    def _go_back(self, state: State) -> None:
        self.work = list(state.docs)
        self.extra = state.extra
        self._publish(state)

    def _now(self) -> State:
        return State(tuple(self.work), self.extra)

    def _commit(self, kind: str) -> None:
        info = self.library.commit(kind)
        if info.number < self.commit_number:
            raise Mismatch(f"commit number {info.number} after {self.commit_number}")
        self.commit_number = info.number
        state = self._now()
        if kind != "soft":
            self.hard = state
        if kind != "unseen":
            self._publish(state)

    def _soft(self, op: Op) -> None:
        self._commit("soft")

    def _hard(self, op: Op) -> None:
        self._commit("hard")

    def _unseen(self, op: Op) -> None:
        self._commit("unseen")

    def _rollback(self, op: Op) -> None:
        self.library.rollback()
        self._go_back(self.hard)

    def _reopen(self, op: Op) -> None:
        self._count_inner()
        self.library.reopen(True)
        self.hard = self._now()
        self._reopened()

    def _reopen_lost(self, op: Op) -> None:
        self._count_inner()
        self.library.reopen(False)
        self._reopened()

    def _reopened(self) -> None:
        self.snapshots.clear()
        self.commit_number = -1
        self._go_back(self.hard)

    def _count_inner(self) -> None:
        stats = self.library.stats()
        self.counts["freezes"] += stats["freezes"]
        self.counts["merges"] += stats["merges"]
        self.counts["filter_hits"] += stats["filter_hits"]

    # Writing

    def _put(self, given: dict[str, Any], overwrite: bool) -> None:
        doc = Doc(given, self.extra)
        if overwrite and self.config["key"] != "none":
            self.work = [d for d in self.work if d.key != doc.key]
        self.work.append(doc)

    def _add(self, op: Op) -> None:
        self.library.add(op["doc"], True)
        self._put(op["doc"], True)

    def _add_duplicate(self, op: Op) -> None:
        self.library.add(op["doc"], False)
        self._put(op["doc"], False)

    def _upsert(self, op: Op) -> None:
        """Replaces a document that is there for certain."""
        known = self.work[op["place"] % len(self.work)].key
        given = op["doc"] if known is None else op["doc"] | {"id": known}
        self._add({"doc": given})

    def _add_many(self, op: Op) -> None:
        self.library.add_many(op["docs"], op["overwrite"])
        for given in op["docs"]:
            self._put(given, op["overwrite"])

    def _refused(self, op: Op) -> None:
        """Bad documents leave no trace."""
        key = {} if self.config["key"] == "none" else {"id": "k1"}
        if self.config["key"] == "int":
            key = {"id": 1}
        for bad in ({"v": "1"}, {"nowhere": 1}, {"body": "fox", "n": [1, 2]}):
            try:
                self.library.index.add(key | bad)
            except grebe.DocumentError:
                continue
            raise Mismatch(f"{bad} was taken")

    def _removed(self, count: int, left: list[Doc]) -> None:
        if count != len(self.work) - len(left):
            raise Mismatch(f"{count} deleted, not {len(self.work) - len(left)}")
        self.work = left

    def _delete(self, op: Op) -> None:
        count = self.library.delete(op["key"])
        self._removed(count, [d for d in self.work if d.key != op["key"]])

    def _delete_query(self, op: Op) -> None:
        test = matcher(expand(op["tree"]))
        count = self.library.delete_query(op["tree"])
        self._removed(count, [d for d in self.work if not test(d)])

    def _wipe(self, op: Op) -> None:
        self._removed(self.library.wipe(), [])

    def _merge(self, op: Op) -> None:
        self.library.merge(op.get("order"))
        self._check_all()
        if op["seen"]:  # nothing dead counts from here on
            self._commit("soft")

    def _add_fields(self, op: Op) -> None:
        self.library.add_fields(op["names"])
        self.extra += tuple(op["names"])

    # Batches and going back

    def _inside(self, op: Op) -> grebe.Batch:
        """Begins a batch and runs its operations; the caller ends it."""
        batch = self.library.batch(op["soft"])
        self.library.batch_begin(batch)
        try:
            for inner in op["ops"]:
                if self._applies(inner):
                    getattr(self, "_" + inner["op"])(inner)
                    self.counts["in a batch"] += 1
            self.library.index.commit()
        except grebe.StateError:
            return batch
        except BaseException as error:
            batch.__exit__(type(error), error, None)
            raise
        raise Mismatch("a commit inside a batch was taken")

    def _batch(self, op: Op) -> None:
        batch = self._inside(op)
        self.library.batch_end(batch)
        if not op["soft"]:
            self.hard = self._now()
        self._publish(self._now())

    def _undo(self, op: Op) -> None:
        before = self._now()
        batch = self._inside(op)
        self.library.batch_undo(batch)
        self.work = list(before.docs)
        self._check_all()
        with self.library.searcher(uncommitted=True) as searcher:
            request = {"tree": {"all": {}}, "sort": "_order"}
            self._compare(searcher, View(before, False), request)

    def _snapshot(self, op: Op) -> None:
        snapshot = self.library.snapshot()
        self.snapshots.append((snapshot, self._now()))
        self._publish(self._now())
        if len(self.snapshots) > KEPT_MAX:
            self.snapshots.pop(0)[0].close()

    def _restore(self, op: Op) -> None:
        snapshot, state = self.snapshots[op["place"] % len(self.snapshots)]
        self.library.restore(snapshot)
        self._go_back(state)

    def _branch(self, op: Op) -> None:
        """A branch changes and is asked; the index stays as it is."""
        state, exact = self.view
        with self.library.branch() as branch:
            self._compare(branch, self.view, op["request"])
            docs = list(state.docs)
            for inner in op["ops"]:
                docs = self._branch_step(branch, inner, docs)
            branch.commit(soft=True)
            whole = {"tree": {"all": {}}, "sort": "_order"}
            self._compare(branch, View(State(tuple(docs), state.extra), False), whole)
        self._compare(self.library.index, self.view, op["request"])

    def _branch_step(self, branch: Any, op: Op, docs: list[Doc]) -> list[Doc]:
        if op["op"] == "delete":
            if self.config["key"] == "none":
                return docs
            branch.delete(op["key"])
            return [d for d in docs if d.key != op["key"]]
        given = {k: v for k, v in op["doc"].items() if k in ("id", "v", "tags", "body")}
        overwrite = op["op"] != "add_duplicate"
        branch.add(given, overwrite)
        doc = Doc(given, self.view.state.extra)
        if overwrite and self.config["key"] != "none":
            docs = [d for d in docs if d.key != doc.key]
        return [*docs, doc]

    def _take_branch(self, op: Op) -> None:
        """Goes on with a branch; in memory only."""
        self._count_inner()
        state = self.view.state
        self.library.take_branch(self.library.branch())
        self.snapshots.clear()
        self.commit_number = -1
        self._go_back(state)
        self._commit("hard")

    # Reading

    def _get(self, op: Op) -> None:
        got = self.library.get(op["key"])
        found = [doc.stored for doc in self.work if doc.key == op["key"]]
        want = found[-1] if found else None
        if got != want:
            raise Mismatch(f"get is {got}, not {want}")

    def _search(self, op: Op) -> None:
        self._compare(self.library.index, self.view, op["request"])

    def _keep(self, op: Op) -> None:
        searcher = self.library.searcher(uncommitted=False)
        self.kept.append((searcher, self.view))
        self._compare(searcher, self.view, op["request"])
        if len(self.kept) > KEPT_MAX:
            self.kept.pop(0)[0].close()

    def _ask_kept(self, op: Op) -> None:
        searcher, view = self.kept[op["place"] % len(self.kept)]
        self._compare(searcher, view, op["request"])
        if len(searcher) != len(view.state.docs):
            raise Mismatch(f"a kept searcher has {len(searcher)} documents")

    def _uncommitted(self, op: Op) -> None:
        searcher = self.library.searcher(uncommitted=True)
        view = View(self._now(), False)
        self._compare(searcher, view, op["request"])
        if op["request"]["tree"].get("all") is not None:
            self.kept.append((searcher, view))
        else:
            searcher.close()

    def _reader(self, op: Op) -> None:
        reader = self.library.other_reader()
        reader.refresh()
        exact = reader.stats()["docs_deleted"] == 0
        self._compare(reader, View(self.hard, exact), op["request"])

    def _terms(self, op: Op) -> None:
        """The dictionary counts dead documents, so it may have more, never less."""
        table = dict(self.library.terms(op["field"]))
        for doc in matching(self.view.state.docs, {"tree": {"all": {}}}):
            for term in doc.tokens.get(op["field"]) or doc.values.get(op["field"], ()):
                if term not in table:
                    raise Mismatch(f"{op['field']}:{term} is not in the dictionary")

    def close(self) -> None:
        """Ends the world; nothing is kept."""
        self._count_inner()
        for searcher, _ in self.kept:
            searcher.close()
        self.kept.clear()
        self.snapshots.clear()
        self.library.forget()
