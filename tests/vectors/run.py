"""Runs the behaviour vectors through the Python module; see README.md.

usage: run.py FOLDER [ID]
"""

import datetime
import json
import math
import os
import pathlib
import shutil
import sys
import tempfile
import time
from collections import Counter

import grebe

UTC = datetime.timezone.utc
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=UTC)
SCORE_TOLERANCE = 2e-6
LAYOUTS = [
    (folder, commit, spread)
    for folder in (False, True)
    for commit in ("soft", "hard")
    for spread in ("one", "many", "merged", "ordered")
]
SPREADS = {
    "one": {},
    "many": {"docs_max": 2, "merging": "manual"},
    "merged": {"docs_max": 3},
    "ordered": {"docs_max": 3},
}


# Members of steps beside the verbs; another one is a slip of the pen.
MEMBERS = set(
    "on error is overwrite failures info undo commit uncommitted since strict fields "
    "op where sort limit offset after facets highlight total_max ids total exact hits "
    "scores docs cursor counts missing passages page contains threads".split()
)
FOUND = {"ids", "total", "exact", "hits", "scores", "docs", "cursor", "counts"}
FOUND |= {"missing", "passages", "page", "error"}


class Difference(Exception):
    """What a step gave is not what it says."""


class Undo(Exception):
    """Leaves a batch so that it is taken back."""


# ---- JSON to values, and back


def only(value, name):
    """The one member of an object, if it has that name."""
    return isinstance(value, dict) and len(value) == 1 and name in value


def given(value, i=None):
    """A value as Python has it; `i` fills the holes of "fill"."""
    if only(value, "$hex"):
        return bytes.fromhex(value["$hex"])
    if only(value, "$inf"):
        return math.inf * value["$inf"]
    if only(value, "$nan"):
        return math.nan
    if only(value, "$repeat"):
        return value["$repeat"][0] * value["$repeat"][1]
    if only(value, "$i"):
        return i
    if only(value, "$pick"):
        return given(value["$pick"][i % len(value["$pick"])], i)
    if isinstance(value, str) and i is not None:
        return value.replace("{}", str(i))
    if isinstance(value, dict):
        return {name: given(member, i) for name, member in value.items()}
    if isinstance(value, list):
        return [given(member, i) for member in value]
    return value


def plain(value):
    """A result without Python's own types: dates are milliseconds."""
    if isinstance(value, datetime.datetime):
        return (value - EPOCH) // datetime.timedelta(milliseconds=1)
    if isinstance(value, (list, tuple)):
        return [plain(member) for member in value]
    if isinstance(value, dict):
        return {name: plain(member) for name, member in value.items()}
    return value


def equal(wanted, got, tolerance=0.0):
    """Whether they are the same; 1 and True, 1 and "1" are not."""
    if isinstance(wanted, float) or isinstance(got, float):
        if type(wanted) not in (int, float) or type(got) not in (int, float):
            return False
        return wanted == got or abs(wanted - got) <= tolerance * abs(wanted)
    if type(wanted) is not type(got):
        return False
    if isinstance(wanted, list):
        return len(wanted) == len(got) and all(
            equal(a, b, tolerance) for a, b in zip(wanted, got)
        )
    if isinstance(wanted, dict):
        return wanted.keys() == got.keys() and all(
            equal(member, got[name], tolerance) for name, member in wanted.items()
        )
    return wanted == got


def same(what, wanted, got, tolerance=0.0):
    got = plain(got)
    if not equal(wanted, got, tolerance):
        raise Difference(f"{what}: expected {wanted!r:.600}, got {got!r:.600}")


def subset(what, wanted, got):
    for name, member in wanted.items():
        if name not in got:
            raise Difference(f"{what} of {name} is not there")
        same(f"{what} of {name}", member, got[name])


FLAGS = {
    "many": ("many", True),
    "required": ("required", True),
    "stored": ("stored", True),
    "unstored": ("stored", False),
    "indexed": ("indexed", True),
    "unindexed": ("indexed", False),
    "column": ("column", True),
    "uncolumned": ("column", False),
}
KINDS = {
    "text": grebe.text,
    "keyword": grebe.keyword,
    "int": grebe.int_,
    "float": grebe.float_,
    "bool": grebe.bool_,
    "datetime": grebe.datetime,
    "bytes": grebe.bytes_,
}


def field_made(how):
    how = how if isinstance(how, dict) else {"is": how}
    kind, *words = how["is"].split()
    if kind == "key":
        return grebe.key(*words)
    options = dict(FLAGS[word] for word in words if word in FLAGS)
    names = [word for word in words if word not in FLAGS]
    if "default" in how:
        options["default"] = how["default"]
    return KINDS[kind](*names, **options)


def schema_made(json_schema):
    return grebe.Schema({name: field_made(how) for name, how in json_schema.items()})


# ---- one vector in one layout


class World:
    """An index and what has a name in a vector."""

    def __init__(self, vector, layout, path, reference):
        self.on_folder, self.kind, self.spread = layout
        self.path = str(path) if self.on_folder else None
        self.step = 0
        self.in_batch = False
        self.reference = reference
        self.searches = 0
        self.marked = {}
        self.things = {}
        self.dead = {}
        self.vector = vector

    def run(self):
        wanted = self.vector.get("error")
        try:
            self.start(self.vector.get("open") or {}, self.vector["schema"])
        except Exception as error:
            if wanted is None:
                raise
            self.compare_error(wanted, error, {})
        else:
            if wanted:
                raise Difference("open: an error is expected")
        self.run_steps(self.vector["steps"])

    def start(self, how, schema):
        self.things[None] = None
        schema = None if schema is None else schema_made(schema)
        options = dict(SPREADS[self.spread], mode=how.get("mode", "w"))
        if "docs_max" in options and "docs_max" in self.vector:
            options["docs_max"] = self.vector["docs_max"]
        options["add_fields"] = how.get("add_fields", False)
        path = self.path or ":memory:"
        self.things[None] = grebe.open(path, schema, **options)

    def end(self):
        index = self.things.get(None)
        if index is not None:
            index.close()
            if self.path and grebe.exists(self.path):
                grebe.check(self.path)
        self.drop()

    def drop(self):
        index = self.things.get(None)
        if index is not None:
            index.close(commit=False)
        for thing in self.things.values():
            if hasattr(thing, "close") and not isinstance(thing, grebe.Index):
                thing.close()

    def thing(self, step):
        name = step.get("on")
        if name not in self.things:
            raise Difference(f"nothing is named {name!r}")
        return self.things[name]

    def run_steps(self, steps):
        for step in steps:
            self.step += 1
            self.run_step(step)

    def run_step(self, step):
        verb = next(iter(step))
        run = getattr(self, "do_" + verb, None)
        if run is None:
            raise Difference(f"no verb {verb!r}")
        unknown = set(step) - MEMBERS - {verb}
        if unknown:
            raise Difference(f"a step has no {unknown.pop()!r}")
        if verb == "search" and not FOUND & set(step) and "limit" not in step:
            raise Difference("the search expects nothing")
        wanted = step.get("error")
        try:
            run(step, step[verb])
        except Difference:
            raise
        except Exception as error:
            if wanted is None:
                raise
            self.compare_error(wanted, error, step)
        else:
            if wanted is not None:
                raise Difference(f"{verb}: an error is expected")

    def compare_error(self, wanted, error, step):
        word = getattr(error, "word", None)
        if word is None:
            words = {ValueError: "argument", TypeError: "type"}
            word = words.get(type(error), type(error).__name__)
        got = {
            "word": word,
            "field": getattr(error, "field", None) or "",
            "key": str(getattr(error, "key", None) or ""),
        }
        if getattr(error, "offset", None) is not None:
            text = step.get("search") or step.get("delete_query") or ""
            text = text if isinstance(text, str) else ""
            got["offset"] = len(text[: error.offset].encode("utf-8"))
        if wanted.get("message", "") not in str(error):
            part = wanted["message"]
            raise Difference(f"the message lacks {part!r}: {error}")
        rest = {name: value for name, value in wanted.items() if name != "message"}
        subset("error", rest, got)

    # Writing

    def do_add(self, step, document):
        self.thing(step).add(given(document), overwrite=step.get("overwrite", True))

    def do_add_many(self, step, documents):
        failures = self.thing(step).add_many(
            given(documents),
            overwrite=step.get("overwrite", True),
            errors="return",
            threads=step.get("threads", 1),
        )
        rows = [[place, error.field or "", error.word] for place, _, error in failures]
        same("failures", step.get("failures", []), rows)

    def do_fill(self, step, how):
        start, end, document = how
        overwrite = step.get("overwrite", True)
        self.thing(step).add_many(
            (given(document, i) for i in range(start, end)),
            overwrite=overwrite,
            threads=step.get("threads", 1),
        )

    def do_delete(self, step, key):
        count = self.thing(step).delete(given(key))
        if "is" in step:
            same("count", step["is"], count)

    def do_delete_query(self, step, query):
        index = self.thing(step)
        count = index.delete_by_query(self.query(index, query))
        if "is" in step:
            same("count", step["is"], count)

    def do_commit(self, step, kind):
        index = self.thing(step)
        kind = self.kind if kind == "any" else kind
        merges = self.spread in ("merged", "ordered") and not self.in_batch
        if merges and index.stats()["pending"]:
            index.merge(self.order(index) if self.spread == "ordered" else None)
        before = index.stats()["commit_number"]
        if kind == "soft":
            info = index.commit(soft=True)
        else:
            info = index.commit(publish=kind != "unseen")
        self.compare_info(step, info, before)

    def compare_info(self, step, info, before):
        if info.number < before or (info.changed and info.number == before):
            raise Difference(f"commit number from {before} to {info.number}")
        got = {name: getattr(info, name) for name in ("added", "deleted", "syncs")}
        got["changed"] = bool(info.changed)
        subset("info", step.get("info", {}), got)

    def do_rollback(self, step, _):
        self.thing(step).rollback()

    def do_batch(self, step, steps):
        index = self.thing(step)
        kind = step.get("commit", "any")
        before = index.stats()["commit_number"]
        batch = index.batch(soft=(self.kind if kind == "any" else kind) == "soft")
        try:
            with batch:
                self.in_batch = True
                try:
                    self.run_steps(steps)
                finally:
                    self.in_batch = False
                if step.get("undo"):
                    raise Undo
        except Undo:
            return
        self.compare_info(step, batch.info, before)

    def do_snapshot(self, step, name):
        self.things[name] = self.thing(step).snapshot()

    def do_restore(self, step, name):
        self.thing(step).restore(self.things[name])

    def do_branch(self, step, name):
        self.things[name] = self.thing(step).branch()

    def order(self, index):
        """Falling by the first field that has an order, else by terms."""
        for name, field in index.schema.items():
            if field.column and not field.many:
                return "-" + name
        return "graph"

    def do_merge(self, step, order):
        self.thing(step).merge(order if isinstance(order, str) else None)

    def do_add_fields(self, step, fields):
        made = {name: field_made(how) for name, how in fields.items()}
        self.thing(step).add_fields(made)

    def do_reopen(self, step, how):
        if self.things[None] is not None:
            self.things[None].close(commit=how.get("commit", True))
        self.start(how, how.get("schema"))

    def do_close(self, step, commit):
        self.thing(step).close(commit=commit)

    def do_stats(self, step, wanted):
        subset("stats", wanted, self.thing(step).stats())

    def do_mark(self, _step, _):
        self.marked = self.things[None].stats()

    def do_delta(self, step, wanted):
        now = self.things[None].stats()
        subset("delta", wanted, {n: now[n] - self.marked.get(n, 0) for n in wanted})

    # Reading

    def query(self, index, tree):
        """A Q from a tree; a text stays one unless it is in a tree."""
        if tree is None or isinstance(tree, str) or only(tree, "$repeat"):
            return given(tree)
        (name, how), *more = tree.items()
        build = getattr(self, "query_" + name, None)
        if build is not None:
            return build(index, how)
        make = getattr(grebe.Q, name)
        if name in ("all", "none"):
            return make()
        if name == "exists":
            return make(how)
        return make(*(given(part) for part in how), **dict(more))

    def part(self, index, tree):
        """A Q: a text inside a tree is read strictly."""
        query = self.query(index, tree)
        return grebe.parse(query, index) if isinstance(query, str) else query

    def query_bool(self, index, how):
        clauses = {
            name: value if name == "mm" else [self.part(index, q) for q in value]
            for name, value in how.items()
        }
        return grebe.Q.bool(**clauses)

    def query_range(self, _index, how):
        bounds = {n: given(v) for n, v in how.items() if n != "field"}
        return grebe.Q.range(how["field"], **bounds)

    def query_boost(self, index, how):
        return grebe.Q.boost(self.part(index, how[0]), given(how[1]))

    def query_constant(self, index, how):
        return grebe.Q.constant(self.part(index, how[0]), given(how[1]))

    def query_dismax(self, index, how):
        return grebe.Q.dismax([self.part(index, q) for q in how[0]], *how[1:])

    def asked(self, step, target):
        """The options of a search."""
        options = {
            name: step[name]
            for name in ("fields", "op", "sort", "limit", "offset", "after", "facets")
            if name in step
        }
        where = step.get("where")
        if isinstance(where, list):
            options["where"] = [self.query(target, part) for part in where]
        elif where is not None:
            options["where"] = self.query(target, where)
        if "total_max" in step:
            options["total"] = step["total_max"]
        if "highlight" in step:
            options["highlight"] = [
                part if isinstance(part, str) else grebe.Highlight(**part)
                for part in step["highlight"]
            ]
        return options

    def since(self, step, target):
        return target.stats()["commit_number"] + step["since"]

    def do_search(self, step, text):
        target = self.thing(step)
        options = self.asked(step, target)
        if "since" in step:
            options["since"] = self.since(step, target)
        query = self.query(target, text)
        if isinstance(query, str) and step.get("strict"):
            fields, op = options.get("fields"), options.get("op", "or")
            query = grebe.parse(query, target, fields=fields, op=op)
        hits = target.search(query, **options)
        self.compare_hits(step, hits)
        self.compare_layouts(step, target, hits)
        if "page" in step:
            self.walk(step["page"], target, query, options)

    def compare_hits(self, step, hits):
        scores = [None if math.isnan(s) else s for s in hits.scores]
        got = {
            "ids": lambda: hits.ids,
            "total": lambda: hits.total,
            "exact": lambda: hits.total_is_exact,
            "hits": lambda: len(hits),
            "docs": lambda: [dict(hit) for hit in hits],
            "cursor": lambda: hits.cursor is not None,
        }
        for name, read in got.items():
            if name in step:
                same(name, given(step[name]), read())
        if "scores" in step:
            same("scores", step["scores"], scores, SCORE_TOLERANCE)
        facets = hits.facets
        for field, rows in step.get("counts", {}).items():
            same(f"facet {field}", rows, list(facets[field].items()))
        for field, count in step.get("missing", {}).items():
            same(f"missing {field}", count, facets[field].missing)
        for field, passages in step.get("passages", {}).items():
            same("passages", passages, [hit.highlights[field] for hit in hits])

    def compare_layouts(self, step, target, hits):
        if step.get("on") in self.dead:
            dead = self.dead[step["on"]]
        else:
            dead = target.stats()["docs_deleted"]
        scores = [None if math.isnan(s) else s for s in hits.scores]
        self.searches += 1
        if len(self.reference) < self.searches:
            self.reference.append((dead, scores))
            return
        past_dead, past = self.reference[self.searches - 1]
        if past_dead == dead:
            same("scores beside the first layout", past, scores)

    def walk(self, size, target, query, options):
        options = {n: v for n, v in options.items() if n not in ("facets", "limit")}
        options.pop("highlight", None)
        wanted = target.search(query, limit=None, **options).ids
        walked, cursor = [], None
        for _ in range(len(wanted) + 1):
            hits = target.search(query, limit=size, after=cursor, **options)
            walked += hits.ids
            cursor = hits.cursor
            if cursor is None:
                break
        same("pages", list(wanted), walked)

    def do_count(self, step, text):
        target = self.thing(step)
        where = self.asked(step, target).get("where")
        count = target.count(self.query(target, text), where=where)
        same("count", step.get("is"), count)

    def do_len(self, step, wanted):
        same("len", wanted, len(self.thing(step)))

    def do_get(self, step, key):
        target = self.thing(step)
        found = target.get(given(key))
        wanted = given(step.get("is"))
        same("get", wanted, found)

    def do_terms(self, step, how):
        field, prefix, limit = (*how, None, None)[:3]
        rows = self.thing(step).terms(field, prefix or "", limit)
        same("terms", given(step.get("is")), rows)

    def do_analyze(self, step, how):
        field, text = given(how)
        rows = []
        for token in self.thing(step).analyze(field, text):
            start = len(text[: token.start].encode("utf-8"))
            end = len(text[: token.end].encode("utf-8"))
            rows.append([token.text, token.position, start, end])
        same("analyze", given(step.get("is")), rows)

    def do_explain(self, step, how):
        target = self.thing(step)
        text = target.explain(given(how[0]), self.query(target, how[1]))
        for word in step.get("contains", []):
            if word not in text:
                raise Difference(f"explain lacks {word!r}: {text}")

    def do_open_searcher(self, step, name):
        index = self.thing(step)
        since = self.since(step, index) if "since" in step else None
        dead = index.stats()["docs_deleted"]
        uncommitted = step.get("uncommitted", False)
        self.things[name] = index.searcher(uncommitted=uncommitted, since=since)
        self.dead[name] = dead


# ---- all vectors


class Tally:
    """What ran, by feature."""

    def __init__(self):
        self.vectors, self.runs, self.skips = Counter(), Counter(), Counter()
        self.failures = self.steps = 0

    def report(self, seconds):
        for feature in self.vectors | self.skips:
            line = f"{feature:<16} {self.vectors[feature]:4} vectors"
            line += f", {self.runs[feature]:5} runs"
            if self.skips[feature]:
                line += f", {self.skips[feature]} not in Python"
            print(line)
        print(
            f"Python: {sum(self.vectors.values())} vectors, "
            f"{sum(self.runs.values())} runs in {len(LAYOUTS)} layouts, "
            f"{self.steps} steps, {self.failures} failures, {seconds:.1f} s"
        )
        return self.failures != 0 or not self.vectors


def vector_run(tally, vector, folder):
    feature = vector.get("feature", "none")
    if "python" not in vector.get("in", ["python"]):
        tally.skips[feature] += 1
        return
    only_folder = any("reopen" in step for step in vector["steps"])
    tally.vectors[feature] += 1
    reference = []
    for layout in LAYOUTS:
        if only_folder and not layout[0]:
            continue
        path = folder / "ix"
        world = World(vector, layout, path, reference)
        try:
            world.run()
            world.end()
        except Exception as error:
            tally.failures += 1
            where = "folder" if layout[0] else "memory"
            kind = type(error).__name__
            print(
                f"FAILED {vector['id']} [{where}, {layout[1]}, {layout[2]}] step "
                f"{world.step}: {kind}: {error}",
                file=sys.stderr,
            )
            world.drop()
        shutil.rmtree(path, ignore_errors=True)
        tally.runs[feature] += 1
        tally.steps += world.step


def main(folder, wanted=None):
    tally, begun = Tally(), time.monotonic()
    in_memory = os.path.isdir("/dev/shm") and "TMPDIR" not in os.environ
    memory = "/dev/shm" if in_memory else None
    with tempfile.TemporaryDirectory(prefix="grebe-vectors-", dir=memory) as place:
        for path in sorted(pathlib.Path(folder).glob("*.jsonl")):
            for line in path.read_text(encoding="utf-8").split("\n"):
                vector = json.loads(line) if line else None
                if vector and wanted in (None, vector["id"]):
                    vector_run(tally, vector, pathlib.Path(place))
    return tally.report(time.monotonic() - begun)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
