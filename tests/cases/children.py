"""Cases that need a second process, a full disk, damaged files or a closed handle.

A function case_NNN(folder) belongs to case PB-NNN; more_* are of the same kinds
without a public case. Each raises Wrong.
"""

import errno
import gc
import os
import pathlib
import pickle
import signal
import subprocess
import time
import traceback
from collections.abc import Callable
from typing import Any

import grebe
from layouts import Wrong, same

SCHEMA = grebe.Schema(id=grebe.key(), body=grebe.text())
NOBODY = 65534


def in_child(work: Callable[[], Any]) -> Any:
    """What `work` returns in a forked child; Wrong if the child dies."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.write(writing, pickle.dumps(work()))
            os._exit(0)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(1)
    os.close(writing)
    with open(reading, "rb") as pipe:
        told = pipe.read()
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if status != 0:
        raise Wrong(f"a child ended with {status}")
    return pickle.loads(told)


def ids(path: str) -> list[str]:
    """Everything in a folder's index, by a reader."""
    with grebe.open(path, mode="r") as reader:
        return reader.search(limit=None, sort="_order").ids


def word_of(call: Callable[[], Any]) -> str:
    """The word of the error that a call raises, "ok" if none."""
    try:
        call()
    except grebe.Error as error:
        return error.word
    except (ValueError, TypeError):
        return "argument"
    return "ok"


def case_013(folder: str) -> None:
    """A hard commit survives kill -9 at once."""
    for size in (1, 8, 128, 256, 4096, 10_000):
        path = os.path.join(folder, f"i{size}")

        def writes(path: str = path, size: int = size) -> None:
            ix = grebe.open(path, SCHEMA, docs_max=1000)
            ix.add_many({"id": str(i), "body": "kept"} for i in range(size))
            ix.commit()
            os.kill(os.getpid(), signal.SIGKILL)

        try:
            in_child(writes)
        except Wrong as why:
            same(str(why), "a child ended with -9")
        same(len(ids(path)), size, "kept")
        with grebe.open(path) as ix:
            same(ix.count("kept"), size, "kept words")


def _damage(path: pathlib.Path, how: str) -> None:
    data = path.read_bytes()
    if how == "remove":
        path.unlink()
    elif how == "truncate_to_zero":
        path.write_bytes(b"")
    elif how == "truncate_by_one_byte":
        path.write_bytes(data[:-1])
    else:
        middle = len(data) // 2
        flipped = bytes([data[middle] ^ 0x40])
        path.write_bytes(data[:middle] + flipped + data[middle + 1 :])


def _judge_damaged(path: str, whole: list[str], what: str) -> None:
    """An error that names a file, or the whole answer: never less."""
    try:
        grebe.check(path)
        with grebe.open(path, verify="open") as ix:
            found = ix.search(limit=None, sort="_order")
            same(found.ids, whole, what)
            same(len(found.to_dicts()), len(whole), what)
    except (grebe.CorruptIndexError, grebe.VersionError) as error:
        if not error.file and path not in str(error):
            raise Wrong(f"{what}: no file named: {error}") from None
    except (grebe.NotFoundError, grebe.StorageError) as error:
        if not str(error):
            raise Wrong(f"{what}: no message") from None


def case_015(folder: str) -> None:
    """Each file removed, cut and changed: an error or the right answer."""
    for size, docs_max in ((1, 100), (300, 40)):
        whole = [f"d{i}" for i in range(size)]
        made = os.path.join(folder, f"made{size}")
        with grebe.open(made, SCHEMA, docs_max=docs_max, durability="none") as ix:
            for i, key in enumerate(whole):
                ix.add({"id": key, "body": f"alpha w{i}"})
                if i % 90 == 0:
                    ix.commit()
        for name in sorted(os.listdir(made)):
            for how in ("remove", "truncate_to_zero", "truncate_by_one_byte", "flip"):
                path = os.path.join(folder, "copy")
                subprocess.run(["cp", "-r", made, path], check=True)
                _damage(pathlib.Path(path, name), how)
                _judge_damaged(path, whole, f"{how} {name} of {size}")
                subprocess.run(["rm", "-r", path], check=True)


def _mount(folder: str, size_kib: int) -> bool:
    run = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size_kib}k", "tmpfs", folder],
        capture_output=True,
    )
    return run.returncode == 0


def case_017(folder: str) -> None:
    """A full disk: a clean error, the last commit whole, and on once there is room."""
    if not _mount(folder, 1024):
        print("  PB-017 skipped: a small disk cannot be mounted here")
        return
    try:
        _fill_disk(os.path.join(folder, "index"), folder)
    finally:
        subprocess.run(["umount", "-l", folder], check=True)


def _fill_disk(path: str, disk: str) -> None:
    ix = grebe.open(path, SCHEMA, memory_max=65536)
    ix.add({"id": "1", "body": "base"})
    ix.commit()
    kept = 1
    try:
        for i in range(20_000):
            words = " ".join(f"w{(i * 31 + j) % 5000}" for j in range(200))
            ix.add({"id": f"b{i}", "body": words})
            if i % 200 == 199:
                ix.commit()
                kept = i + 2
        raise Wrong("the disk did not fill")
    except grebe.StorageError as error:
        same(error.errno, errno.ENOSPC, "errno")
    same(ix.search("id:1").ids, ["1"], "after the error")
    ix.close(commit=False)
    grebe.check(path)
    with grebe.open(path, memory_max=65536) as again:
        same(len(again) >= kept, True, "what was committed")
        same(again.search("id:1").ids, ["1"], "reopened")
        again.close(commit=False)
    remount = ["mount", "-o", "remount,size=64m", disk]
    subprocess.run(remount, check=True)
    with grebe.open(path, memory_max=65536) as again:
        again.add({"id": "2", "body": "after"})
        again.merge()
        again.commit()
        same(again.search("after").ids, ["2"], "once there is room")
        size = len(again)
    grebe.check(path)
    same(len(ids(path)), size, "at last")


def case_018(folder: str) -> None:
    """A second writer is refused at once, within a process and between two."""
    path = os.path.join(folder, "index")
    first = grebe.open(path, SCHEMA)

    def second() -> tuple[str, int, float]:
        begin = time.monotonic()
        try:
            grebe.open(path, SCHEMA)
        except grebe.LockedError as error:
            return error.word, error.pid, time.monotonic() - begin
        return "ok", 0, 0.0

    for word, pid, seconds in (second(), in_child(second)):
        same((word, pid, seconds < 1), ("locked", os.getpid(), True), "second writer")
    first.add({"id": "1", "body": "a"})
    first.commit()
    same(ids(path), ["1"], "a reader beside the writer")
    same(in_child(lambda: ids(path)), ["1"], "a reader in another process")
    first.close()
    with grebe.open(path) as other:
        other.add({"id": "2", "body": "b"})
    same(ids(path), ["1", "2"], "both")


def case_020(folder: str) -> None:
    """Writers that take turns each start from the newest commit."""
    path = os.path.join(folder, "index")

    def turn(number: int) -> int:
        with grebe.open(path, SCHEMA, docs_max=2) as ix:
            ix.add({"id": str(number), "body": "a"})
            ix.commit()
            return len(ix)

    reader = None
    for number in range(12):
        size = in_child(lambda: turn(number)) if number % 3 else turn(number)  # noqa: B023
        same(size, number + 1, "documents")
        reader = reader or grebe.open(path, mode="r")
        want = [str(i) for i in range(number + 1)]
        same(reader.search(limit=None, sort="_order").ids, want, "an old reader")
    reader.close()


def _filled(folder: str, size: int = 4) -> tuple[grebe.Index, str]:
    path = os.path.join(folder, f"filled{size}")
    ix = grebe.open(path, SCHEMA, durability="none")
    ix.add_many({"id": str(i), "body": "a"} for i in range(size))
    ix.commit()
    return ix, path


def case_073(folder: str) -> None:
    """A child keeps what it needs of its parents."""
    ix, path = _filled(folder)
    ix.close()
    hits = grebe.open(path, mode="r").searcher().search("body:a")
    gc.collect()
    same([hit["id"] for hit in hits], ["0", "1", "2", "3"], "hits")
    ix = grebe.open(path)
    searcher = ix.searcher()
    rows, scores = iter(searcher.search("body:a")), searcher.search("body:a").scores
    del ix, searcher, hits
    gc.collect()
    same([hit["body"] for hit in rows], ["a"] * 4, "an iterator")
    same(len(scores), 4, "scores")


def case_074(folder: str) -> None:
    """After close: an error, never a crash."""
    ix, _ = _filled(folder)
    searcher, hits, snapshot = ix.searcher(), ix.search("a"), ix.snapshot()
    ix.close()
    ix.close()
    same(searcher.search("body:a").total, 4, "a searcher outlives its index")
    same(hits[0]["body"], "a", "so do hits")
    calls: list[Callable[[], Any]] = [
        lambda: ix.add({"id": "x"}), lambda: ix.add_many([{"id": "x"}]),
        lambda: ix.delete("1"), lambda: ix.delete_by_query("*:*"), ix.commit,
        ix.rollback, lambda: ix.batch().__enter__(), ix.merge, ix.snapshot,
        lambda: ix.restore(snapshot), ix.branch, lambda: ix.get("1"),
        lambda: "1" in ix, lambda: len(ix), ix.stats, lambda: ix.terms("body"),
        lambda: ix.analyze("body", "a"), lambda: ix.search("a"), lambda: ix.count("a"),
        ix.searcher, lambda: ix.explain("1", grebe.Q.all()), ix.refresh,
        lambda: ix.schema, lambda: list(ix.scan()), ix.__enter__,
        lambda: ix.add_fields(n=grebe.int_()),
    ]  # fmt: skip
    for place, call in enumerate(calls):
        same(word_of(call), "closed", f"call {place}")
    searcher.close()
    for call in (lambda: searcher.search("a"), lambda: len(searcher)):
        same(word_of(call), "closed", "a closed searcher")


def case_078(folder: str) -> None:
    """An iterator of an iterator is itself."""
    ix, _ = _filled(folder)
    one = iter(ix.search("a"))
    two = iter(one)
    same(two is one, True, "itself")
    next(one)
    del one
    gc.collect()
    same(len(list(two)), 3, "the rest")


def case_079(folder: str) -> None:
    """Names of cores do not reach outside."""
    home = os.path.join(folder, "home")
    bad = ["../evil", "a/b", "/abs", "..", ".", "", "a\\b", "a\0b", "x" * 300, "nul\n",
           "-rf", "x" * 65, ".hidden", "é", "a b", "a:b", "..\\x"]  # fmt: skip
    for path in (home, None):
        with grebe.Container(path) as box:
            for name in bad:
                same(word_of(lambda: box.core(name, SCHEMA)), "argument", repr(name))  # noqa: B023
            for name in ("good_Name-1", "x" * 64, "_a.b", "0"):
                box.core(name, SCHEMA).add({"id": "1"})
            same(len(box), 4, "cores")
    same(sorted(os.listdir(folder)), ["home"], "nothing outside")


def more_read_only(folder: str) -> None:
    """A folder without the right to write can be read, and writing is refused."""
    if os.getuid() != 0:
        print("  read-only folders skipped: only root can become someone else")
        return
    ix, path = _filled(folder)
    ix.close()
    for place in (folder, path):
        os.chmod(place, 0o755)

    def as_nobody() -> tuple[list[str], str, str]:
        os.setuid(NOBODY)
        made = os.path.join(folder, "new")
        write, make = (word_of(lambda p=p: grebe.open(p, SCHEMA)) for p in (path, made))
        return ids(path), write, make

    found, write, make = in_child(as_nobody)
    same(found, ["0", "1", "2", "3"], "read as nobody")
    for word in (write, make):
        same(word in ("read_only", "storage"), True, f"written as nobody: {word}")


def more_fork(folder: str) -> None:
    """A forked child may not use its parent's handles; the parent goes on."""
    ix, path = _filled(folder)
    searcher = ix.searcher()

    def child() -> list[str]:
        calls = (lambda: ix.add({"id": "x"}), ix.commit, lambda: ix.search("a"),
                 lambda: ix.close(), lambda: len(ix), ix.rollback)  # fmt: skip
        return [word_of(call) for call in calls] + [str(len(ids(path)))]

    told = in_child(child)
    same(told[:3], ["forked"] * 3, "in the child")
    same(told[-1], "4", "a reader opened in the child")
    ix.add({"id": "later", "body": "a"})
    ix.commit()
    same((searcher.count("a"), ix.count("a")), (4, 5), "the parent")
    ix.close()


def more_closed_files(folder: str) -> None:
    """Somebody closes our files: an error, and what was committed is kept."""
    ix, path = _filled(folder)
    ix.close()

    def child(lock_too: bool) -> tuple[str, int]:
        again = grebe.open(path)
        again.add({"id": "0", "body": "a"})
        again.commit()
        again.add({"id": "lost", "body": "a"})
        for number in os.listdir("/proc/self/fd"):
            name = f"/proc/self/fd/{number}"
            target = os.readlink(name) if os.path.exists(name) else ""
            if folder in target and (lock_too or "lock" not in target):
                os.close(int(number))
        return word_of(again.commit), again.count("a")

    # Without its lock file a writer must think that another one is at work.
    same(in_child(lambda: child(True)), ("locked", 4), "all files closed")
    same(in_child(lambda: child(False)), ("storage", 4), "but the lock")
    same(sorted(ids(path)), ["0", "1", "2", "3"], "kept")
    grebe.check(path)


CASES: dict[str, Callable[[str], None]] = {
    "PB-" + name[5:]: function
    for name, function in list(globals().items())
    if name.startswith("case_")
}
MORE: dict[str, Callable[[str], None]] = {
    name[5:]: function
    for name, function in list(globals().items())
    if name.startswith("more_")
}
