"""Merges that lay documents in another order: every answer stays the same."""

import random

import grebe
import pytest

QUERIES = (
    None,
    "w0",
    "w1 w5",
    "+w1 +w2",
    "+w0 w7",
    "w3 -w0",
    '"w0 w1"',
    "n:[10 TO 60]",
    "w*",
)
SORTS = (None, "_order", "_order desc", "n", "n desc", "lang", "lang desc, n", "x desc")


def filled(seed, unique):
    rng = random.Random(seed)
    key = {"id": grebe.key()} if unique else {}
    ix = grebe.open(
        None,
        {
            **key,
            "body": grebe.text(),
            "lang": grebe.keyword(),
            "tags": grebe.keyword(many=True),
            "n": grebe.int_(),
            "x": grebe.float_(),
            "v": grebe.int_(),
        },
        docs_max=500,
    )
    for i in range(1500):
        words = rng.choices(range(12), [2 ** (12 - w) for w in range(12)], k=9)
        doc = {"body": " ".join(f"w{w}" for w in words), "v": i}
        if unique:
            doc["id"] = str(rng.randrange(1300))
        if rng.random() < 0.8:
            doc |= {"n": rng.randrange(100), "lang": rng.choice("abc")}
        if rng.random() < 0.5:
            doc |= {"x": rng.random(), "tags": rng.sample("pqrs", 2)}
        ix.add(doc)
    ix.commit()
    return ix


def pages(ix, query, sort, limit):
    answer, after = [], None
    for _ in range(4):
        hits = ix.search(query, sort=sort, limit=limit, after=after)
        scores = [repr(h.score) for h in hits]
        answer.append(([h["v"] for h in hits], scores, hits.total))
        after = hits.cursor
        if after is None:
            break
    return answer


@pytest.mark.parametrize("order", ["graph", "n", "+lang", "-x", "-v"])
@pytest.mark.parametrize("unique", [True, False])
def test_answers_do_not_depend_on_the_order(order, unique):
    with filled(7, unique) as plain, filled(7, unique) as other:
        plain.merge()
        other.merge(order)
        for more in (False, True):
            for ix in (plain, other):
                if more:  # a later merge joins what was ordered with the rest
                    for i in range(600):
                        key = {"id": f"more{i}"} if unique else {}
                        ix.add({**key, "body": "w0 w1", "n": i % 7, "v": 5000 + i})
                    ix.merge()
                ix.commit()
            for query in QUERIES:
                for sort in SORTS:
                    for limit in (3, 20):
                        got = pages(other, query, sort, limit)
                        assert got == pages(plain, query, sort, limit), (query, sort)
            if unique:
                for key in map(str, range(0, 1300, 50)):
                    assert plain.get(key) == other.get(key)


def shuffled(order, same):
    """50,000 documents, `same` of each value, laid by `order`."""
    values = [i // same for i in range(50_000)]
    random.Random(3).shuffle(values)
    ix = grebe.open(None, {"t": grebe.text(), **dict.fromkeys("nv", grebe.int_())})
    ix.add_many(
        {"t": "a" if i % 3 else "a b", "n": n, "v": i} for i, n in enumerate(values)
    )
    ix.merge(order)
    ix.commit()
    return ix


@pytest.mark.parametrize(("order", "sort"), [("n", "n"), ("-n", "n desc")])
def test_a_search_in_the_order_of_the_segment_ends_early(order, sort):
    # Windows of 4,096: that of the page, and those that share its last value.
    for same, most in ((1, 1), (100, 2), (9_000, 3)):
        with shuffled(order, same) as ix, shuffled(None, same) as plain:
            for query in (None, "b"):
                for total in (1, "exact"):
                    named = {"sort": sort, "total": total, "limit": 10}
                    hits = ix.search(query, plan=True, **named)
                    assert hits.plan[0]["windows"] <= most
                    wanted = plain.search(query, **named)
                    assert [h["v"] for h in hits] == [h["v"] for h in wanted]


def test_equal_values_of_many_windows_go_by_insertion():
    for same in (9_000, 50_000):
        with shuffled("-v", same) as ix, shuffled(None, same) as plain:
            for sort in ("n", "n desc", "_order"):
                for total in (1, "exact"):
                    named = {"sort": sort, "total": total, "limit": 10}
                    wanted = [h["v"] for h in plain.search("b", **named)]
                    assert [h["v"] for h in ix.search("b", **named)] == wanted


def test_the_order_is_on_disk(tmp_path):
    with grebe.open(tmp_path / "x", {"n": grebe.int_(), "t": grebe.text()}) as ix:
        for n in (5, 3, 9, 3):
            ix.add({"n": n, "t": "a"})
        ix.merge("n")
    assert grebe.check(tmp_path / "x")
    with grebe.open(tmp_path / "x") as ix:
        assert [h["n"] for h in ix.search("a")] == [5, 3, 9, 3]
        assert [h["n"] for h in ix.search(sort="n desc")] == [9, 5, 3, 3]


def test_orders_that_are_none_are_refused():
    fields = {"id": grebe.key(), "t": grebe.text(), "ns": grebe.int_(many=True)}
    with grebe.open(None, fields) as ix:
        ix.add({"id": "1", "t": "a"})
        for order in ("t", "-t", "ns", "nothing"):
            with pytest.raises(grebe.SchemaError):
                ix.merge(order)
        for order in ("", "-"):
            with pytest.raises(ValueError):
                ix.merge(order)
        with pytest.raises(ValueError):
            ix.merge("graph", memory_max=1000)
        ix.merge("graph")
        ix.commit()
        assert len(ix) == 1


def test_a_limit_that_is_too_small_loses_nothing():
    with grebe.open(None, {"t": grebe.text(), "n": grebe.int_()}) as ix:
        for n in range(60000):
            ix.add({"t": "a", "n": n})
        with pytest.raises(grebe.LimitError):
            ix.merge("-n", memory_max=1 << 20)
        ix.commit()
        assert len(ix) == 60000
