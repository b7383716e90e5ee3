from collections.abc import Generator
from typing import Any

import pytest

import grebe

@pytest.fixture(scope="session")
def grebe_template() -> grebe.Index: ...
@pytest.fixture
def grebe_index(_grebe_state: Any) -> grebe.Index: ...
@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, Any, None]: ...
