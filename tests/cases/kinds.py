"""Each public case's whole kind: varied inputs over sizes and layouts.

A function kind_NNN(layout, size) belongs to case PB-NNN and raises Wrong.
"""

import math
import random
from collections import Counter

import grebe
from layouts import SIZES, SMALL, Kind, Layout, same

Q = grebe.Q
KEY, TEXT, INT = grebe.key(), grebe.text(), grebe.int_()
WORD = grebe.keyword()


def keys(size: int) -> list[str]:
    """Keys in order of adding."""
    return [f"d{i}" for i in range(size)]


def kind_001(layout: Layout, size: int) -> None:
    """Deletes are visible after the commit, an older searcher stands still."""
    docs = ({"id": key, "body": "modern"} for key in keys(size))
    index, view = layout.fill(size, docs, id=KEY, body=TEXT)
    gone = {key for i, key in enumerate(keys(size)) if i % 3 == 0}
    with index.searcher(uncommitted=True) as old:
        same(index.delete_many(sorted(gone)), len(gone), "deleted")
        if view is index:
            same(index.count("modern"), size, "before the commit")
        new = layout.show(index)
        want = [key for key in keys(size) if key not in gone]
        same(new.search("modern", limit=None, sort="_order").ids, want, "after")
        same(old.search("modern", limit=None, sort="_order").ids, keys(size), "old")


def kind_002(layout: Layout, size: int) -> None:
    """Wipe and commit, over segments and buffered documents."""
    index = layout.open(size, id=KEY, body=TEXT, kind=WORD)
    for again in range(3):
        for i, key in enumerate(keys(size)):
            index.add({"id": key, "body": "alpha", "kind": f"k{again}"})
            if i % 5 == 0:
                index.commit(soft=True)
        same(index.delete_by_query("*:*"), size, "wiped")
        index.add({"id": "d0", "body": "beta", "kind": "new"})
        view = layout.show(index)
        hits = view.search(facets=["kind"])
        same((hits.ids, dict(hits.facets["kind"])), (["d0"], {"new": 1}), "left")
        same(view.count("alpha"), 0, "wiped words")


def kind_003(layout: Layout, size: int) -> None:
    """Updates one by one, a commit each."""
    index, _ = layout.fill(size, ({"id": k, "v": 0} for k in keys(size)), id=KEY, v=INT)
    for i, key in enumerate(keys(size)[:200]):
        index.add({"id": key, "v": i + 1})
        index.commit(soft=i % 20 != 0)
        same(len(index), size, "count")
    rows = index.search(limit=None, sort="v, id").to_dicts()
    new = [(f"d{i}", i + 1) for i in range(min(size, 200))]
    old = sorted((key, 0) for key in keys(size)[200:])
    same([(row["id"], row["v"]) for row in rows], old + new, "values")


def kind_005(layout: Layout, size: int) -> None:
    """What the buffer limit has flushed can be deleted and replaced uncommitted."""
    index = layout.open(size, id=KEY, v=INT)
    index.add_many({"id": key, "v": i} for i, key in enumerate(keys(size)))
    same(index.delete("d0"), 1, "deleted")
    same(index.delete("d0"), 0, "deleted again")
    index.add({"id": f"d{size - 1}", "v": -7})
    view = layout.show(index)
    left = size - 1 if size > 1 else 1
    same(len(view), left, "count")
    same(view.search("v:[* TO -1]").ids, [f"d{size - 1}"], "replaced")


def kind_006(layout: Layout, size: int) -> None:
    """Match-all in all its forms answers over live documents."""
    docs = ({"id": key, "body": "one", "n": i} for i, key in enumerate(keys(size)))
    index, _ = layout.fill(size, docs, id=KEY, body=TEXT, n=INT)
    index.delete_by_query(f"n:[{size // 2} TO *]")
    view = layout.show(index)
    want = keys(size)[: size // 2]
    for query in (None, "*:*", "body:*", "one", "id:[* TO *]", "n:[0 TO *]",
                  Q.all(), ~Q.term("body", "two"), Q.exists("n")):  # fmt: skip
        same(view.search(query, limit=None, sort="_order").ids, want, str(query))
        same(view.search(query, limit=0).total, len(want), str(query))


def kind_008(layout: Layout, size: int) -> None:
    """A document that fails leaves nothing."""
    index = layout.open(size, id=KEY, body=TEXT, price=INT)
    for i, key in enumerate(keys(size)):
        index.add({"id": key, "body": "good", "price": i})
        for bad in (
            {"price": "7"},
            {"price": [1, 2]},
            {"nowhere": 1},
            {"body": "\ud800"},
        ):
            try:
                index.add({"id": key, "body": "bad"} | bad)
            except grebe.DocumentError:
                continue
            same("taken", "refused", str(bad))
    view = layout.show(index)
    same(view.count("bad"), 0, "bad words")
    same(view.search("good", limit=None, sort="price").ids, keys(size), "good")


def kind_009(layout: Layout, size: int) -> None:
    """One key several times in a batch: the last wins."""
    rows = [{"id": f"d{i % max(size // 3, 1)}", "v": i} for i in range(size)]
    index = layout.open(size, id=KEY, v=INT)
    with index.batch():
        index.add_many(rows)
    view = layout.show(index)
    want = {row["id"]: row["v"] for row in rows}
    got = {row["id"]: row["v"] for row in view.search(limit=None).to_dicts()}
    same((got, len(view)), (want, len(want)), "values")


def kind_011(layout: Layout, size: int) -> None:
    """Keys are whole values, whatever is in them."""
    odd = ["test-1", "test", "TEST-1", "a b", "*", "a*", '"', "", "é", "e\u0301", "\0"]
    names = [odd[i] if i < len(odd) else f"{odd[i % 5]}{i}" for i in range(size)]
    index, _ = layout.fill(size, ({"id": name} for name in names), id=KEY)
    for name in names[:20]:
        same(index.delete(name), 1, repr(name))
        same(len(layout.show(index)), size - 1, repr(name))
        index.add({"id": name})


def kind_012(layout: Layout, size: int) -> None:
    """Rollback goes to the last hard commit; later work is sound."""
    index, _ = layout.fill(size, ({"id": key} for key in keys(size)), id=KEY)
    index.commit()
    index.add_many({"id": f"lost{i}"} for i in range(size))
    index.delete_by_query("*:*")
    index.commit(soft=True)
    index.rollback()
    same(index.search(limit=None, sort="_order").ids, keys(size), "rolled back")
    index.delete("d0")
    index.add({"id": "new"})
    view = layout.show(index)
    same(view.search(limit=None, sort="_order").ids, [*keys(size)[1:], "new"], "later")


def kind_023(layout: Layout, size: int) -> None:
    """Only negatives: everything except them."""
    rows = [
        {
            "id": key,
            "body": " ".join(w for p, w in ((2, "apple"), (3, "pear")) if i % p),
        }
        for i, key in enumerate(keys(size))
    ]
    _, view = layout.fill(size, rows, id=KEY, body=TEXT)
    no_apple = [row["id"] for row in rows if "apple" not in row["body"]]
    neither = [row["id"] for row in rows if row["body"] == ""]
    for query, want in (
        ("-apple", no_apple), ("NOT body:apple", no_apple), (~Q.term("body", "apple"),
        no_apple), ("-apple -pear", neither), ("-apple AND -pear", neither),
        ("*:* -apple", no_apple), (Q.bool(must_not=Q.term("body", "apple")), []),
    ):  # fmt: skip
        same(view.search(query, limit=None, sort="_order").ids, want, str(query))


def _letters(size: int, seed: int) -> list[dict[str, str]]:
    rng = random.Random(f"{size}/{seed}")
    return [
        {"id": key, "body": " ".join(sorted({rng.choice("abcde") for _ in range(3)}))}
        for key in keys(size)
    ]


def kind_024(layout: Layout, size: int) -> None:
    """must and must_not are set difference, also with terms that nobody holds."""
    rows = _letters(size, 24)
    _, view = layout.fill(size, rows, id=KEY, body=TEXT)
    for must, never in (
        ("a", "c"),
        ("ab", "c"),
        ("a", "zb"),
        ("abc", "de"),
        ("a", "z"),
    ):
        query = Q.bool(must=[Q.term("body", c) for c in must],
                       must_not=[Q.term("body", c) for c in never])  # fmt: skip
        want = [
            row["id"] for row in rows
            if all(c in row["body"] for c in must)
            and not any(c in row["body"] for c in never)
        ]  # fmt: skip
        same(view.search(query, limit=None, sort="_order").ids, want, str(query))


def kind_026(layout: Layout, size: int) -> None:
    """OR with a negated side is a union; the bare tree matches nothing there."""
    rows = _letters(size, 26)
    _, view = layout.fill(size, rows, id=KEY, body=TEXT)
    a, b = Q.term("body", "a"), Q.term("body", "b")
    want = [row["id"] for row in rows if "a" in row["body"] or "b" not in row["body"]]
    for query in (a | ~b, "a OR (*:* -b)", Q.bool(should=[a, ~b])):
        same(view.search(query, limit=None, sort="_order").ids, want, str(query))
    bare = Q.bool(should=[a, Q.bool(must_not=b)])
    want = [row["id"] for row in rows if "a" in row["body"]]
    same(view.search(bare, limit=None, sort="_order").ids, want, "the bare tree")


def kind_041(layout: Layout, size: int) -> None:
    """Ranges compare numbers, negatives and all."""
    rng = random.Random(size)
    values = [rng.choice((rng.randrange(-400, 1200), rng.randrange(-9, 99)))
              for _ in range(size)]  # fmt: skip
    docs = ({"id": f"d{i}", "n": v} for i, v in enumerate(values))
    _, view = layout.fill(size, docs, id=KEY, n=INT)
    for low, high in ((800, None), (None, 9), (-300, -5), (9, 80), (10, 5), (0, 0)):
        words = f"n:[{'*' if low is None else low} TO {'*' if high is None else high}]"
        low, high = -(10**9) if low is None else low, 10**9 if high is None else high
        want = [f"d{i}" for i, v in enumerate(values) if low <= v <= high]
        same(view.search(words, limit=None, sort="_order").ids, want, words)
        inner = Q.range("n", gt=low, lt=high)
        want = [f"d{i}" for i, v in enumerate(values) if low < v < high]
        same(view.search(inner, limit=None, sort="_order").ids, want, str(inner))


def kind_042(layout: Layout, size: int) -> None:
    """Ranges over a field that many lack, runs of them included."""
    for has in (lambda i: i % 3, lambda i: i // 100 % 2, lambda i: i % 129 == 0):
        docs = ({"id": f"d{i}"} | ({"n": i} if has(i) else {}) for i in range(size))
        _, view = layout.fill(size, docs, id=KEY, n=INT)
        low, high = size // 4, size // 4 * 3
        want = [f"d{i}" for i in range(low, high + 1) if i < size and has(i)]
        found = view.search(f"n:[{low} TO {high}]", limit=None, sort="_order")
        same(found.ids, want, "range")
        count = sum(bool(has(i)) for i in range(size))
        same(view.count(Q.exists("n")), count, "exists")
        same(view.count(~Q.exists("n")), size - count, "not exists")


def kind_044(layout: Layout, size: int) -> None:
    """Exclusive bounds at the ends of the numbers."""
    least, most = -(2**63), 2**63 - 1
    values = [least, most, 0, least + 1, most - 1] + list(range(size))
    docs = ({"id": f"d{i}", "n": v} for i, v in enumerate(values))
    _, view = layout.fill(size, docs, id=KEY, n=INT)
    for bounds, test in (
        ({"gt": most}, lambda v: False), ({"lt": least}, lambda v: False),
        ({"gte": most}, lambda v: v == most), ({"lte": least}, lambda v: v == least),
        ({"gt": most - 1}, lambda v: v == most),
        ({"gt": least, "lt": most}, lambda v: least < v < most),
        ({"gt": 0, "lt": 1}, lambda v: False),
    ):  # fmt: skip
        same(view.count(Q.range("n", **bounds)), sum(map(test, values)), str(bounds))


def kind_045(layout: Layout, size: int) -> None:
    """A date without a time is the whole day at both ends."""
    day, begin = 86_400_000, 1_473_206_400_000  # 2016-09-07
    values = [begin + i * day // 4 + (i % 2) * (day // 4 - 1) for i in range(size)]
    docs = ({"id": f"d{i}", "d": v} for i, v in enumerate(values))
    _, view = layout.fill(size, docs, id=KEY, d=grebe.datetime())
    for words, low, high in (
        ("d:[2016-09-07 TO 2016-09-09]", begin, begin + 3 * day - 1),
        ("d:{2016-09-07 TO *]", begin + day, 1 << 62),
        ("d:[* TO 2016-09-08}", 0, begin + day - 1),
        ("d:2016-09-08", begin + day, begin + 2 * day - 1),
        (
            "d:[2016-09-07T00:00:00Z TO 2016-09-09T00:00:00Z}",
            begin,
            begin + 2 * day - 1,
        ),
    ):
        want = [f"d{i}" for i, v in enumerate(values) if low <= v <= high]
        same(
            view.search(words, where=words, limit=None, sort="_order").ids, want, words
        )
    query = Q.range("d", gte=begin + day)
    same(view.count(query), sum(v >= begin + day for v in values), "milliseconds")


def kind_047(layout: Layout, size: int) -> None:
    """A filter keeps its force in both sort orders."""
    docs = ({"id": f"d{i}", "n": i * 7 % 1009, "body": "x"} for i in range(size))
    _, view = layout.fill(size, docs, id=KEY, n=INT, body=TEXT)
    values = [i * 7 % 1009 for i in range(size)]
    half = 300
    for way, want in (("desc", [v for v in values if v < half]),
                      ("asc", [v for v in values if v >= half])):  # fmt: skip
        where = f"n:[* TO {half}}}" if way == "desc" else f"n:[{half} TO *]"
        hits = view.search("x", where=where, sort=f"n {way}", limit=1)
        best = sorted(want, reverse=way == "desc")[:1]
        same([hit["n"] for hit in hits], best, way)
        same(hits.total, len(want), way)


def kind_048(layout: Layout, size: int) -> None:
    """Sorting works for any number of documents."""
    step = next(s for s in range(37, 100) if math.gcd(s, size) == 1)
    order = [i * step % size for i in range(size)]
    docs = ({"id": str(n), "n": n, "s": f"{n:06}"} for n in order)
    _, view = layout.fill(size, docs, id=KEY, n=INT, s=WORD)
    up = [str(i) for i in range(size)]
    same(view.search(sort="n", limit=None).ids, up, "n")
    same(view.search(sort="s desc", limit=None).ids, up[::-1], "s desc")
    last = view.search(sort="n desc", offset=max(size - 5, 0), limit=10).ids
    same(last, up[::-1][max(size - 5, 0) :], "the last page")
    same(view.search(sort="n desc", limit=10).ids, up[::-1][:10], "the first page")


def _paged(view: grebe.Index | grebe.Searcher, sort: str, rows: int) -> list[str]:
    hits = view.search(sort=sort, limit=rows)
    found = list(hits.ids)
    while hits.cursor is not None:
        hits = view.search(sort=sort, limit=rows, after=hits.cursor)
        found += hits.ids
    return found


def kind_050(layout: Layout, size: int) -> None:
    """Cursors over documents without the sort value."""
    docs = ({"id": f"{i:06}"} | ({"n": i * 10} if i % 4 else {}) for i in range(size))
    _, view = layout.fill(size, docs, id=KEY, n=INT)
    there = [f"{i:06}" for i in range(size) if i % 4]
    lacking = [f"{i:06}" for i in range(size) if i % 4 == 0]
    for sort, want in (("n, id", there + lacking), ("n desc, id", there[::-1] + lacking),
                       ("n missing first, id", lacking + there)):  # fmt: skip
        same(_paged(view, sort, max(size // 6, 2)), want, sort)


def kind_051(layout: Layout, size: int) -> None:
    """Cursors skip nothing that is equal to them."""
    docs = ({"id": f"{i:06}", "n": i // 50} for i in range(size))
    _, view = layout.fill(size, docs, id=KEY, n=INT)
    want = [f"{i:06}" for i in range(size)]
    for sort in ("n", "n, id"):
        same(_paged(view, sort, max(size // 9, 7)), want, sort)


def kind_053(layout: Layout, size: int) -> None:
    """No rows, rows beyond the end, bad numbers."""
    _, view = layout.fill(
        size, ({"id": k, "b": "a"} for k in keys(size)), id=KEY, b=TEXT
    )
    same((view.search("a", limit=0).ids, view.search("a", limit=0).total), ([], size))
    same(view.search("a", limit=10**6).ids, keys(size), "a million rows")
    same(view.search("a", offset=size).ids, [], "behind the end")
    same(view.search("a", offset=size - 1).ids, keys(size)[-1:], "the last")
    for bad in ({"limit": -1}, {"offset": -1}):
        try:
            view.search("a", **bad)
        except ValueError:
            continue
        same("answered", "ValueError", str(bad))
    try:
        view.search("a", offset=2**31, limit=2**31)
    except grebe.LimitError:
        return
    same("answered", "LimitError", "two thousand million")


def kind_054(layout: Layout, size: int) -> None:
    """A value held twice by a document counts once."""
    rng = random.Random(size)
    rows = [
        {"id": key, "c": [rng.choice("rgb") for _ in range(rng.randrange(5))]}
        for key in keys(size)
    ]
    _, view = layout.fill(size, rows, id=KEY, c=grebe.keyword(many=True))
    want = Counter(c for row in rows for c in set(row["c"]))
    same(dict(view.search(facets=["c"]).facets["c"]), dict(want), "facet")
    chosen = Counter(c for row in rows if "r" in row["c"] for c in set(row["c"]))
    same(dict(view.search("c:r", facets=["c"]).facets["c"]), dict(chosen), "of r")


def kind_056(layout: Layout, size: int) -> None:
    """Facets agree with the hits, after filters and deletes."""
    rows = [{"id": f"d{i}", "g": f"g{i % 4}", "n": i % 10} for i in range(size)]
    index, _ = layout.fill(size, rows, id=KEY, g=WORD, n=INT)
    index.delete_by_query("g:g1 AND n:[0 TO 6]")
    index.delete_many([f"d{i}" for i in range(0, size, 7)])
    view = layout.show(index)
    live = [
        row for i, row in enumerate(rows)
        if i % 7 and not (row["g"] == "g1" and row["n"] <= 6)
    ]  # fmt: skip
    for where, test in (
        (None, lambda r: True),
        ("n:[3 TO 8]", lambda r: 3 <= r["n"] <= 8),
    ):
        hits = view.search(where=where, facets=["g", "n"], limit=0)
        left = [row for row in live if test(row)]
        for name in ("g", "n"):
            same(dict(hits.facets[name]), dict(Counter(r[name] for r in left)), name)
            same(sum(hits.facets[name].values()), hits.total, "sum")


def kind_064(layout: Layout, size: int) -> None:
    """NUL stands in values like any character."""
    names = ["aaa" + "\0" * (i % 9) + ("b" * (i // 9)) for i in range(size)]
    docs = (
        {"id": f"d{i}", "k": k, "b": f"x{chr(0) * 9}{i}"} for i, k in enumerate(names)
    )
    _, view = layout.fill(size, docs, id=KEY, k=WORD, b=TEXT)
    for i in range(0, size, max(size // 20, 1)):
        same(view.search(Q.term("k", names[i])).ids, [f"d{i}"], repr(names[i]))
        same(view.search(f"b:{i}").ids, [f"d{i}"], "the word behind")
        same(view.get(f"d{i}")["k"], names[i], "stored")


def kind_066(layout: Layout, size: int) -> None:
    """A long value is found by itself alone, or refused."""
    lengths = [250, 255, 256, 257, 4096, 32_765, 32_766, 32_767, 70_000]
    index, taken = layout.open(size, id=KEY, k=WORD, b=TEXT), []
    for length in lengths[: max(size, 3)]:
        for last in "xy":
            value = "a" * (length - 1) + last
            try:
                index.add({"id": f"{length}{last}", "k": value, "b": value + " tail"})
                taken.append((f"{length}{last}", value))
            except (grebe.DocumentError, grebe.LimitError):
                same(length > 32_766, True, f"{length} refused")
    view = layout.show(index)
    for key, value in taken:
        same(view.search(Q.term("k", value)).ids, [key], key)
    same(view.count("b:tail"), len(taken), "the word behind")


def kind_069(layout: Layout, size: int) -> None:
    """No phrase across two values unless the slop spans the gap."""
    docs = (
        {"id": key, "names": ["John Abraham", "Lincoln Smith"] if i % 2 else
         ["Abraham Lincoln"]} for i, key in enumerate(keys(size))
    )  # fmt: skip
    _, view = layout.fill(size, docs, id=KEY, names=grebe.text(many=True))
    near = (size + 1) // 2
    for slop, want in ((0, near), (50, near), (99, near), (100, size), (101, size)):
        same(view.count(Q.phrase("names", "abraham lincoln", slop)), want, str(slop))
    same(view.count(Q.phrase("names", "lincoln smith")), size // 2, "one value")


def kind_071(layout: Layout, size: int) -> None:
    """Empty fields give real scores."""
    texts = ["", "   ", "...", "x", "x x y"]
    rows = [{"id": f"d{i}", "b": texts[i % 5]} for i in range(size)]
    index, view = layout.fill(size, rows, id=KEY, b=TEXT)
    want = sum("x" in row["b"] for row in rows)
    for query, total in (
        ("x", want),
        (Q.bool(should=[Q.match("b", "x"), Q.all()]), size),
    ):
        hits = view.search(query, limit=None)
        same(hits.total, total, str(query))
        same(all(math.isfinite(s) and s >= 0 for s in hits.scores), True, "scores")
        same(all("x" in hit["b"] for hit in hits[:want]), True, "the best")
    index.delete_by_query("x")
    same(layout.show(index).count("x"), 0, "after deleting them")


KINDS: dict[str, tuple[Kind, tuple[int, ...]]] = {
    "PB-" + name[5:]: (function, SMALL if name[5:] in ("002", "011", "066") else SIZES)
    for name, function in list(globals().items())
    if name.startswith("kind_")
}
