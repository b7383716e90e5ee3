"""The demo's readers: a schema guessed from JSON lines, apt's records."""

import gzip
import json
import lzma
import sys
from pathlib import Path

import grebe
import pytest

DEMO = Path(__file__).resolve().parents[2] / "examples" / "demo"


@pytest.fixture
def own(monkeypatch):
    monkeypatch.syspath_prepend(str(DEMO))
    import own_documents

    yield own_documents
    for name in ("own_documents", "show"):
        sys.modules.pop(name, None)


@pytest.fixture
def packages(monkeypatch):
    monkeypatch.syspath_prepend(str(DEMO))
    import debian_packages

    yield debian_packages
    sys.modules.pop("debian_packages", None)


LINES = [
    {
        "_id": f"d{number}",
        "title": f"The tale of number {number} and of the others",
        "year": 1900 + number,
        "price": number if number % 2 else number + 0.5,
        "tags": ["sea"] if number % 3 else ["sea", "old"],
        "colour": "red" if number % 2 else "dark blue",
        "sold": number % 2 == 0,
        "when": f"2020-01-{number + 1:02d}T03:04:05Z",
        "maker": {"name": f"maker{number % 4}", "place": None},
        "9 lives": number,
    }
    for number in range(20)
]


def written(tmp_path, lines, name="x.jsonl"):
    text = "\n".join(json.dumps(line) for line in lines) + "\n"
    path = tmp_path / name
    content = text.encode()
    path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    return path


@pytest.mark.parametrize("name", ["x.jsonl", "x.jsonl.gz"])
def test_a_schema_is_guessed_and_takes_every_document(own, tmp_path, name):
    documents = own.read(written(tmp_path, LINES, name))
    schema = own.guess(documents)
    assert schema == grebe.Schema(
        {
            "id": grebe.key(),
            "title": grebe.text("en"),
            "year": grebe.int_(),
            "price": grebe.float_(),
            "tags": grebe.keyword(many=True),
            "colour": grebe.keyword(),
            "sold": grebe.bool_(),
            "when": grebe.datetime(),
            "maker.name": grebe.keyword(),
            "lives": grebe.int_(),
        }
    )
    with grebe.Index(schema) as index:
        index.add_many(own.fitted(documents, schema))
        index.commit(soft=True)
        assert len(index) == 20
        assert index.search("maker.name:maker1", limit=0).total == 5
        assert index.get("d3")["tags"] == ["sea", "old"]


def test_values_of_several_kinds_become_text(own, tmp_path):
    documents = own.read(written(tmp_path, [{"a": 1}, {"a": "one"}, {"a": None}, {}]))
    schema = own.guess(documents)
    assert schema["a"].kind == "keyword" and schema.key is None
    assert own.fitted(documents, schema) == [{"a": "1"}, {"a": "one"}, {}, {}]


@pytest.mark.parametrize(
    "text,said",
    [("[1]\n", "line 1: not an object"), ("{}\n{\n", "line 2"), ("", "no documents")],
)
def test_what_cannot_be_read_is_named(own, tmp_path, text, said):
    path = tmp_path / "x.jsonl"
    path.write_text(text)
    with pytest.raises(own.Unreadable, match=said):
        own.read(path)


RECORDS = """Package: zebra
Version: 1.0-1
Section: contrib/games
Installed-Size: 12
Maintainer: A Person <a@b.example>
Depends: libc6 (>= 2.14), lua5.4 | lua5.3, libc6:any
Tag: role::program,
 uitoolkit::gtk
Description: striped

Package: yak
Installed-Size: 3
"""


@pytest.mark.parametrize("ending", ["", ".gz", ".xz"])
def test_records_of_packages(packages, tmp_path, monkeypatch, ending):
    packed = {"": bytes, ".gz": gzip.compress, ".xz": lzma.compress}[ending]
    path = tmp_path / f"debian_main_binary-amd64_Packages{ending}"
    path.write_bytes(packed(RECORDS.encode()))
    monkeypatch.setattr(packages, "LISTS", tmp_path)
    zebra, yak = packages.documents()
    assert zebra["section"] == "games" and zebra["maintainer"] == "A Person"
    assert zebra["depends"] == ["libc6", "lua5.4"] and zebra["kib"] == 12
    assert zebra["tags"] == ["role::program", "uitoolkit::gtk"]
    assert yak["id"] == "yak" and yak["tags"] == []
    with grebe.Index(packages.SCHEMA) as index:
        index.add_many([zebra, yak])


def test_without_lists_it_says_why(packages, tmp_path, monkeypatch):
    monkeypatch.setattr(packages, "LISTS", tmp_path)
    with pytest.raises(packages.NoLists, match="apt-get update"):
        packages.documents()
    monkeypatch.setattr(packages, "LISTS", tmp_path / "none")
    with pytest.raises(packages.NoLists, match="not a Debian machine"):
        packages.documents()
