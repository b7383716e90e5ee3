"""Hits: a page as a sequence, a hit as a mapping, arrays without copies."""

from collections.abc import Mapping, Sequence

import grebe
import pytest

Q = grebe.Q


def test_a_page_is_an_immutable_sequence(books):
    hits = books.search("old", sort="year")
    assert isinstance(hits, Sequence)
    assert len(hits) == hits.total == 2
    assert [h.id for h in hits] == hits.ids == ["1", "2"]
    assert hits[0].id == hits[-2].id == "1"
    assert [h.id for h in hits[::-1]] == ["2", "1"]
    assert [h.id for h in reversed(hits)] == ["2", "1"]
    assert hits[1:] == [hits[1]]
    assert hits[0] in hits
    assert hits.index(hits[1]) == 1
    assert hits.count(hits[1]) == 1
    for place in (2, -3, 10**30):
        with pytest.raises(IndexError):
            hits[place]
    with pytest.raises((TypeError, AttributeError)):
        hits["1"]
    with pytest.raises(TypeError):
        hits[0] = 1
    with pytest.raises(AttributeError):
        hits.total = 5


def test_iterators_of_one_page_are_independent(books):
    hits = books.search(sort="year")
    pairs = [(a.id, b.id) for a in hits for b in hits]
    assert len(pairs) == 16
    one, two = iter(hits), iter(hits)
    next(one)
    assert next(two).id == "1"
    assert next(one).id == "2"


def test_a_hit_is_a_read_only_mapping(books):
    hit = books.search("plan")[0]
    assert isinstance(hit, Mapping)
    assert dict(hit) == {
        "id": "3",
        "title": "New Man",
        "body": "a man, a plan",
        "year": 2001,
    }
    assert hit["year"] == 2001
    assert hit.get("price") is None
    assert "title" in hit and "price" not in hit
    assert len(hit) == 4
    with pytest.raises(KeyError):
        hit["price"]
    with pytest.raises(TypeError):
        hit["year"] = 1
    assert hit.score > 0
    assert "plan" in repr(hit)


def test_to_dicts_gives_plain_dicts(books):
    rows = books.search(sort="year", limit=2).to_dicts()
    assert [type(row) for row in rows] == [dict, dict]
    assert rows[0]["tags"] == ["sea", "man"]


def test_scores_are_a_buffer_of_floats_without_a_copy(books):
    hits = books.search("old man")
    scores = hits.scores
    assert scores.format == "f" and scores.readonly and scores.itemsize == 4
    assert list(scores) == [hit.score for hit in hits]
    assert list(scores) == sorted(scores, reverse=True)
    del hits
    assert all(score > 0 for score in scores)


def test_numpy_takes_scores_as_they_lie(books):
    numpy = pytest.importorskip("numpy")
    hits = books.search("old man")
    array = numpy.asarray(hits.scores)
    assert array.dtype == numpy.float32 and array.shape == (len(hits),)
    assert not array.flags.owndata and not array.flags.writeable
    assert numpy.asarray(books.search("zzz").scores).shape == (0,)


def test_stored_fields_can_be_read_after_the_index_is_closed(books):
    hits = books.search("old", sort="year", highlight=["title"], facets=["tags"])
    scores = hits.scores
    books.close()
    assert hits[0]["title"] == "The Old Man"
    assert hits.ids == ["1", "2"]
    assert hits[0].highlights == {"title": ["The <em>Old</em> Man"]}
    assert hits.facets["tags"]["sea"] == 2
    assert len(scores) == 2


def test_stored_fields_can_be_read_after_everything_changed(books):
    hits = books.search("old", sort="year")
    books.delete_by_query(Q.all())
    books.commit()
    books.merge()
    books.commit()
    assert [hit["title"] for hit in hits] == ["The Old Man", "Old Sea Stories"]


def test_facets_are_ordered_and_typed(books):
    hits = books.search(facets={"tags": 10, "year": {"sort": "value", "limit": None}})
    assert list(hits.facets["tags"].items()) == [("sea", 2), ("man", 1)]
    assert list(hits.facets["year"]) == [1952, 1990, 2001, 2020]
    assert hits.facets["tags"].missing is None
    with pytest.raises(KeyError):
        hits.facets["title"]
    assert "nope" not in hits.facets["tags"]
    missing = books.search(facets={"tags": {"missing": True, "prefix": "s"}})
    assert missing.facets["tags"] == {"sea": 2}
    assert missing.facets["tags"].missing == 2
    few = books.search(facets={"tags": {"mincount": 2}}).facets["tags"]
    assert few == {"sea": 2}
    rest = books.search(facets={"tags": {"offset": 1}}).facets["tags"]
    assert rest == {"man": 1}
    flags = books.search(facets="draft").facets["draft"]
    assert flags == {True: 1} and type(next(iter(flags))) is bool


@pytest.mark.parametrize(
    "how",
    [
        {"limit": 0},
        {"limit": -1},
        {"offset": -1},
        {"sort": "size"},
        {"mincount": -1},
    ],
)
def test_a_facet_option_out_of_range_is_a_value_error(books, how):
    with pytest.raises(ValueError):
        books.search(facets={"tags": how})


def test_an_unknown_facet_option_is_a_type_error(books):
    with pytest.raises(TypeError):
        books.search(facets={"tags": {"size": 5}})
    with pytest.raises(TypeError):
        books.search(facets={"tags": "10"})
    with pytest.raises(TypeError):
        books.search(facets=[5])


def test_highlights_take_their_marks_and_are_empty_without_a_match(books):
    hits = books.search(
        "old",
        sort="year",
        highlight=[grebe.Highlight("title", pre="[", post="]"), "body"],
    )
    assert hits[0].highlights == {"title": ["The [Old] Man"], "body": []}


def test_highlights_escape_html_if_asked_to(ix):
    ix.add({"id": "1", "title": "a <b> old & new"})
    ix.commit(soft=True)
    plain = ix.search("old", highlight="title")[0].highlights["title"]
    assert plain == ["a <b> <em>old</em> & new"]
    html = grebe.Highlight("title", encoder="html")
    assert ix.search("old", highlight=html)[0].highlights["title"] == [
        "a &lt;b&gt; <em>old</em> &amp; new"
    ]


def test_pages_follow_the_cursor_to_the_end(books):
    seen, cursor = [], None
    while True:
        hits = books.search(sort="year", limit=3, after=cursor)
        seen += hits.ids
        cursor = hits.cursor
        if cursor is None:
            break
        assert cursor.isprintable()
    assert seen == ["1", "2", "3", "4"]


def test_a_cursor_is_refused_under_another_sort(books):
    cursor = books.search(sort="year", limit=1).cursor
    with pytest.raises(ValueError):
        books.search(sort="year desc", after=cursor)
    with pytest.raises(ValueError):
        books.search(sort="year", after=cursor, offset=1)
    with pytest.raises(ValueError):
        books.search(after="rubbish")


def test_without_a_key_ids_raise_and_id_is_none():
    with grebe.Index(grebe.Schema(a=grebe.text())) as ix:
        ix.add({"a": "x"})
        ix.add({"a": "x"})
        ix.commit(soft=True)
        hits = ix.search("x")
        assert [hit.id for hit in hits] == [None, None]
        with pytest.raises(grebe.SchemaError):
            hits.ids  # noqa: B018
        with pytest.raises(grebe.SchemaError):
            ix.get("x")


def test_int_keys_come_back_as_ints():
    with grebe.Index(grebe.Schema(n=grebe.key("int"))) as ix:
        ix.add_many({"n": i} for i in (5, -1, 7))
        ix.commit(soft=True)
        assert ix.search(sort="n").ids == [-1, 5, 7]
        assert ix.search(sort="n", limit=0).ids == []


def test_load_leaves_the_other_stored_fields_out(books):
    hit = books.search("plan", load=["year", "price"])[0]
    assert dict(hit) == {"year": 2001}
    assert dict(books.search("plan", load="year")[0]) == {"year": 2001}
    assert dict(books.search("plan", load=[])[0]) == {}
    with pytest.raises(grebe.SchemaError):
        books.search("plan", load=["nope"])
    with pytest.raises(TypeError):
        books.search("plan", load=[1])


def test_hits_show_themselves(books):
    hits = books.search("old", limit=1)
    assert repr(hits) == "<grebe.Hits 1 of 2>"
    assert "<table>" in hits._repr_html_()
    assert hits.took >= 0
    assert not hits.partial
    assert hits.total_is_exact


def test_hits_can_be_neither_pickled_nor_copied(books):
    import copy
    import pickle

    hits = books.search("old")
    for act in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError):
            act(hits)
