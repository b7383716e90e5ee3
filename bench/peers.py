"""Which engines this machine has, how each is started, and why others are absent."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
BUILD = ROOT / os.environ.get("GREBE_BUILD", "build/release")
HOME = ROOT / "build/peers"
CLASSES = ROOT / "build/bench_java"
DEBIAN_PYTHON = "/usr/bin/python3"
HINT = "./run setup --peers installs it"

# Peer -> what proves it is there, in its interpreter.
_MODULES = {
    "FTS5": "import sqlite3 as s; s.connect(':memory:').execute("
    "'create virtual table f using fts5(x)'); print(s.sqlite_version)",
    "Xapian": "import xapian; print(xapian.version_string())",
    "tantivy": "import importlib.metadata as m, tantivy; print(m.version('tantivy'))",
    "Whoosh": "import whoosh.index as i, whoosh as w; print(w.versionstring())",
    "bm25s": "import importlib.metadata as m, bm25s; print(m.version('bm25s'))",
}
NAMES = (*_MODULES, "FTS5 C", "Lucene")


def interpreter(engine: str) -> str:
    """The Python that has this engine's module."""
    if engine == "xapian":
        return DEBIAN_PYTHON
    if engine in ("tantivy", "whoosh", "bm25s", "plots"):
        return str(HOME / "venv/bin/python")
    return sys.executable


def _module(peer: str) -> tuple[str | None, str]:
    python = interpreter(peer.lower())
    if not os.path.exists(python):
        return None, f"{python} does not exist: {HINT}"
    out = subprocess.run([python, "-c", _MODULES[peer]], capture_output=True, text=True)
    if out.returncode:
        last = (out.stderr.strip().split("\n") or ["?"])[-1]
        return None, f"{last}: {HINT}"
    return out.stdout.strip(), ""


def _fts5_c() -> tuple[str | None, str]:
    """Built here: the program is small and its library is a build package."""
    source, program = HERE / "c/fts5_peer.c", HOME / "fts5_peer"
    newest = max(f.stat().st_mtime for f in (source, HERE / "c/bench.h"))
    if not program.exists() or program.stat().st_mtime < newest:
        HOME.mkdir(parents=True, exist_ok=True)
        command = ["cc", "-O2", "-I", str(HERE / "c"), "-o", str(program), str(source)]
        out = subprocess.run(command + ["-lsqlite3"], capture_output=True, text=True)
        if out.returncode:
            return None, f"cannot be built: {out.stderr.strip()[:200]}"
    return "the system's libsqlite3", ""


def _lucene() -> tuple[str | None, str]:
    """Its program is compiled here, as its sources belong to this tree."""
    folder = HOME / "java"
    if not (folder / "jdk").exists() or not (folder / "classpath").exists():
        return None, f"not there (needs a JDK of 21 or newer and mvn): {HINT}"
    sources = list((HERE / "java/src").rglob("*.java"))
    main = CLASSES / "bench/lucene/Worker.class"
    newest = max(path.stat().st_mtime for path in sources)
    if not main.exists() or main.stat().st_mtime < newest:
        jdk = (folder / "jdk").read_text().strip()
        command = [f"{jdk}/bin/javac", "-nowarn", "-d", str(CLASSES), "-cp"]
        command += [(folder / "classpath").read_text().strip(), *map(str, sources)]
        out = subprocess.run(command, capture_output=True, text=True)
        if out.returncode:
            return None, f"cannot be compiled: {out.stderr.strip()[:200]}"
    return "10.6.0", ""


def find() -> tuple[dict[str, str], dict[str, str]]:
    """(present with versions, absent with reasons)."""
    present, absent = {}, {}
    for peer in NAMES:
        if peer == "FTS5 C":
            version, why = _fts5_c()
        elif peer == "Lucene":
            version, why = _lucene()
        else:
            version, why = _module(peer)
        if version is None:
            absent[peer] = why
        else:
            present[peer] = version
    return present, absent


def lua_paths() -> dict[str, str]:
    """Where lua5.4 finds this tree's module."""
    modules = ROOT / "bindings/lua"
    return {
        "LUA_PATH": f"{modules}/?.lua;{modules}/?/init.lua;;",
        "LUA_CPATH": f"{BUILD}/lua/?.so;;",
    }


def java_command(scratch: str) -> list[str]:
    folder = HOME / "java"
    jdk = (folder / "jdk").read_text().strip()
    classes = f"{CLASSES}:{(folder / 'classpath').read_text().strip()}"
    return [
        f"{jdk}/bin/java",
        "-Xmx3g",
        "--enable-native-access=ALL-UNNAMED",
        "--add-modules",
        "jdk.incubator.vector",
        f"-Djava.io.tmpdir={scratch}",
        "-cp",
        classes,
        "bench.lucene.Worker",
        scratch,
    ]
