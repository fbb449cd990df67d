"""Tests against a real control plane: each carries the mark `real`, so that `-m "not real"` leaves them out."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from trimtab.client import Client, load_config
from trimtab.testing.control_plane import ControlPlane

HERE = Path(__file__).parent


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.real)


@pytest.fixture
async def client(control_plane: ControlPlane, real_namespace: str) -> AsyncIterator[Client]:
    """A client of an administrator, at home in a namespace of the test's own."""
    async with Client(load_config(control_plane.kubeconfig()), namespace=real_namespace) as client:
        yield client
