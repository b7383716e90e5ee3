"""The README's code is the examples' code, and the examples run."""

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
FOUND = (
    "0.46 1 The <em>Old</em> Man and the <em>Sea</em>\n"
    "0.23 3 An <em>Old</em>-Fashioned Girl\n"
    "0.19 2 Twenty Thousand Leagues under the <em>Sea</em>\n"
)
BLOCK = re.compile(r"<!-- file: (\S+) -->\n```\w+\n(.*?)```\n", re.S)


def tool(name):
    """A script of tools/ as a module."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def build_folder():
    """The build that the tests run against: it holds grebe_core."""
    import grebe_core

    folder = Path(grebe_core.__file__).resolve().parents[1]
    if not (folder / "build.ninja").exists():
        pytest.skip("grebe is installed, not built in a tree")
    return folder


def run(*command, **more):
    done = subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, **more
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("language", ["py", "lua", "c"])
def test_the_readme_shows_what_runs(language):
    shown = dict(BLOCK.findall((ROOT / "README.md").read_text()))
    name = f"examples/twenty_lines.{language}"
    assert shown[name] == (ROOT / name).read_text()


def test_twenty_lines_of_python():
    out = run(sys.executable, EXAMPLES / "twenty_lines.py")
    assert out == FOUND + "3 found, {'sea': 2, 'short': 1}\n['2']\n2 left\n"


def test_twenty_lines_of_lua():
    build = build_folder()
    if shutil.which("lua5.4") is None or not (build / "lua/grebe/core.so").exists():
        pytest.skip("no lua5.4, or this build has no Lua module")
    lua = ROOT / "bindings/lua"
    environment = {
        **os.environ,
        "LUA_PATH": f"{lua}/?.lua;{lua}/?/init.lua",
        "LUA_CPATH": f"{build}/lua/?.so",
    }
    out = run("lua5.4", EXAMPLES / "twenty_lines.lua", env=environment)
    assert out == FOUND + "3\tfound\t2\tof the sea\n2\n2 left\n"


def test_the_lines_of_c(tmp_path):
    build = build_folder()
    if not (build / "libgrebe.so").exists():
        pytest.skip("this build has no libgrebe.so")
    run(
        "cc",
        "-std=c11",
        "-Wall",
        "-Wextra",
        "-Werror",
        f"-I{ROOT}/core/include",
        EXAMPLES / "twenty_lines.c",
        f"-L{build}",
        f"-Wl,-rpath,{build}",
        "-lgrebe",
        "-o",
        tmp_path / "lines",
    )
    plain = re.sub(r"(?m)^(\S+) \d|</?em>", r"\1", FOUND)
    assert run(tmp_path / "lines") == plain


RESULT = {
    "machine": {
        "date": "2030-01-02 03:04 UTC",
        "cpu": {"model": "a processor", "cores": 2},
        "file_system": "ext4 on disk",
        "kernel": "6.1",
        "peers": {"Peer": "1.0"},
    },
    "rows": [
        {
            "workload": "W1",
            "what": "a cycle",
            "side": "Python",
            "unit": "us",
            "grebe": 2.0,
            "peers": {"Peer": 5000.0, "Other": None},
            "ratio_best": 2500.0,
        }
    ],
}


def test_the_table_comes_from_the_newest_results(tmp_path):
    table = tool("readme_table")
    page = tmp_path / "page.md"
    page.write_text("a\n<!-- bench: begin (x) -->\nold\n<!-- bench: end -->\nb\n")
    assert "Not measured yet" in table.filled(page, tmp_path)
    older = json.loads(json.dumps(RESULT))
    older["machine"]["date"] = "2029-01-02 03:04 UTC"
    older["rows"][0]["grebe"] = 9.0
    (tmp_path / "z.json").write_text(json.dumps(older))
    (tmp_path / "a.json").write_text(json.dumps(RESULT))
    filled = table.filled(page, tmp_path)
    assert "| W1 | a cycle | Python | us | 2 | 5,000 | 2,500x |" in filled
    (tmp_path / "full.json").write_text(json.dumps(older))
    assert "| us | 9 |" in table.filled(page, tmp_path)
    (tmp_path / "full.json").unlink()
    assert "Other" not in filled and "old\n" not in filled
    assert filled.startswith("a\n") and filled.endswith("<!-- bench: end -->\nb\n")


def test_a_partial_run_replaces_what_it_measured(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "bench"))
    import store

    def run(date, workloads, rows):
        return {
            "machine": {"date": date, "commit": "c", "load_before": "1"},
            "workloads": workloads,
            "rows": [dict(zip(("workload", "what", "grebe"), r)) for r in rows],
            "left_out": [],
            "usage": [],
            "differences": {},
        }

    first = run("1", ["W1", "W7"], [("W1", "a", 1), ("W7", "b", 2), ("W7", "c", 3)])
    empty = {"rows": [], "left_out": [], "usage": [], "differences": {}}
    old = store.merged(empty, first, True)
    some = store.merged(old, run("2", ["W7"], [("W7", "b", 9)]), False)
    found = {(r["what"], r["grebe"], r["date"]) for r in some["rows"]}
    assert found == {("a", 1, "1"), ("b", 9, "2"), ("c", 3, "1")}
    whole = store.merged(old, run("2", ["W7"], [("W7", "b", 9)]), True)
    assert {r["what"] for r in whole["rows"]} == {"a", "b"}
    assert whole["workloads"] == ["W1", "W7"]


@pytest.fixture
def check_docs(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    yield tool("check_docs")
    for name in ("make_docs", "readme_table"):
        sys.modules.pop(name, None)


def test_links_are_checked(check_docs, tmp_path):
    page = tmp_path / "page.md"
    (tmp_path / "other.md").write_text("# A heading, with `code`\n")
    good = "[a](other.md) [b](other.md#a-heading-with-code) [c](https://x.y)\n"
    assert list(check_docs.link_faults(page, good)) == []
    assert list(check_docs.link_faults(page, "```\n[a](none.md)\n```\n")) == []
    bad = "[a](none.md) [b](other.md#another)"
    assert len(list(check_docs.link_faults(page, bad))) == 2


def test_the_shown_code_is_checked(check_docs):
    readme = (ROOT / "README.md").read_text()
    assert list(check_docs.readme_faults(readme)) == []
    assert len(list(check_docs.readme_faults(readme.replace("import grebe", "")))) == 1
    assert len(list(check_docs.readme_faults(""))) == 3


def test_paths_of_a_machine_are_found(check_docs):
    assert check_docs.MACHINE.search("see /home/" + "somebody/grebe")
    assert not check_docs.MACHINE.search("docs/home/page and /var/lib/apt")


def test_pages_are_made_from_headers(check_docs):
    make_docs = sys.modules["make_docs"]
    source = (
        '#ifndef X_H\n#define X_H\n#include "a.h"\n\n'
        "/* Does a thing; see grebe_y. */\n"
        "GREBE_API grebe_status grebe_x(int a,\n                  int b);\n"
    )
    (_, noise), (comment, code), *_ = make_docs.blocks(source)
    assert make_docs.names(code) == ["grebe_x"] and "ifndef" in noise
    assert comment == "Does a thing; see `grebe_y`."
    assert "grebe_status grebe_x(int a, int b);" in make_docs.fence(code)
    statuses = make_docs.statuses()
    assert [int(s[1]) for s in statuses] == list(range(1, len(statuses) + 1))
