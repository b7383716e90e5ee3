"""What README.md says under "What will surprise you", point by point."""

import datetime
import gc
import os
import subprocess
import sys

import grebe
import pytest

SCHEMA = grebe.Schema(
    id=grebe.key(), text=grebe.text("en"), number=grebe.int_(default=5),
    when=grebe.datetime(),
)


@pytest.fixture
def ix():
    with grebe.Index(SCHEMA) as index:
        index.add_many([{"id": "1", "text": "draft one"}, {"id": "2", "text": "final"}])
        index.commit(soft=True)
        yield index


def test_searches_see_commits_and_get_sees_everything(ix):
    ix.add({"id": "3", "text": "final"})
    assert len(ix) == ix.count() == 2 and ix.search("final").ids == ["2"]
    assert ix.get("3")["text"] == "final" and "3" in ix
    with ix.searcher(uncommitted=True) as all_of_it:
        assert sorted(all_of_it.search("final").ids) == ["2", "3"]


@pytest.mark.parametrize("text", ["final)", "nosuch:(final)", '"final'])
def test_text_is_read_forgivingly_in_search_strictly_elsewhere(ix, text):
    assert ix.search(text).ids == ["2"]
    for strict in (
        lambda: grebe.parse(text, ix),
        lambda: ix.search(where=text),
        lambda: ix.delete_by_query(text),
    ):
        with pytest.raises(grebe.QuerySyntaxError) as caught:
            strict()
        assert caught.value.offset is not None


def test_negatives_alone(ix):
    draft = grebe.Q.term("text", "draft")
    assert ix.search("-draft").ids == ["2"]
    assert ix.search(grebe.Q.bool(must_not=[draft])).total == 0
    assert ix.search(~draft).ids == ["2"]


def test_statistics_count_dead_documents_until_a_merge(ix):
    def score():
        return ix.search("final").scores[0]

    ix.add({"id": "3", "text": "draft of something else"})
    ix.commit(soft=True)
    before = score()
    ix.delete("3")
    ix.commit(soft=True)
    assert score() == before
    ix.merge()
    ix.commit(soft=True)
    assert score() != before


def test_a_hard_commit_is_one_sync_and_in_memory_none(ix, tmp_path):
    ix.add({"id": "4"})
    assert ix.commit().syncs == 0
    with grebe.open(tmp_path / "index", SCHEMA) as folder:
        for number in range(5):
            folder.add({"id": str(number)})
            assert folder.commit().syncs == 1


def test_readers_see_hard_commits_and_a_second_writer_is_refused(tmp_path):
    path = tmp_path / "index"
    with grebe.open(path, SCHEMA) as writer:
        writer.add({"id": "1", "text": "final"})
        writer.commit()
        with grebe.open(path, mode="r") as reader:
            writer.add({"id": "2", "text": "final"})
            writer.commit(soft=True)
            assert reader.search("final").total == 1
            writer.commit()
            assert reader.search("final").total == 2
        with pytest.raises(grebe.LockedError) as caught:
            grebe.open(path)
        assert caught.value.pid == os.getpid()


def test_a_collected_index_never_commits(tmp_path):
    path = tmp_path / "index"
    index = grebe.open(path, SCHEMA)
    index.add({"id": "1"})
    with pytest.warns(ResourceWarning):
        del index
        gc.collect()
    with pytest.raises(ZeroDivisionError), grebe.open(path) as index:
        index.add({"id": "2"})
        1 / 0
    with grebe.open(path) as index:
        assert len(index) == 0


def test_the_pread_store_reads(tmp_path):
    with grebe.open(tmp_path / "index", SCHEMA, store="pread") as index:
        index.add({"id": "1", "text": "final"})
        index.merge()
        index.commit()
        assert index.search("final").ids == ["1"]


def test_after_fork_the_child_is_refused(tmp_path):
    code = f"""
import grebe, os
index = grebe.open({str(tmp_path / "index")!r}, {{"id": grebe.key()}})
child = os.fork()
if child == 0:
    try:
        index.search()
    except grebe.ForkedError:
        os._exit(7)
    os._exit(8)
_, status = os.waitpid(child, 0)
assert os.waitstatus_to_exitcode(status) == 7
index.close()
"""
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)


def test_nothing_is_converted(ix):
    for refused in (
        lambda: ix.get(1),
        lambda: ix.add({"id": "3", "number": "5"}),
        lambda: ix.add({"id": "3", "when": datetime.datetime(2020, 1, 1)}),
    ):
        with pytest.raises(grebe.DocumentError):
            refused()
    ix.add_many([{"id": "3", "number": None}, {"id": "4"}])
    assert ix.get("3") == {"id": "3"} and ix.get("4") == {"id": "4", "number": 5}


def test_hits_outlive_the_index():
    index = grebe.Index(SCHEMA)
    index.add({"id": "1", "text": "final"})
    index.commit(soft=True)
    hits = index.search("final")
    index.close()
    assert hits[0]["text"] == "final"


@pytest.mark.parametrize("merging", ["auto", "manual"])
def test_merges_belong_to_the_call_that_freezes(merging):
    with grebe.Index(SCHEMA, merging=merging, docs_max=100) as index:
        index.add_many({"id": str(number)} for number in range(2000))
        index.commit(soft=True)
        stats = index.stats()
        assert stats["freezes"] > 10
        assert (stats["merges"] > 0) == (merging == "auto")
        index.merge()
        index.commit(soft=True)
        assert index.stats()["segments"] == 1


@pytest.mark.parametrize("text", ["fi?al", "fi*al", "final~", "/fi.*/"])
def test_what_is_not_there_yet_is_refused_with_a_position(ix, text):
    with pytest.raises(grebe.QuerySyntaxError, match="not supported yet") as caught:
        grebe.parse(text, ix)
    assert caught.value.offset is not None
    assert str(grebe.parse("fin*", ix)) == "text:fin*"
