"""The same folder from Lua, and back in Python."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import show

import grebe

ROOT = Path(__file__).resolve().parents[2]


def _environment() -> dict[str, str]:
    """Where lua5.4 finds this tree's build."""
    build = ROOT / os.environ.get("GREBE_BUILD", "build/release")
    lua = ROOT / "bindings/lua"
    return {
        **os.environ,
        "LUA_PATH": f"{lua}/?.lua;{lua}/?/init.lua;;",
        "LUA_CPATH": f"{build}/lua/?.so;;",
    }


def show_both(folder: Path) -> None:
    """Lua opens the folder, adds and commits; a Python reader follows."""
    show.heading("5. The same folder from Lua, while Python reads it")
    if shutil.which("lua5.4") is None:
        print("  left out: no lua5.4 here")
        return
    with grebe.open(folder, mode="r") as reader:
        show.call('reader = grebe.open(folder, mode="r")      # Python')
        query = "name:grebe"
        print(f'  {reader.count(query)} found for "{query}"')
        show.call("lua5.4 examples/demo/demo.lua folder")
        subprocess.run(
            ["lua5.4", str(ROOT / "examples/demo/demo.lua"), str(folder)],
            env=_environment(),
            check=True,
        )
        show.call(f'reader.search("{query}")      # Python, still open')
        found = reader.search(query)
        if found.total != 1:
            raise SystemExit("the reader does not see what Lua committed")
        show.hits(found, fallback="summary" if "summary" in found[0] else "doc")
