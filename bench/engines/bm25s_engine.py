"""bm25s: eager sparse scoring in NumPy.

Read-only: the whole collection is indexed at the first commit; only the last text
field, only terms and ORs, no counts.
"""

import importlib.metadata
import os

import bm25s

from .base import Base, Unsupported


class Adapter(Base):
    name = "bm25s"
    variants = {"disk": dict()}

    @staticmethod
    def version():
        return importlib.metadata.version("bm25s")

    def open(self, path, schema, create=True, store=False):
        self.path = os.path.join(path, "bm25s")
        self.text = [f.name for f in schema if f.kind == "text"][-1]  # the body
        self.docs = []
        self.model = None if create else bm25s.BM25.load(self.path)

    def add(self, docs):
        self.docs.extend(d[self.text] for d in docs)

    def hard(self):
        if self.docs:
            tokens = bm25s.tokenize(
                self.docs,
                lower=True,
                token_pattern=r"[^\W_]+",
                stopwords=None,
                stemmer=None,
                show_progress=False,
            )
            self.docs = []
            self.model = bm25s.BM25(k1=1.2, b=0.75, method="lucene")
            self.model.index(tokens, show_progress=False)
            self.model.save(self.path)

    soft = hard

    def prepare(self, query):
        parts = query[1] if query[0] == "or" else [query]
        if any(p[0] != "term" for p in parts):
            raise Unsupported(query[0])
        return [[p[2] for p in parts]]

    def search(self, prepared, k=10, count=False, filters=(), sort=None, facets=()):
        if count or filters or sort or facets:
            raise Unsupported("count, filters, sort, facets")
        ids, scores = self.model.retrieve(prepared, k=k, show_progress=False)
        return list(zip(ids[0].tolist(), scores[0].tolist())), None, {}
