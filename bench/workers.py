"""The processes that hold the engines, and the turns they take."""

from __future__ import annotations

import concurrent.futures
import itertools
import json
import os
import pathlib
import select
import shutil
import subprocess
import time
from typing import Any

import peers

Answer = dict[str, Any]


class Failed(Exception):
    """An engine cannot do what was asked."""


class Lost(Failed):
    """It died or gave no answer in time: its process is of no more use."""


class Process:
    """A worker: a line in, a line of JSON out."""

    def __init__(
        self, command: list[str], scratch: str, cpu: int | None, limit_s: int
    ) -> None:
        self.limit_s = limit_s
        if cpu is not None and "java" not in command[0]:
            command = ["taskset", "-c", str(cpu), *command]
        self.log = open(os.path.join(scratch, "stderr"), "w+")
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.log,
            text=True,
            bufsize=1,
            env=os.environ | peers.lua_paths(),
        )

    def ask(self, *words: str | int) -> Answer:
        assert self.process.stdin and self.process.stdout
        try:
            self.process.stdin.write(" ".join(map(str, words)) + "\n")
            self.process.stdin.flush()
            if not select.select([self.process.stdout], [], [], self.limit_s)[0]:
                raise Lost(f"no answer to {words[0]!r} in {self.limit_s} s")
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            raise Lost(f"died in {words[0]!r}: {self._last_words()}")
        made: Answer = json.loads(line)
        if "unsupported" in made:
            raise Failed(made["unsupported"])
        return made

    def _last_words(self) -> str:
        self.process.wait(20)
        self.log.seek(0)
        lines = [line for line in self.log.read().split("\n") if line.strip()]
        return lines[-1][:300] if lines else f"status {self.process.returncode}"

    def end(self, patience_s: int = 5) -> None:
        try:
            if self.process.stdin:
                self.process.stdin.close()
            self.process.wait(patience_s)
        except (BrokenPipeError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()
        if self.process.stdout:
            self.process.stdout.close()
        self.log.close()


class Runner:
    """Starts workers; one Java process serves all cases, as it has to be warm."""

    def __init__(
        self, scratch: str, warm_s: tuple[int, int], cpu: int | None, limit_s: int
    ) -> None:
        self.scratch, self.warm_s, self.cpu = scratch, warm_s, cpu
        self.limit_s = limit_s
        self.java: Process | None = None
        self.count = itertools.count(1)

    def _folder(self) -> str:
        path = os.path.join(self.scratch, f"w{next(self.count)}")
        shutil.rmtree(path, ignore_errors=True)
        os.makedirs(path)
        return path

    def lucene(self) -> Process:
        if self.java is None:
            folder = self._folder()
            command = peers.java_command(folder)
            self.java = Process(command, folder, None, self.limit_s)
            self.java.ask("warm", *self.warm_s)
        return self.java

    def start(self, kind: str, variant: str) -> tuple[Process, str]:
        """A worker of this kind (lucene, grebe-c, fts5-c, grebe-lua or a module)."""
        if kind == "lucene":
            return self.lucene(), ""
        folder = self._folder()
        data = os.path.join(folder, "data")
        os.makedirs(data)
        here = str(peers.HERE)
        if kind == "grebe-c":
            command = [str(peers.BUILD / variant)]
        elif kind == "fts5-c":
            command = [str(peers.HOME / "fts5_peer")]
        elif kind == "grebe-lua":
            command = ["lua5.4", f"{here}/lua/ingest.lua"]
        else:
            python = peers.interpreter(kind)
            command = [python, f"{here}/worker.py", kind, variant, data]
        cpu = self.cpu
        if kind == "tantivy" and cpu is None and variant != "disk-threads":
            cpu = max(os.sched_getaffinity(0))  # its commits wait 100 ms otherwise
        return Process(command, folder, cpu, self.limit_s), data

    def stop(self, kind: str, process: Process, data: str, lost: bool) -> None:
        if kind == "lucene":
            if lost:  # the next case gets a new one
                process.end(0)
                self.java = None
            return
        process.end(0 if lost else 5)
        shutil.rmtree(pathlib.Path(data).parent, ignore_errors=True)

    def close(self) -> None:
        if self.java is not None:
            self.java.end()


class Entry:
    """One engine in one case: its process and what it has measured so far."""

    def __init__(self, who: Any) -> None:
        self.who = who
        self.process: Process | None = None
        self.data = ""
        self.version = ""
        self.blocks: list[Answer] = []
        self.answers: Answer | None = None
        self.facts: Answer = {}
        self.failed = ""
        self.lost = False

    def series(self, name: str) -> list[int]:
        return [v for b in self.blocks for v in b.get("series", {}).get(name, [])]

    def medians(self, name: str) -> list[float]:
        parts = (b.get("series", {}).get(name, []) for b in self.blocks)
        return [sorted(p)[len(p) // 2] for p in parts if p]

    def figure(self, name: str) -> float | None:
        values = sorted(
            b["figures"][name] for b in self.blocks if name in b.get("figures", {})
        )
        return values[len(values) // 2] if values else None


def run(case: Any, runner: Runner, repeat: int) -> list[Entry]:
    """Opens every engine of the case, then lets them take turns, block by block."""
    entries = [Entry(who) for who in case.contestants]
    # Opening is not measured: as many at once as there are cores.
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(lambda e: _try(e, lambda e: _open(e, runner)), entries))
    for turn in range(case.blocks * repeat):
        live = [e for e in entries if not e.failed]
        for entry in (
            live[turn % len(live) :] + live[: turn % len(live)] if live else []
        ):
            if turn < entry.who.blocks_max * repeat:
                _try(entry, lambda e: _block(e, case))
    for entry in entries:
        if entry.process is None:
            continue
        if case.compare and not entry.failed:
            _try(entry, _answers)
        if not entry.failed:
            _try(entry, _facts)
        runner.stop(entry.who.kind, entry.process, entry.data, entry.lost)
        entry.process = None
    return entries


def _try(entry: Entry, step: Any) -> None:
    try:
        step(entry)
    except Failed as reason:
        entry.failed, entry.lost = str(reason), isinstance(reason, Lost)


def _open(entry: Entry, runner: Runner) -> None:
    who = entry.who
    entry.process, entry.data = runner.start(who.kind, who.variant)
    words = [entry.data if w == "FOLDER" else w for w in who.words]
    entry.version = entry.process.ask("open", *words).get("version", "")


def _block(entry: Entry, case: Any) -> None:
    assert entry.process
    t = time.perf_counter_ns()
    made = entry.process.ask("block", entry.who.turns or case.turns)
    made.setdefault("wall_ns", time.perf_counter_ns() - t)
    if made.get("wall_series"):  # an engine without a fine clock of its own
        made["series"][made["wall_series"]] = [made["wall_ns"]]
    entry.blocks.append(made)


def _answers(entry: Entry) -> None:
    assert entry.process
    entry.answers = entry.process.ask("answers")


def _facts(entry: Entry) -> None:
    assert entry.process
    entry.facts = entry.process.ask("close")
