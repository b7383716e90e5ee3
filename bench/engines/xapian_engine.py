"""Xapian through Debian's python3-xapian.

Text goes through TermGenerator (no stemmer). Term prefixes: Q = key, X<n>: for field n.
Keywords and ints also fill value slot n. The writer itself searches what it has not yet
committed: variant "disk-nocommit" uses that as its soft commit.
"""

import json
import os
import shutil

import xapian

from .base import Base, Unsupported


class Spy(xapian.MatchSpy):
    """Counts the values of a multi-valued slot (joined by \\0): Xapian's own spy counts
    whole slots."""

    def __init__(self, slot):
        super().__init__()
        self.slot, self.counts = slot, {}

    def __call__(self, doc, weight):
        for v in doc.get_value(self.slot).split(b"\0"):
            if v:
                v = v.decode()
                self.counts[v] = self.counts.get(v, 0) + 1


class Adapter(Base):
    name = "xapian"
    facets_how = (
        "ValueCountMatchSpy; multi-valued fields by a MatchSpy written in Python"
    )
    variants = {
        "memory": dict(memory=True),
        "disk-nosync": dict(flags=xapian.DB_NO_SYNC),
        "disk-nocommit": dict(flags=xapian.DB_NO_SYNC, commit=False),
        "disk": dict(flags=0),
    }

    @staticmethod
    def version():
        return xapian.version_string()

    def open(
        self, path, schema, create=True, memory=False, flags=0, commit=True, store=True
    ):
        if path is None:
            self.db = xapian.WritableDatabase("", xapian.DB_BACKEND_INMEMORY)
        else:
            self.db = xapian.WritableDatabase(
                path,
                (xapian.DB_CREATE_OR_OVERWRITE if create else xapian.DB_OPEN) | flags,
            )
        self.path, self.commits, self.store = path, commit, store
        self.slot = {f.name: i for i, f in enumerate(schema)}
        self.fields = schema
        self.multi = {f.name for f in schema if f.multi}
        self.kind = {f.name: f.kind for f in schema}
        self.key = next(f.name for f in schema if f.kind == "key")
        # the only text field needs no prefix
        texts = [f.name for f in schema if f.kind == "text"]
        self.prefix = {
            f.name: "" if texts == [f.name] else "X%d:" % i
            for i, f in enumerate(schema)
        }
        self.stem_none = xapian.TermGenerator()
        self.stem_none.set_flags(0)

    def _doc(self, doc):
        out = xapian.Document()
        gen = self.stem_none
        gen.set_document(out)
        gen.set_termpos(0)
        saved = {}
        for f in self.fields:
            value = doc.get(f.name)
            if value is None:
                continue
            if f.kind == "text":
                gen.index_text(value, 1, self.prefix[f.name])
                gen.increase_termpos()
                if f.stored and self.store:
                    saved[f.name] = value
                continue
            if f.stored:
                saved[f.name] = value
            if f.kind == "key":
                out.add_boolean_term("Q" + value)
            elif f.kind == "int":
                out.add_value(self.slot[f.name], xapian.sortable_serialise(value))
            else:
                values = value if isinstance(value, list) else [value]
                for v in values:
                    term = (self.prefix[f.name] + v).encode()
                    out.add_boolean_term(term[:240])
                out.add_value(self.slot[f.name], "\0".join(sorted(set(values))))
        out.set_data(json.dumps(saved))
        return out

    def add(self, docs):
        for doc in docs:
            self.db.add_document(self._doc(doc))

    def upsert(self, docs):
        for doc in docs:
            self.db.replace_document("Q" + doc[self.key], self._doc(doc))

    def delete(self, keys):
        for key in keys:
            self.db.delete_document("Q" + key)

    def delete_by_query(self, query):
        enquire = xapian.Enquire(self.db)
        enquire.set_query(self.prepare(query))
        for match in enquire.get_mset(0, self.db.get_doccount()):
            self.db.delete_document(match.docid)

    def wipe(self):
        for item in self.db.postlist(""):
            self.db.delete_document(item.docid)

    def soft(self):
        if self.commits:
            self.db.commit()

    def hard(self):
        self.db.commit()

    def optimize(self):
        self.db.commit()
        if self.path is not None:
            small = self.path + ".compact"
            self.db.compact(small, xapian.DBCOMPACT_NO_RENUMBER)
            self.db.close()
            shutil.rmtree(self.path)
            os.rename(small, self.path)
            self.db = xapian.WritableDatabase(self.path, xapian.DB_OPEN)

    def prepare(self, query):
        kind, X = query[0], xapian.Query
        if kind == "key":
            return X("Q" + query[1])
        if kind in ("term", "keyword"):
            return X(self.prefix[query[1]] + query[2])
        if kind == "phrase" and query[3]:
            raise Unsupported("slop as Lucene counts it")
        if kind == "phrase":
            p = self.prefix[query[1]]
            return (
                X(X.OP_PHRASE, [p + w for w in query[2]], len(query[2]))
                if len(query[2]) > 1
                else X(p + query[2][0])
            )
        if kind in ("and", "or"):
            return X(
                X.OP_AND if kind == "and" else X.OP_OR,
                [self.prepare(x) for x in query[1]],
            )
        if kind == "bool":
            must, should, never = query[1:]
            out = (
                self.prepare(("and", must)) if len(must) > 1 else self.prepare(must[0])
            )
            if should:
                out = X(X.OP_AND_MAYBE, out, self.prepare(("or", should)))
            if never:
                out = X(X.OP_AND_NOT, out, self.prepare(("or", never)))
            return out
        if kind == "all":
            return X.MatchAll
        if kind in ("prefix", "wild"):
            if kind == "wild" and (
                query[2].count("*") != 1
                or not query[2].endswith("*")
                or "?" in query[2]
            ):
                raise Unsupported("wildcards other than at the end")
            return X(
                X.OP_WILDCARD,
                self.prefix[query[1]] + query[2].rstrip("*"),
                0,
                X.WILDCARD_LIMIT_ERROR,
                X.OP_SYNONYM,
            )
        if kind == "range":
            return X(
                X.OP_VALUE_RANGE,
                self.slot[query[1]],
                xapian.sortable_serialise(query[2]),
                xapian.sortable_serialise(query[3]),
            )
        raise Unsupported(kind)

    def search(self, prepared, k=10, count=False, filters=(), sort=None, facets=()):
        enquire = xapian.Enquire(self.db)
        for part in filters:
            part = self.prepare(
                part if part[0] == "range" else ("keyword",) + tuple(part)
            )
            prepared = xapian.Query(xapian.Query.OP_FILTER, prepared, part)
        enquire.set_query(prepared)
        if k == 0:
            enquire.set_weighting_scheme(xapian.BoolWeight())
        if sort:
            enquire.set_sort_by_value(self.slot[sort[0]], sort[1])
        spies = {}
        for f in facets:
            spies[f] = (
                Spy(self.slot[f])
                if f in self.multi
                else xapian.ValueCountMatchSpy(self.slot[f])
            )
            enquire.add_matchspy(spies[f])
        everything = count or facets
        mset = enquire.get_mset(0, k, self.db.get_doccount() if everything else 0)
        hits = [(m.docid, m.weight) for m in mset]
        counts = {}
        for f, spy in spies.items():
            counts[f] = (
                spy.counts
                if f in self.multi
                else {v.term.decode(): v.termfreq for v in spy.values() if v.term}
            )
        return hits, mset.get_matches_estimated() if everything else None, counts

    def keys(self, hits):
        return [
            json.loads(self.db.get_document(h[0]).get_data())[self.key] for h in hits
        ]

    def get(self, key):
        for item in self.db.postlist("Q" + key):
            return json.loads(self.db.get_document(item.docid).get_data())
        return None

    def snippet(self, prepared, hits, field):
        if not self.store:
            raise Unsupported("snippet without stored text")
        enquire = xapian.Enquire(self.db)
        enquire.set_query(prepared)
        mset = enquire.get_mset(0, len(hits))
        return [
            mset.snippet(json.loads(m.document.get_data())[field], 200).decode()
            for m in mset
        ]

    def close(self):
        self.db.close()
