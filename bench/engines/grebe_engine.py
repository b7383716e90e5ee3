"""Grebe through its Python module."""

import grebe
from grebe import Q

from .base import Base, Unsupported

_MAKE = {"text": grebe.text, "keyword": grebe.keyword, "int": grebe.int_}


class Adapter(Base):
    name = "grebe"
    facets_how = "columns"
    variants = {"memory": {}, "disk": {}}

    @staticmethod
    def version():
        return grebe.__version__

    schemas = {}  # made once, as a program would

    def open(self, path, schema, create=True, store=True):
        self.store = store
        self.key = next(f.name for f in schema if f.kind == "key")
        made = self.schemas.get((id(schema), store))
        if made is None:
            made = self.schemas[id(schema), store] = self._schema(schema, store)
        if path is None:
            self.index = grebe.Index(made)
        else:
            self.index = grebe.open(path, made if create else None)

    @staticmethod
    def _schema(schema, store):
        fields = {}
        for f in schema:
            if f.kind == "key":
                fields[f.name] = grebe.key()
            elif f.kind == "keyword":
                fields[f.name] = grebe.keyword(many=f.multi, stored=f.stored)
            else:
                fields[f.name] = _MAKE[f.kind](
                    stored=f.stored and (store or f.kind == "int")
                )
        return grebe.Schema(fields)

    def add(self, docs):
        self.index.add_many(docs)

    def upsert(self, docs):
        if len(docs) == 1:
            self.index.add(docs[0])
        else:
            self.index.add_many(docs)

    def delete(self, keys):
        self.index.delete_many(keys)

    def delete_by_query(self, query):
        self.index.delete_by_query(self.prepare(query))

    def wipe(self):
        self.index.delete_by_query(Q.all())

    def soft(self):
        self.index.commit(soft=True)

    def hard(self):
        self.index.commit()

    def optimize(self):
        self.index.merge()
        self.index.commit()

    def prepare(self, query):
        kind = query[0]
        if kind == "key":
            return Q.term(self.key, query[1])
        if kind in ("term", "keyword"):
            return Q.term(query[1], query[2])
        if kind == "all":
            return Q.all()
        if kind == "phrase":
            return Q.phrase(query[1], " ".join(query[2]), query[3])
        if kind in ("and", "or"):
            parts = [self.prepare(x) for x in query[1]]
            return Q.bool(must=parts) if kind == "and" else Q.bool(should=parts)
        if kind == "bool":
            must, should, never = (
                [self.prepare(x) for x in part] for part in query[1:]
            )
            return Q.bool(must=must, should=should, must_not=never)
        if kind == "prefix":
            return Q.prefix(query[1], query[2])
        if kind == "range":
            return Q.range(query[1], gte=query[2], lte=query[3])
        made = {"wild": "wildcard", "fuzzy": "fuzzy", "regexp": "regexp"}.get(
            kind, kind
        )
        if not hasattr(Q, made):
            raise Unsupported(made)
        return getattr(Q, made)(*query[1:])

    def search(self, prepared, k=10, count=False, filters=(), sort=None, facets=()):
        more = {}
        if filters:
            more["where"] = [
                self.prepare(f if f[0] == "range" else ("keyword", *f)) for f in filters
            ]
        if sort:
            more["sort"] = f"{sort[0]} desc" if sort[1] else sort[0]
        if facets:
            more["facets"] = dict.fromkeys(facets, {"limit": 1000})
        if not count and k:
            more["total"] = k
        hits = self.index.search(prepared, limit=k, **more)
        return hits, hits.total, hits.facets if facets else {}

    def keys(self, hits):
        return hits.ids

    def scored(self, hits):
        return [list(pair) for pair in zip(hits.ids, hits.scores)]

    def get(self, key):
        return self.index.get(key)

    def snippet(self, prepared, hits, field):
        """With the search: Grebe marks passages while it makes the page."""
        if not self.store:
            raise Unsupported("snippet without stored text")
        page = self.index.search(prepared, limit=len(hits), highlight=[field], total=1)
        return [hit.highlights[field][0] for hit in page]

    # What only Grebe has (W3b).

    def snapshot(self):
        return self.index.snapshot()

    def restore(self, snapshot):
        self.index.restore(snapshot)

    def close(self):
        self.index.close(commit=False)
