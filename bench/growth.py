"""How Grebe's costs grow with documents: one index that gets more of them.

Not a comparison: bench/results/growth.json holds a point for each number of documents.
"""

from __future__ import annotations

import json
import os
import pathlib
import sys
import time
from typing import Any

import corpora
import machine
import peers
import workers

SIZES = (10_000, 100_000, 500_000, 1_000_000, 5_000_000)
TERMS_OF = 10_000  # the same terms at each size: of the first documents
LIMIT_S = 4 * 3600


def _classes(series: dict[str, list[int]]) -> dict[str, dict[str, float]]:
    """Microseconds a query of each class and mode."""
    made = {}
    for name, ns in series.items():
        ordered = sorted(ns)
        made[name] = {
            "queries": len(ns),
            "p50": ordered[len(ns) // 2] / 1e3,
            "mean": round(sum(ns) / len(ns) / 1e3, 3),
            "p99": ordered[min(len(ns) - 1, len(ns) * 99 // 100)] / 1e3,
        }
    return made


def measure(docs: int, scratch: str, out: pathlib.Path) -> None:
    """All sizes up to `docs`; the file is written after each."""
    if not corpora.MAKER.exists():
        sys.exit(f"growth: {corpora.MAKER} does not exist")
    text = corpora.made("wiki", docs)
    queries, _ = corpora.write_queries(text, TERMS_OF, True)
    folder = os.path.join(scratch, "growth")
    os.makedirs(folder)
    result: dict[str, Any] = {"machine": machine.facts(scratch), "points": []}
    process = workers.Process([str(peers.BUILD / "growth_bench")], scratch, None, LIMIT_S)
    try:
        process.ask("open", "growth", str(text), folder, queries)
        for size in (s for s in SIZES if s <= docs):
            print(f"{time.strftime('%H:%M:%S')} growth {size:,}", file=sys.stderr)
            point = process.ask("block", size)
            point["classes"] = _classes(point.pop("series"))
            point["load"] = machine.load()
            result["points"].append(point)
            _tell(point)
            out.mkdir(parents=True, exist_ok=True)
            (out / "growth.json").write_text(json.dumps(result, indent=1) + "\n")
    finally:
        process.end(0)


def _tell(point: dict[str, Any]) -> None:
    figures = ", ".join(f"{k} {v:g}" for k, v in point["figures"].items())
    print(f"{point['docs']:,} documents: {figures}")
    for name, times in point["classes"].items():
        print(f"  {name:32} {times['p50']:10.1f} us, mean {times['mean']:.1f}")
