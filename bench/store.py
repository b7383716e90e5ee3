"""The files of results: one a kind of run, to which partial runs add.

A run of some workloads replaces what the file holds of them and leaves the rest; a run
of some cases replaces the rows it made. Each row tells when it was measured.
"""

from __future__ import annotations

import json
import pathlib
from typing import Any

Result = dict[str, Any]
_LISTS = ("left_out", "usage", "rows")


def read(path: pathlib.Path) -> Result:
    """What the file holds; an empty result if there is none."""
    if path.exists():
        made: Result = json.loads(path.read_text())
        return made
    return {"differences": {}, **{name: [] for name in _LISTS}}


def _same(row: Result) -> tuple[str, ...]:
    """What a row is about."""
    names = ("workload", "what", "case", "side", "engine")
    return tuple(str(row.get(name)) for name in names)


def merged(old: Result, new: Result, whole: bool) -> Result:
    """`new` over `old`; `whole`: its workloads were run with all their cases."""
    made = dict(new)
    facts = new["machine"]
    when = {name: facts[name] for name in ("date", "commit", "load_before")}
    run = set(new["workloads"])
    for name in _LISTS:
        fresh = [row | when for row in new[name]]
        known = {_same(row) for row in fresh}
        kept = [
            row
            for row in old[name]
            if _same(row) not in known and not (whole and row["workload"] in run)
        ]
        made[name] = kept + fresh
    made["differences"] = old["differences"] | new["differences"]
    made["workloads"] = sorted(run | set(old.get("workloads", [])))
    return made


def write(path: pathlib.Path, new: Result, whole: bool) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    made = merged(read(path), new, whole)
    path.write_text(json.dumps(made, indent=1) + "\n")
