"""Indexes, searchers, snapshots and batches."""

import grebe_core as core

from ._fields import Schema
from ._hits import facet_rows, highlight_rows

_SOFT, _HARD, _HARD_UNSEEN = core.SOFT, core.HARD, core.HARD_UNSEEN


class _Readable:
    """What an Index and a Searcher have in common."""

    __slots__ = ()
    _reads = False  # opened with mode "r": others may add fields

    def search(
        self,
        query=None,
        *,
        fields=None,
        where=None,
        sort=None,
        limit=10,
        offset=0,
        after=None,
        since=None,
        facets=None,
        highlight=None,
        total="exact",
        timeout=None,
        partial=False,
        cancel=None,
        op="or",
        load=None,
        plan=False,
    ):
        """Runs a search and returns a page of Hits.

        query: a text in Lucene's syntax or a Q; None matches all, a blank text
            nothing. A text never raises: what cannot be read is searched as words.
        fields: where words without a field go: ["title^2", "body"]; by default all
            indexed text fields. A word scores by its best field.
        where: text, Q or a list; all must match, scores stay (text is read
            strictly: QuerySyntaxError).
        sort: "year desc missing first, title" or a list of such; score by default.
        limit, offset: the page; limit None is all, 0 only counts.
        after: `cursor` of the page before, instead of an offset.
        since: CommitInfo or its number that must be visible, else ConflictError.
        facets: ["tags"], {"tags": 10} or {"tags": {"limit": 10, "prefix": "s"}} with
            limit, offset, mincount, sort ("count", "value"), prefix, missing.
        highlight: ["body"] or Highlight objects.
        total: "exact", or a number to count to.
        timeout: seconds; then DeadlineError, or with `partial` what was found.
        cancel: a Cancel that another thread may set (CancelledError).
        op: "or" or "and" between the words of a text.
        load: names of the stored fields that hits are to have; all by default.
        plan: whether hits say how they were found (`hits.plan`).

        SchemaError names an unknown field, a sort or facet without a column, a
        value of another kind. ValueError, TypeError for arguments, LimitError
        beyond 10 million hits. Ctrl-C ends a long search within 100 ms.
        """
        if self._reads:
            self.refresh()
        return core.search(
            self._h,
            query,
            fields,
            where,
            sort,
            limit,
            offset,
            after,
            since,
            None if facets is None else facet_rows(facets),
            None if highlight is None else highlight_rows(highlight),
            total,
            timeout,
            partial,
            cancel,
            op,
            None if load is None else (load,) if isinstance(load, str) else tuple(load),
            plan,
        )

    def count(self, query=None, where=None):
        """Number of documents that match, as `search` reads the query."""
        if query is None and where is None:
            return len(self)
        return core.hits_total(self.search(query, where=where, limit=0))

    def get(self, key):
        """The stored fields of the document with this key, a dict, or None.

        An Index sees uncommitted work here, a Searcher what it was made on.
        DocumentError for a key of another type.
        """
        if self._reads:
            self.refresh()
        return core.get(self._h, key)

    def __contains__(self, key):
        return self.get(key) is not None

    def scan(self, where=None):
        """Iterates over the stored fields of all documents, or those that match.

        In insertion order, on the view of the moment of the call; documents are
        read one by one.
        """
        hits = self.search(where=where, sort="_order", limit=None)
        return _scanned(hits)


def _scanned(hits):
    read = core.hits_document
    for place in range(len(hits)):
        yield read(hits, place)


def _searcher_query(handle, query):
    return core.query(handle, query, None, False, False)


class Index(_Readable):
    """An index: `Index(schema)` in memory, `grebe.open(path, schema)` in a folder.

    Documents go in with `add`, become visible with `commit`. Any thread may use
    it; writers wait for one another, searches wait for nobody. Leaving `with`
    commits and closes; after an exception it closes without a commit.
    `search`, `len` and `count` see the last commit, `get` and `in` everything.
    After `close` every call is ClosedError, while hits, searchers and snapshots
    taken before live on. In a forked child every call is ForkedError.
    """

    __slots__ = ("_h", "_schema", "_path", "_reads", "_unsaved", "_kin", "__weakref__")

    def __init__(self, schema, **options):
        """An index in memory. `options` as those of `grebe.open`."""
        schema = Schema._of(schema)
        if schema is None:
            raise TypeError("an index in memory needs a schema")
        self._fill(core.index_open(None, schema._make(), options or None))

    @classmethod
    def _wrap(cls, handle, reads=False):
        self = cls.__new__(cls)
        self._fill(handle, reads)
        return self

    def _fill(self, handle, reads=False):
        self._reads = reads
        self._path = core.index_path(handle) or None
        self._schema = None
        self._unsaved = False
        self._kin = ()
        self._h = handle

    def __del__(self):
        try:
            handle, path = self._h, self._path
        except AttributeError:
            return
        if handle is None or path is None or core.index_closed(handle):
            return
        try:
            pending = self._unsaved or core.index_stats_read(handle)["pending"]
        except core.Error:
            return
        if pending:
            import warnings

            warnings.warn(
                f"index {path!r} was dropped with uncommitted work; close it or use "
                "`with`",
                ResourceWarning,
                source=self,
                stacklevel=2,
            )

    # Writing

    def add(self, document, overwrite=True):
        """Adds a document, a Mapping of field names to values.

        Replaces what has its key unless `overwrite` is False. Visible to searches
        after the next commit, to `get` at once. DocumentError (with `.field` and
        `.key`) or LimitError: nothing was added. 2 microseconds for eight words.
        """
        core.add(self._h, document, overwrite)

    def add_many(
        self,
        documents,
        *,
        overwrite=True,
        errors="raise",
        ignore_unknown=False,
        progress=False,
        threads=1,
    ):
        """Adds documents from any iterable; returns None, or a report.

        All are tried; then the first failure is raised as DocumentError with
        `.added` (a number) and `.failures`, a list of (position, key, error).
        errors="return" returns that list instead. `ignore_unknown` leaves unlisted
        fields out and returns the sorted list of their names. What the iterable
        itself raises passes on; documents before it stay. `progress` shows tqdm's
        bar if tqdm is installed. `threads` (1 to 64) analyse and write what this
        one reads: the same result, sooner where there is much; until the end `get`
        and commits see a beginning of the documents.
        """
        if errors not in ("raise", "return"):
            raise ValueError(f'errors is "raise" or "return", not {errors!r}')
        unknown = set() if ignore_unknown else None
        if progress:
            documents = _with_progress(documents)
        added, failures = core.add_many(
            self._h, documents, overwrite, unknown, threads
        )
        if failures and errors == "raise":
            error = failures[0][2]
            if not isinstance(error, core.DocumentError):
                error = core.DocumentError(str(error))
                error.__cause__ = failures[0][2]
            error.added = added
            error.failures = failures
            raise error
        if errors == "return":
            return failures
        return sorted(unknown) if ignore_unknown else None

    def delete(self, key):
        """Deletes what has this key; returns how many, 0 is no error.

        DocumentError if the key is not of the key field's type.
        """
        return core.index_delete(self._h, key)

    def delete_many(self, keys):
        """Deletes what has one of these keys; returns how many."""
        if isinstance(keys, str):
            raise TypeError("delete_many takes several keys, not one str")
        return sum(core.index_delete(self._h, key) for key in keys)

    def delete_by_query(self, query):
        """Deletes what matches among everything added so far; returns how many.

        A text is read strictly (QuerySyntaxError). An error deletes nothing.
        """
        return core.index_delete_by_query(self._h, _searcher_query(self._h, query))

    def commit(self, soft=False, publish=True):
        """Commits and returns a CommitInfo.

        soft: visible on return, nothing is written (a microsecond). Otherwise
        visible and durable on return; publish=False makes durable and leaves the
        view. In memory there is nothing to write. StorageError poisons the
        writer: searches go on, opening anew cures it. StateError in a batch.
        """
        if soft:
            if not publish:
                raise ValueError("a soft commit is nothing but published")
            info = core.commit(self._h, _SOFT)
            self._unsaved = self._unsaved or info[8]
            return info
        info = core.commit(self._h, _HARD if publish else _HARD_UNSEEN)
        self._unsaved = False
        return info

    def rollback(self):
        """Goes back to the last hard commit; the public view too."""
        core.index_rollback(self._h)
        self._refresh_schema()
        self._unsaved = False

    def batch(self, soft=True):
        """A batch: `with ix.batch() as b: ...` commits all of it when left.

        On an exception all of it is undone and the exception goes on. It belongs
        to its thread; other threads' writes wait. Searches inside see the view
        before it; `b.info` is the CommitInfo afterwards. soft=False commits hard.
        """
        return Batch(self, soft)

    def merge(self, order=None, memory_max=0):
        """Merges all segments into one and drops dead documents. O(size).

        order="graph" lays documents with the same terms together, which makes
        postings smaller; order="field" or "-field" sorts them by a column, those
        without a value last. Answers stay the same. Takes twice the writing and at
        most `memory_max` bytes (0: 1 GiB) to sort, or raises LimitError.
        """
        if order is None:
            core.index_merge(self._h)
        else:
            core.index_merge_ordered(self._h, order, memory_max)

    def add_fields(self, fields=None, /, **named):
        """Appends fields to the schema; old documents have no value in them.

        A required one needs a default. SchemaError for a name that is there with
        another meaning. Rolled back with the rest.
        """
        core.index_add_fields(self._h, Schema(fields, **named)._make())
        self._refresh_schema()

    def _refresh_schema(self):
        """Takes in fields added or taken back, in the container's handles too."""
        core.schema_refresh(self._h)
        self._schema = None
        for ref in self._kin:
            index = ref()
            if index is not None and index is not self and not index.closed:
                core.schema_refresh(index._h)
                index._schema = None

    # Going back

    def snapshot(self):
        """Soft-commits and returns a Snapshot for `restore`. Microseconds."""
        handle = core.index_snapshot(self._h)
        self._unsaved = True
        return Snapshot._wrap(handle)

    def restore(self, snapshot):
        """Goes back to a snapshot of this index and publishes it at once.

        Later work is dropped, committed or not. Any number of times, microseconds
        each. In a folder durable with the next hard commit. ValueError for
        another index's snapshot, StateError in a batch.
        """
        if not isinstance(snapshot, Snapshot):
            raise TypeError(f"a Snapshot is wanted, not {type(snapshot).__name__}")
        core.index_restore(self._h, snapshot._h)
        self._refresh_schema()
        self._unsaved = True

    def branch(self):
        """A new index in memory with the last commit's content. Microseconds."""
        return Index._wrap(core.index_branch(self._h))

    # Reading

    def searcher(self, *, uncommitted=False, since=None):
        """A Searcher on the last commit, or on everything added so far.

        since: CommitInfo or its number that must be visible, else ConflictError.
        """
        if uncommitted:
            return Searcher._wrap(core.index_searcher_uncommitted(self._h))
        if isinstance(since, core.CommitInfo):
            since = since.number
        return Searcher._wrap(core.index_searcher(self._h, since or 0))

    def explain(self, key, query):
        """Says in words how the score of the document with this key comes about.

        Sees the last commit. MissingKeyError without such a document.
        """
        with self.searcher() as searcher:
            return searcher.explain(key, query)

    def analyze(self, field, text):
        """The tokens that a field's analyzer makes of a text, a list of Token."""
        tokens = core.index_analyze(self._h, field, text)
        if text.isascii():
            return tokens
        places = _code_points(text)
        return [
            core.Token((t[0], t[1], places.get(t[2], t[2]), places.get(t[3], t[3])))
            for t in tokens
        ]

    def terms(self, field, prefix="", limit=None):
        """The terms of a text or keyword field that begin with `prefix`.

        A list of (term, number of documents), in the order of their bytes, at most
        `limit`. Deleted documents count until they are merged away.
        """
        if limit is not None:
            if isinstance(limit, bool) or not isinstance(limit, int):
                raise TypeError(f"limit is an int, not {type(limit).__name__}")
            if limit < 0:
                raise ValueError(f"limit cannot be negative: {limit}")
            if limit == 0:
                return []
        return core.index_terms(self._h, field, prefix, limit or 0)

    def refresh(self):
        """Opened for reading: takes in a newer hard commit; True if there was one.

        Searches do it by themselves.
        """
        changed = core.index_refresh(self._h)
        if self._reads:
            self._refresh_schema()
        return changed

    def stats(self):
        """Counters since the index was opened and its present size, a dict."""
        return core.index_stats_read(self._h)

    @property
    def schema(self):
        """The Schema."""
        if self._reads and self._h is not None:
            self.refresh()
        if self._schema is None or self._h is None:
            self._schema = Schema._read(self._h)
        return self._schema

    @property
    def path(self):
        """The folder, None in memory."""
        return self._path

    @property
    def closed(self):
        """Whether it has been closed."""
        return self._h is None or core.index_closed(self._h)

    def __len__(self):
        return core.index_count(self._h)

    def close(self, commit=True):
        """Closes the index, after a hard commit unless told otherwise.

        Twice is silent; a clean index writes nothing. If the commit fails the
        index stays open. StateError inside a batch.
        """
        handle = self._h
        if handle is None:
            return
        core.index_close(handle, commit)
        self._h = None

    def __enter__(self):
        if self._h is None:
            core.index_count(None)
        return self

    def __exit__(self, kind, error, trace):
        self.close(commit=kind is None)

    def __repr__(self):
        where = f" {self._path!r}" if self._path else ""
        try:
            return f"<grebe.Index{where} {len(self)} documents>"
        except core.Error as error:
            return f"<grebe.Index{where} {error.word}>"


def _with_progress(documents):
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return documents
    return tqdm(documents, unit="doc")


def _code_points(text):
    """Byte offset -> code point, for the beginnings of all characters."""
    places, at = {}, 0
    for place, char in enumerate(text):
        places[at] = place
        at += len(char.encode("utf-8"))
    places[at] = len(text)
    return places


class Searcher(_Readable):
    """A fixed point in time, made by `Index.searcher`.

    Sees neither later commits nor, after `close`, anything (ClosedError). Lives on
    when the index is closed. Any thread.
    """

    __slots__ = ("_h",)

    def __init__(self):
        raise TypeError("searchers come from Index.searcher()")

    @classmethod
    def _wrap(cls, handle):
        self = cls.__new__(cls)
        self._h = handle
        return self

    def explain(self, key, query):
        """Says in words how the score of the document with this key comes about.

        A text is read strictly. MissingKeyError without such a document.
        """
        return core.explain(self._h, _searcher_query(self._h, query), key)

    @property
    def number(self):
        """Number of the commit it shows."""
        return core.searcher_number(self._h)

    @property
    def closed(self):
        """Whether it has been closed."""
        return self._h is None

    def __len__(self):
        return core.searcher_count(self._h)

    def close(self):
        """Gives the point in time up. Twice is silent."""
        self._h = None

    def __enter__(self):
        core.searcher_count(self._h)
        return self

    def __exit__(self, kind, error, trace):
        self._h = None

    def __repr__(self):
        if self._h is None:
            return "<grebe.Searcher closed>"
        return f"<grebe.Searcher {len(self)} documents, commit {self.number}>"


class Snapshot:
    """A state of an index to go back to; pins its files until closed."""

    __slots__ = ("_h",)

    def __init__(self):
        raise TypeError("snapshots come from Index.snapshot()")

    @classmethod
    def _wrap(cls, handle):
        self = cls.__new__(cls)
        self._h = handle
        return self

    @property
    def closed(self):
        """Whether it has been closed."""
        return self._h is None

    def close(self):
        """Frees it. Twice is silent."""
        self._h = None

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        self._h = None

    def __repr__(self):
        return f"<grebe.Snapshot{' closed' if self._h is None else ''}>"


class Batch:
    """A batch of one thread, made by `Index.batch`; `info` is set when it ends."""

    __slots__ = ("_index", "_soft", "_began", "info")

    def __init__(self, index, soft=True):
        if not isinstance(index, Index):
            raise TypeError(f"an Index is wanted, not {type(index).__name__}")
        self._index = index
        self._soft = soft
        self._began = False
        self.info = None

    def __enter__(self):
        if self._began:
            raise core.StateError("a batch can be entered once")
        core.index_batch_begin(self._index._h)
        self._began = True
        return self

    def __exit__(self, kind, error, trace):
        index = self._index
        if kind is not None:
            core.index_batch_undo(index._h)
            return
        try:
            self.info = core.index_batch_end(index._h, _SOFT if self._soft else _HARD)
        except BaseException:
            core.index_batch_undo(index._h)
            raise
        index._unsaved = self._soft and (index._unsaved or self.info[8])

    def __repr__(self):
        state = "over" if self.info else "open" if self._began else "new"
        return f"<grebe.Batch {state}>"
