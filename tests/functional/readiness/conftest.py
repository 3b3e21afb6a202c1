"""A service on the emulated cloud, on each database."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from heat_convergence.db.tables import metadata
from tests.functional.harness import LocalService
from tests.functional.openstack_types.emulated_service import ClockedEmulation, emulation_service


@pytest.fixture
def emulated_cloud() -> ClockedEmulation:
    return ClockedEmulation()


@pytest.fixture
def service(any_database_url: str, emulated_cloud: ClockedEmulation) -> Iterator[LocalService]:
    class Service(LocalService):
        def __init__(self, _url: str, **values: Any) -> None:
            super().__init__(any_database_url, **values)

    service = emulation_service(emulated_cloud, "", Service)
    yield service
    with service.database.write() as connection:
        for table in reversed(metadata.sorted_tables):
            connection.execute(table.delete())
    service.close()
