"""Whoosh-Reloaded, pure Python."""

import os

from whoosh import analysis, fields, index, query as W, sorting, versionstring, writing
from whoosh.filedb.filestore import RamStorage

from .base import Base, Unsupported


class Adapter(Base):
    name = "whoosh"
    facets_how = "FieldFacet"
    variants = {"memory": dict(), "disk": dict()}

    @staticmethod
    def version():
        return versionstring()

    def open(self, path, schema, create=True, store=True, limitmb=128):
        spec = {}
        for f in schema:
            if f.kind == "text":
                spec[f.name] = fields.TEXT(
                    stored=f.stored and store,
                    phrase=True,
                    analyzer=analysis.RegexTokenizer(r"[^\W_]+")
                    | analysis.LowercaseFilter(),
                )
            elif f.kind == "int":
                spec[f.name] = fields.NUMERIC(stored=f.stored, bits=64, sortable=True)
            elif f.kind == "key":
                spec[f.name] = fields.ID(stored=True, unique=True)
            else:
                spec[f.name] = (
                    fields.KEYWORD(stored=f.stored, commas=True)
                    if f.multi
                    else fields.ID(stored=f.stored, sortable=True)
                )
        self.multi = {f.name for f in schema if f.multi}
        self.key = next(f.name for f in schema if f.kind == "key")
        made = fields.Schema(**spec)
        if path is None:
            self.index = RamStorage().create_index(made)
        else:
            os.makedirs(path, exist_ok=True)
            self.index = index.create_in(path, made) if create else index.open_dir(path)
        self.limitmb, self.writer_, self.fresh, self.searcher_ = (
            limitmb,
            None,
            set(),
            self.index.searcher(),
        )

    @property
    def writer(self):
        if self.writer_ is None:
            self.writer_ = self.index.writer(limitmb=self.limitmb)
        return self.writer_

    def add(self, docs):
        for doc in docs:
            self.writer.add_document(**doc)

    def upsert(self, docs):
        """update_document() does not see what the same writer added before, so a key
        that comes again needs a commit in between."""
        for doc in docs:
            if doc[self.key] in self.fresh:
                self.writer.commit()
                self.writer_, self.fresh = None, set()
            self.fresh.add(doc[self.key])
            self.writer.update_document(**doc)

    def delete(self, keys):
        for key in keys:
            self.writer.delete_by_term(self.key, key)

    def delete_by_query(self, query):
        self.writer.delete_by_query(self.prepare(query))

    def wipe(self):
        if self.writer_ is not None:
            self.writer_.commit()
        self.writer_ = self.index.writer(limitmb=self.limitmb)
        self.writer_.mergetype = writing.CLEAR

    def soft(self):
        w = self.writer_
        if w is not None:
            kind = getattr(w, "mergetype", None)
            w.commit(mergetype=kind) if kind else w.commit()
            self.writer_, self.fresh = None, set()
        self._renew()

    hard = soft

    def optimize(self):
        self.writer.commit(optimize=True)
        self.writer_ = None
        self._renew()

    def _renew(self):
        """A new searcher. Searcher.refresh() would be cheaper, but it keeps the
        readers of old segments and so misses their deletions."""
        self.searcher_.close()
        self.searcher_ = self.index.searcher()

    def prepare(self, query):
        kind = query[0]
        if kind == "key":
            return W.Term(self.key, query[1])
        if kind in ("term", "keyword"):
            return W.Term(query[1], query[2])
        if kind == "phrase" and query[3]:
            raise Unsupported("slop as Lucene counts it")
        if kind == "phrase":
            return (
                W.Phrase(query[1], query[2])
                if len(query[2]) > 1
                else W.Term(query[1], query[2][0])
            )
        if kind in ("and", "or"):
            return (W.And if kind == "and" else W.Or)(
                [self.prepare(x) for x in query[1]]
            )
        if kind == "bool":
            must, should, never = query[1:]
            out = W.And([self.prepare(x) for x in must])
            if should:
                out = W.AndMaybe(out, W.Or([self.prepare(x) for x in should]))
            if never:
                out = W.AndNot(out, W.Or([self.prepare(x) for x in never]))
            return out
        if kind == "all":
            return W.Every()
        if kind == "prefix":
            return W.Prefix(query[1], query[2])
        if kind == "wild":
            return W.Wildcard(query[1], query[2])
        if kind == "regexp":
            return W.Regex(query[1], query[2])
        if kind == "fuzzy":
            return W.FuzzyTerm(query[1], query[2], maxdist=query[3])
        if kind == "range":
            return W.NumericRange(query[1], query[2], query[3])
        raise Unsupported(kind)

    def search(self, prepared, k=10, count=False, filters=(), sort=None, facets=()):
        args = {"limit": k or 1}
        if filters:
            args["filter"] = W.And(
                [
                    self.prepare(f if f[0] == "range" else ("keyword",) + tuple(f))
                    for f in filters
                ]
            )
        if sort:
            args["sortedby"] = sorting.FieldFacet(sort[0], reverse=sort[1])
        if facets:
            args["groupedby"] = {
                f: sorting.FieldFacet(
                    f, allow_overlap=f in self.multi, maptype=sorting.Count
                )
                for f in facets
            }
        out = self.searcher_.search(prepared, **args)
        counts = {f: {v: n for v, n in out.groups(f).items() if v} for f in facets}
        return (
            [out[i] for i in range(min(k, out.scored_length()))],
            len(out) if count else None,
            counts,
        )

    def keys(self, hits):
        return [h[self.key] for h in hits]

    def get(self, key):
        return self.searcher_.document(**{self.key: key})

    def snippet(self, prepared, hits, field):
        return [h.highlights(field) for h in hits]

    def close(self):
        if self.writer_ is not None:
            self.writer_.commit()
        self.searcher_.close()
        self.index.close()
