"""The corpora, made once with make_corpus.py of the shared data and kept in
build/bench_data, and the words of an open command that stand for their files."""

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
GAME = SHARED / "data/queries/search-benchmark-game.jsonl"
SMALL, FULL = 5_000, 500_000
SAMPLE = 100_000  # documents that the terms of W7 and W8 are chosen by
# Every so many-th query of a class is taken: the game has 300 of some classes.
STRIDE = {False: 10, True: 4}
# The real corpora, whole. The second is a download of 480 MB.
REAL = {"packages": ("packages",), "rfc": ("rfc", "--fetch", str(FOLDER / "debs"))}


def _make(path: pathlib.Path, *words: str) -> None:
    if path.exists():
        return
    print(f"making {path.name}", file=sys.stderr)
    part = path.with_suffix(f".{os.getpid()}")
    with part.open("wb") as out:
        subprocess.run([sys.executable, str(MAKER), *words], stdout=out, check=True)
    part.rename(path)


def made(kind: str, docs: int) -> pathlib.Path:
    """A file that begins with that many documents: a larger one does, too."""
    sizes = {
        int(path.stem.split("-")[1]): path
        for path in FOLDER.glob(f"{kind}-*.jsonl")
        if path.stem.split("-")[1].isdigit()
    }
    fit = [size for size in sizes if size >= docs]
    if fit:
        return sizes[min(fit)]
    path = FOLDER / f"{kind}-{docs}.jsonl"
    _make(path, kind, "--docs", str(docs), *(["--jobs", "2"] if kind == "wiki" else []))
    return path


def write_queries(wiki: pathlib.Path, docs: int, full: bool) -> tuple[str, str]:
    """The files that every engine reads its queries and terms from."""
    queries = FOLDER / f"queries-{docs}-{STRIDE[full]}.jsonl"
    docs = min(docs, SAMPLE)
    found = bulk.frequencies(wiki, docs)
    rows = [
        json.dumps([kind, text]) for kind, text in bulk.game(found, docs, STRIDE[full], GAME)
    ]
    queries.write_text("\n".join(rows) + "\n")
    terms = FOLDER / f"terms-{docs}.json"
    terms.write_text(json.dumps(bulk.kinds_terms(found, docs)))
    return str(queries), str(terms)


def ready(needs: str, docs: int, full: bool) -> tuple[dict[str, str], str]:
    """Makes what a case needs. What words stand for; why it cannot be, or ""."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    words = {"DATA": str(FOLDER)}
    if not needs:
        return words, ""
    if not MAKER.exists():
        return words, f"{MAKER} does not exist (GREBE_SHARED names the shared data)"
    try:
        if needs == "dspace":
            for core in cores.CORES:
                path = FOLDER / f"dspace-{core}.jsonl"
                _make(path, "dspace", "--core", core, "--docs", "6000")
        elif needs in REAL:
            words["FILE"] = str(FOLDER / f"{needs}.jsonl")
            _make(pathlib.Path(words["FILE"]), *REAL[needs])
        else:
            path = made(needs, docs)
            words["FILE"] = str(path)
            if needs == "wiki":
                words["QUERIES"], words["TERMS"] = write_queries(path, docs, full)
    except (OSError, subprocess.CalledProcessError) as fault:
        return words, f"the corpus could not be made: {fault}"
    return words, ""
