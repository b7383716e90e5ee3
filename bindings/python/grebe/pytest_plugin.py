"""Fixtures for tests that search: one filled index, as new for each test.

Override the session fixture `grebe_template` so that it returns a filled Index;
`grebe_index` is that index, put back to its first state before each test
(microseconds). With pytest-xdist each worker builds its own.

    @pytest.fixture(scope="session")
    def grebe_template():
        ix = grebe.Index(SCHEMA)
        ix.add_many(DOCUMENTS)
        return ix

    def test_search(grebe_index):
        grebe_index.add({"id": "new"})
        grebe_index.commit(soft=True)
"""

import pytest

_SHOWN = 5


@pytest.fixture(scope="session")
def grebe_template():
    """The filled index; override it."""
    pytest.fail(
        "override the session fixture `grebe_template`: "
        "it returns a filled grebe.Index",
        pytrace=False,
    )


@pytest.fixture(scope="session")
def _grebe_state(grebe_template):
    """The template and the snapshot that each test begins with."""
    snapshot = grebe_template.snapshot()
    yield grebe_template, snapshot
    snapshot.close()
    grebe_template.close(commit=False)


@pytest.fixture
def grebe_index(_grebe_state):
    """The template's index, in its first state."""
    index, snapshot = _grebe_state
    index.restore(snapshot)
    return index


def _described(index):
    """What the index holds, in a few lines."""
    stats = index.stats()
    lines = [
        repr(index),
        f"commit {stats['commit_number']}, {stats['segments']} segments, "
        f"{stats['pending']} uncommitted",
    ]
    hits = index.search(sort="_order", limit=_SHOWN)
    lines += [f"  {dict(hit)!r:.300}" for hit in hits]
    if hits.total > len(hits):
        lines.append(f"  ... and {hits.total - len(hits)} more")
    return "\n".join(lines)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    """Shows the state of the index with a test that failed."""
    report = (yield).get_result()
    index = getattr(item, "funcargs", {}).get("grebe_index")
    if call.when != "call" or not report.failed or index is None:
        return
    try:
        text = _described(index)
    except Exception as error:
        text = f"{index!r}: {error}"
    report.sections.append(("grebe index", text))
