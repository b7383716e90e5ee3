"""`./run demo [FILE.jsonl]`: Grebe on real text, with figures of this very run."""

from __future__ import annotations

import os
import platform
import shutil
import sys
import tempfile
import time
from pathlib import Path

import costs
import debian_packages
import own_documents
import second_language
import show
import stdlib_docs

import grebe

ROUNDS_SOFT, ROUNDS_HARD, ROUNDS_WIPE = 2000, 200, 200


def folder_size(folder: Path) -> int:
    return sum(p.stat().st_size for p in folder.rglob("*") if p.is_file())


def folder_new() -> Path:
    """A new folder beside the build: /tmp may lie in memory, where syncs are free."""
    build = second_language.ROOT / "build"
    build.mkdir(exist_ok=True)
    return Path(tempfile.mkdtemp(prefix="demo-", dir=build))


def file_system(folder: Path) -> str:
    """The kind of file system that holds a folder."""
    best, kind = "", "unknown"
    for line in Path("/proc/mounts").read_text().splitlines():
        at, found = line.split()[1:3]
        if folder.is_relative_to(at) and len(at) >= len(best):
            best, kind = at, found
    return kind


def fill(index: grebe.Index, documents: list[costs.Document]) -> None:
    """Adds everything, then makes it visible (and durable, in a folder)."""
    took = costs.timed(
        lambda: index.add_many(show.progress(documents, len(documents), "added"))
    )
    stats = index.stats()
    show.figure("documents", f"{len(documents):,}")
    show.figure(
        "added in",
        show.seconds(took),
        f"{len(documents) / took:,.0f} documents/s",
    )
    show.figure(
        "text", show.size(stats["bytes_indexed"]), f"{stats['tokens']:,} tokens"
    )
    infos: list[grebe.CommitInfo] = []
    took = costs.timed(lambda: infos.append(index.commit(soft=index.path is None)))
    if index.path is None:
        show.figure("soft commit: all of it visible", show.seconds(took))
    else:
        more = show.counted(infos[0].syncs, "sync")
        show.figure("hard commit: all of it durable", show.seconds(took), more)


def standard_library() -> list[costs.Document]:
    """Indexes Python's documentation in memory; returns its entries."""
    show.heading("1. In memory: the documentation of Python's standard library")
    began = time.perf_counter()
    entries = list(stdlib_docs.entries())
    with_text = sum("doc" in entry for entry in entries)
    took = show.seconds(time.perf_counter() - began)
    show.note(
        f"  {len(entries):,} entries, {with_text:,} with text, collected in {took}"
    )
    with grebe.Index(stdlib_docs.SCHEMA) as index:
        fill(index, entries)

        show.search(
            index,
            "parse command line arguments",
            op="and",
            highlight=["doc"],
            limit=3,
            show_fields=["kind"],
        )
        show.search(
            index,
            '+"regular expression" -compile',
            fields=["doc"],
            where="kind:function",
            highlight=["doc"],
            limit=3,
            show_fields=["module"],
        )
        show.search(index, "timeout", facets={"package": 6, "kind": 4}, limit=0)

        show.heading("2. What it costs there, in memory")
        show.times_head()
        costs.commits(index, entries[:ROUNDS_SOFT], soft=True)
        costs.wipes(index, ROUNDS_WIPE)
    return entries


def search_packages(index: grebe.Index) -> None:
    show.search(
        index,
        "full text search engine",
        fields=["name^2", "summary"],
        where="section:(libs OR database)",
        highlight=["summary"],
        limit=4,
        show_fields=["section", "kib"],
    )
    show.search(
        index,
        "game*",
        fields=["summary"],
        where="kib:[100000 TO *]",
        sort="kib desc",
        limit=4,
        show_fields=["kib"],
        fallback="summary",
    )
    show.search(
        index, "depends:libc6", facets={"section": 5, "maintainer": 4}, limit=0
    )


def packages() -> list[costs.Document] | None:
    """The records of apt, None where there are none."""
    try:
        began = time.perf_counter()
        documents = debian_packages.documents()
        took = show.seconds(time.perf_counter() - began)
    except debian_packages.NoLists as reason:
        print(f"  no package records here ({reason})")
        return None
    show.note(f"  {len(documents):,} records read in {took}")
    return documents


def in_a_folder(folder: Path, entries: list[costs.Document]) -> None:
    """Indexes apt's records, or else the entries, in a folder."""
    show.heading("3. In a folder: the package records of this machine's apt")
    found = packages()
    documents = entries if found is None else found
    if found is None:
        print("  Python's documentation again, in a folder now:")
    schema = stdlib_docs.SCHEMA if found is None else debian_packages.SCHEMA
    with grebe.open(folder, schema) as index:
        fill(index, documents)
        disk = show.size(folder_size(folder))
        show.figure("the folder", disk, f"{len(index):,} keys")
        if found is not None:
            search_packages(index)

        show.heading(f"4. What it costs there, in a folder on {file_system(folder)}")
        show.times_head()
        costs.commits(index, documents[:ROUNDS_SOFT], soft=True)
        costs.commits(index, documents[:ROUNDS_HARD], soft=False)
        raw = costs.raw_syncs(folder.parent, ROUNDS_HARD)
        show.times("(append 4 KiB to a file and sync)", raw)
        costs.wipes(index, ROUNDS_WIPE)


def own_file(path: Path, folder: Path) -> None:
    documents = own_documents.read(path)
    show.heading(f"1. {path.name}: a schema guessed from its documents")
    schema = own_documents.guess(documents)
    show.fields_of(schema)
    show.heading("2. In a folder")
    with grebe.open(folder, schema) as index:
        fill(index, own_documents.fitted(documents, schema))
        disk = show.size(folder_size(folder))
        show.figure("the folder", disk, f"{len(index):,} documents")
        own_documents.search(index, documents)
        show.heading(f"3. What it costs there, on {file_system(folder)}")
        show.times_head()
        sample = own_documents.fitted(documents[:ROUNDS_HARD], schema)
        costs.commits(index, sample, soft=True)
        costs.commits(index, sample, soft=False)
        costs.wipes(index, ROUNDS_WIPE)


def main(arguments: list[str]) -> int:
    if len(arguments) > 1 or arguments[:1] in (["-h"], ["--help"]):
        print(__doc__)
        return 2
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    if sys.version_info < (3, 10):
        raise SystemExit("the demo needs Python 3.10: sys.stdlib_module_names")
    began = time.perf_counter()
    print(
        f"Grebe {grebe.__version__}, Python {platform.python_version()}, "
        f"{platform.machine()}, {os.cpu_count()} cores. "
        "Every figure below is of this run."
    )
    place = folder_new()
    try:
        if arguments:
            own_file(Path(arguments[0]), place / "index")
        else:
            in_a_folder(place / "index", standard_library())
            second_language.show_both(place / "index")
    except own_documents.Unreadable as error:
        print(f"demo: {error}", file=sys.stderr)
        return 1
    finally:
        shutil.rmtree(place, ignore_errors=True)
    if grebe.live_handles():
        raise SystemExit(f"{grebe.live_handles()} handles were not freed")
    print(f"\nDone in {show.seconds(time.perf_counter() - began)}.")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except BrokenPipeError:  # `./run demo | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
