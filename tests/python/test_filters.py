"""What is kept of filters: counted, bounded, out of the way of deletes."""

import grebe
import pytest

Q = grebe.Q
SCHEMA = {"id": grebe.key("int"), "body": grebe.text(), "n": grebe.int_()}
DOCS = 6000


@pytest.fixture(params=[":memory:", "mmap", "pread", "ram"])
def numbers(request, tmp_path):
    """6,000 documents in one segment that no longer grows."""
    where, more = ":memory:", {}
    if request.param != ":memory:":
        where, more = tmp_path / "ix", {"store": request.param}
    with grebe.open(where, grebe.Schema(SCHEMA), durability="none", **more) as ix:
        fill(ix)
        yield ix


def fill(ix):
    ix.add_many(
        {"id": i, "body": "even" if i % 2 == 0 else "odd", "n": i} for i in range(DOCS)
    )
    ix.commit()
    ix.merge()
    ix.commit()


def kept(ix):
    stats = ix.stats()
    return {k[7:]: v for k, v in stats.items() if k.startswith("filter_")}


def test_the_second_use_keeps_and_the_third_finds(numbers):
    few = Q.range("n", gte=100, lt=300)
    for use in range(4):
        hits = numbers.search("even", where=few)
        assert hits.total == 100
        assert kept(numbers)["hits"] == max(use - 1, 0)
    numbers.search("odd", where=Q.range("n", gte=100, lt=300), limit=0)
    got = kept(numbers)
    assert (got["hits"], got["misses"], got["evictions"]) == (3, 1, 0)
    assert 0 < got["bytes"] < 1000


def test_filter_clauses_and_constants_are_kept_too(numbers):
    few = Q.range("n", lt=50)
    for query in (
        Q.bool(must=[Q.term("body", "odd")], filter=[few]),
        Q.bool(must=[Q.term("body", "odd")], must_not=[Q.range("n", gte=50)]),
        Q.constant(few, 2.0),
    ):
        before = kept(numbers)["hits"]
        totals = {numbers.search(query).total for _ in range(4)}
        assert len(totals) == 1
        assert kept(numbers)["hits"] > before


def test_what_is_kept_outlives_deletes_and_commits(numbers):
    few = Q.range("n", gte=100, lt=300)
    for _ in range(3):
        assert numbers.search(where=few).total == 200
    old = numbers.searcher()
    hits = kept(numbers)["hits"]
    for i in range(100, 110):
        numbers.delete(i)
        numbers.commit(soft=True)
        assert numbers.search(where=few).total == 199 - (i - 100)
        assert old.search(where=few).total == 200
    got = kept(numbers)
    assert (got["hits"], got["misses"]) == (hits + 20, 1)
    numbers.add({"id": 103, "body": "even", "n": 150})  # in a growing segment
    numbers.commit(soft=True)
    assert numbers.search(where=few).total == 191


def test_a_branch_shares_it_and_a_merge_ends_it(numbers):
    few = Q.range("n", gte=100, lt=300)
    for _ in range(2):
        numbers.search(where=few)
    with numbers.branch() as branch:
        assert branch.search(where=few).total == 200
        assert kept(branch)["hits"] == kept(numbers)["hits"] == 1
    numbers.delete(5)
    numbers.commit()
    numbers.merge()
    numbers.commit()
    assert kept(numbers)["bytes"] == 0
    assert numbers.search(where=few).total == 200
    assert kept(numbers)["misses"] == 2


def test_a_key_is_never_kept(numbers):
    one = Q.bool(should=[Q.term("id", 7), Q.range("n", gte=5990)])
    for _ in range(3):
        assert numbers.search(where=one).total == 11
    numbers.delete(7)
    numbers.commit(soft=True)
    assert numbers.search(where=one).total == 10
    assert kept(numbers)["hits"] == kept(numbers)["bytes"] == 0


def test_the_room_is_bounded():
    with grebe.Index(grebe.Schema(SCHEMA), filter_cache=65536) as ix:
        fill(ix)
        for step in range(2, 200):
            odd = Q.bool(should=[Q.range("n", lt=i * step, gte=i * step - 1)
                                 for i in range(1, 30)])  # fmt: skip
            totals = {ix.search(where=odd).total for _ in range(3)}
            assert len(totals) == 1
        got = kept(ix)
        assert 0 < got["bytes"] <= 65536
        assert got["evictions"] > 0 and got["hits"] == 198


def test_none_is_kept_without_room():
    with grebe.Index(grebe.Schema(SCHEMA), filter_cache=0) as ix:
        fill(ix)
        for _ in range(4):
            ix.search(where=Q.range("n", lt=50))
        assert kept(ix) == {"hits": 0, "misses": 0, "evictions": 0, "bytes": 0}


@pytest.mark.parametrize("wrong", [1, 65535, 2**40 + 1])
def test_the_range_of_the_setting(wrong):
    with pytest.raises(ValueError, match="65536 to 1099511627776"):
        grebe.Index(grebe.Schema(SCHEMA), filter_cache=wrong)


def test_pages_behind_a_cursor_are_those_of_one_search(numbers):
    few = Q.range("n", gte=100, lt=3000)
    numbers.search(where=few)
    whole = numbers.search("even odd", where=few, limit=None, facets=["n"])
    got, after = [], None
    while True:
        page = numbers.search(
            "even odd", where=few, limit=400, after=after, facets=["n"]
        )
        assert page.total == 2900
        assert page.facets == whole.facets
        got += page.ids
        after = page.cursor
        if after is None:
            break
    assert got == list(whole.ids)
