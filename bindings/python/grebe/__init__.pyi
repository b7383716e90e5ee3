import os
import sys
from collections.abc import (
    ItemsView,
    Iterable,
    Iterator,
    KeysView,
    Mapping,
    Sequence,
    ValuesView,
)
from datetime import date as _date
from datetime import datetime as _datetime
from types import TracebackType
from typing import Any, Final, Literal, SupportsIndex, final, overload

from typing_extensions import Self, TypeAlias

_Path: TypeAlias = str | bytes | os.PathLike[str] | os.PathLike[bytes]
_Key: TypeAlias = str | SupportsIndex
_Value: TypeAlias = (
    str | bool | float | bytes | bytearray | memoryview | _date | SupportsIndex
)
_Operator: TypeAlias = Literal["or", "and"]
_Schema: TypeAlias = Schema | Mapping[str, Field]
_Where: TypeAlias = str | Q | Sequence[str | Q]
_Facets: TypeAlias = str | Iterable[str] | Mapping[str, int | None | Mapping[str, Any]]
_Highlights: TypeAlias = str | Highlight | Iterable[str | Highlight]
_Store: TypeAlias = Literal["mmap", "pread", "ram"]
_Verify: TypeAlias = Literal["touch", "open", "never"]
_Merging: TypeAlias = Literal["auto", "manual"]

__version__: Final[str]

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

class Error(Exception):
    word: str | None
    code: int | None
    field: str | None
    key: str | None
    file: str | None
    offset: int | None
    pid: int | None

class SchemaError(Error, ValueError): ...
class QuerySyntaxError(Error, ValueError): ...

class DocumentError(Error, ValueError):
    added: int
    failures: list[tuple[int, str | int | None, Exception]]

class MissingKeyError(Error, KeyError): ...
class NotFoundError(Error, FileNotFoundError): ...
class StorageError(Error, OSError): ...
class CorruptIndexError(Error): ...
class VersionError(Error): ...
class LockedError(Error): ...
class ReadOnlyError(Error): ...
class ConflictError(Error): ...
class ClosedError(Error): ...
class StateError(Error): ...
class PoisonedError(Error): ...
class ForkedError(Error): ...
class LimitError(Error): ...
class DeadlineError(Error, TimeoutError): ...
class CancelledError(Error): ...
class InternalError(Error): ...

@final
class CommitInfo(tuple[int, int, int, int, int, int, int, int, bool]):
    n_fields: Final = 9
    n_sequence_fields: Final = 9
    n_unnamed_fields: Final = 0
    if sys.version_info >= (3, 10):
        __match_args__: Final = (
            "number",
            "generation",
            "added",
            "deleted",
            "bytes",
            "syncs",
            "ns",
            "segments",
            "changed",
        )
    def __new__(cls, sequence: Iterable[Any], dict: dict[str, Any] = ...) -> Self: ...
    @property
    def number(self) -> int: ...
    @property
    def generation(self) -> int: ...
    @property
    def added(self) -> int: ...
    @property
    def deleted(self) -> int: ...
    @property
    def bytes(self) -> int: ...
    @property
    def syncs(self) -> int: ...
    @property
    def ns(self) -> int: ...
    @property
    def segments(self) -> int: ...
    @property
    def changed(self) -> bool: ...

@final
class Token(tuple[str, int, int, int]):
    n_fields: Final = 4
    n_sequence_fields: Final = 4
    n_unnamed_fields: Final = 0
    if sys.version_info >= (3, 10):
        __match_args__: Final = (
            "text",
            "position",
            "start",
            "end",
        )
    def __new__(cls, sequence: Iterable[Any], dict: dict[str, Any] = ...) -> Self: ...
    @property
    def text(self) -> str: ...
    @property
    def position(self) -> int: ...
    @property
    def start(self) -> int: ...
    @property
    def end(self) -> int: ...

class Field:
    def __init__(
        self, kind: int, flags: int, analyzer: str | None = None, default: Any = None
    ) -> None: ...
    @property
    def kind(self) -> str: ...
    @property
    def analyzer(self) -> str | None: ...
    @property
    def default(self) -> Any: ...
    @property
    def stored(self) -> bool: ...
    @property
    def indexed(self) -> bool: ...
    @property
    def column(self) -> bool: ...
    @property
    def many(self) -> bool: ...
    @property
    def required(self) -> bool: ...
    @property
    def is_key(self) -> bool: ...
    def __eq__(self, other: object) -> bool: ...
    def __hash__(self) -> int: ...

def key(kind: Literal["str", "int"] = "str") -> Field: ...
def text(
    analyzer: str = "standard",
    *,
    stored: bool = True,
    indexed: bool = True,
    column: bool = False,
    many: bool = False,
    required: bool = False,
    default: str | None = None,
) -> Field: ...
def keyword(
    *,
    stored: bool = True,
    indexed: bool = True,
    column: bool = True,
    many: bool = False,
    required: bool = False,
    default: str | None = None,
) -> Field: ...
def int_(
    *,
    stored: bool = True,
    indexed: bool = True,
    column: bool = True,
    many: bool = False,
    required: bool = False,
    default: SupportsIndex | None = None,
) -> Field: ...
def float_(
    *,
    stored: bool = True,
    indexed: bool = True,
    column: bool = True,
    many: bool = False,
    required: bool = False,
    default: float | None = None,
) -> Field: ...
def bool_(
    *,
    stored: bool = True,
    indexed: bool = True,
    column: bool = True,
    many: bool = False,
    required: bool = False,
    default: bool | None = None,
) -> Field: ...
def datetime(
    *,
    stored: bool = True,
    indexed: bool = True,
    column: bool = True,
    many: bool = False,
    required: bool = False,
    default: _datetime | _date | int | str | None = None,
) -> Field: ...
def bytes_(
    *,
    stored: bool = True,
    indexed: bool = False,
    column: bool = False,
    many: bool = False,
    required: bool = False,
    default: bytes | bytearray | memoryview | None = None,
) -> Field: ...

class Schema:
    def __init__(
        self, fields: Mapping[str, Field] | None = None, /, **named: Field
    ) -> None: ...
    @property
    def key(self) -> str | None: ...
    def __getitem__(self, name: str) -> Field: ...
    def __iter__(self) -> Iterator[str]: ...
    def __len__(self) -> int: ...
    def __contains__(self, name: object) -> bool: ...
    def keys(self) -> KeysView[str]: ...
    def values(self) -> ValuesView[Field]: ...
    def items(self) -> ItemsView[str, Field]: ...
    def __eq__(self, other: object) -> bool: ...
    def __hash__(self) -> int: ...

class Q:
    @staticmethod
    def all() -> Q: ...
    @staticmethod
    def none() -> Q: ...
    @staticmethod
    def term(field: str, value: _Value) -> Q: ...
    @staticmethod
    def match(field: str, text: str, op: _Operator = "or") -> Q: ...
    @staticmethod
    def phrase(field: str, text: str, slop: int = 0) -> Q: ...
    @staticmethod
    def prefix(field: str, value: str) -> Q: ...
    @staticmethod
    def range(
        field: str,
        *,
        gte: _Value | None = None,
        gt: _Value | None = None,
        lte: _Value | None = None,
        lt: _Value | None = None,
    ) -> Q: ...
    @staticmethod
    def exists(field: str) -> Q: ...
    @staticmethod
    def bool(
        must: Q | Iterable[Q] | None = None,
        should: Q | Iterable[Q] | None = None,
        must_not: Q | Iterable[Q] | None = None,
        filter: Q | Iterable[Q] | None = None,
        mm: int = 0,
    ) -> Q: ...
    @staticmethod
    def boost(query: Q, by: float) -> Q: ...
    @staticmethod
    def constant(query: Q, score: float) -> Q: ...
    @staticmethod
    def dismax(queries: Q | Iterable[Q], tie: float = 0.0) -> Q: ...
    def __and__(self, other: Q) -> Q: ...
    def __or__(self, other: Q) -> Q: ...
    def __invert__(self) -> Q: ...

class Highlight:
    field: str
    pre: str | None
    post: str | None
    size: int
    snippets: int
    encoder: Literal["html"] | None
    def __init__(
        self,
        field: str,
        pre: str | None = "<em>",
        post: str | None = "</em>",
        size: int = 200,
        snippets: int = 1,
        encoder: Literal["html"] | None = None,
    ) -> None: ...

class FacetCounts(dict[Any, int]):
    missing: int | None

class Hit(Mapping[str, Any]):
    def __init__(self, hits: Hits, place: int) -> None: ...
    @property
    def id(self) -> Any: ...
    @property
    def score(self) -> float: ...
    @property
    def highlights(self) -> dict[str, list[str]]: ...
    def __getitem__(self, name: str) -> Any: ...
    def __iter__(self) -> Iterator[str]: ...
    def __len__(self) -> int: ...
    def __contains__(self, name: object) -> bool: ...

class Hits(Sequence[Hit]):
    @property
    def total(self) -> int: ...
    @property
    def total_is_exact(self) -> bool: ...
    @property
    def partial(self) -> bool: ...
    @property
    def ids(self) -> list[Any]: ...
    @property
    def scores(self) -> memoryview: ...
    @property
    def cursor(self) -> str | None: ...
    @property
    def took(self) -> float: ...
    @property
    def facets(self) -> dict[str, FacetCounts]: ...
    @property
    def plan(self) -> list[dict[str, Any]]: ...
    def index(self, value: Any, start: int = 0, stop: int | None = None) -> int: ...
    def count(self, value: Any) -> int: ...
    def to_dicts(self) -> list[dict[str, Any]]: ...
    def __len__(self) -> int: ...
    @overload
    def __getitem__(self, place: SupportsIndex) -> Hit: ...
    @overload
    def __getitem__(self, place: slice) -> list[Hit]: ...
    def __iter__(self) -> Iterator[Hit]: ...

class Cancel:
    def __new__(cls) -> Self: ...
    def set(self) -> None: ...
    def clear(self) -> None: ...
    def is_set(self) -> bool: ...

class _Readable:
    def search(
        self,
        query: str | Q | None = None,
        *,
        fields: str | Iterable[str] | None = None,
        where: _Where | None = None,
        sort: str | Sequence[str] | None = None,
        limit: int | None = 10,
        offset: int = 0,
        after: str | None = None,
        since: CommitInfo | int | None = None,
        facets: _Facets | None = None,
        highlight: _Highlights | None = None,
        total: Literal["exact"] | int = "exact",
        timeout: float | None = None,
        partial: bool = False,
        cancel: Cancel | None = None,
        op: _Operator = "or",
        load: str | Iterable[str] | None = None,
        plan: bool = False,
    ) -> Hits: ...
    def count(
        self, query: str | Q | None = None, where: _Where | None = None
    ) -> int: ...
    def get(self, key: _Key) -> dict[str, Any] | None: ...
    def __contains__(self, key: _Key) -> bool: ...
    def __len__(self) -> int: ...
    def scan(self, where: _Where | None = None) -> Iterator[dict[str, Any]]: ...

class Index(_Readable):
    def __init__(
        self,
        schema: _Schema,
        *,
        durability: Literal["full", "none"] = ...,
        store: _Store = ...,
        verify: _Verify = ...,
        merging: _Merging = ...,
        memory_max: int = ...,
        docs_max: int = ...,
        filter_cache: int = ...,
        deterministic: bool = ...,
    ) -> None: ...
    def __del__(self) -> None: ...
    def add(self, document: Mapping[str, Any], overwrite: bool = True) -> None: ...
    @overload
    def add_many(
        self,
        documents: Iterable[Mapping[str, Any]],
        *,
        overwrite: bool = True,
        errors: Literal["raise"] = "raise",
        ignore_unknown: Literal[False] = False,
        progress: bool = False,
        threads: int = 1,
    ) -> None: ...
    @overload
    def add_many(
        self,
        documents: Iterable[Mapping[str, Any]],
        *,
        overwrite: bool = True,
        errors: Literal["raise"] = "raise",
        ignore_unknown: bool,
        progress: bool = False,
        threads: int = 1,
    ) -> list[str] | None: ...
    @overload
    def add_many(
        self,
        documents: Iterable[Mapping[str, Any]],
        *,
        overwrite: bool = True,
        errors: Literal["return"],
        ignore_unknown: bool = False,
        progress: bool = False,
        threads: int = 1,
    ) -> list[tuple[int, str | int | None, Exception]]: ...
    def delete(self, key: _Key) -> int: ...
    def delete_many(self, keys: Iterable[_Key]) -> int: ...
    def delete_by_query(self, query: str | Q) -> int: ...
    def commit(self, soft: bool = False, publish: bool = True) -> CommitInfo: ...
    def rollback(self) -> None: ...
    def batch(self, soft: bool = True) -> Batch: ...
    def merge(self, order: str | None = None, memory_max: int = 0) -> None: ...
    def add_fields(
        self, fields: Mapping[str, Field] | None = None, /, **named: Field
    ) -> None: ...
    def snapshot(self) -> Snapshot: ...
    def restore(self, snapshot: Snapshot) -> None: ...
    def branch(self) -> Index: ...
    def searcher(
        self, *, uncommitted: bool = False, since: CommitInfo | int | None = None
    ) -> Searcher: ...
    def explain(self, key: _Key, query: str | Q) -> str: ...
    def analyze(self, field: str, text: str) -> list[Token]: ...
    def terms(
        self, field: str, prefix: str = "", limit: int | None = None
    ) -> list[tuple[str, int]]: ...
    def refresh(self) -> bool: ...
    def stats(self) -> dict[str, int]: ...
    @property
    def schema(self) -> Schema: ...
    @property
    def path(self) -> str | None: ...
    @property
    def closed(self) -> bool: ...
    def close(self, commit: bool = True) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...

class Searcher(_Readable):
    def __init__(self) -> None: ...
    def explain(self, key: _Key, query: str | Q) -> str: ...
    @property
    def number(self) -> int: ...
    @property
    def closed(self) -> bool: ...
    def close(self) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...

class Snapshot:
    def __init__(self) -> None: ...
    @property
    def closed(self) -> bool: ...
    def close(self) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...

class Batch:
    info: CommitInfo | None
    def __init__(self, index: Index, soft: bool = True) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...

class Container:
    def __init__(
        self,
        path: _Path | None = None,
        *,
        durability: Literal["full", "none"] = ...,
        store: _Store = ...,
        verify: _Verify = ...,
        merging: _Merging = ...,
        memory_max: int = ...,
        docs_max: int = ...,
        filter_cache: int = ...,
        deterministic: bool = ...,
    ) -> None: ...
    def core(self, name: str, schema: _Schema | None = None) -> Index: ...
    def names(self) -> list[str]: ...
    def __contains__(self, name: str) -> bool: ...
    def __iter__(self) -> Iterator[str]: ...
    def __len__(self) -> int: ...
    def drop(self, name: str) -> None: ...
    @property
    def closed(self) -> bool: ...
    def close(self, commit: bool = True) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...

def open(
    path: _Path | None,
    schema: _Schema | None = None,
    *,
    mode: Literal["w", "r"] = "w",
    durability: Literal["full", "none"] = "full",
    add_fields: bool = False,
    store: _Store = ...,
    verify: _Verify = ...,
    merging: _Merging = ...,
    memory_max: int = ...,
    docs_max: int = ...,
    filter_cache: int = ...,
    deterministic: bool = ...,
) -> Index: ...
def parse(
    query: str,
    schema: _Schema | Index | Searcher,
    *,
    fields: str | Iterable[str] | None = None,
    op: _Operator = "or",
) -> Q: ...
def check(path: _Path) -> list[str]: ...
def exists(path: _Path) -> bool: ...
def live_handles() -> int: ...
