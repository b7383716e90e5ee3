"""Small inputs that the random operations of tests/model once failed on."""

import datetime

import grebe
import pytest


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "index")


def test_an_open_reader_gives_back_fields_that_the_writer_added(path):
    with grebe.open(path, grebe.Schema(id=grebe.key())) as ix:
        ix.add({"id": "1"})
        ix.commit()
        with grebe.open(path, mode="r") as reader:
            assert reader.get("1") == {"id": "1"}
            ix.add_fields(n=grebe.int_(default=7))
            ix.add({"id": "2"})
            ix.commit()
            assert reader.search("n:7").to_dicts() == [{"id": "2", "n": 7}]
            assert reader.get("2") == {"id": "2", "n": 7}
            assert "n" in reader.schema


def test_a_restore_brings_back_fields_that_a_rollback_took(path):
    with grebe.open(path, grebe.Schema(id=grebe.key())) as ix:
        ix.add_fields(e=grebe.keyword())
        ix.add({"id": "1", "e": "abc"})
        snapshot = ix.snapshot()
        ix.rollback()
        ix.restore(snapshot)
        assert ix.get("1") == {"id": "1", "e": "abc"}
        ix.add({"id": "2", "e": "abc"})


def test_the_empty_term_is_listed_as_a_string():
    ix = grebe.Index(grebe.Schema(id=grebe.key(), k=grebe.keyword()))
    ix.add({"id": "1", "k": ""})
    ix.commit()
    assert ix.terms("k") == [("", 1)]


def test_queries_take_dates_as_milliseconds():
    ix = grebe.Index(grebe.Schema(id=grebe.key(), d=grebe.datetime()))
    ix.add(
        {"id": "1", "d": datetime.datetime(1970, 1, 2, tzinfo=datetime.timezone.utc)}
    )
    ix.commit()
    assert ix.count(grebe.Q.term("d", 86_400_000)) == 1
    assert ix.count(grebe.Q.range("d", gt=86_400_000)) == 0
    assert ix.count(grebe.Q.range("d", gte=0, lt=86_400_001)) == 1


def test_a_word_asked_for_twice_weighs_the_same_in_every_form():
    ix = grebe.Index(grebe.Schema(id=grebe.key(), t=grebe.text()))
    rows = ["quick fox of fox sky", "fox of", "sky of fox fox fox fox quick", "stone"]
    ix.add_many({"id": str(i), "t": text} for i, text in enumerate(rows))
    ix.commit()

    def scores(*should):
        return list(ix.search(grebe.Q.bool(should=list(should))).scores)

    match, term = grebe.Q.match, grebe.Q.term
    any_of, of = match("t", "sky fox", "or"), term("t", "of")
    twice = scores(any_of, match("t", "fox fox", "and"), of)
    assert twice == scores(any_of, grebe.Q.boost(term("t", "fox"), 2.0), of)
    thrice = grebe.Q.boost(term("t", "fox"), 3.0)
    assert twice == scores(term("t", "sky"), thrice, of)
    nothing = grebe.Q.none()
    assert twice == scores(grebe.Q.bool(should=[nothing, any_of]), nothing, of,
                           match("t", "fox fox", "and"))  # fmt: skip
