"""Servers for the tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from suite.server import Server, binary

__all__ = ["Server", "binary"]


@pytest.fixture(scope="session")
def shared() -> Iterator[Server]:
    """One server for all tests that do not stop it."""
    s = Server()
    yield s
    s.close()


@pytest.fixture
def server() -> Iterator[Server]:
    """A server of the test's own."""
    s = Server()
    yield s
    s.close()
