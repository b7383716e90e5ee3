"""Arguments of a search, queries as objects, terms and tokens."""

import datetime as dt
import time

import grebe
import pytest

Q = grebe.Q


def ids(ix, *args, **named):
    return sorted(ix.search(*args, **named).ids)


def test_none_is_all_and_blank_is_nothing(books):
    assert ids(books) == ["1", "2", "3", "4"]
    assert ids(books, "") == ids(books, "  ") == []


def test_a_text_never_raises(books):
    for text in ("(", "title:", "nosuch:old", 'a"b', "[", "old AND", "^", "\\", "\0"):
        books.search(text)
    assert ids(books, "nosuch:x old (") == ["1", "2"]


def test_strict_places_raise(books):
    for act in (
        lambda: books.search(where="(old"),
        lambda: books.search(where="nosuch:1"),
        lambda: books.delete_by_query("nosuch:1"),
        lambda: grebe.parse("nosuch:1", books),
        lambda: books.explain("1", "nosuch:1"),
    ):
        with pytest.raises(grebe.QuerySyntaxError) as caught:
            act()
        assert caught.value.offset is not None


def test_where_takes_text_query_or_list(books):
    assert ids(books, where="year:[1990 TO *]") == ["2", "3", "4"]
    assert ids(books, where=Q.range("year", gte=1990)) == ["2", "3", "4"]
    assert ids(books, where=["year:[1990 TO *]", Q.term("tags", "sea")]) == ["2"]
    assert ids(books, where=[]) == ["1", "2", "3", "4"]
    for wrong in (5, [5], [None], b"x"):
        with pytest.raises(TypeError):
            books.search(where=wrong)


def test_fields_with_boosts(books):
    assert ids(books, "man", fields=["title^2", "body"]) == ["1", "3"]
    assert ids(books, "plan", fields="title") == []
    assert ids(books, "plan", fields=("body",)) == ["3"]
    for wrong in (["title^x"], ["title^-1"], ["title^inf"], ["title^nan"], []):
        with pytest.raises(ValueError):
            books.search("man", fields=wrong)
    with pytest.raises(TypeError):
        books.search("man", fields=[1])
    with pytest.raises(TypeError):
        books.search("man", fields=5)


def test_op_joins_the_words(books):
    assert ids(books, "old man", op="and") == ["1"]
    assert ids(books, "old man") == ["1", "2", "3"]
    for wrong in ("xor", None, 1):
        with pytest.raises(ValueError):
            books.search("old", op=wrong)


def test_the_same_text_with_other_options_is_another_query(books):
    for _ in range(3):
        assert ids(books, "old man") == ["1", "2", "3"]
        assert ids(books, "old man", op="and") == ["1"]
        assert ids(books, "old man", fields="body") == ["3"]


def test_many_texts_do_not_fill_memory(books):
    for i in range(2000):
        books.search(f"old w{i}")
    assert ids(books, "old") == ["1", "2"]


def test_limits_are_checked(books):
    assert books.search(limit=0).total == 4
    assert len(books.search(limit=None)) == 4
    assert ids(books, sort="year", limit=2, offset=1) == ["2", "3"]
    for wrong in ({"limit": -1}, {"offset": -1}, {"timeout": -1}, {"total": -1}):
        with pytest.raises(ValueError):
            books.search(**wrong)
    with pytest.raises(ValueError):
        books.search(timeout=float("nan"))
    with pytest.raises(ValueError):
        books.search(total="rough")
    for wrong in (
        {"limit": "1"},
        {"limit": 1.0},
        {"limit": True},
        {"offset": None},
        {"sort": 5},
        {"sort": [5]},
        {"after": 5},
        {"cancel": 5},
        {"since": "x"},
        {"timeout": "x"},
        {"query": 5},
        {"query": b"old"},
        {"total": 1.5},
    ):
        with pytest.raises(TypeError):
            books.search(**wrong)
    with pytest.raises(grebe.LimitError):
        books.search(limit=10_000_001)
    with pytest.raises(grebe.LimitError):
        books.search(offset=10_000_000, limit=1)


def test_sort_takes_text_or_a_list(books):
    assert books.search(sort="year desc").ids == ["4", "3", "2", "1"]
    assert books.search(sort=["draft missing first", "year desc"]).ids[-1] == "4"
    assert books.search(sort="_order").ids == ["1", "2", "3", "4"]
    with pytest.raises(grebe.SchemaError, match="year"):
        books.search(sort="yaer")
    with pytest.raises(grebe.SchemaError):
        books.search(sort="title")


def test_since_asks_for_a_commit(books):
    books.add({"id": "5"})
    info = books.commit(soft=True)
    assert books.search(since=info).total == 5
    assert books.search(since=info.number).total == 5
    with pytest.raises(grebe.ConflictError):
        books.search(since=info.number + 1)
    with books.searcher(since=info) as searcher:
        assert len(searcher) == 5
        assert searcher.search(since=info).total == 5
        with pytest.raises(grebe.ConflictError):
            searcher.search(since=info.number + 1)


def test_a_set_cancel_ends_a_search(books):
    cancel = grebe.Cancel()
    assert not cancel.is_set()
    books.search("old", cancel=cancel)
    cancel.set()
    assert cancel.is_set()
    with pytest.raises(grebe.CancelledError):
        books.search("old", cancel=cancel)
    cancel.clear()
    books.search("old", cancel=cancel)


def test_total_may_be_counted_to_a_number(books):
    hits = books.search(total=2)
    assert hits.total >= 2
    assert books.search(total=100).total_is_exact


def test_count_is_the_number_of_matches(books):
    assert books.count() == len(books) == 4
    assert books.count("old") == 2
    assert books.count(where="tags:sea") == 2
    assert books.count(Q.term("year", 1952)) == 1


def test_scan_gives_all_documents_in_order(books):
    assert [d["id"] for d in books.scan()] == ["1", "2", "3", "4"]
    assert [d["id"] for d in books.scan(where="title:old")] == ["1", "2"]
    rows = books.scan()
    books.delete_by_query(Q.all())
    books.commit()
    assert len(list(rows)) == 4


class TestQueries:
    def test_operators_join_flat(self, books):
        a, b, c = (Q.term("title", word) for word in ("old", "man", "sea"))
        assert str(a & b) == "+title:old +title:man"
        assert str(a & b & c) == "+title:old +title:man +title:sea"
        assert str(a & ~b) == "+title:old -title:man"
        assert ids(books, a & ~b) == ["2"]
        assert ids(books, a | b) == ["1", "2", "3"]
        assert ids(books, ~a) == ["3", "4"]
        assert ids(books, ~a & ~b) == ["4"]
        assert ids(books, ~a | b) == ["1", "3", "4"]
        assert ids(books, ~~a) == ["1", "2"]
        assert ids(books, (a | b) & c) == ["2"]
        assert ids(books, a & (b | c)) == ["1", "2"]

    def test_a_long_chain_is_not_deep(self, books):
        query = Q.term("title", "old")
        for i in range(1000):
            query = query | Q.term("tags", f"t{i}")
        assert ids(books, query) == ["1", "2"]

    def test_other_things_do_not_join(self):
        for act in (
            lambda: Q.all() & "x",
            lambda: Q.all() | None,
            lambda: 5 & Q.all(),
        ):
            with pytest.raises(TypeError):
                act()

    def test_every_constructor(self, books):
        cases = [
            (Q.all(), ["1", "2", "3", "4"]),
            (Q.none(), []),
            (Q.term("tags", "sea"), ["1", "2"]),
            (Q.term("year", 1952), ["1"]),
            (Q.term("draft", True), ["4"]),
            (Q.match("title", "OLD man"), ["1", "2", "3"]),
            (Q.match("title", "OLD man", op="and"), ["1"]),
            (Q.phrase("title", "old man"), ["1"]),
            (Q.phrase("title", "old stories", slop=1), ["2"]),
            (Q.prefix("tags", "s"), ["1", "2"]),
            (Q.range("year", gt=1952, lte=2001), ["2", "3"]),
            (Q.range("year", gte=1952, lt=1990), ["1"]),
            (Q.range("tags", gte="n"), ["1", "2"]),
            (Q.exists("tags"), ["1", "2"]),
            (Q.bool(), []),
            (Q.bool(must_not=Q.all()), []),
            (Q.bool(must=Q.all(), must_not=[Q.term("tags", "sea")]), ["3", "4"]),
            (
                Q.bool(should=[Q.term("tags", "sea"), Q.term("tags", "man")], mm=2),
                ["1"],
            ),
            (Q.bool(filter=Q.term("tags", "sea")), ["1", "2"]),
            (Q.boost(Q.term("tags", "sea"), 2), ["1", "2"]),
            (Q.constant(Q.term("tags", "sea"), 3), ["1", "2"]),
            (Q.dismax([Q.term("tags", "sea"), Q.term("year", 2001)]), ["1", "2", "3"]),
        ]
        for query, expected in cases:
            assert ids(books, query) == expected, str(query)
            assert repr(query) == f"<grebe.Q {query}>"

    def test_constant_and_boost_change_scores(self, books):
        assert set(books.search(Q.constant(Q.all(), 3)).scores) == {3.0}
        plain = books.search(Q.match("title", "old")).scores
        twice = books.search(Q.boost(Q.match("title", "old"), 2)).scores
        assert [2 * s for s in plain] == pytest.approx(list(twice))

    def test_dates_are_values(self, ix):
        moment = dt.datetime(2024, 5, 1, tzinfo=dt.timezone.utc)
        ix.add({"id": "1", "when": moment})
        ix.commit(soft=True)
        assert ids(ix, Q.term("when", moment)) == ["1"]
        assert ids(ix, Q.range("when", gte=moment)) == ["1"]
        assert ids(ix, Q.range("when", gt=moment)) == []
        assert ids(ix, Q.range("when", gte=dt.date(2024, 4, 1))) == ["1"]
        assert ids(ix, where="when:[2024-05-01T00:00:00Z TO *]") == ["1"]

    def test_values_of_the_wrong_kind_are_schema_errors_at_the_search(self, books):
        for query in (Q.term("year", "x"), Q.term("tags", 5), Q.term("nosuch", "x")):
            with pytest.raises(grebe.SchemaError):
                books.search(query)

    def test_arguments_are_checked(self):
        for act in (
            lambda: Q.match("title", "x", op="xor"),
            lambda: Q.phrase("title", "x", slop=-1),
            lambda: Q.range("year", gte=1, gt=1),
            lambda: Q.range("year", lte=1, lt=1),
            lambda: Q.boost(Q.all(), -1),
            lambda: Q.boost(Q.all(), float("nan")),
            lambda: Q.constant(Q.all(), float("inf")),
            lambda: Q.dismax([Q.all()], tie=2),
            lambda: Q.bool(should=Q.all(), mm=-1),
            lambda: Q.term("year", float("nan")),
            lambda: Q.term("year", 2**63),
            lambda: Q.term("a\0b", "x"),
            lambda: Q.term("when", dt.datetime(2024, 1, 1)),
        ):
            with pytest.raises(ValueError):
                act()
        for act in (
            lambda: Q.term("title", None),
            lambda: Q.term(5, "x"),
            lambda: Q.match("title", 5),
            lambda: Q.match("title", b"x"),
            lambda: Q.prefix("title", 5),
            lambda: Q.boost("title:x", 1),
            lambda: Q.bool(must=["x"]),
            lambda: Q.bool(must=5),
            lambda: Q.dismax([5]),
            lambda: Q.phrase("title", "x", slop="1"),
            lambda: Q.range(5, gte=1),
            lambda: Q.exists(None),
        ):
            with pytest.raises(TypeError):
                act()

    def test_parse_is_strict_and_needs_a_schema(self, schema, books):
        query = grebe.parse("title:old AND year:[1950 TO 1960]", schema)
        assert ids(books, query) == ["1"]
        assert ids(books, grebe.parse("old man", books, op="and")) == ["1"]
        assert ids(books, grebe.parse("plan", books, fields=["title"])) == []
        for wrong in (None, 5, "x"):
            with pytest.raises(TypeError):
                grebe.parse("x", wrong)
        with pytest.raises(TypeError):
            grebe.parse(None, schema)
        with pytest.raises(TypeError):
            grebe.parse(5, schema)
        with pytest.raises(ValueError):
            grebe.parse("x\ud800", schema)
        with pytest.raises(grebe.LimitError):
            grebe.parse("x" * 100_000, schema)


def test_tokens_count_code_points(ix):
    tokens = ix.analyze("body", "Žluť 🦆 kůň")
    assert [(t.text, t.start, t.end) for t in tokens if t.text in ("žluť", "kůň")] == [
        ("žluť", 0, 4),
        ("kůň", 7, 10),
    ]
    assert [t.position for t in ix.analyze("body", "a b c")] == [0, 1, 2]
    assert ix.analyze("title", "") == []
    with pytest.raises(grebe.SchemaError):
        ix.analyze("nosuch", "x")


def test_terms_are_listed_by_prefix(books):
    assert books.terms("tags") == [("man", 1), ("sea", 2)]
    assert books.terms("tags", prefix="s") == [("sea", 2)]
    assert books.terms("tags", limit=1) == [("man", 1)]
    assert books.terms("tags", limit=0) == []
    with pytest.raises(grebe.SchemaError):
        books.terms("nosuch")
    with pytest.raises(ValueError):
        books.terms("tags", limit=-1)
    with pytest.raises(TypeError):
        books.terms("tags", limit="1")


def test_explain_says_the_score(books):
    text = books.explain("1", "title:old")
    assert f"{books.search('title:old', where='id:1')[0].score:.3f}"[:4] in text
    with books.searcher() as searcher:
        assert searcher.explain("1", Q.match("title", "old"))


def test_a_day_is_the_whole_day_in_queries():
    ix = grebe.Index(grebe.Schema(id=grebe.key(), when=grebe.datetime()))
    for key, value in (
        ("before", "2020-01-01T23:59:59.999Z"),
        ("midnight", dt.date(2020, 1, 2)),
        ("last", "2020-01-02T23:59:59.999Z"),
        ("after", "2020-01-03"),
    ):
        ix.add({"id": key, "when": value})
    ix.commit(soft=True)
    for day in (dt.date(2020, 1, 2), "2020-01-02"):
        assert ids(ix, Q.term("when", day)) == ["last", "midnight"]
        assert ids(ix, Q.range("when", gte=day, lte=day)) == ["last", "midnight"]
        assert ids(ix, Q.range("when", gt=day)) == ["after"]
        assert ids(ix, Q.range("when", lt=day)) == ["before"]
    moment = dt.datetime(2020, 1, 2, tzinfo=dt.timezone.utc)
    assert ids(ix, Q.term("when", moment)) == ["midnight"]
    assert ids(ix, Q.range("when", lte=moment)) == ["before", "midnight"]


def test_a_thousand_ranges_of_one_field_share_its_column():
    ix = grebe.Index(grebe.Schema(id=grebe.key(), n=grebe.int_(many=True)))
    ix.add_many({"id": str(i), "n": [i, i + 1]} for i in range(3000))
    ix.commit(soft=True)
    query = Q.bool(should=[Q.range("n", gte=1000 + i) for i in range(1000)])
    hits = ix.search(query, limit=1)
    assert hits.total == 2001 and hits.ids == ["1998"]
    assert hits.scores[0] == 1000.0


def test_a_deadline_ends_a_long_walk_over_one_document():
    ix = grebe.Index(grebe.Schema(id=grebe.key(), body=grebe.text()))
    ix.add({"id": "1", "body": "a b " * 100_000})
    ix.commit(soft=True)
    for words in ("a " * 256, "a b " * 128):
        begun = time.monotonic()
        with pytest.raises(grebe.DeadlineError):
            ix.search(Q.phrase("body", words, slop=9999), timeout=0.02)
        assert time.monotonic() - begun < 0.6  # without polling above 1 s
