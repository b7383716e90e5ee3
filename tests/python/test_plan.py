"""What `search(..., plan=True).plan` says: what was chosen, and what it cost."""

import grebe
import pytest

Q = grebe.Q
DOCS = 40_000
SCHEMA = {
    "id": grebe.key("int"),
    "body": grebe.text(analyzer="whitespace"),
    "n": grebe.int_(),
}
NAMES = {
    "pass",
    "pass_reason",
    "method",
    "reason",
    "segment",
    "docs",
    "windows",
    "blocks",
    "matched",
    "scored",
    "positions",
    "work",
    "operators",
}


@pytest.fixture(scope="module")
def big():
    """40,000 documents in one segment: "often" in all, "half", "rare" in 1 of 400."""
    with grebe.Index(grebe.Schema(SCHEMA)) as ix:
        ix.add_many(
            {
                "id": i,
                "n": i,
                "body": "often " * (1 + i % 7)
                + "half " * (i % 2)
                + "rare " * (i % 400 == 0)
                + "x " * (i % 13),
            }
            for i in range(DOCS)
        )
        ix.commit()
        ix.merge()
        ix.commit()
        yield ix


def steps(ix, *args, **named):
    """(pass, method) of each step; the hits."""
    hits = ix.search(*args, plan=True, **named)
    plain = ix.search(*args, **named)
    assert plain.plan == []
    assert (list(plain.ids), plain.total) == (list(hits.ids), hits.total)
    for step in hits.plan:
        assert set(step) == NAMES
        assert step["reason"] and step["pass_reason"]
    return [(s["pass"], s["method"]) for s in hits.plan], hits


def term(word):
    return Q.term("body", word)


def test_one_term(big):
    got, hits = steps(big, term("often"))
    assert got == [("places", "block-max term"), ("total", "df")]
    best, total = hits.plan
    assert total["matched"] == hits.total == DOCS and total["blocks"] == 0
    assert best["docs"] == DOCS and best["segment"] == 0
    assert 0 < best["blocks"] < DOCS / 256 and 10 <= best["scored"] < DOCS / 2
    assert best["operators"] == [
        {"role": "query", "kind": "term", "field": "body", "kept": "", "docs": DOCS}
    ]


def test_any_and_all_of_several(big):
    got, hits = steps(big, term("often") | term("half"))
    assert got[0] == ("places", "maxscore") and got[1][0] == "total"
    assert hits.plan[0]["scored"] < DOCS
    assert "8192" in hits.plan[0]["pass_reason"]
    got, hits = steps(big, term("often") & term("half"))
    assert got[0] == ("places", "block-max and") and got[1] == ("total", "bitmaps")
    assert hits.plan[1]["matched"] == DOCS // 2 and hits.plan[1]["scored"] == 0
    got, hits = steps(big, term("rare") & term("half"), total=1)
    assert [method for _, method in got][0] == "list"
    assert "1 in 12" in hits.plan[0]["reason"]


def test_what_a_phrase_reads(big):
    got, hits = steps(big, Q.phrase("body", "often half"), limit=0)
    assert [p for p, _ in got] == ["total"]
    assert hits.plan[0]["positions"] >= DOCS
    assert hits.plan[0]["operators"][0]["kind"] == "phrase"


def test_orders_that_need_every_match(big):
    got, hits = steps(big, term("half"), sort="n desc", facets=["n"], total="exact")
    assert got[0][0] == "all" and "order" in hits.plan[0]["pass_reason"]
    got, hits = steps(big)
    assert got == [("all", "exhaustive")]
    assert hits.plan[0]["windows"] == 1  # and then the page is full
    assert steps(big, Q.none(), limit=3)[0] in ([], [("all", "none")])


def kept(ix, *args, **named):
    plan = ix.search(*args, plan=True, **named).plan
    return [o["kept"] for o in plan[0]["operators"] if o["role"] == "filter"]


def test_what_becomes_of_a_filter(big):
    few = Q.range("n", gte=500, lt=9000)
    for state in ("first use", "built", "hit", "hit"):
        assert kept(big, term("often") | term("half"), where=few) == [state]
    got, hits = steps(big, term("often") | term("half"), where=few)
    assert got == [("places", "maxscore"), ("total", "bitmaps")]
    order = [o["role"] for o in hits.plan[0]["operators"]]
    assert order == ["filter", "query"]  # 8,500 documents before 40,000
    assert steps(big, term("rare"), where=few)[0] == [("all", "list through filters")]
    assert steps(big, where=few, limit=0)[0] == [("total", "kept count")]
    assert kept(big, Q.bool(must=[term("often")], filter=[few])) == ["hit"]
    assert kept(big, term("often"), where=term("half")) == ["not worth it"]


def test_without_a_cache_it_is_off():
    with grebe.Index(grebe.Schema(SCHEMA), filter_cache=0) as ix:
        ix.add_many({"id": i, "n": i, "body": "often"} for i in range(10))
        ix.commit()
        assert kept(ix, term("often"), where=Q.range("n", lt=5)) == ["off"]


def test_a_step_for_each_segment():
    with grebe.Index(grebe.Schema(SCHEMA), docs_max=100, merging="manual") as ix:
        for i in range(450):
            ix.add({"id": i, "n": i, "body": "often" if i < 250 else "half"})
        ix.commit()
        got, hits = steps(ix, term("often"), where=Q.range("n", lt=10_000))
        segments = ix.stats()["segments"]
        assert [s["segment"] for s in hits.plan] == list(range(segments))
        assert sum(s["docs"] for s in hits.plan) == 450
        assert sum(s["matched"] for s in hits.plan) == 250
        assert ("all", "none") in got
        got, hits = steps(ix, limit=5)
        assert got == [("all", "exhaustive"), *[("all", "skipped")] * (segments - 1)]
