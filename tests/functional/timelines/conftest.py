"""A service on the emulated cloud."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.functional.harness import LocalService
from tests.functional.openstack_types.emulated_service import ClockedEmulation, emulation_service


@pytest.fixture
def emulated_cloud() -> ClockedEmulation:
    return ClockedEmulation()


@pytest.fixture
def service(tmp_path: Path, emulated_cloud: ClockedEmulation) -> Iterator[LocalService]:
    service = emulation_service(emulated_cloud, tmp_path, LocalService)
    yield service
    service.close()
