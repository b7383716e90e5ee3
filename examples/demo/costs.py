"""What commits and wipes cost on the index at hand: measured, not told."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import grebe
import show

Document = dict[str, Any]


def timed(call: Callable[[], Any]) -> float:
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def raw_syncs(folder: Path, count: int) -> list[float]:
    """Appending 4 KiB to a plain file and syncing it, beside the index."""
    path = folder / "raw-sync-of-the-demo"
    took = []
    with open(path, "wb") as file:
        for _ in range(count):
            file.write(os.urandom(4096))
            file.flush()
            took.append(timed(lambda: os.fdatasync(file.fileno())))
    path.unlink()
    return took


def commits(index: grebe.Index, sample: list[Document], soft: bool) -> None:
    """Replaces a document, commits, finds it; one round for each given."""
    adds, commits, finds, syncs = [], [], [], 0
    key = index.schema.key
    verb = "replace" if key else "add"
    for document in sample:
        adds.append(timed(lambda: index.add(document)))
        infos: list[grebe.CommitInfo] = []
        commits.append(timed(lambda: infos.append(index.commit(soft=soft))))
        syncs += infos[0].syncs
        if key:
            query = grebe.Q.term(key, document[key])
            finds.append(timed(lambda: index.search(query, limit=1)))
    kind = "soft" if soft else "hard"
    each = show.counted(round(syncs / len(sample), 2), "sync") + " each"
    show.times(f"{verb} one document (before {kind})", adds)
    show.times(f"{kind} commit", commits, each)
    if finds:
        show.times("find it by its key", finds)


def wipes(index: grebe.Index, rounds: int) -> None:
    """Deletes everything and commits; goes back to the full index; again."""
    full = index.snapshot()
    everything, count = grebe.Q.all(), len(index)
    deletes, commits, restores = [], [], []
    for _ in range(rounds):
        deletes.append(timed(lambda: index.delete_by_query(everything)))
        commits.append(timed(lambda: index.commit(soft=True)))
        if len(index) != 0:
            raise SystemExit("a wiped index has documents")
        restores.append(timed(lambda: index.restore(full)))
        if len(index) != count:
            raise SystemExit("a restored index lacks documents")
    full.close()
    show.times(f"delete all {count:,} documents", deletes)
    show.times("soft commit of that", commits)
    show.times("go back to the full index", restores)
