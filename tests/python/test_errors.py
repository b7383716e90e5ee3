"""One table of exceptions."""

import pickle
import re
from pathlib import Path

import grebe
import pytest

KIN = {
    "SchemaError": ValueError,
    "QuerySyntaxError": ValueError,
    "DocumentError": ValueError,
    "MissingKeyError": KeyError,
    "NotFoundError": FileNotFoundError,
    "StorageError": OSError,
    "DeadlineError": TimeoutError,
}
HEADER = Path(__file__).parents[2] / "core" / "include" / "grebe" / "status.h"


def table():
    rows = re.findall(r'X\((\w+), (\d+), "(\w+)", "(\w+)"', HEADER.read_text())
    return [(int(code), word, name) for _, code, word, name in rows]


@pytest.mark.parametrize("code,word,name", table())
def test_every_status_has_its_class(code, word, name):
    if name in ("ValueError", "TypeError", "MemoryError"):
        return
    error = getattr(grebe, name)
    assert issubclass(error, grebe.Error)
    assert issubclass(error, KIN.get(name, Exception))
    assert (error.code, error.word) == (code, word)
    assert error.__module__ == "grebe"
    assert error.__doc__
    made = error("text")
    for attribute in ("field", "key", "file", "offset", "pid"):
        assert getattr(made, attribute) is None


def test_every_class_comes_from_the_table():
    names = {name for _, _, name in table()} | {"Error"}
    made = {
        name
        for name in dir(grebe)
        if isinstance(getattr(grebe, name), type)
        and issubclass(getattr(grebe, name), BaseException)
    }
    assert made == names - {"ValueError", "TypeError", "MemoryError"}


def test_a_missing_key_prints_as_a_sentence():
    assert str(grebe.MissingKeyError("no such key")) == "no such key"


def test_errors_survive_pickling(ix):
    with pytest.raises(grebe.DocumentError) as caught:
        ix.add({"id": "1", "year": "x"})
    again = pickle.loads(pickle.dumps(caught.value))
    assert type(again) is grebe.DocumentError
    assert (again.field, again.key) == ("year", "1")
    assert str(again) == str(caught.value)


def test_a_syntax_error_counts_code_points(schema):
    with pytest.raises(grebe.QuerySyntaxError) as caught:
        grebe.parse("žluť AND (old", schema)
    assert caught.value.offset == 9
    assert "(" in str(caught.value)


def test_no_index_is_file_not_found(tmp_path):
    with pytest.raises(grebe.NotFoundError) as caught:
        grebe.open(tmp_path / "x", mode="r")
    assert isinstance(caught.value, FileNotFoundError)
    assert caught.value.errno == 2
    with pytest.raises(grebe.NotFoundError):
        grebe.open(tmp_path)


def test_a_missing_parent_is_a_storage_error_with_errno(tmp_path, schema):
    with pytest.raises(OSError) as caught:
        grebe.open(tmp_path / "a" / "b" / "c", schema)
    assert isinstance(caught.value, grebe.Error)
    assert caught.value.errno


def test_a_second_writer_is_told_whose_lock_it_is(tmp_path, schema):
    import os

    with grebe.open(tmp_path / "x", schema):
        with pytest.raises(grebe.LockedError) as caught:
            grebe.open(tmp_path / "x")
        assert caught.value.pid == os.getpid()


def test_another_schema_is_refused_with_each_difference(tmp_path, schema):
    with grebe.open(tmp_path / "x", schema):
        pass
    other = grebe.Schema(id=grebe.key("int"), title=grebe.text())
    with pytest.raises(grebe.SchemaError) as caught:
        grebe.open(tmp_path / "x", other)
    assert "id" in str(caught.value)
    assert "title" in str(caught.value)


def test_explaining_a_missing_key_is_a_key_error(books):
    with pytest.raises(KeyError) as caught:
        books.explain("nope", "title:old")
    assert isinstance(caught.value, grebe.MissingKeyError)


def test_a_damaged_file_is_named(tmp_path, schema):
    with grebe.open(tmp_path / "x", schema) as ix:
        ix.add_many({"id": str(i), "title": "some words"} for i in range(1000))
    largest = max((tmp_path / "x").iterdir(), key=lambda p: p.stat().st_size)
    data = bytearray(largest.read_bytes())
    data[len(data) // 2] ^= 0x55
    largest.write_bytes(data)
    with pytest.raises(grebe.CorruptIndexError) as caught:
        grebe.check(tmp_path / "x")
    assert caught.value.file
