"""One engine at work, in a process of its own.

  worker.py ENGINE VARIANT FOLDER

Reads commands, answers each with a line of JSON (bench/workers.py is the other end):

  open CASE WORD...   gets a case ready: {"version": ...}
  block N             N turns: {"series": {name: [ns]}, "cpu_ns", "turns", ...}
  answers             what the engine found, to be compared between engines
  close               {"rss_kib", "peak_kib", ...}
  A case that an engine cannot do answers {"unsupported": why}.

Cases: CASES in cases.py and bulk.py. FOLDER is empty and may be filled.
"""

from __future__ import annotations

import json
import os
import sys
import time

import bulk
import cases
import engines
from engines.base import Unsupported
from measure import peak_kib, rss_kib

ALL = cases.CASES | bulk.CASES


class Place:
    """Where the engine of this process opens its indexes."""

    def __init__(self, engine: str, variant: str, folder: str) -> None:
        self.engine, self.variant, self.root = engine, variant, folder
        self.adapter = engines.load(engine)
        self.options = self.adapter.variants[variant]
        self.in_memory = variant == "memory"

    def folder(self, name: str) -> str | None:
        if self.in_memory:
            return None
        path = os.path.join(self.root, name)
        os.makedirs(path, exist_ok=True)
        return path

    def open(self, schema, name="index", create=True, **more):
        engine = self.adapter()
        path = self.folder(name)
        engine.open(path, schema, create=create, **{**self.options, **more})
        return engine


def answer(case, words, place):
    if words[0] == "block":
        cpu, t = time.process_time_ns(), time.perf_counter_ns()
        out = case.block(int(words[1]))
        out.setdefault("wall_ns", time.perf_counter_ns() - t)
        out.setdefault("cpu_ns", time.process_time_ns() - cpu)
        out.setdefault("turns", int(words[1]))
        return out
    if words[0] == "answers":
        return case.answers()
    raise SystemExit(f"no command {words[0]!r}")


def main() -> None:
    place = Place(*sys.argv[1:4])
    # What an engine prints must not get between the answers.
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    case = None
    for line in sys.stdin:
        words = line.split()
        if words[0] == "close":
            made = {"peak_kib": peak_kib(), "rss_kib": rss_kib()}
            made |= getattr(case, "facts", dict)()
        else:
            try:
                if words[0] == "open":
                    case = ALL[words[1]](place, *words[2:])
                    made = {"version": place.adapter.version()}
                else:
                    made = answer(case, words, place)
            except Unsupported as reason:
                made = {"unsupported": str(reason)}
        print(json.dumps(made), file=out, flush=True)
        if words[0] == "close":
            break
    os._exit(0)  # closing is not measured, and some engines take long over it


main()
