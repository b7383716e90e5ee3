"""What a search gives back."""

from _collections_abc import Mapping, Sequence

import grebe_core as core

_ALL = 2**64 - 1


class Highlight:
    """How to show passages of a stored text field.

    `size` is the length of a passage in characters, `snippets` how many at most,
    `encoder` "html" to escape what is between the marks.
    """

    __slots__ = ("field", "pre", "post", "size", "snippets", "encoder")

    def __init__(
        self,
        field,
        pre="<em>",
        post="</em>",
        size=200,
        snippets=1,
        encoder=None,
    ):
        if encoder not in (None, "html"):
            raise ValueError(f'encoder is None or "html", not {encoder!r}')
        for name, number in (("size", size), ("snippets", snippets)):
            if not 1 <= number < 2**32:
                raise ValueError(f"{name} cannot be {number}")
        self.field = field
        self.pre = pre
        self.post = post
        self.size = size
        self.snippets = snippets
        self.encoder = encoder

    def _row(self):
        encoder = core.ENCODE_HTML if self.encoder else core.ENCODE_NONE
        return (self.field, self.pre, self.post, self.size, self.snippets, encoder)

    def __repr__(self):
        return f"<grebe.Highlight {self.field}>"


def highlight_rows(given):
    """The rows core.search takes, from names and Highlights."""
    if isinstance(given, (str, Highlight)):
        given = (given,)
    return tuple(
        (h if isinstance(h, Highlight) else Highlight(h))._row() for h in given
    )


_FACET_SORTS = {"count": core.FACET_BY_COUNT, "value": core.FACET_BY_VALUE}


def _facet_row(
    field, limit=10, sort="count", prefix=None, offset=0, mincount=1, missing=False
):
    if sort not in _FACET_SORTS:
        raise ValueError(f'a facet is sorted by "count" or "value", not {sort!r}')
    if limit is None:
        limit = _ALL
    for name, number, least in (
        ("limit", limit, 1),
        ("offset", offset, 0),
        ("mincount", mincount, 0),
    ):
        if isinstance(number, bool) or not isinstance(number, int):
            raise TypeError(f"facet {name} is an int, not {type(number).__name__}")
        if number < least or number > _ALL:
            raise ValueError(f"facet {name} cannot be {number}")
    if not isinstance(field, str):
        raise TypeError(f"a facet's field is str, not {type(field).__name__}")
    return (field, limit, offset, mincount, _FACET_SORTS[sort], prefix, int(missing))


def facet_rows(given):
    """The rows core.search takes, from names, limits and dicts of options."""
    if isinstance(given, str):
        given = (given,)
    if not isinstance(given, Mapping):
        return tuple(_facet_row(field) for field in given)
    return tuple(
        _facet_row(field, **how)
        if isinstance(how, Mapping)
        else _facet_row(field, limit=how)
        for field, how in given.items()
    )


class FacetCounts(dict):
    """Value -> number of matches that have it, the most frequent first.

    `missing` is the number of matches without a value, None unless asked for.
    """

    __slots__ = ("missing",)


class Hit(Mapping):
    """One hit: a read-only Mapping of its stored fields, with id and score.

    The fields are read when the first of them is asked for (microseconds, once);
    that works after the index has been closed, too.
    """

    __slots__ = ("_hits", "_place", "_fields")

    def __init__(self, hits, place):
        self._hits = hits
        self._place = place
        self._fields = None

    def _read(self):
        fields = self._fields
        if fields is None:
            fields = self._fields = core.hits_document(self._hits, self._place)
        return fields

    @property
    def id(self):
        """Value of the key field; None if the schema has none."""
        return core.hits_key(self._hits, self._place)

    @property
    def score(self):
        """The score; NaN where the sort does not need one."""
        return core.hits_score(self._hits, self._place)

    @property
    def highlights(self):
        """Field -> list of passages, empty where nothing matched."""
        return core.hits_passages(self._hits, self._place)

    def __getitem__(self, name):
        return self._read()[name]

    def __iter__(self):
        return iter(tuple(self._read()))

    def __len__(self):
        return len(self._read())

    def __contains__(self, name):
        return name in self._read()

    def __repr__(self):
        return f"<grebe.Hit {self.id!r} {self.score:.4g} {self._read()!r}>"


class Hits(core.handle):
    """One page of hits: an immutable Sequence of Hit, best first.

    `len(hits)` is what is on the page, `hits.total` what matched. Several
    iterators are independent. Lives on after the index has been closed. A slice is
    a list of Hit.
    """

    __slots__ = ()

    total = property(core.hits_total, doc="Number of documents that matched.")
    total_is_exact = property(
        core.hits_total_is_exact,
        doc="False if counting stopped at the `total` asked for.",
    )
    partial = property(
        core.hits_partial, doc="Whether a deadline cut the search short."
    )
    ids = property(
        core.hits_keys, doc="Keys of the page; SchemaError without a key field."
    )
    scores = property(
        core.hits_scores,
        doc="Scores of the page, a memoryview of float32 (numpy.asarray is free).",
    )
    cursor = property(
        core.hits_cursor, doc="For `after=` of the next page; None at the end."
    )

    @property
    def took(self):
        """Seconds that the search took."""
        return core.hits_took_ns(self) / 1e9

    @property
    def facets(self):
        """Field -> FacetCounts, for the facets asked for."""
        result = {}
        for field, rows, missing in core.hits_facets(self):
            counts = FacetCounts(rows)
            counts.missing = missing
            result[field] = counts
        return result

    plan = property(
        core.hits_plan,
        doc="""What the search chose and did; [] unless `plan=True` was given.

        A dict for each pass and segment: pass ("all", "places", "total", "facets"),
        pass_reason, method ("block-max term", "maxscore", "block-max and", "bounds",
        "exhaustive", "bitmaps", "list", "term list", "list through filters", "df",
        "kept count", "none", "skipped"), reason, and numbers: segment, docs, windows
        evaluated, blocks decoded, matched, scored, positions read, work. operators:
        dicts of role, kind, field, docs and kept ("hit", "built", "first use",
        "not worth it", "off"; "" for what is no filter).
        """,
    )

    def to_dicts(self):
        """The stored fields of every hit, a list of dicts (for pandas, polars)."""
        read = core.hits_document
        return [read(self, place) for place in range(len(self))]

    def __len__(self):
        return core.hits_count(self)

    def __getitem__(self, place):
        count = core.hits_count(self)
        if isinstance(place, slice):
            return [Hit(self, i) for i in range(*place.indices(count))]
        place = place.__index__()
        if place < 0:
            place += count
        if not 0 <= place < count:
            raise IndexError(f"there are {count} hits on this page")
        return Hit(self, place)

    def __iter__(self):
        for place in range(core.hits_count(self)):
            yield Hit(self, place)

    __contains__ = Sequence.__contains__
    __reversed__ = Sequence.__reversed__
    index = Sequence.index
    count = Sequence.count

    def __repr__(self):
        return f"<grebe.Hits {len(self)} of {self.total}>"

    def _repr_html_(self):
        """A table of the first twenty hits, for notebooks."""
        from html import escape

        shown = self[:20]
        names = list(dict.fromkeys(name for hit in shown for name in hit))
        head = "".join(f"<th>{escape(name)}</th>" for name in ("score", *names))
        rows = []
        for hit in shown:
            cells = [f"{hit.score:.4g}"] + [str(hit.get(n, ""))[:200] for n in names]
            rows.append("".join(f"<td>{escape(cell)}</td>" for cell in cells))
        body = "".join(f"<tr>{row}</tr>" for row in rows)
        return f"<p>{len(self)} of {self.total}</p><table><tr>{head}</tr>{body}</table>"


Sequence.register(Hits)
