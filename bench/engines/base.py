"""What an engine offers to the benchmark.

An adapter is one file, `engines/NAME_engine.py`, with a class `Adapter(Base)`.

A schema is a list of Field. Kinds:
  key      one string, unique, never analysed
  text     analysed: lower-cased runs of letters and digits, positions kept, no
           stemming, no stop words
  keyword  a string or (multi) a list of strings, matched whole; can be filtered by
           and counted (facets)
  int      64-bit; can be ranged over and sorted by
Documents are dicts; a field may be missing.

Queries are tuples, turned into the engine's own form by prepare() (outside the clock
in W7 and W8, inside it elsewhere):
  ("all",)                      ("key", value)             ("term", field, word)
  ("keyword", field, value)     ("range", field, low, high)
  ("phrase", field, [words], slop)
  ("and", [queries])            ("or", [queries])
  ("bool", must, should, must_not)
  ("prefix", field, text)       ("wild", field, pattern)   ("fuzzy", field, word, n)
  ("regexp", field, pattern)
A form the engine lacks raises Unsupported. `should` next to `must` is optional and
only adds to the score.
"""

import collections

Field = collections.namedtuple(
    "Field", "name kind stored multi", defaults=(True, False)
)


class Unsupported(Exception):
    pass


class Base:
    name = "?"
    variants = {}  # variant name -> keyword arguments of open()
    facets_how = ""  # how facet counts are made, for the report

    @staticmethod
    def version():
        raise NotImplementedError

    def open(self, path, schema, create=True, **options):
        """A new, empty, writable index: in folder `path`, or in memory if that is None.
        create=False: the one that is there."""
        raise NotImplementedError

    def add(self, docs):
        """Adds documents whose keys are known to be new."""
        raise NotImplementedError

    def upsert(self, docs):
        """Adds documents, replacing those with the same key."""
        raise NotImplementedError

    def delete(self, keys):
        raise NotImplementedError

    def delete_by_query(self, query):
        raise NotImplementedError

    def wipe(self):
        """Deletes every document (visible after the next commit)."""
        raise NotImplementedError

    def soft(self):
        """Everything written so far can be searched from now on."""
        raise NotImplementedError

    def hard(self):
        """As soft, and it survives a power cut in so far as the variant promises it."""
        raise NotImplementedError

    def optimize(self):
        """One segment, or the nearest the engine has; durable afterwards."""

    def prepare(self, query):
        raise NotImplementedError

    def search(self, prepared, k=10, count=False, filters=(), sort=None, facets=()):
        """(hits, total, facet_counts).

        k = 0: count only. count: total must be exact, else it may be None. filters:
        (field, value) on keywords or ("range", field, low, high); all must hold, none
        scores. sort: (field, descending). facets: keyword fields; facet_counts is
        {field: {value: count}} over all matches (all values, or the engine's first
        1,000 by count)."""
        raise NotImplementedError

    def keys(self, hits):
        """The keys of hits, in order."""
        raise NotImplementedError

    def scored(self, hits):
        """[key, score] of hits, scores as Lucene's; [] where the formula is another."""
        return []

    def get(self, key):
        """The stored fields of a document, or None."""
        raise NotImplementedError

    def snippet(self, prepared, hits, field):
        """One marked extract for each hit."""
        raise Unsupported("snippet")

    def close(self):
        pass
