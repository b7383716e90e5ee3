"""SQLite FTS5 through Python's sqlite3.

Tables: d(_id, _key UNIQUE, int columns, keyword columns), mv(field, value, id) for
multi-valued keywords, f = the FTS5 table.
keywords="fts": key and keywords are FTS5 columns, so that they are found through the
full-text index (W1, W2, W12); keywords="sql": FTS5 holds the text only, keys, filters
and facets are SQL on d and mv (all other workloads, and W1 and W2 as its best case).
"""

import os
import sqlite3

from .base import Base, Unsupported

q = lambda name: '"%s"' % name.replace('"', '""')


class Adapter(Base):
    name = "fts5"
    facets_how = "SQL GROUP BY"
    variants = {
        "memory": dict(memory=True),
        "wal-normal": dict(sync="NORMAL"),
        "wal-full": dict(sync="FULL"),
    }

    @staticmethod
    def version():
        return sqlite3.sqlite_version

    def open(
        self,
        path,
        schema,
        create=True,
        memory=False,
        sync="NORMAL",
        keywords="sql",
        store=True,
        tuned=False,
        index_ints=False,
    ):
        self.schema, self.store = schema, store
        self.db = db = sqlite3.connect(
            ":memory:" if path is None else os.path.join(path, "index.db"),
            isolation_level=None,
            cached_statements=512,
        )
        if path is not None:
            db.execute("PRAGMA journal_mode=WAL")
            db.execute("PRAGMA synchronous=" + sync)
        if tuned:
            db.execute("PRAGMA cache_size=-262144")
        self.in_fts = [
            f
            for f in schema
            if f.kind == "text" or (keywords != "sql" and f.kind in ("key", "keyword"))
        ]
        self.single = [
            f
            for f in schema
            if f.kind == "int"
            or (keywords == "sql" and f.kind == "keyword" and not f.multi)
        ]
        self.multi = [
            f for f in schema if keywords == "sql" and f.kind == "keyword" and f.multi
        ]
        self.number = {f.name: i for i, f in enumerate(self.multi)}
        self.key = next(f.name for f in schema if f.kind == "key")
        self.key_in_fts, self.ranked = keywords != "sql", keywords != "unranked"
        self.only = len(self.in_fts) == 1
        self.insert_d = "INSERT INTO d VALUES(%s)" % ",".join(
            "?" * (2 + len(self.single))
        )
        self.insert_f = "INSERT INTO f(rowid%s) VALUES(%s)" % (
            "".join(", " + q(f.name) for f in self.in_fts),
            ",".join("?" * (1 + len(self.in_fts))),
        )
        self.next, self.open_tx = 1, False
        if not create:
            self.next = db.execute("SELECT max(_id) FROM d").fetchone()[0] + 1
            return
        db.execute(
            "CREATE TABLE d(_id INTEGER PRIMARY KEY, _key TEXT UNIQUE%s)"
            % "".join(
                ", %s %s" % (q(f.name), "INTEGER" if f.kind == "int" else "TEXT")
                for f in self.single
            )
        )
        if self.multi:
            db.execute(
                "CREATE TABLE mv(id INTEGER, f INTEGER, v TEXT, "
                "PRIMARY KEY(id, f, v)) WITHOUT ROWID"
            )
        if index_ints:
            for f in self.single:
                if f.kind == "int":
                    db.execute(
                        "CREATE INDEX %s ON d(%s)" % (q("i_" + f.name), q(f.name))
                    )
        if not self.in_fts:  # no text at all: plain SQL
            return
        db.execute(
            "CREATE VIRTUAL TABLE f USING fts5(%s, "
            "tokenize='unicode61 remove_diacritics 0'%s)"
            % (
                ", ".join(q(f.name) for f in self.in_fts),
                "" if store else ", content=''",
            )
        )
        if tuned:
            db.execute("INSERT INTO f(f, rank) VALUES('hashsize', 67108864)")

    def _begin(self):
        if not self.open_tx:
            self.db.execute("BEGIN IMMEDIATE")
            self.open_tx = True

    def add(self, docs):
        self._begin()
        run, key = self.db.execute, self.key
        for doc in docs:
            number = self.next
            self.next += 1
            get = doc.get
            run(self.insert_d, [number, doc[key]] + [get(f.name) for f in self.single])
            if self.in_fts:
                run(
                    self.insert_f,
                    [number] + [self._flat(get(f.name)) for f in self.in_fts],
                )
            for f in self.multi:
                for v in set(get(f.name, ())):
                    run(
                        "INSERT INTO mv VALUES(?,?,?)", (number, self.number[f.name], v)
                    )

    @staticmethod
    def _flat(value):
        return " ".join(value) if isinstance(value, list) else value

    def upsert(self, docs):
        self._begin()
        self.delete([d[self.key] for d in docs])
        self.add(docs)

    def delete(self, keys):
        self._begin()
        for key in keys:
            row = self.db.execute(
                "DELETE FROM d WHERE _key=? RETURNING _id", (key,)
            ).fetchall()
            if row:
                if self.in_fts:
                    self.db.execute("DELETE FROM f WHERE rowid=?", row[0])
                if self.multi:
                    self.db.execute("DELETE FROM mv WHERE id=?", row[0])

    def delete_by_query(self, query):
        rows = self.db.execute(
            "SELECT d._key FROM f JOIN d ON d._id=f.rowid WHERE f MATCH ?",
            (self.prepare(query),),
        ).fetchall()
        self.delete([r[0] for r in rows])

    def wipe(self):
        self._begin()
        self.db.execute("DELETE FROM d")
        if self.in_fts and self.store:
            self.db.execute("DELETE FROM f")
        elif self.in_fts:
            self.db.execute("INSERT INTO f(f) VALUES('delete-all')")
        if self.multi:
            self.db.execute("DELETE FROM mv")

    def soft(self):
        if self.open_tx:
            self.db.execute("COMMIT")
            self.open_tx = False

    hard = soft

    def optimize(self):
        self._begin()
        self.db.execute("INSERT INTO f(f) VALUES('optimize')")
        self.soft()
        self.db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        self.db.execute("VACUUM")
        self.db.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    # ------------------------------------------------------------------ search
    def prepare(self, query):
        kind = query[0]
        if kind == "key" and not self.ranked:
            return ("MATCH", self._col(self.key) + '"%s"' % query[1])
        if kind == "key":
            return (
                self._col(self.key) + '"%s"' % query[1]
                if self.key_in_fts
                else ("WHERE d._key=?", [query[1]])
            )
        if kind == "all":
            return ("", [])
        if kind == "keyword":
            return ("WHERE d.%s=?" % q(query[1]), [query[2]])
        if kind == "range":
            return ("WHERE d.%s BETWEEN ? AND ?" % q(query[1]), [query[2], query[3]])
        return self._match(query)

    def _col(self, field):
        return "" if self.only else q(field) + " : "

    def _match(self, query):
        kind = query[0]
        if kind == "term":
            return self._col(query[1]) + '"%s"' % query[2]
        if kind == "phrase" and query[3]:
            raise Unsupported("slop as Lucene counts it")
        if kind == "phrase":
            return self._col(query[1]) + '"%s"' % " ".join(query[2])
        if kind == "prefix":
            return self._col(query[1]) + '"%s" *' % query[2]
        if kind in ("and", "or"):
            return "(%s)" % (" %s " % kind.upper()).join(
                self._match(x) for x in query[1]
            )
        if kind == "bool":
            must, should, never = query[1:]
            text = "(%s)" % " AND ".join(self._match(x) for x in must)
            if should:  # (a AND b) OR a: same matches as a, b only adds to the score
                text = "((%s AND (%s)) OR %s)" % (
                    text,
                    " OR ".join(self._match(x) for x in should),
                    text,
                )
            for x in never:
                text = "(%s NOT %s)" % (text, self._match(x))
            return text
        raise Unsupported(kind)

    def search(self, prepared, k=10, count=False, filters=(), sort=None, facets=()):
        run = self.db.execute
        if prepared[0] == "MATCH":
            return (
                run(
                    "SELECT rowid FROM f WHERE f MATCH ? LIMIT ?", (prepared[1], k)
                ).fetchall(),
                None,
                {},
            )
        if (
            not filters and not sort and not facets and isinstance(prepared, str)
        ):  # the plain full-text query
            hits = (
                run(
                    "SELECT rowid, rank FROM f WHERE f MATCH ? ORDER BY rank LIMIT ?",
                    (prepared, k),
                ).fetchall()
                if k
                else []
            )
            total = (
                run("SELECT count(*) FROM f WHERE f MATCH ?", (prepared,)).fetchone()[0]
                if count
                else None
            )
            return hits, total, {}
        if isinstance(prepared, str):
            source, where, args = "f JOIN d ON d._id=f.rowid", ["f MATCH ?"], [prepared]
        else:
            source, where, args = (
                "d",
                [prepared[0][6:]] if prepared[0] else [],
                list(prepared[1]),
            )
        for part in filters:
            if part[0] == "range":
                where.append("d.%s BETWEEN ? AND ?" % q(part[1]))
                args += part[2:]
                continue
            field, value = part
            if field in self.number:
                where.append(
                    "EXISTS(SELECT 1 FROM mv WHERE id=d._id AND f=%d AND v=?)"
                    % self.number[field]
                )
            else:
                where.append("d.%s=?" % q(field))
            args.append(value)
        clause = " WHERE " + " AND ".join(where) if where else ""
        hits, total, counts = [], None, {}
        if k:
            order = (
                " ORDER BY d.%s%s" % (q(sort[0]), " DESC" if sort[1] else "")
                if sort
                else " ORDER BY f.rank" if isinstance(prepared, str) else ""
            )
            hits = run(
                "SELECT d._id%s FROM %s%s%s LIMIT %d"
                % (
                    ", f.rank" if isinstance(prepared, str) and not sort else "",
                    source,
                    clause,
                    order,
                    k,
                ),
                args,
            ).fetchall()
        if count:
            total = run(
                "SELECT count(*) FROM %s%s" % (source, clause), args
            ).fetchone()[0]
        if facets:
            parts = []
            for i, field in enumerate(facets):
                if field in self.number:
                    parts.append(
                        "SELECT %d, v, count(*) FROM m JOIN mv "
                        "ON mv.id=m.id AND mv.f=%d GROUP BY 2" % (i, self.number[field])
                    )
                else:
                    parts.append(
                        "SELECT %d, d.%s, count(*) FROM m JOIN d "
                        "ON d._id=m.id GROUP BY 2" % (i, q(field))
                    )
            counts = {field: {} for field in facets}
            for i, v, n in run(
                "WITH m AS MATERIALIZED (SELECT d._id AS id FROM %s%s) %s"
                % (source, clause, " UNION ALL ".join(parts)),
                args,
            ):
                if v is not None:
                    counts[facets[i]][v] = n
        return hits, total, counts

    def keys(self, hits):
        return [
            self.db.execute("SELECT _key FROM d WHERE _id=?", (h[0],)).fetchone()[0]
            for h in hits
        ]

    def get(self, key):
        return self.db.execute(
            (
                "SELECT * FROM d JOIN f ON f.rowid=d._id WHERE d._key=?"
                if self.store
                else "SELECT * FROM d WHERE _key=?"
            ),
            (key,),
        ).fetchone()

    def snippet(self, prepared, hits, field):
        if not self.store:
            raise Unsupported("snippet without stored text")
        i = [f.name for f in self.in_fts].index(field)
        rows = ",".join(str(h[0]) for h in hits)
        return [
            r[0]
            for r in self.db.execute(
                "SELECT snippet(f, %d, '<b>', '</b>', '...', 30) "
                "FROM f WHERE f MATCH ? AND rowid IN (%s)" % (i, rows),
                (prepared,),
            )
        ]

    def close(self):
        self.soft()
        self.db.close()
