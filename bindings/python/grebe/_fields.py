"""Schemas and the constructors of their fields."""

import grebe_core as core

_KINDS = {
    core.TEXT: "text",
    core.KEYWORD: "keyword",
    core.INT: "int",
    core.DOUBLE: "float",
    core.BOOL: "bool",
    core.DATETIME: "datetime",
    core.BYTES: "bytes",
}
_FLAGS = (
    ("stored", core.STORED),
    ("indexed", core.INDEXED),
    ("column", core.COLUMN),
    ("many", core.MANY),
    ("required", core.REQUIRED),
)


class Field:
    """What a field of a schema is; made by `text`, `keyword`, `int_` and so on.

    Immutable. `kind` is its name ("text", "int", ...), `analyzer` the chain of a
    text field, `default` the value of a document that leaves the field out.
    """

    __slots__ = ("_kind", "_flags", "_analyzer", "_default")

    def __init__(self, kind, flags, analyzer=None, default=None):
        self._kind = kind
        self._flags = flags
        self._analyzer = analyzer
        self._default = default

    @property
    def kind(self):
        """Name of the kind: "text", "keyword", "int", "float", "bool", ..."""
        return _KINDS[self._kind]

    @property
    def analyzer(self):
        """Name of the analyzer of a text field, None for other kinds."""
        return self._analyzer

    @property
    def default(self):
        """Value of a document that leaves the field out, or None."""
        return self._default

    @property
    def stored(self):
        """Whether values are given back."""
        return bool(self._flags & core.STORED)

    @property
    def indexed(self):
        """Whether the field can be searched."""
        return bool(self._flags & core.INDEXED)

    @property
    def column(self):
        """Whether it can be sorted by and counted in facets."""
        return bool(self._flags & core.COLUMN)

    @property
    def many(self):
        """Whether a document may have several values, whose order is kept."""
        return bool(self._flags & core.MANY)

    @property
    def required(self):
        """Whether a document without a value is refused."""
        return bool(self._flags & core.REQUIRED)

    @property
    def is_key(self):
        """Whether it is the unique key."""
        return bool(self._flags & core.KEY)

    def _same(self):
        analyzer = self._analyzer
        if self._kind == core.TEXT:
            analyzer = {None: "standard", "english": "en"}.get(analyzer, analyzer)
        return (self._kind, self._flags, analyzer, self._default)

    def __eq__(self, other):
        if not isinstance(other, Field):
            return NotImplemented
        return self._same() == other._same()

    def __hash__(self):
        return hash((self._kind, self._flags))

    def __repr__(self):
        words = [name for name, flag in _FLAGS if self._flags & flag]
        kind = f"key {self.kind}" if self.is_key else self.kind
        if self._analyzer:
            kind += f" {self._analyzer}"
        if self._default is not None:
            words.append(f"default={self._default!r}")
        return f"<grebe.Field {kind}: {' '.join(words)}>"


def _flags_of(stored, indexed, column, many, required):
    return (
        (core.STORED if stored else 0)
        | (core.INDEXED if indexed else 0)
        | (core.COLUMN if column else 0)
        | (core.MANY if many else 0)
        | (core.REQUIRED if required else 0)
    )


def key(kind="str"):
    """The unique key of a schema, one at most: "str" or "int".

    Every document has one, and replaces what is in the index under it. Keys can be
    sorted by and searched in ranges. No conversion: a str key is never found by an
    int.
    """
    kinds = {"str": core.KEYWORD, "int": core.INT}
    if kind not in kinds:
        raise ValueError(f'the kind of a key is "str" or "int", not {kind!r}')
    flags = _flags_of(True, True, True, False, True) | core.KEY
    return Field(kinds[kind], flags)


def text(
    analyzer="standard",
    *,
    stored=True,
    indexed=True,
    column=False,
    many=False,
    required=False,
    default=None,
):
    """Text that is cut into words: `analyzer` is "standard" (no stop words),
    "whitespace", "keyword", "simple" or a language such as "en"."""
    if not isinstance(analyzer, str):
        raise TypeError(f"an analyzer's name is str, not {type(analyzer).__name__}")
    flags = _flags_of(stored, indexed, column, many, required)
    return Field(core.TEXT, flags, analyzer, default)


def keyword(
    *,
    stored=True,
    indexed=True,
    column=True,
    many=False,
    required=False,
    default=None,
):
    """A str that is one term as it stands, at most 32,766 bytes of UTF-8."""
    flags = _flags_of(stored, indexed, column, many, required)
    return Field(core.KEYWORD, flags, None, default)


def int_(
    *,
    stored=True,
    indexed=True,
    column=True,
    many=False,
    required=False,
    default=None,
):
    """A signed integer of 64 bits; bool, float and str are refused."""
    flags = _flags_of(stored, indexed, column, many, required)
    return Field(core.INT, flags, None, default)


def float_(
    *,
    stored=True,
    indexed=True,
    column=True,
    many=False,
    required=False,
    default=None,
):
    """A float of 64 bits, or an int; NaN is refused, infinities are taken."""
    flags = _flags_of(stored, indexed, column, many, required)
    return Field(core.DOUBLE, flags, None, default)


def bool_(
    *,
    stored=True,
    indexed=True,
    column=True,
    many=False,
    required=False,
    default=None,
):
    """True or False, nothing else."""
    flags = _flags_of(stored, indexed, column, many, required)
    return Field(core.BOOL, flags, None, default)


def datetime(
    *,
    stored=True,
    indexed=True,
    column=True,
    many=False,
    required=False,
    default=None,
):
    """A point in time of the years 1 to 9999, floored to milliseconds.

    Takes an aware datetime, a date (midnight UTC), integer milliseconds since 1970
    UTC or ISO 8601 text with Z or an offset; gives back an aware datetime in UTC.
    """
    flags = _flags_of(stored, indexed, column, many, required)
    return Field(core.DATETIME, flags, None, default)


def bytes_(
    *,
    stored=True,
    indexed=False,
    column=False,
    many=False,
    required=False,
    default=None,
):
    """Any bytes-like object, stored only."""
    flags = _flags_of(stored, indexed, column, many, required)
    return Field(core.BYTES, flags, None, default)


class Schema:
    """The fields of an index: `Schema(id=key(), title=text("en"))`.

    A mapping in front serves names that are no Python names:
    `Schema({"dc.title": text()})`. Names are `[A-Za-z][A-Za-z0-9_.-]*`. Read-only,
    a Mapping of name to Field in the order given. SchemaError for what an index
    would refuse: two keys, a bad name, an option that does not fit the kind.
    """

    __slots__ = ("_fields",)

    def __init__(self, fields=None, /, **named):
        self._fields = dict(fields or {})
        for name, field in named.items():
            if name in self._fields:
                raise core.SchemaError(f"field '{name}' is given twice")
            self._fields[name] = field
        for name, field in self._fields.items():
            if not isinstance(name, str):
                raise TypeError(f"a field name is str, not {type(name).__name__}")
            if not isinstance(field, Field):
                raise TypeError(
                    f"field '{name}' is {type(field).__name__}; use grebe.text(), "
                    "grebe.keyword(), grebe.int_() and so on"
                )
        self._make()

    @classmethod
    def _of(cls, schema):
        """A Schema from a Schema, a mapping or None."""
        if schema is None or isinstance(schema, Schema):
            return schema
        if hasattr(schema, "items"):
            return cls(schema)
        raise TypeError(f"a schema is grebe.Schema, not {type(schema).__name__}")

    @classmethod
    def _read(cls, handle):
        """The schema an index has."""
        self = cls.__new__(cls)
        self._fields = {
            name: Field(kind, flags, analyzer, default)
            for name, kind, flags, analyzer, default in core.schema_fields(handle)
        }
        return self

    def _make(self):
        """A new C schema; the caller drops it."""
        handle = core.schema_new()
        for name, field in self._fields.items():
            core.schema_add(
                handle,
                (name, field._kind, field._flags, field._analyzer, field._default),
            )
        return handle

    @property
    def key(self):
        """Name of the key field, None without one."""
        for name, field in self._fields.items():
            if field.is_key:
                return name
        return None

    def __getitem__(self, name):
        return self._fields[name]

    def __iter__(self):
        return iter(self._fields)

    def __len__(self):
        return len(self._fields)

    def __contains__(self, name):
        return name in self._fields

    def keys(self):
        """Names of the fields in order."""
        return self._fields.keys()

    def values(self):
        """The fields in order."""
        return self._fields.values()

    def items(self):
        """Pairs of name and field in order."""
        return self._fields.items()

    def __eq__(self, other):
        if not isinstance(other, Schema):
            return NotImplemented
        return list(self._fields.items()) == list(other._fields.items())

    def __hash__(self):
        return hash(tuple(self._fields))

    def __repr__(self):
        return f"<grebe.Schema {', '.join(self._fields)}>"
