"""A service on the emulated cloud."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.functional.harness import LocalService
from tests.functional.openstack_types.emulated_service import ClockedEmulation, emulation_service


@pytest.fixture
def emulated_cloud() -> ClockedEmulation:
    return ClockedEmulation()


@pytest.fixture
def service(tmp_path: Any, emulated_cloud: ClockedEmulation) -> Iterator[LocalService]:
    service = emulation_service(emulated_cloud, tmp_path)
    yield service
    service.close()
