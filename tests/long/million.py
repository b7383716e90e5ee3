"""A million documents in one index: added without a commit, committed, the
process killed, reopened, searched and merged; memory stated at each step.

    ./run test long            or  ./run python tests/long/million.py --docs N

Checks: memory and log stay bounded while adding, nothing acknowledged is lost,
opening adds less than 10 MB of resident memory, a deadline and a cancel end a
search within 10 ms of being due, answers are the same before and after a merge.
"""

import argparse
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

import grebe

SHARED = pathlib.Path(os.environ.get("GREBE_SHARED", "../shared"))
QUERIES = ["the", "sir gilliam", "+record -the", '"new york"', "life^2 round", "bre*"]


def memory(what="VmRSS"):
    for line in open("/proc/self/status"):
        if line.startswith(what):
            return int(line.split()[1]) / 1024
    raise AssertionError(what)


def schema():
    return grebe.Schema(
        id=grebe.key(),
        title=grebe.text(),
        body=grebe.text(),
        month=grebe.keyword(),
        views=grebe.int_(),
    )


def documents(count, jobs):
    command = [sys.executable, SHARED / "data/make_corpus.py", "wiki"]
    command += ["--docs", str(count), "--jobs", str(jobs)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as made:
        for line in made.stdout:
            record = json.loads(line)
            yield {name: record[name] for name in ("id", "title", "body", "month", "views")}


def writer(folder, count, jobs):
    """Runs in a child that is killed right after its commit returned."""
    ix = grebe.open(folder, schema())
    log_most = 0

    def watched():
        nonlocal log_most
        for i, document in enumerate(documents(count, jobs)):
            if i % 10000 == 0:
                logs = sum(p.stat().st_size for p in pathlib.Path(folder).glob("log-*"))
                log_most = max(log_most, logs)
                print(f"\r  {i:9,} added, {memory():6.0f} MiB", end="", file=sys.stderr)
            yield document

    begun = time.perf_counter()
    ix.add_many(watched())
    added = time.perf_counter() - begun
    info = ix.commit()
    facts = {
        "docs/s": round(count / added),
        "peak MiB": round(memory("VmHWM")),
        "log MiB at most": round(log_most / 2**20, 1),
        "commit syncs": info.syncs,
        "freezes": ix.stats()["freezes"],
        "merges": ix.stats()["merges"],
    }
    print(json.dumps(facts), flush=True)
    os.kill(os.getpid(), signal.SIGKILL)


def added_by_child(folder, count, jobs):
    command = [sys.executable, __file__, "--writer", folder, "--docs", str(count)]
    command += ["--jobs", str(jobs)]
    out = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    assert out.returncode == -signal.SIGKILL, out.returncode
    facts = json.loads(out.stdout.splitlines()[-1])
    print("\nadded and killed:", facts)
    assert facts["peak MiB"] < 700, "memory is not bounded"
    assert facts["log MiB at most"] <= 16, "the log is not bounded"


def answers(ix):
    return [(q, h.total, h.ids) for q in QUERIES for h in [ix.search(q)]]


def ends_in_time(ix):
    """A query that would take long ends within 10 ms of its deadline."""
    slow = " ".join(chr(97 + i) + "*" for i in range(26)) + " the of and in to"
    late = []
    for _ in range(20):
        begun = time.perf_counter()
        try:
            ix.search(slow, timeout=0.005)
        except grebe.DeadlineError:
            late.append(time.perf_counter() - begun - 0.005)
    assert late, "the slow query was not slow"
    cancel, due = grebe.Cancel(), []

    def set_later():
        time.sleep(0.005)
        due.append(time.perf_counter())
        cancel.set()

    thread = threading.Thread(target=set_later)
    thread.start()
    try:
        ix.search(slow, cancel=cancel)
        cancelled = None
    except grebe.CancelledError:
        cancelled = time.perf_counter() - due[0]
    thread.join()
    late.sort()
    print(f"deadline overshoot: median {late[len(late) // 2] * 1e3:.2f} ms,"
          f" most {late[-1] * 1e3:.2f} ms; cancel {cancelled}")
    assert late[len(late) // 2] < 0.010


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--docs", type=int, default=1_000_000)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--writer")
    parser.add_argument("--keep", action="store_true")
    given = parser.parse_args()
    if not (SHARED / "data/make_corpus.py").exists():
        print("skipped: GREBE_SHARED has no data/make_corpus.py")
        return
    if given.writer:
        writer(given.writer, given.docs, given.jobs)
    folder = tempfile.mkdtemp(prefix="grebe-million-")
    try:
        added_by_child(folder, given.docs, given.jobs)
        size = sum(p.stat().st_size for p in pathlib.Path(folder).iterdir())
        before = memory()
        begun = time.perf_counter()
        ix = grebe.open(folder)
        opened = time.perf_counter() - begun
        grown = memory() - before
        print(f"opened {size / 1e9:.2f} GB in {opened * 1e3:.1f} ms, {grown:.1f} MiB more")
        assert grown < 10
        assert len(ix) == given.docs
        first = answers(ix)
        ends_in_time(ix)
        begun = time.perf_counter()
        ix.merge()
        ix.commit()
        print(f"merged in {time.perf_counter() - begun:.1f} s, peak {memory('VmHWM'):.0f} MiB")
        assert answers(ix) == first
        ix.close()
        print(f"checked: {len(grebe.check(folder))} lines")
    finally:
        if not given.keep:
            shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
