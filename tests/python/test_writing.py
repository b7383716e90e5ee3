"""add_many and its report, commits, batches, going back, schemas."""

import grebe
import pytest

Q = grebe.Q


class TestAddMany:
    def test_takes_any_iterable(self, ix):
        rows = [{"id": str(i)} for i in range(100)]
        ix.add_many(rows[:40])
        ix.add_many(tuple(rows[40:50]))
        ix.add_many(iter(rows[50:60]))
        ix.add_many(row for row in rows[60:])
        ix.add_many([])
        ix.commit()
        assert len(ix) == 100
        for wrong in (5, None):
            with pytest.raises(TypeError):
                ix.add_many(wrong)

    @pytest.mark.parametrize("threads", [1, 3])
    @pytest.mark.parametrize("make", [list, iter], ids=["list", "iterator"])
    def test_tries_all_then_raises_the_first_failure(self, ix, make, threads):
        rows = [{"id": str(i), "year": i} for i in range(100)]
        rows[3]["year"] = "x"
        rows[70] = {"id": "70", "nosuch": 1}
        rows[80] = 5
        rows[90] = {"year": 1}
        with pytest.raises(grebe.DocumentError) as caught:
            ix.add_many(make(rows), threads=threads)
        error = caught.value
        assert error.field == "year" and error.key == "3"
        assert error.added == 96
        assert [(place, key) for place, key, _ in error.failures] == [
            (3, "3"),
            (70, "70"),
            (80, None),
            (90, None),
        ]
        assert error.failures[0][2] is error
        assert all(isinstance(e, grebe.DocumentError) for _, _, e in error.failures)
        ix.commit()
        assert len(ix) == 96
        assert "2" in ix and "4" in ix and "3" not in ix

    def test_several_threads_do_what_one_does(self):
        schema = grebe.Schema(id=grebe.key(), t=grebe.text(), n=grebe.int_())
        found = []
        for threads in (1, 2, 5):
            index = grebe.Index(schema, docs_max=50)
            rows = (
                {"id": str(i % 700), "t": f"a w{i % 9}", "n": i} for i in range(1000)
            )
            index.add_many(rows, threads=threads)
            index.commit()
            hits = index.search("t:w3", limit=1000, sort="_order")
            found.append((len(index), [hit.id for hit in hits], index.stats()["adds"]))
            index.close()
        assert found[0] == found[1] == found[2]
        assert found[0][0] == 700 and found[0][1]

    def test_threads_have_a_range(self, ix):
        for wrong in (0, 65, -1, 2**40):
            with pytest.raises(ValueError, match="1 to 64"):
                ix.add_many([], threads=wrong)
        with pytest.raises(TypeError):
            ix.add_many([], threads="2")

    def test_what_the_iterable_raises_ends_the_threads(self, ix):
        def rows():
            for i in range(300):
                yield {"id": str(i)}
            raise KeyError("enough")

        with pytest.raises(KeyError):
            ix.add_many(rows(), threads=2)
        ix.commit()
        assert len(ix) == 300

    def test_may_return_the_report(self, ix):
        report = ix.add_many([{"id": "1"}, {"id": 2}], errors="return")
        assert [(place, key) for place, key, _ in report] == [(1, 2)]
        assert ix.add_many([{"id": "1"}], errors="return") == []
        with pytest.raises(ValueError):
            ix.add_many([], errors="ignore")

    def test_may_leave_unlisted_fields_out(self, ix):
        rows = [{"id": "1", "z": 1}, {"id": "2", "a": 2, "title": "t"}]
        assert ix.add_many(rows, ignore_unknown=True) == ["a", "z"]
        assert ix.get("2") == {"id": "2", "title": "t"}
        assert ix.add_many([{"id": "3"}], ignore_unknown=True) == []

    @pytest.mark.parametrize(
        "error", [RuntimeError, KeyboardInterrupt, StopAsyncIteration]
    )
    def test_what_a_generator_raises_passes_on_and_what_it_gave_stays(self, ix, error):
        def rows():
            yield {"id": "1"}
            yield {"id": "2"}
            raise error("enough")

        with pytest.raises(error, match="enough"):
            ix.add_many(rows())
        assert "1" in ix and "2" in ix

    def test_a_generator_sees_what_it_gave(self, ix):
        seen = []

        def rows():
            for i in range(5):
                yield {"id": str(i)}
                seen.append(str(i) in ix)

        ix.add_many(rows())
        assert seen == [True] * 5

    def test_what_a_value_raises_ends_the_call_and_what_came_before_stays(self, ix):
        class Bad:
            def __index__(self):
                raise RuntimeError("bad")

        rows = [{"id": "1"}, {"id": "2", "year": Bad()}, {"id": "3"}]
        with pytest.raises(RuntimeError, match="bad"):
            ix.add_many(rows)
        assert "1" in ix and "2" not in ix and "3" not in ix

    def test_a_generator_may_close_the_index(self, schema):
        ix = grebe.Index(schema)

        def rows():
            yield {"id": "1"}
            ix.close()
            yield {"id": "2"}

        with pytest.raises(grebe.ClosedError):
            ix.add_many(rows())

    def test_a_list_may_change_while_it_is_read(self, ix):
        class Cutter:
            def __index__(self):
                del rows[1:]
                return 1

        rows = [{"id": "1", "year": Cutter()}] + [{"id": str(i)} for i in range(50)]
        ix.add_many(rows)
        assert ix.get("1")["year"] == 1

    def test_progress_needs_no_tqdm(self, ix, capfd):
        ix.add_many([{"id": "1"}], progress=True)
        assert "1" in ix

    def test_order_of_equal_keys_is_kept(self, ix):
        ix.add_many([{"id": "1", "year": i} for i in range(100)])
        assert ix.get("1")["year"] == 99
        ix.commit()
        assert len(ix) == 1

    def test_without_overwrite_both_stay(self, ix):
        ix.add({"id": "1"})
        ix.add({"id": "1"}, overwrite=False)
        ix.add_many([{"id": "1"}], overwrite=False)
        ix.commit()
        assert len(ix) == 3
        assert ix.delete("1") == 3

    def test_large_documents_are_taken_in(self, ix):
        ix.add_many({"id": str(i), "body": "word " * 20_000} for i in range(10))
        ix.add({"id": "x", "body": "word " * 20_000})
        ix.commit()
        assert ix.search("word").total == 11
        with pytest.raises(grebe.LimitError):
            ix.add({"id": "y", "body": "x" * (17 << 20)})


class TestCommits:
    def test_a_commit_tells_what_it_did(self, ix):
        ix.add({"id": "1"})
        info = ix.commit(soft=True)
        assert isinstance(info, grebe.CommitInfo)
        assert (info.added, info.deleted, info.syncs) == (1, 0, 0)
        assert info.changed is True
        assert ix.commit(soft=True).changed is False
        assert ix.commit().number >= info.number
        assert "number=" in repr(info)

    def test_search_and_len_see_the_last_commit_and_get_everything(self, ix):
        ix.add({"id": "1", "title": "old"})
        assert len(ix) == 0 and ix.search("old").total == 0
        assert "1" in ix and ix.get("1")
        with ix.searcher(uncommitted=True) as searcher:
            assert searcher.search("old").ids == ["1"]
        ix.commit(soft=True)
        assert len(ix) == 1 and ix.search("old").total == 1

    def test_unseen_commits_leave_the_view(self, tmp_path, schema):
        with grebe.open(tmp_path / "x", schema) as ix:
            ix.add({"id": "1"})
            ix.commit(publish=False)
            assert len(ix) == 0
            ix.commit(soft=True)
            assert len(ix) == 1
            with pytest.raises(ValueError):
                ix.commit(soft=True, publish=False)

    def test_rollback_goes_back_to_the_last_hard_commit(self, ix):
        ix.add({"id": "1"})
        ix.commit()
        ix.add({"id": "2"})
        ix.commit(soft=True)
        ix.rollback()
        assert len(ix) == 1 and "2" not in ix

    def test_a_restore_can_be_done_again_and_again(self, books):
        with books.snapshot() as snapshot:
            for _ in range(3):
                books.delete_by_query(Q.all())
                books.add({"id": "9"})
                books.commit()
                assert len(books) == 1
                books.restore(snapshot)
                assert len(books) == 4 and "9" not in books
        with pytest.raises(grebe.ClosedError):
            books.restore(snapshot)
        with pytest.raises(TypeError):
            books.restore(None)
        with pytest.raises(TypeError):
            books.restore("x")

    def test_a_snapshot_of_another_index_is_a_value_error(self, books, schema):
        with grebe.Index(schema) as other, other.snapshot() as snapshot:
            with pytest.raises(ValueError):
                books.restore(snapshot)

    def test_a_branch_is_independent(self, books):
        with books.branch() as twin:
            twin.delete("1")
            twin.commit()
            books.add({"id": "5"})
            books.commit()
            assert len(twin) == 3 and len(books) == 5

    def test_leaving_with_commits_but_not_on_an_exception(self, tmp_path, schema):
        with grebe.open(tmp_path / "x", schema) as ix:
            ix.add({"id": "1"})
        with pytest.raises(RuntimeError), grebe.open(tmp_path / "x") as ix:
            ix.add({"id": "2"})
            raise RuntimeError
        with grebe.open(tmp_path / "x", mode="r") as ix:
            assert len(ix) == 1
            with pytest.raises(grebe.ReadOnlyError):
                ix.add({"id": "3"})

    def test_a_reader_sees_hard_commits(self, tmp_path, schema):
        with grebe.open(tmp_path / "x", schema) as ix:
            ix.commit()
            with grebe.open(tmp_path / "x", mode="r") as reader:
                ix.add({"id": "1", "title": "old"})
                ix.commit(soft=True)
                assert reader.search("old").total == 0
                ix.commit()
                assert reader.search("old").total == 1
                assert reader.refresh() is False
            assert ix.refresh() is False

    def test_stats_count(self, books):
        books.search("old")
        stats = books.stats()
        assert stats["docs"] == 4 and stats["adds"] == 4
        assert stats["searches"] >= 1
        assert all(type(value) is int for value in stats.values())


class TestBatches:
    def test_a_batch_commits_when_it_is_left(self, ix):
        with ix.batch() as batch:
            ix.add({"id": "1"})
            assert len(ix) == 0
            assert batch.info is None
        assert batch.info.added == 1
        assert len(ix) == 1

    def test_a_batch_is_undone_on_an_exception_which_goes_on(self, books):
        with pytest.raises(RuntimeError, match="no"), books.batch():
            books.add({"id": "9"})
            books.delete("1")
            raise RuntimeError("no")
        assert "9" not in books and "1" in books
        books.commit()
        assert len(books) == 4

    def test_a_hard_batch_is_durable(self, tmp_path, schema):
        with grebe.open(tmp_path / "x", schema) as ix:
            with ix.batch(soft=False) as batch:
                ix.add({"id": "1"})
            assert batch.info.generation > 0
            with grebe.open(tmp_path / "x", mode="r") as reader:
                assert len(reader) == 1

    def test_nothing_that_ends_a_batch_is_allowed_inside(self, books):
        with books.snapshot() as snapshot, books.batch():
            for act in (
                books.commit,
                lambda: books.commit(soft=True),
                lambda: books.restore(snapshot),
                books.close,
                lambda: books.batch().__enter__(),
            ):
                with pytest.raises(grebe.StateError):
                    act()
        assert not books.closed

    def test_a_batch_is_entered_once(self, ix):
        batch = ix.batch()
        with batch:
            pass
        with pytest.raises(grebe.StateError):
            batch.__enter__()
        with pytest.raises(TypeError):
            grebe.Batch(5)


class TestSchemas:
    def test_a_schema_is_read_back_as_it_was_given(self, schema, ix):
        assert ix.schema == schema
        assert list(ix.schema) == list(schema)
        assert ix.schema.key == "id"
        assert ix.schema["tags"].many and ix.schema["title"].analyzer == "en"

    def test_english_is_en(self):
        made = grebe.Schema(a=grebe.text("english"))
        assert made == grebe.Schema(a=grebe.text("en"))
        with grebe.Index(made) as ix:
            assert ix.schema["a"].analyzer == "en"

    def test_dotted_names_come_in_a_mapping(self):
        with grebe.Index({"dc.title": grebe.text()}) as ix:
            ix.add({"dc.title": "old"})
            ix.commit()
            assert ix.search("dc.title:old").total == 1

    @pytest.mark.parametrize(
        "fields",
        [
            {"_a": grebe.text()},
            {"1a": grebe.text()},
            {"": grebe.text()},
            {"a b": grebe.text()},
            {"ž": grebe.text()},
            {"a" * 101: grebe.text()},
            {"a": grebe.key(), "b": grebe.key()},
            {"a": grebe.text(column=True)},
            {"a": grebe.bytes_(indexed=True)},
            {"a": grebe.bytes_(column=True)},
            {"a": grebe.text("klingon")},
            {"a": grebe.int_(default="x")},
            {"a": grebe.int_(default=True)},
            {"a": grebe.datetime(default="2020-01-01T00:00:00")},
        ],
        ids=str,
    )
    def test_what_an_index_would_refuse_is_a_schema_error(self, fields):
        with pytest.raises((grebe.SchemaError, grebe.LimitError)):
            grebe.Schema(fields)

    def test_arguments_are_checked(self):
        for act in (
            lambda: grebe.Schema(a=5),
            lambda: grebe.Schema({5: grebe.text()}),
            lambda: grebe.Schema(5),
            lambda: grebe.Index(None),
            lambda: grebe.Index(5),
            lambda: grebe.text(5),
            lambda: grebe.open(":memory:", grebe.Schema(), nosuch=1),
            lambda: grebe.Index(grebe.Schema(), nosuch=1),
            lambda: grebe.Container(nosuch=1),
            lambda: grebe.open(5, grebe.Schema()),
        ):
            with pytest.raises(TypeError):
                act()
        with pytest.raises(ValueError):
            grebe.key("float")
        with pytest.raises(grebe.SchemaError):
            grebe.Schema({"a": grebe.text()}, a=grebe.text())
        for wrong in ({"mode": "a"}, {"durability": 1}, {"memory_max": -1},
                      {"filter_cache": -1}):
            with pytest.raises(ValueError):
                grebe.open(":memory:", grebe.Schema(a=grebe.text()), **wrong)

    def test_fields_may_be_added(self, books):
        books.add_fields(lang=grebe.keyword(default="en"))
        assert "lang" in books.schema
        books.add({"id": "5", "lang": "de"})
        books.add({"id": "6"})
        books.commit()
        assert books.get("5")["lang"] == "de"
        assert books.get("6")["lang"] == "en"
        assert "lang" not in books.get("1")
        assert books.search("lang:de").ids == ["5"]
        assert dict(books.search("lang:de")[0])["lang"] == "de"
        with pytest.raises(grebe.SchemaError):
            books.add_fields(year=grebe.text())

    def test_added_fields_are_rolled_back(self, tmp_path, schema):
        with grebe.open(tmp_path / "x", schema) as ix:
            ix.commit()
            ix.add_fields(lang=grebe.keyword())
            ix.rollback()
            assert "lang" not in ix.schema
            with pytest.raises(grebe.DocumentError):
                ix.add({"id": "1", "lang": "de"})

    def test_open_may_add_fields(self, tmp_path, schema):
        with grebe.open(tmp_path / "x", schema):
            pass
        more = grebe.Schema({**schema, "lang": grebe.keyword()})
        with pytest.raises(grebe.SchemaError, match="lang"):
            grebe.open(tmp_path / "x", more)
        with grebe.open(tmp_path / "x", more, add_fields=True) as ix:
            ix.add({"id": "1", "lang": "de"})

    def test_a_field_tells_what_it_is(self):
        field = grebe.keyword(many=True, default="x")
        assert (field.kind, field.many, field.default) == ("keyword", True, "x")
        assert field == grebe.keyword(many=True, default="x")
        assert field != grebe.keyword()
        assert "many" in repr(field)
        assert grebe.key("int").is_key and grebe.key("int").kind == "int"
        assert not grebe.bytes_().indexed and not grebe.text().column


class TestContainers:
    def test_cores_in_memory_stay_until_dropped(self, schema):
        with grebe.Container() as box:
            with box.core("search", schema) as ix:
                ix.add({"id": "1"})
            with box.core("search") as ix:
                assert len(ix) == 1
            assert box.names() == ["search"] and "search" in box
            assert "nope" not in box and len(box) == 1
            box.drop("search")
            assert box.names() == []
            with pytest.raises(grebe.NotFoundError):
                box.drop("search")
            with pytest.raises(grebe.NotFoundError):
                box.core("search")
            for name in ("", ".x", "a/b", "x" * 65):
                with pytest.raises(ValueError):
                    box.core(name, schema)

    def test_closing_it_closes_all_it_gave(self, tmp_path, schema):
        box = grebe.Container(tmp_path / "data")
        one, again = box.core("a", schema), box.core("a")
        one.add({"id": "1"})
        again.close()
        assert not one.closed
        box.close()
        box.close()
        assert box.closed and one.closed
        with pytest.raises(grebe.ClosedError):
            one.add({"id": "2"})
        with pytest.raises(grebe.ClosedError):
            box.names()
        with grebe.Container(tmp_path / "data") as box, box.core("a") as ix:
            assert len(ix) == 1

    def test_fields_added_through_one_handle_are_known_to_the_others(self, schema):
        with grebe.Container() as box:
            one, two = box.core("a", schema), box.core("a")
            one.add({"id": "0"})
            one.commit()
            with one.snapshot() as snapshot:
                one.add_fields(lang=grebe.keyword())
                two.add({"id": "1", "lang": "de"})
                two.commit()
                assert dict(one.search("lang:de")[0]) == {"id": "1", "lang": "de"}
                assert "lang" in two.schema
                one.restore(snapshot)
            for ix in (one, two):
                assert "lang" not in ix.schema
                with pytest.raises(grebe.DocumentError):
                    ix.add({"id": "2", "lang": "de"})

    def test_dropping_a_core_closes_its_handles(self, schema):
        with grebe.Container() as box:
            ix = box.core("a", schema)
            box.drop("a")
            assert ix.closed
            with pytest.raises(grebe.ClosedError):
                ix.search("x")


def test_check_and_exists(tmp_path, schema):
    assert not grebe.exists(tmp_path / "x")
    with grebe.open(tmp_path / "x", schema) as ix:
        ix.add({"id": "1", "title": "old"})
    assert grebe.exists(tmp_path / "x")
    lines = grebe.check(tmp_path / "x")
    assert lines and all(type(line) is str for line in lines)


def test_memory_is_a_path(schema):
    with grebe.open(":memory:", schema) as ix:
        assert ix.path is None
        ix.add({"id": "1"})


def test_the_command_line_checks_and_searches(tmp_path, schema, capsys):
    from grebe.__main__ import main

    with grebe.open(tmp_path / "x", schema) as ix:
        ix.add({"id": "1", "title": "old"})
        ix.merge()
    assert main(["check", str(tmp_path / "x")]) == 0
    brief = capsys.readouterr().out
    assert "1 documents" in brief and "terms" not in brief
    assert main(["check", "--stats", str(tmp_path / "x")]) == 0
    assert "terms inline" in capsys.readouterr().out
    assert main(["search", str(tmp_path / "x"), "old"]) == 0
    assert "1 documents" in capsys.readouterr().out
    assert main(["search", str(tmp_path / "nope"), "old"]) == 1
    assert "not_found" in capsys.readouterr().err
