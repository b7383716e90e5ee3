"""tantivy through tantivy-py.

One writer thread, two in the variant "disk-threads"; a commit is always durable on disk, there is no soft commit.
"""

import importlib.metadata
import re

import tantivy

from .base import Base, Unsupported

Q, Occur = tantivy.Query, tantivy.Occur


class Adapter(Base):
    name = "tantivy"
    facets_how = "terms aggregation on fast fields"
    variants = {"memory": dict(), "disk": dict(), "disk-threads": dict(threads=2)}

    @staticmethod
    def version():
        return importlib.metadata.version("tantivy")

    def open(self, path, schema, create=True, heap=15_000_000, store=True, threads=1):
        build = tantivy.SchemaBuilder()
        self.kinds = {f.name: f.kind for f in schema}
        for f in schema:
            if f.kind == "text":
                build.add_text_field(
                    f.name,
                    stored=f.stored and store,
                    tokenizer_name="default",
                    index_option="position",
                )
            elif f.kind == "int":
                build.add_integer_field(f.name, stored=f.stored, fast=True)
            else:
                build.add_text_field(
                    f.name,
                    stored=True,
                    fast=f.kind == "keyword",
                    tokenizer_name="raw",
                    index_option="basic",
                )
        self.schema = build.build()
        self.key = next(f.name for f in schema if f.kind == "key")
        self.index = tantivy.Index(self.schema, path=path)
        self.heap, self.threads, self.writer_ = heap, threads, None
        self.searcher = self.index.searcher()

    @property
    def writer(self):  # made when first needed: opening an index for reading needs none
        if self.writer_ is None:
            self.writer_ = self.index.writer(self.heap, self.threads)
        return self.writer_

    def add(self, docs):
        put, make, schema = (
            self.writer.add_document,
            tantivy.Document.from_dict,
            self.schema,
        )
        for doc in docs:
            put(make(doc, schema))

    def upsert(self, docs):
        self.delete([d[self.key] for d in docs])
        self.add(docs)

    def delete(self, keys):
        for key in keys:
            self.writer.delete_documents_by_term(self.key, key)

    def delete_by_query(self, query):
        self.writer.delete_documents_by_query(self.prepare(query))

    def wipe(self):
        self.writer.delete_all_documents()

    def soft(self):
        self.writer.commit()
        self.index.reload()
        self.searcher = self.index.searcher()

    hard = soft

    def optimize(self):
        """tantivy-py has no merge call: wait for the merges of its policy."""
        self.writer.commit()
        self.writer.wait_merging_threads()
        self.writer_ = None
        self.writer.garbage_collect_files()
        self.index.reload()
        self.searcher = self.index.searcher()

    def prepare(self, query):
        kind, s = query[0], self.schema
        if kind == "key":
            return Q.term_query(s, self.key, query[1], "basic")
        if kind in ("term", "keyword"):
            return Q.term_query(
                s,
                query[1],
                query[2],
                "freq" if self.kinds[query[1]] == "text" else "basic",
            )
        if kind == "phrase":
            return (
                Q.phrase_query(s, query[1], query[2], query[3])
                if len(query[2]) > 1
                else self.prepare(("term", query[1], query[2][0]))
            )
        if kind in ("and", "or"):
            occur = Occur.Must if kind == "and" else Occur.Should
            return Q.boolean_query([(occur, self.prepare(x)) for x in query[1]])
        if kind == "bool":
            return Q.boolean_query(
                [
                    (o, self.prepare(x))
                    for o, part in zip(
                        (Occur.Must, Occur.Should, Occur.MustNot), query[1:]
                    )
                    for x in part
                ]
            )
        if kind == "all":
            return Q.all_query()
        if kind == "prefix":
            return Q.regex_query(s, query[1], re.escape(query[2]) + ".*")
        if kind == "wild":
            return Q.regex_query(
                s,
                query[1],
                "".join(
                    ".*" if c == "*" else "." if c == "?" else re.escape(c)
                    for c in query[2]
                ),
            )
        if kind == "regexp":
            return Q.regex_query(s, query[1], query[2])
        if kind == "fuzzy":
            return Q.fuzzy_term_query(s, query[1], query[2], distance=query[3])
        if kind == "range":
            return Q.range_query(
                s, query[1], tantivy.FieldType.Integer, query[2], query[3]
            )
        raise Unsupported(kind)

    def search(self, prepared, k=10, count=False, filters=(), sort=None, facets=()):
        if filters:
            prepared = Q.boolean_query(
                [(Occur.Must, prepared)]
                + [
                    (
                        Occur.Must,
                        Q.const_score_query(
                            self.prepare(
                                f if f[0] == "range" else ("keyword",) + tuple(f)
                            ),
                            0.0,
                        ),
                    )
                    for f in filters
                ]
            )
        if sort:
            out = self.searcher.search(
                prepared,
                k,
                count,
                sort[0],
                0,
                tantivy.Order.Desc if sort[1] else tantivy.Order.Asc,
            )
        else:
            out = self.searcher.search(prepared, k or 1, count)
        counts = {}
        if facets:
            got = self.searcher.aggregate(
                prepared, {f: {"terms": {"field": f, "size": 1000}} for f in facets}
            )
            counts = {
                f: {b["key"]: b["doc_count"] for b in got[f]["buckets"]} for f in facets
            }
        return out.hits, out.count, counts

    def keys(self, hits):
        return [self.searcher.doc(h[1])[self.key][0] for h in hits]

    def scored(self, hits):
        """Its BM25 has the factor k1 + 1 that Lucene's lacks."""
        return [[key, hit[0] / 2.2] for key, hit in zip(self.keys(hits), hits)]

    def get(self, key):
        hits = self.searcher.search(self.prepare(("key", key)), 1, False).hits
        return self.searcher.doc(hits[0][1]).to_dict() if hits else None

    def snippet(self, prepared, hits, field):
        maker = tantivy.SnippetGenerator.create(
            self.searcher, prepared, self.schema, field
        )
        return [maker.snippet_from_doc(self.searcher.doc(h[1])).to_html() for h in hits]

    def close(self):
        if self.writer_ is not None:
            self.writer_.wait_merging_threads()
        self.writer_ = self.searcher = self.index = None
