"""What every test of the binding needs.

The module is found through PYTHONPATH (build/<x>/python and bindings/python) or
as an installed package.
"""

import gc
import os
import tempfile

import pytest
from hypothesis import settings
from hypothesis.configuration import set_hypothesis_home_dir

try:
    import grebe
except ImportError as error:
    raise pytest.UsageError(
        "grebe is neither installed nor on PYTHONPATH "
        f"(build/<x>/python:bindings/python): {error}"
    ) from error

pytest_plugins = ["pytester"]

# Nothing is left in the tree; a failure prints how to replay it.
set_hypothesis_home_dir(os.path.join(tempfile.gettempdir(), "grebe-hypothesis"))
settings.register_profile("grebe", deadline=None, database=None, print_blob=True)
settings.load_profile("grebe")

# Tests that start a Python of their own do so in other folders.
if "PYTHONPATH" in os.environ:
    os.environ["PYTHONPATH"] = os.pathsep.join(
        os.path.abspath(entry) for entry in os.environ["PYTHONPATH"].split(os.pathsep)
    )


@pytest.fixture(autouse=True)
def every_handle_is_freed():
    """After each test not one handle of the library is left."""
    before = grebe.live_handles()
    yield
    if grebe.live_handles() != before:
        gc.collect()
    assert grebe.live_handles() == before


@pytest.fixture
def schema():
    return grebe.Schema(
        id=grebe.key(),
        title=grebe.text("en"),
        body=grebe.text(),
        tags=grebe.keyword(many=True),
        year=grebe.int_(),
        price=grebe.float_(),
        draft=grebe.bool_(),
        when=grebe.datetime(),
        blob=grebe.bytes_(),
    )


@pytest.fixture
def ix(schema):
    """An empty index in memory."""
    index = grebe.Index(schema)
    yield index
    index.close(commit=False)


@pytest.fixture
def books(ix):
    """Four documents, committed."""
    ix.add_many(
        [
            {"id": "1", "title": "The Old Man", "tags": ["sea", "man"], "year": 1952},
            {"id": "2", "title": "Old Sea Stories", "tags": ["sea"], "year": 1990},
            {"id": "3", "title": "New Man", "body": "a man, a plan", "year": 2001},
            {"id": "4", "title": "Nothing", "year": 2020, "draft": True},
        ]
    )
    ix.commit()
    return ix
