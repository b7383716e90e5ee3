"""Random operations: plain JSON, so that a run can be written down and replayed."""

import random
from typing import Any

from documents import EN_WORDS, EXTRA, KINDS, LANGS, TAGS, WORDS
from trees import Tree

Op = dict[str, Any]
DAY = 86_400_000
# Of a merge; more than one value a document gives no order.
ORDERS = (None, "graph", "n", "-x", "lang", "-when")

# How often each operation comes; the sum does not matter.
WEIGHTS = {
    "search": 260, "add": 230, "add_duplicate": 30, "add_many": 12, "upsert": 40,
    "delete": 60, "delete_query": 18, "wipe": 3, "soft": 80, "hard": 22,
    "unseen": 10, "rollback": 12, "batch": 14, "undo": 12, "snapshot": 12,
    "restore": 14, "branch": 5, "take_branch": 2, "merge": 10, "reopen": 8,
    "reopen_lost": 5, "add_fields": 2, "get": 40, "keep": 14, "ask_kept": 40,
    "uncommitted": 14, "reader": 22, "terms": 8, "refused": 8,
}  # fmt: skip
# In a calm episode little is deleted, so that most states have nothing dead and
# their scores can be known.
FILTERS = 4  # that an episode comes back to
RARE_IF_CALM = ("add_duplicate", "upsert", "delete", "delete_query", "wipe", "batch",
                "undo")  # fmt: skip


class Generator:
    """Draws operations; knows nothing but the configuration and a few names."""

    def __init__(self, rng: random.Random, config: dict[str, Any]) -> None:
        self.rng = rng
        self.config = config
        self.serial = 0
        self.filters: list[Tree] = []
        self.names = list(WEIGHTS)
        calm = RARE_IF_CALM if config.get("calm") else ()
        self.weights = [WEIGHTS[n] / (20 if n in calm else 1) for n in self.names]

    # Documents

    def key(self) -> Any:
        number = self.rng.randrange(self.config["keys"])
        return number - 5 if self.config["key"] == "int" else f"k{number}"

    def text(self, words: list[str] = WORDS) -> str:
        rng = self.rng
        size = rng.choice(
            (0, 1, 2, 3, 5, 8, 12, 30, 70) if rng.random() < 0.3 else (4,)
        )
        chosen = (rng.choice(words) for _ in range(size))
        return " ".join(w.capitalize() if rng.random() < 0.2 else w for w in chosen)

    def value(self, field: str) -> Any:
        rng, kind = self.rng, KINDS[field]
        if kind == "keyword":
            return rng.choice(LANGS if field == "lang" else TAGS)
        if kind == "int":
            edges = (-(2**63), 2**63 - 1)
            return rng.choice(edges) if rng.random() < 0.02 else rng.randrange(-4, 12)
        if kind == "float":
            return rng.choice((-1.5, 0.0, 0.25, 3.0, 1e300, float("inf")))
        if kind == "bool":
            return rng.random() < 0.5
        if kind == "datetime":
            return rng.randrange(-3, 9) * DAY + rng.choice((0, 1, DAY - 1))
        if kind == "bytes":
            return rng.randbytes(rng.randrange(5)).hex()
        return self.text(EN_WORDS if kind == "en" else WORDS)

    def doc(self, extra: tuple[str, ...]) -> dict[str, Any]:
        rng = self.rng
        self.serial += 1
        given: dict[str, Any] = {"v": self.serial}
        if self.config["key"] != "none":
            given["id"] = self.key()
        for field in KINDS:
            if field == "v" or (field in EXTRA and field not in extra):
                continue
            if rng.random() < (0.85 if field == "body" else 0.45):
                if field in ("names", "tags", "ns") and rng.random() < 0.8:
                    count = rng.choice((0, 1, 1, 2, 3))
                    given[field] = [self.value(field) for _ in range(count)]
                else:
                    given[field] = self.value(field)
            elif field == "lang" and rng.random() < 0.2:
                given[field] = None
        return given

    # Queries

    def leaf(self, extra: tuple[str, ...]) -> Tree:
        rng = self.rng
        kind = rng.choices(
            ("term", "match", "phrase", "prefix", "range", "exists", "value", "all"),
            (26, 14, 12, 8, 12, 4, 18, 2),
        )[0]
        field = rng.choice(("body", "body", "body", "title", "names"))
        words = EN_WORDS if field == "title" else WORDS
        if kind == "term":
            return {"term": {"field": field, "value": rng.choice(words)}}
        if kind == "match":
            text = " ".join([rng.choice(words) for _ in range(rng.choice((1, 2, 3)))])
            op = rng.choice(("or", "and"))
            return {"match": {"field": field, "text": text + " fox", "operator": op}}
        if kind == "phrase":
            return {"phrase": self.phrase(field, words)}
        if kind == "prefix":
            field = rng.choice(("body", "tags"))
            begin = rng.choice(("f", "s", "r", "a", "ab", "", "ru"))
            return {"prefix": {"field": field, "value": begin}}
        if kind == "range":
            return {"range": self.bounds(extra)}
        plain = ["tags", "lang", "n", "ns", "flag", "when", *extra]
        if kind == "exists":
            return {"exists": {"field": rng.choice([*plain, "x", "body", "title"])}}
        if kind == "value":
            field = rng.choice([*plain, "tags", "tags"])
            return {"term": {"field": field, "value": self.value(field)}}
        return {"all": {}}

    def phrase(self, field: str, words: list[str]) -> Tree:
        rng = self.rng
        chosen = rng.sample(words, rng.choice((2, 2, 3)))
        slop = rng.choice((0, 0, 0, 1, 2, 5))
        if len({w[:3] for w in chosen}) < len(chosen):
            slop = 0  # words that may become one term
        return (
            {"field": field, "text": " ".join([*chosen, "stone"]), "slop": slop}
            if (rng.random() < 0.1 and "stone" not in chosen)
            else {"field": field, "text": " ".join(chosen), "slop": slop}
        )

    def bounds(self, extra: tuple[str, ...]) -> Tree:
        rng = self.rng
        fields = ["n", "n", "ns", "x", "when", "tags", "body", "v"]
        field = rng.choice([*fields, "e2"] if "e2" in extra else fields)
        body: Tree = {"field": field}
        if field == "v":
            body["gte"] = self.serial - rng.randrange(30)
            return body
        if field == "body":
            value = lambda: rng.choice(WORDS)  # noqa: E731
        else:
            value = lambda: self.value(field)  # noqa: E731
        if rng.random() < 0.8:
            body[rng.choice(("gte", "gt"))] = value()
        if rng.random() < 0.7:
            body[rng.choice(("lte", "lt"))] = value()
        return body

    def tree(self, extra: tuple[str, ...], depth: int = 2) -> Tree:
        rng = self.rng
        if depth == 0 or rng.random() < 0.4:
            return self.leaf(extra)
        kind = rng.random()
        if kind < 0.1:
            by = rng.choice((0.0, 0.5, 2.0, 3.3))
            return {"boost": {"query": self.tree(extra, depth - 1), "boost": by}}
        if kind < 0.15:
            score = rng.choice((0.0, 1.5, 7.0))
            return {"const": {"query": self.tree(extra, depth - 1), "score": score}}
        if kind < 0.25:
            parts = [self.tree(extra, depth - 1) for _ in range(rng.choice((2, 3)))]
            return {"dismax": {"queries": parts, "tie": rng.choice((0.0, 0.1, 1.0))}}
        body: Tree = {}
        for name, most in (("must", 2), ("should", 3), ("must_not", 1), ("filter", 1)):
            count = rng.randrange(most + 1)
            if count:
                body[name] = [self.tree(extra, depth - 1) for _ in range(count)]
        if body.get("should") and rng.random() < 0.25:
            body["mm"] = rng.randrange(1, len(body["should"]) + 2)
        return {"bool": body or {"should": [self.leaf(extra)]}}

    def spoken(self) -> tuple[str, Tree, list[str] | None, str]:
        """A text in the query syntax with the tree that it stands for."""
        rng = self.rng
        fields = rng.choice((None, ["body"], ["title^2", "body"]))
        op = rng.choice(("or", "or", "and"))
        words, body = [], {"must": [], "should": [], "must_not": []}
        for i in range(rng.choice((1, 2, 3, 4))):
            sign = rng.choice(("", "", "", "+", "-")) if i else rng.choice(("", "+"))
            text, tree = self.clause(fields)
            words.append(sign + text)
            plain = "must" if op == "and" else "should"
            body[{"": plain, "+": "must", "-": "must_not"}[sign]].append(tree)
        return " ".join(words), {"bool": body}, fields, op

    def clause(self, fields: list[str] | None) -> tuple[str, Tree]:
        rng = self.rng
        kind = rng.randrange(7)
        word = rng.choice([w for w in EN_WORDS if len(w) > 3])
        if kind == 0:
            tag = rng.choice(("a", "ab", "Blue", "é"))
            return f"tags:{tag}", {"term": {"field": "tags", "value": tag}}
        if kind == 1:
            low, high = rng.randrange(-4, 5), rng.randrange(3, 11)
            bounds = {"field": "n", "gte": low, "lt": high}
            return f"n:[{low} TO {high}}}", {"range": bounds}
        if kind == 2:
            text = " ".join(rng.sample(WORDS, 2))
            return f'body:"{text}"', {"phrase": {"field": "body", "text": text}}
        if kind == 3:
            begin = word[:2]
            return f"body:{begin}*", {"prefix": {"field": "body", "value": begin}}
        parts = []
        for field in fields or ("body", "title", "names"):
            name, _, by = field.partition("^")
            tree: Tree = {"match": {"field": name, "text": word}}
            parts.append({"boost": {"query": tree, "boost": float(by)}} if by else tree)
        joined = (
            parts[0] if len(parts) == 1 else {"dismax": {"queries": parts, "tie": 0}}
        )
        return word.capitalize() if rng.random() < 0.3 else word, joined

    def request(self, extra: tuple[str, ...]) -> dict[str, Any]:
        rng = self.rng
        request: dict[str, Any]
        if rng.random() < 0.25:
            text, tree, fields, op = self.spoken()
            request = {"text": text, "tree": tree, "fields": fields, "op": op}
        else:
            request = {"tree": self.tree(extra)}
        if rng.random() < self.config.get("where", 0.3):
            count = rng.choice((1, 1, 2))
            request["where"] = [self.filter(extra) for _ in range(count)]
        if rng.random() < 0.4:
            request["sort"] = self.sort()
        if rng.random() < 0.5:
            request["limit"] = rng.choice((0, 1, 3, 10, 1000))
            request["offset"] = rng.choice((0, 0, 0, 1, 7))
        if rng.random() < 0.35:
            names = rng.sample(("tags", "lang", "n", "ns", "flag"), rng.choice((1, 2)))
            request["facets"] = {name: rng.choice((1, 3, 100)) for name in names}
        if rng.random() < 0.15:
            request["pages"] = [
                rng.choice(("cursor", "offset")),
                rng.choice((2, 5, 30)),
            ]
        if rng.random() < 0.1:
            request["highlight"] = ["body"]
        return request

    def filter(self, extra: tuple[str, ...]) -> Tree:
        """Often one of a few, so that what is kept of filters is met."""
        if self.rng.random() < 0.3:
            return self.tree(extra, 1)
        while len(self.filters) < FILTERS:
            self.filters += [self.tree((), 1), {"range": self.bounds(())}]
        return self.rng.choice(self.filters)

    def sort(self) -> str:
        rng = self.rng
        names = rng.sample(("n", "ns", "tags", "x", "flag", "when", "lang", "score"), 2)
        parts = []
        for name in names[: rng.choice((1, 1, 2))]:
            if name == "score":
                parts.append(rng.choice(("score", "score asc")))
                continue
            way = rng.choice(("", " asc", " desc"))
            parts.append(name + way + rng.choice(("", "", " missing first")))
        if rng.random() < 0.1:
            parts = [rng.choice(("_order", "_order desc"))]
        return ", ".join(parts)

    # Operations

    def beginning(self) -> list[Op]:
        """What an episode starts with: many documents where that is wanted."""
        bulk = self.config.get("bulk")
        if not bulk:
            return []
        docs = [self.doc(()) for _ in range(bulk)]
        return [{"op": "add_many", "docs": docs, "overwrite": True}, {"op": "soft"}]

    def operation(self, extra: tuple[str, ...]) -> Op:
        name = self.rng.choices(self.names, self.weights)[0]
        return self.fill(name, extra)

    def fill(self, name: str, extra: tuple[str, ...]) -> Op:
        rng = self.rng
        op: Op = {"op": name}
        if name in ("add", "add_duplicate"):
            op |= {"doc": self.doc(extra)}
        elif name == "upsert":
            op |= {"doc": self.doc(extra), "place": rng.randrange(1 << 30)}
        elif name == "add_many":
            count = rng.choice((3, 10, 40, self.config.get("bulk", 120)))
            op |= {"docs": [self.doc(extra) for _ in range(count)]}
            op |= {"overwrite": rng.random() < 0.8}
        elif name in ("delete", "get"):
            op |= {"key": self.key()}
        elif name == "delete_query":
            op |= {"tree": self.tree((), 1)}
        elif name in ("batch", "undo"):
            kinds = ("add", "add", "add_duplicate", "delete", "delete_query", "get",
                     "search", "upsert")  # fmt: skip
            count = rng.choice((1, 3, 6, 25))
            op |= {"ops": [self.fill(rng.choice(kinds), extra) for _ in range(count)]}
            op |= {"soft": rng.random() < 0.7}
            if rng.random() < 0.05:
                op["ops"].append({"op": "wipe"})
        elif name in ("search", "keep", "uncommitted", "reader", "branch"):
            op |= {"request": self.request(() if name == "reader" else extra)}
            if name == "branch":
                kinds = ("add", "add_duplicate", "upsert", "delete")
                op |= {"ops": [self.fill(rng.choice(kinds), extra) for _ in range(4)]}
        elif name == "ask_kept":
            op |= {"request": self.request(()), "place": rng.randrange(1 << 30)}
        elif name == "merge":
            op |= {"seen": rng.random() < 0.6, "order": rng.choice(ORDERS)}
        elif name == "restore":
            op |= {"place": rng.randrange(1 << 30)}
        elif name == "terms":
            op |= {"field": rng.choice(("tags", "lang", "body", "title"))}
        elif name == "add_fields":
            op |= {"names": rng.choice((["e1"], ["e2"], ["e1", "e2"]))}
        return op
