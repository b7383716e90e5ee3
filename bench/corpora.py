"""The corpora, made once with make_corpus.py of the shared data and kept in
build/bench_data."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys

import cores
import peers

FOLDER = pathlib.Path(
    os.environ.setdefault("GREBE_BENCH_DATA", str(peers.ROOT / "build/bench_data"))
)
SHARED = pathlib.Path(os.environ.get("GREBE_SHARED", peers.ROOT.parent / "shared"))
MAKER = SHARED / "data/make_corpus.py"
QUERIES = SHARED / "data/queries/search-benchmark-game.jsonl"


def _make(path: pathlib.Path, *words: str) -> None:
    if path.exists():
        return
    print(f"making {path.name}", file=sys.stderr)
    part = path.with_suffix(".part")
    with part.open("wb") as out:
        subprocess.run([sys.executable, str(MAKER), *words], stdout=out, check=True)
    part.rename(path)


def ready(needs: str, docs: int) -> str:
    """Makes what a case needs; returns why it cannot, or ""."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    if not needs:
        return ""
    if not MAKER.exists():
        return f"{MAKER} does not exist (GREBE_SHARED names the shared data)"
    if needs == "dspace":
        for core in cores.CORES:
            path = FOLDER / f"dspace-{core}.jsonl"
            _make(path, "dspace", "--core", core, "--docs", "6000")
    elif needs == "taxi":
        _make(FOLDER / f"taxi-{docs}.jsonl", "taxi", "--docs", str(docs))
    elif needs == "wiki":
        _make(FOLDER / f"wiki-{docs}.jsonl", "wiki", "--docs", str(docs))
    return ""
