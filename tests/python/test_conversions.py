"""Values in and out: every kind and every refusal."""

import array
import datetime as dt
import math
from collections import ChainMap, OrderedDict
from types import MappingProxyType

import grebe
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

UTC = dt.timezone.utc


def back(ix, field, value):
    """The value as the index gives it back."""
    ix.add({"id": "k", field: value})
    return ix.get("k").get(field)


class Indexed:
    def __index__(self):
        return 42


class Sly(Indexed):
    def __index__(self):
        raise RuntimeError("sly")


class Floaty:
    def __float__(self):
        return 1.5


REFUSED = [
    ("title", 1),
    ("title", 1.0),
    ("title", True),
    ("title", b"bytes"),
    ("title", {"a": 1}),
    ("title", ["one"]),
    ("title", ("one",)),
    ("title", []),
    ("title", "\ud800"),
    ("title", object()),
    ("tags", 1),
    ("tags", b"x"),
    ("tags", [None]),
    ("tags", ["a", None]),
    ("tags", [["a"]]),
    ("tags", [("a",)]),
    ("tags", [{"a": 1}]),
    ("tags", ["a", 1]),
    ("tags", {"a"}),
    ("tags", iter(["a"])),
    ("tags", "\udfff"),
    ("tags", {"a": 1}),
    ("year", True),
    ("year", 1.0),
    ("year", 1.5),
    ("year", "1"),
    ("year", Floaty()),
    ("year", 2**63),
    ("year", -(2**63) - 1),
    ("year", [1]),
    ("year", dt.date(2020, 1, 1)),
    ("price", True),
    ("price", "1.0"),
    ("price", math.nan),
    ("price", Floaty()),
    ("price", 10**400),
    ("price", Indexed()),
    ("draft", 1),
    ("draft", 0),
    ("draft", "true"),
    ("when", True),
    ("when", 1.5),
    ("when", "yesterday"),
    ("when", "2020-01-01T00:00:00"),
    ("when", "2020-02-30T00:00:00Z"),
    ("when", "2020-13-01T00:00:00Z"),
    ("when", "2020-01-01T24:00:00Z"),
    ("when", "2020-01-01T00:60:00Z"),
    ("when", "2020-01-01T00:00:00.Z"),
    ("when", "2020-01-01T00:00:00Zx"),
    ("when", "2020-01-01T00:00:00+1"),
    ("when", "2020-01-01T00:00:00\ud800"),
    ("when", ""),
    ("when", dt.datetime(2020, 1, 1)),
    ("when", 253402300800000),
    ("when", -62135596800001),
    ("when", 2**63),
    ("when", "9999-12-31T23:59:59-01:00"),
    ("when", dt.time(1, 2)),
    ("blob", "text"),
    ("blob", 5),
    ("blob", [1]),
    ("blob", memoryview(bytes(8))[::2]),
]


@pytest.mark.parametrize("field,value", REFUSED, ids=lambda v: repr(v)[:40])
def test_a_value_of_another_type_is_refused_and_nothing_is_added(ix, field, value):
    with pytest.raises(grebe.DocumentError) as caught:
        ix.add({"id": "k", field: value})
    assert caught.value.field == field
    assert caught.value.key == "k"
    assert field in str(caught.value)
    assert "k" not in ix


TAKEN = [
    ("title", "", ""),
    ("title", "a\0b", "a\0b"),
    ("title", "žluťoučký 漢字 🦆", "žluťoučký 漢字 🦆"),
    ("tags", "one", ["one"]),
    ("tags", ["b", "a", "b"], ["b", "a", "b"]),
    ("tags", ("x", ""), ["x", ""]),
    ("tags", [], None),
    ("year", 0, 0),
    ("year", -(2**63), -(2**63)),
    ("year", 2**63 - 1, 2**63 - 1),
    ("year", Indexed(), 42),
    ("price", 1, 1.0),
    ("price", 1.5, 1.5),
    ("price", math.inf, math.inf),
    ("price", -math.inf, -math.inf),
    ("price", -0.0, 0.0),
    ("draft", True, True),
    ("draft", False, False),
    ("blob", b"\0\xff", b"\0\xff"),
    ("blob", bytearray(b"ab"), b"ab"),
    ("blob", memoryview(b"abc")[1:], b"bc"),
    ("blob", array.array("B", [1, 2]), b"\1\2"),
    ("blob", b"", b""),
    ("year", None, None),
    ("tags", None, None),
]


@pytest.mark.parametrize("field,value,expected", TAKEN, ids=lambda v: repr(v)[:30])
def test_a_value_comes_back_as_it_was_given(ix, field, value, expected):
    got = back(ix, field, value)
    assert got == expected
    assert type(got) is type(expected)


DATES = [
    ("2020-01-01", "2020-01-01T00:00:00Z"),
    ("2020-01-01T01:00+01", "2020-01-01T00:00:00Z"),
    (dt.datetime(2024, 2, 29, 12, 30, 1, 999999, UTC), "2024-02-29T12:30:01.999Z"),
    (dt.date(2024, 2, 29), "2024-02-29T00:00:00Z"),
    (0, "1970-01-01T00:00:00Z"),
    (-1, "1969-12-31T23:59:59.999Z"),
    ("2024-01-01T01:00:00+01:00", "2024-01-01T00:00:00Z"),
    ("2024-01-01T01:00+0100", "2024-01-01T00:00:00Z"),
    ("2024-01-01 01:00:00.5-01", "2024-01-01T02:00:00.5Z"),
    ("2024-01-01t00:00:00.123999z", "2024-01-01T00:00:00.123Z"),
    ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z"),
    ("9999-12-31T23:59:59.999Z", "9999-12-31T23:59:59.999Z"),
    (
        dt.datetime(1969, 12, 31, 23, 59, 59, 999_999, UTC),
        "1969-12-31T23:59:59.999Z",
    ),
    (
        dt.datetime(
            2024, 6, 1, tzinfo=dt.timezone(dt.timedelta(hours=-5, minutes=-30))
        ),
        "2024-06-01T05:30:00Z",
    ),
]


@pytest.mark.parametrize("value,iso", DATES, ids=str)
def test_a_date_comes_back_as_an_aware_datetime_floored_to_milliseconds(ix, value, iso):
    got = back(ix, "when", value)
    whole, _, rest = iso.rstrip("Z").partition(".")
    expected = dt.datetime.strptime(whole.rjust(19, "0"), "%Y-%m-%dT%H:%M:%S")
    micro = int((rest or "0").ljust(6, "0"))
    assert got == expected.replace(tzinfo=UTC, microsecond=micro)
    assert got.tzinfo is UTC


def test_a_naive_datetime_is_refused_with_a_hint(ix):
    with pytest.raises(grebe.DocumentError, match="timezone.utc"):
        ix.add({"id": "k", "when": dt.datetime(2024, 1, 1)})


def test_a_zone_that_knows_no_offset_is_naive(ix):
    class Lost(dt.tzinfo):
        def utcoffset(self, moment):
            return None

    with pytest.raises(grebe.DocumentError, match="time zone"):
        ix.add({"id": "k", "when": dt.datetime(2024, 1, 1, tzinfo=Lost())})


def test_what_a_zone_raises_passes_on(ix):
    class Broken(dt.tzinfo):
        def utcoffset(self, moment):
            raise RuntimeError("no zone today")

    with pytest.raises(RuntimeError, match="no zone today"):
        ix.add({"id": "k", "when": dt.datetime(2024, 1, 1, tzinfo=Broken())})


def test_what_index_raises_passes_on(ix):
    with pytest.raises(RuntimeError, match="sly"):
        ix.add({"id": "k", "year": Sly()})
    assert "k" not in ix


@settings(max_examples=200)
@given(st.integers(-62135596800000, 253402300799999))
def test_every_millisecond_comes_back(ms):
    schema = grebe.Schema(id=grebe.key(), when=grebe.datetime())
    with grebe.Index(schema) as ix:
        got = back(ix, "when", ms)
        epoch = dt.datetime(1970, 1, 1, tzinfo=UTC)
        assert (got - epoch) // dt.timedelta(milliseconds=1) == ms
        assert back(ix, "when", got) == got
        assert back(ix, "when", got.isoformat()) == got


@settings(max_examples=200)
@given(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=50),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False),
    st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=9), max_size=5),
)
def test_any_document_comes_back(text, number, real, tags):
    schema = grebe.Schema(
        id=grebe.key("int"),
        a=grebe.text(),
        n=grebe.int_(),
        r=grebe.float_(),
        t=grebe.keyword(many=True),
    )
    with grebe.Index(schema) as ix:
        ix.add({"id": 1, "a": text, "n": number, "r": real, "t": tags})
        got = ix.get(1)
        assert (got["a"], got["n"], got["r"]) == (text, number, real)
        assert got.get("t", []) == tags


def test_any_mapping_is_a_document(ix):
    plain = {"id": "1", "title": "a"}
    ix.add(MappingProxyType(plain))
    ix.add(OrderedDict(plain, id="2"))
    ix.add(ChainMap({"id": "3"}, plain))
    assert [ix.get(k)["title"] for k in "123"] == ["a", "a", "a"]


@pytest.mark.parametrize("thing", [5, "text", None, [], [("id", "1")], object(), b"x"])
def test_what_is_no_mapping_is_a_type_error(ix, thing):
    with pytest.raises(TypeError):
        ix.add(thing)


def test_a_mapping_with_broken_items_is_an_error(ix):
    class Broken:
        def __getitem__(self, name):
            raise KeyError(name)

        def items(self):
            return [1, 2]

        def __len__(self):
            return 2

    with pytest.raises(TypeError):
        ix.add(Broken())


def test_a_name_that_is_no_str_is_refused(ix):
    with pytest.raises(grebe.DocumentError, match="str, not int"):
        ix.add({"id": "1", 5: "x"})


def test_an_unknown_field_is_refused_by_name(ix):
    with pytest.raises(grebe.DocumentError) as caught:
        ix.add({"id": "1", "titel": "x"})
    assert caught.value.field == "titel"


def test_a_subclass_of_str_is_text_and_of_int_is_int(ix):
    import enum

    class Word(str, enum.Enum):
        SEA = "sea"

    class Number(enum.IntEnum):
        ONE = 1

    assert back(ix, "tags", [Word.SEA]) == ["sea"]
    assert back(ix, "year", Number.ONE) == 1


def test_a_default_fills_what_is_absent_but_not_none():
    schema = grebe.Schema(id=grebe.key(), lang=grebe.keyword(default="en"))
    with grebe.Index(schema) as ix:
        ix.add({"id": "1"})
        ix.add({"id": "2", "lang": None})
        ix.add({"id": "3", "lang": "de"})
        assert ix.get("1") == {"id": "1", "lang": "en"}
        assert ix.get("2") == {"id": "2"}
        assert ix.get("3")["lang"] == "de"


def test_a_required_field_refuses_absence_none_and_the_empty_list():
    schema = grebe.Schema(id=grebe.key(), t=grebe.keyword(many=True, required=True))
    with grebe.Index(schema) as ix:
        for document in ({"id": "1"}, {"id": "1", "t": None}, {"id": "1", "t": []}):
            with pytest.raises(grebe.DocumentError) as caught:
                ix.add(document)
            assert caught.value.field == "t"
        ix.add({"id": "1", "t": [""]})


def test_the_document_may_change_while_it_is_read(ix):
    class Grower:
        def __index__(self):
            document.clear()
            document.update({f"x{i}": i for i in range(100)})
            return 7

    document = {"id": "1", "year": Grower()}
    try:
        ix.add(document)
    except grebe.DocumentError:
        pass
    ix.add({"id": "2"})
    assert ix.get("2") == {"id": "2"}


def test_an_add_inside_a_conversion_has_its_own_document(ix):
    class Inner:
        def __index__(self):
            ix.add({"id": "inner", "year": 1})
            return 2

    ix.add({"id": "outer", "title": "t", "year": Inner()})
    assert ix.get("outer") == {"id": "outer", "title": "t", "year": 2}
    assert ix.get("inner") == {"id": "inner", "year": 1}


def test_numpy_integers_are_ints_and_its_bools_are_not(ix):
    numpy = pytest.importorskip("numpy")
    assert back(ix, "year", numpy.int32(5)) == 5
    assert back(ix, "price", numpy.float64(1.5)) == 1.5
    with pytest.raises(grebe.DocumentError):
        ix.add({"id": "1", "year": numpy.float64(5)})
    assert back(ix, "blob", numpy.array([1, 2], "u1")) == b"\1\2"


class TestKeys:
    def test_a_key_is_never_converted(self, ix):
        ix.add({"id": "1"})
        for key in (1, 1.0, b"1", None, True):
            with pytest.raises(grebe.DocumentError):
                ix.get(key)
            with pytest.raises(grebe.DocumentError):
                ix.delete(key)
            with pytest.raises(grebe.DocumentError):
                key in ix  # noqa: B015
        assert ix.get("1") == {"id": "1"}

    def test_an_int_key_takes_ints_only(self):
        with grebe.Index(grebe.Schema(n=grebe.key("int"))) as ix:
            ix.add({"n": 2**63 - 1})
            ix.add({"n": -5})
            assert ix.get(-5) == {"n": -5}
            assert 2**63 - 1 in ix
            for key in ("1", True, 1.0, 2**63):
                with pytest.raises(grebe.DocumentError):
                    ix.get(key)

    def test_the_empty_str_may_be_a_key(self, ix):
        ix.add({"id": "", "year": 1})
        assert ix.get("")["year"] == 1
        assert ix.delete("") == 1

    def test_a_missing_key_is_none_and_nothing_to_delete(self, ix):
        assert ix.get("x") is None
        assert "x" not in ix
        assert ix.delete("x") == 0
        assert ix.delete_many(["x", "y"]) == 0

    def test_one_str_is_not_several_keys(self, ix):
        with pytest.raises(TypeError):
            ix.delete_many("12")
