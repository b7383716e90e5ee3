"""The pytest plugin and the stubs."""

import shutil
import subprocess
import sys
from pathlib import Path

import grebe
import pytest

TEMPLATE = """
import grebe, pytest

pytest_plugins = {plugins!r}

@pytest.fixture(scope="session")
def grebe_template():
    ix = grebe.Index(grebe.Schema(id=grebe.key(), title=grebe.text("en")))
    ix.add_many({{"id": str(i), "title": "old"}} for i in range(7))
    return ix
"""


def plugins(request):
    """The plugin by hand, unless it is installed as an entry point."""
    installed = request.config.pluginmanager.hasplugin("grebe")
    return [] if installed else ["grebe.pytest_plugin"]


def run(pytester, *arguments):
    return pytester.runpytest_subprocess("-p", "no:cacheprovider", *arguments)


def test_each_test_gets_the_template_as_new(pytester, request):
    pytester.makeconftest(TEMPLATE.format(plugins=plugins(request)))
    pytester.makepyfile(
        """
        import pytest

        @pytest.mark.parametrize("turn", range(5))
        def test_changes(grebe_index, turn):
            assert len(grebe_index) == 7
            grebe_index.delete("1")
            grebe_index.add({"id": "new"})
            grebe_index.commit()
            assert len(grebe_index) == 7
            assert "new" in grebe_index and "1" not in grebe_index
            grebe_index.add({"id": "pending"})
        """
    )
    run(pytester).assert_outcomes(passed=5)


def test_a_failure_shows_the_state(pytester, request):
    pytester.makeconftest(TEMPLATE.format(plugins=plugins(request)))
    pytester.makepyfile(
        """
        def test_fails(grebe_index):
            grebe_index.add({"id": "pending"})
            assert grebe_index.search("old").total == 8
        """
    )
    result = run(pytester)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["*grebe index*", "*7 documents*", "*1 uncommitted*", "*'id': '0'*", "*2 more*"]
    )


def test_without_a_template_it_says_what_to_write(pytester, request):
    pytester.makeconftest(f"pytest_plugins = {plugins(request)!r}")
    pytester.makepyfile("def test_it(grebe_index): pass")
    result = run(pytester)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*override the session fixture `grebe_template`*"])


def test_it_works_under_xdist(pytester, request):
    pytest.importorskip("xdist")
    pytester.makeconftest(TEMPLATE.format(plugins=plugins(request)))
    pytester.makepyfile(
        """
        import pytest

        @pytest.mark.parametrize("turn", range(6))
        def test_changes(grebe_index, turn):
            grebe_index.add({"id": "new"})
            grebe_index.commit()
            assert len(grebe_index) == 8
        """
    )
    run(pytester, "-n", "2").assert_outcomes(passed=6)


HERE = Path(__file__).parent
PACKAGE = Path(grebe.__file__).parent
CONFIG = HERE.parents[1] / "pyproject.toml"


def tool(name, *arguments, cwd):
    found = shutil.which(name) or shutil.which(
        name, path=str(Path(sys.executable).parent)
    )
    if found is None:
        pytest.skip(f"{name} is not installed")
    return subprocess.run(
        [found, *arguments], cwd=cwd, capture_output=True, text=True, timeout=300
    )


def test_the_stubs_are_strict(tmp_path):
    result = tool(
        "mypy",
        "--strict",
        "--cache-dir",
        str(tmp_path),
        str(PACKAGE / "__init__.pyi"),
        str(PACKAGE / "pytest_plugin.pyi"),
        cwd=tmp_path,
    )
    assert result.returncode == 0, result.stdout


def test_the_stubs_say_what_the_module_is(tmp_path, monkeypatch):
    monkeypatch.setenv("MYPYPATH", str(PACKAGE.parent))
    result = tool(
        "stubtest",
        "grebe",
        "--concise",
        "--mypy-config-file",
        str(CONFIG),
        "--allowlist",
        str(HERE / "stubtest_allow.txt"),
        cwd=tmp_path,
    )
    assert result.returncode == 0, result.stdout + result.stderr


def test_a_user_of_the_types_is_checked(tmp_path, monkeypatch):
    monkeypatch.setenv("MYPYPATH", str(PACKAGE.parent))
    (tmp_path / "user.py").write_text(
        "import grebe\n"
        "s = grebe.Schema(id=grebe.key(), title=grebe.text('en'))\n"
        "with grebe.open('x', s) as ix:\n"
        "    ix.add({'id': '1'})\n"
        "    with ix.batch() as b:\n"
        "        pass\n"
        "    hits = ix.search('old', facets={'tags': 10}, since=b.info)\n"
        "    n: int = hits.facets['tags']['sea'] + hits.total + len(hits)\n"
        "    for hit in hits:\n"
        "        x: float = hit.score\n"
        "    q = grebe.Q.match('title', 'old') & ~grebe.Q.term('tags', 1)\n"
        "    info: grebe.CommitInfo = ix.commit()\n"
        "    t: list[grebe.Token] = ix.analyze('title', 'x')\n"
    )
    result = tool(
        "mypy", "--strict", "--cache-dir", str(tmp_path), "user.py", cwd=tmp_path
    )
    assert result.returncode == 0, result.stdout
    (tmp_path / "user.py").write_text("import grebe\ngrebe.key('float')\n")
    result = tool(
        "mypy", "--strict", "--cache-dir", str(tmp_path), "user.py", cwd=tmp_path
    )
    assert result.returncode == 1


SWIG = HERE.parents[1] / "swig"


def test_every_function_is_wrapped_or_said_not_to_be():
    import re

    headers = (HERE.parents[1] / "core" / "include" / "grebe").glob("*.h")
    text = "\n".join(
        re.sub(r"/\*.*?\*/", "", h.read_text(), flags=re.S) for h in headers
    )
    public = set(re.findall(r"GREBE_API[^;(]*?(grebe_\w+)\(", text))
    sources = "\n".join(
        p.read_text() for p in (SWIG / "python").iterdir() if p.is_file()
    )
    shared = (SWIG / "grebe.i").read_text()
    ignored = set(re.findall(r"%ignore (\w+);", sources + shared))
    listed = {}
    for line in (SWIG / "not_wrapped.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            name, _, reason = line.partition(" ")
            listed[name] = reason.strip()
    lua = "\n".join(p.read_text() for p in (SWIG / "lua").glob("*.i"))
    anywhere = ignored | set(re.findall(r"%ignore (\w+);", lua))
    assert all(listed.values())
    assert set(listed) == anywhere & public
    assert ignored <= public
    import grebe_core

    for name in public - ignored:
        assert hasattr(grebe_core, name.removeprefix("grebe_"))
