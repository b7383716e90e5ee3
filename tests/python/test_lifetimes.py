"""Closing, finalizers in any order, threads, forks, naked objects."""

import gc
import inspect
import itertools
import os
import signal
import subprocess
import sys
import threading
import time
import warnings

import grebe
import grebe_core
import pytest

Q = grebe.Q


def test_closed_says_closed_and_twice_is_silent(books):
    searcher, snapshot = books.searcher(), books.snapshot()
    books.close()
    books.close()
    assert books.closed
    for act in (
        lambda: books.add({"id": "1"}),
        lambda: books.add_many([]),
        lambda: books.get("1"),
        lambda: books.search("old"),
        lambda: books.commit(),
        lambda: len(books),
        lambda: "1" in books,
        lambda: books.schema,
        lambda: books.stats(),
        lambda: books.searcher(),
        lambda: books.__enter__(),
        lambda: grebe.parse("x", books),
    ):
        with pytest.raises(grebe.ClosedError):
            act()
    assert repr(books) == "<grebe.Index closed>"
    assert searcher.search("old", sort="year").ids == ["1", "2"]
    snapshot.close()
    searcher.close()
    searcher.close()
    with pytest.raises(grebe.ClosedError):
        searcher.search("old")
    with pytest.raises(grebe.ClosedError):
        len(searcher)


def test_no_handle_is_live_once_everything_is_closed(schema):
    ix = grebe.Index(schema)
    ix.add({"id": "1", "title": "old"})
    ix.commit()
    ix.search("old")
    searcher, snapshot = ix.searcher(), ix.snapshot()
    assert grebe.live_handles() > 0
    searcher.close()
    snapshot.close()
    ix.close()
    assert grebe.live_handles() == 0


@pytest.mark.parametrize("order", list(itertools.permutations(range(5))))
def test_finalizers_run_in_any_order(schema, order):
    ix = grebe.Index(schema)
    ix.add({"id": "1", "title": "old", "tags": ["a"]})
    ix.commit()
    things = [
        ix,
        ix.searcher(),
        ix.snapshot(),
        ix.search("old", facets=["tags"], highlight=["title"]),
        ix.search("old").scores,
    ]
    del ix
    for place in order:
        things[place] = None
    assert grebe.live_handles() == 0


def test_a_dropped_folder_with_uncommitted_work_warns(tmp_path, schema):
    ix = grebe.open(tmp_path / "x", schema)
    ix.commit()
    ix.add({"id": "1"})
    with pytest.warns(ResourceWarning, match="uncommitted"):
        del ix
        gc.collect()
    with grebe.open(tmp_path / "x") as ix:
        assert len(ix) == 0


def test_a_dropped_folder_with_a_soft_commit_only_warns(tmp_path, schema):
    ix = grebe.open(tmp_path / "x", schema)
    ix.commit()
    ix.add({"id": "1"})
    ix.commit(soft=True)
    with pytest.warns(ResourceWarning):
        del ix
        gc.collect()


def test_a_clean_or_closed_or_memory_index_does_not_warn(tmp_path, schema):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ix = grebe.open(tmp_path / "x", schema)
        ix.add({"id": "1"})
        ix.commit()
        del ix
        ix = grebe.open(tmp_path / "x")
        ix.add({"id": "2"})
        ix.close(commit=False)
        del ix
        ix = grebe.Index(schema)
        ix.add({"id": "1"})
        del ix
        gc.collect()


def test_a_cycle_is_collected(schema):
    class Owner:
        pass

    owner = Owner()
    owner.ix = grebe.Index(schema)
    owner.self = owner
    del owner
    gc.collect()
    assert grebe.live_handles() == 0


CLASSES = [
    grebe.Schema,
    grebe.Index,
    grebe.Searcher,
    grebe.Hits,
    grebe.Hit,
    grebe.Q,
    grebe.Snapshot,
    grebe.Container,
    grebe.Cancel,
    grebe.Batch,
    grebe.Field,
    grebe.Highlight,
    grebe_core.handle,
    grebe.FacetCounts,
]
GIVEN = [(), (None,), (5,), ("x",), ("x", "x"), (None, None), (0, 0, 0)]


def naked(cls):
    """Every way to an object that was never initialised."""
    for make in (
        lambda: cls.__new__(cls),
        lambda: object.__new__(cls),
        lambda: grebe_core.handle.__new__(cls),
        lambda: cls(),
    ):
        try:
            yield make()
        except Exception:
            continue


def all_tried(thing):
    """Calls everything a thing has with a few arguments; errors are fine."""
    for name in dir(thing):
        if name.startswith("_") and not name.endswith("__"):
            continue
        try:
            member = getattr(thing, name)
        except Exception:
            continue
        if not callable(member) or inspect.isclass(member):
            continue
        for arguments in GIVEN:
            try:
                result = member(*arguments)
                if inspect.isgenerator(result) or name == "scan":
                    list(itertools.islice(result, 3))
            except Exception:
                continue


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
@pytest.mark.filterwarnings("ignore")
def test_naked_objects_raise_and_never_crash(cls):
    for thing in naked(cls):
        all_tried(thing)


@pytest.mark.parametrize("closed", [False, True], ids=["open", "closed"])
@pytest.mark.filterwarnings("ignore")
def test_no_call_with_odd_arguments_crashes(schema, closed):
    ix = grebe.Index(schema)
    ix.add({"id": "1", "title": "old", "tags": ["a"]})
    ix.commit()
    hits = ix.search("old", facets=["tags"], highlight=["title"])
    box = grebe.Container()
    things = [
        ix.searcher(),
        ix.snapshot(),
        hits,
        hits[0],
        Q.term("tags", "a"),
        grebe.Cancel(),
        ix.batch(),
        schema,
        box.core("a", schema),
        box,
        ix,
    ]
    if closed:
        for thing in things:
            if hasattr(thing, "close"):
                thing.close()
    for thing in things:
        all_tried(thing)
    for thing in (ix, box):
        thing.close(commit=False)


@pytest.mark.filterwarnings("ignore")
def test_no_call_of_the_private_module_crashes(schema, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ix = grebe.Index(schema)
    ix.add({"id": "1", "title": "old"})
    ix.commit()
    hits = ix.search("old")
    values = [
        None,
        ix._h,
        hits,
        Q.all(),
        0,
        -1,
        2**70,
        "id",
        "\ud800",
        b"x",
        (),
        [],
        {},
    ]
    calls = [
        getattr(grebe_core, name)
        for name in dir(grebe_core)
        if inspect.isbuiltin(getattr(grebe_core, name))
        and name not in ("types_set", "index_batch_begin")
    ]
    for call in calls:
        for count in range(4):
            for arguments in itertools.product(values, repeat=count):
                if call is grebe_core.index_close and arguments[:1] == (ix._h,):
                    continue
                try:
                    call(*arguments)
                except Exception:
                    continue
    pick = values * 20
    for start in range(40):
        for call in (grebe_core.search, grebe_core.add_many, grebe_core.query):
            for count in (4, 5, 17):
                try:
                    call(*pick[start : start + count])
                except Exception:
                    continue
                try:
                    call(ix._h, *pick[start : start + count - 1])
                except Exception:
                    continue
    ix.close(commit=False)


class TestThreads:
    def run(self, count, work):
        errors = []

        def guarded(number):
            try:
                work(number)
            except BaseException as error:
                errors.append(error)

        threads = [threading.Thread(target=guarded, args=(i,)) for i in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
            assert not thread.is_alive()
        assert errors == []

    def test_writers_and_searchers_share_an_index(self, ix):
        def work(number):
            for i in range(200):
                ix.add({"id": f"{number}-{i}", "title": f"old w{i}", "year": i})
                if i % 10 == 0:
                    ix.commit(soft=True)
                hits = ix.search("old", limit=5, sort="year")
                for hit in hits:
                    assert hit["title"].startswith("old")
                ix.get(f"{number}-{i}")

        self.run(4, work)
        ix.commit()
        assert len(ix) == 800

    def test_a_batch_makes_other_writers_wait_and_nothing_hangs(self, ix):
        inside = threading.Event()
        done = []

        def batching():
            with ix.batch():
                ix.add({"id": "a"})
                inside.set()
                time.sleep(0.2)
                assert done == []
                ix.add({"id": "b"})

        def working(how, writes):
            inside.wait(10)
            how()
            if writes:
                done.append(1)

        ways = [
            lambda: ix.add({"id": "c"}),
            lambda: ix.add_many([{"id": "d"}]),
            lambda: ix.delete("zzz"),
            lambda: ix.commit(soft=True),
        ]
        looks = [
            lambda: ix.get("a"),
            lambda: ix.stats(),
            lambda: ix.schema,
            lambda: ix.snapshot().close(),
            lambda: ix.searcher(uncommitted=True).close(),
            lambda: ix.branch().close(),
        ]
        threads = [threading.Thread(target=batching)]
        threads += [threading.Thread(target=working, args=(way, True)) for way in ways]
        threads += [
            threading.Thread(target=working, args=(way, False)) for way in looks
        ]
        for thread in threads:
            thread.start()
        inside.wait(10)
        assert ix.search("x").total == 0
        for thread in threads:
            thread.join(30)
            assert not thread.is_alive()
        ix.commit()
        assert sorted(d["id"] for d in ix.scan()) == ["a", "b", "c", "d"]

    def test_closing_under_searches_is_an_error_for_them_at_worst(self, schema):
        for _ in range(20):
            ix = grebe.Index(schema)
            ix.add_many([{"id": str(i), "title": "old"} for i in range(50)])
            ix.commit()

            def searching(number, ix=ix):
                try:
                    for _ in range(1000):
                        ix.search("old")
                except grebe.ClosedError:
                    pass

            def closing(ix=ix):
                time.sleep(0.002)
                while True:
                    try:
                        ix.close()
                        return
                    except grebe.StateError:
                        time.sleep(0.001)

            thread = threading.Thread(target=closing)
            thread.start()
            self.run(2, searching)
            thread.join()

    def test_one_page_is_read_by_many(self, books):
        hits = books.search(sort="year", facets=["tags"])

        def work(number):
            for _ in range(300):
                assert [hit["id"] for hit in hits] == ["1", "2", "3", "4"]
                assert hits.facets["tags"]["sea"] == 2

        self.run(4, work)

    def test_a_search_lets_other_threads_run(self):
        schema = grebe.Schema(body=grebe.text())
        with grebe.Index(schema) as ix:
            ix.add_many({"body": f"old man w{i % 97}"} for i in range(30_000))
            ix.commit()
            ticks = []
            stop = threading.Event()

            def ticking():
                while not stop.is_set():
                    ticks.append(1)
                    time.sleep(0)

            interval = sys.getswitchinterval()
            sys.setswitchinterval(100)
            thread = threading.Thread(target=ticking)
            thread.start()
            try:
                before = len(ticks)
                for _ in range(50):
                    ix.search("old man w5")
                assert len(ticks) > before
            finally:
                sys.setswitchinterval(interval)
                stop.set()
                thread.join()

    def test_another_thread_cancels_a_search(self):
        schema = grebe.Schema(body=grebe.text())
        with grebe.Index(schema) as ix:
            ix.add_many({"body": f"old man w{i % 97}"} for i in range(30_000))
            ix.commit()
            cancel = grebe.Cancel()
            timer = threading.Timer(0.05, cancel.set)
            timer.start()
            with pytest.raises(grebe.CancelledError):
                while True:
                    ix.search("old man", cancel=cancel)
            timer.join()


@pytest.fixture
def interruptible():
    """Python's own handler: what a shell begins in the background ignores SIGINT."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_control_c_ends_a_search(interruptible):
    schema = grebe.Schema(body=grebe.text(), n=grebe.int_())
    with grebe.Index(schema) as ix:
        ix.add_many({"body": f"old man w{i % 97}", "n": i} for i in range(60_000))
        ix.commit()
        handler = signal.getsignal(signal.SIGINT)
        for _ in range(5):
            timer = threading.Timer(0.02, os.kill, (os.getpid(), signal.SIGINT))
            timer.start()
            with pytest.raises(KeyboardInterrupt):
                while True:
                    ix.search("old man w1 w2 w3", sort="n", limit=None)
            timer.join()
        assert signal.getsignal(signal.SIGINT) is handler
        assert ix.search("old").total == 60_000


def test_a_handler_that_does_not_raise_lets_the_search_end():
    schema = grebe.Schema(body=grebe.text(), n=grebe.int_())
    with grebe.Index(schema) as ix:
        ix.add_many({"body": f"old man w{i % 97}", "n": i} for i in range(60_000))
        ix.commit()
        came = []
        before = signal.signal(signal.SIGINT, lambda *_: came.append(1))
        try:
            timer = threading.Timer(0.02, os.kill, (os.getpid(), signal.SIGINT))
            timer.start()
            while not came:
                hits = ix.search("old man w1 w2 w3", sort="n", limit=None)
                assert hits.total == 60_000
            timer.join()
        finally:
            signal.signal(signal.SIGINT, before)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_child_is_told_so_and_the_parent_goes_on(tmp_path, schema):
    with grebe.open(tmp_path / "x", schema) as ix:
        ix.add({"id": "1", "title": "old"})
        ix.commit()
        child = os.fork()
        if child == 0:
            verdict = 1
            try:
                wrong = 0
                for act in (
                    lambda: ix.add({"id": "2"}),
                    lambda: ix.commit(),
                    lambda: ix.search("old"),
                    lambda: ix.get("1"),
                ):
                    try:
                        act()
                        wrong += 1
                    except grebe.ForkedError:
                        pass
                other = grebe.Index(schema)
                other.add({"id": "1"})
                other.close()
                del ix
                gc.collect()
                verdict = wrong
            finally:
                os._exit(verdict)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        ix.add({"id": "2"})
        ix.commit()
        assert len(ix) == 2
    assert grebe.check(tmp_path / "x")


def script(text, *arguments):
    return subprocess.run(
        [sys.executable, *arguments, "-c", text],
        capture_output=True,
        text=True,
        timeout=60,
    )


def test_an_interpreter_ends_with_everything_open(tmp_path):
    result = script(
        "import grebe\n"
        "s = grebe.Schema(id=grebe.key(), t=grebe.text())\n"
        "ix = grebe.Index(s); ix.add({'id': '1', 't': 'old'}); ix.commit()\n"
        "hits = ix.search('old'); hit = hits[0]; scores = hits.scores\n"
        "searcher = ix.searcher(); snap = ix.snapshot(); q = grebe.Q.all()\n"
        f"disk = grebe.open({str(tmp_path / 'x')!r}, s); disk.commit()\n"
        "box = grebe.Container(); core = box.core('a', s)\n"
        "batch = ix.batch(); batch.__enter__()\n"
    )
    assert result.returncode == 0, result.stderr
    assert "Traceback" not in result.stderr


def test_import_needs_no_heavy_module():
    result = script(
        "import sys, grebe\n"
        "heavy = {'datetime', '_datetime', 'typing', 're', 'dataclasses', 'enum',\n"
        "         'collections', 'warnings', 'weakref', 'threading', 'html',\n"
        "         'numpy', 'tqdm', 'argparse'}\n"
        "print(sorted(heavy & set(sys.modules)))\n",
        "-I" if "PYTHONPATH" not in os.environ else "-S",
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout.strip() == "[]"
