"""The corpora, made once with make_corpus.py of the shared data and kept in
build/bench_data."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys

import bulk
import cores
import peers

FOLDER = pathlib.Path(
    os.environ.setdefault("GREBE_BENCH_DATA", str(peers.ROOT / "build/bench_data"))
)
SHARED = pathlib.Path(os.environ.get("GREBE_SHARED", peers.ROOT.parent / "shared"))
MAKER = SHARED / "data/make_corpus.py"
# Documents of the wiki in the two sizes, and which query of a class is taken.
DOCS = {False: 20_000, True: 200_000}
STRIDE = {20_000: 10, 200_000: 4}
QUERIES = SHARED / "data/queries/search-benchmark-game.jsonl"


def _make(path: pathlib.Path, *words: str) -> None:
    if path.exists():
        return
    print(f"making {path.name}", file=sys.stderr)
    part = path.with_suffix(".part")
    with part.open("wb") as out:
        subprocess.run([sys.executable, str(MAKER), *words], stdout=out, check=True)
    part.rename(path)


def _write_queries(docs: int) -> None:
    """What engines that are not used from Python read their queries from."""
    stride = STRIDE[docs]
    lines = [json.dumps([kind, text]) for kind, text, _ in bulk.game(docs, stride)]
    (FOLDER / f"queries-{docs}.jsonl").write_text("\n".join(lines) + "\n")
    high, med = bulk.kinds_terms(docs)
    made = json.dumps({"high": high, "med": med})
    (FOLDER / f"terms-{docs}.json").write_text(made)


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
        os.environ["GREBE_BENCH_QUERIES"] = str(QUERIES)
        _write_queries(docs)
    return ""
