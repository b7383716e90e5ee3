"""Grebe: full-text search inside your process.

import grebe

schema = grebe.Schema(id=grebe.key(), title=grebe.text("en"))
with grebe.open("books", schema) as ix:
    ix.add({"id": "1", "title": "The Old Man and the Sea"})
    ix.commit(soft=True)
    for hit in ix.search("old sea"):
        print(hit.id, hit.score, hit["title"])
"""

import grebe_core as _core
from grebe_core import (
    CancelledError,
    ClosedError,
    CommitInfo,
    ConflictError,
    CorruptIndexError,
    DeadlineError,
    DocumentError,
    Error,
    ForkedError,
    InternalError,
    LimitError,
    LockedError,
    MissingKeyError,
    NotFoundError,
    PoisonedError,
    QuerySyntaxError,
    ReadOnlyError,
    SchemaError,
    StateError,
    StorageError,
    Token,
    VersionError,
    live_handles,
)

from ._fields import (
    Field,
    Schema,
    bool_,
    bytes_,
    datetime,
    float_,
    int_,
    key,
    keyword,
    text,
)
from ._hits import FacetCounts, Highlight, Hit, Hits
from ._index import Batch, Index, Searcher, Snapshot
from ._query import Q

__version__ = _core.version()


class Cancel(_core.handle):
    """A flag that ends the searches it was given to: `cancel.set()`.

    Set it from any thread; the search raises CancelledError.
    """

    __slots__ = ()

    def __new__(cls):
        return _core.cancel_new()

    def set(self):
        """Ends the searches that look at it, now and later."""
        _core.cancel_set(self)

    def clear(self):
        """Takes it back."""
        _core.cancel_clear(self)

    def is_set(self):
        """Whether it is set."""
        return _core.cancel_is_set(self)


_core.types_set(Hits, Q, Cancel)


def open(path, schema=None, *, mode="w", durability="full", add_fields=False, **more):
    """Opens the index in a folder, or creates it; ":memory:" keeps it in memory.

    schema: None where there is an index; otherwise it must equal the stored one
        (SchemaError names each difference), or with `add_fields` may add to it.
    mode: "w" takes the writer's lock now (LockedError with `.pid`); "r" takes none
        and looks for newer hard commits at each search.
    durability: "full": a hard commit is one device sync; "none": none at all.
    more: store ("mmap", "pread", "ram"), verify ("touch", "open", "never"),
        merging ("auto", "manual"), memory_max (bytes), docs_max, deterministic,
        filter_cache (bytes that answers of filters may hold; 0: none is kept).

    A missing folder is made, its parents are not. NotFoundError without index and
    schema, or without an index in mode "r". CorruptIndexError, VersionError,
    StorageError, ReadOnlyError.
    """
    schema = Schema._of(schema)
    options = {"mode": mode, "durability": durability, "add_fields": add_fields, **more}
    made = None if schema is None else schema._make()
    return Index._wrap(_core.index_open(path, made, options), mode == "r")


def parse(query, schema, *, fields=None, op="or"):
    """Reads a query text strictly and returns a Q.

    schema: a Schema or an Index. fields, op: as those of `search`.
    QuerySyntaxError has `.offset` in code points and a message with a caret.
    """
    if op not in ("or", "and"):
        raise ValueError(f'op is "or" or "and", not {op!r}')
    if isinstance(schema, (Index, Searcher)):
        handle = schema._h
    else:
        schema = Schema._of(schema)
        if schema is None:
            raise TypeError("parse needs a Schema or an Index")
        handle = schema._make()
    return _core.query(handle, query, fields, op == "and", False)


def check(path):
    """Checks every byte of a folder's index; returns the report, a list of lines.

    CorruptIndexError names the first fault, with `.file` and `.offset`. Takes no
    lock. O(size).
    """
    return _core.check(path)


def exists(path):
    """Whether the folder holds an index."""
    return _core.exists(path)


def __getattr__(name):
    if name == "Container":
        from ._container import Container

        globals()["Container"] = Container
        return Container
    raise AttributeError(f"module 'grebe' has no attribute {name!r}")


__all__ = [
    "Batch",
    "Cancel",
    "CancelledError",
    "ClosedError",
    "CommitInfo",
    "ConflictError",
    "Container",
    "CorruptIndexError",
    "DeadlineError",
    "DocumentError",
    "Error",
    "FacetCounts",
    "Field",
    "ForkedError",
    "Highlight",
    "Hit",
    "Hits",
    "Index",
    "InternalError",
    "LimitError",
    "LockedError",
    "MissingKeyError",
    "NotFoundError",
    "PoisonedError",
    "Q",
    "QuerySyntaxError",
    "ReadOnlyError",
    "Schema",
    "SchemaError",
    "Searcher",
    "Snapshot",
    "StateError",
    "StorageError",
    "Token",
    "VersionError",
    "bool_",
    "bytes_",
    "check",
    "datetime",
    "exists",
    "float_",
    "int_",
    "key",
    "keyword",
    "live_handles",
    "open",
    "parse",
    "text",
]
