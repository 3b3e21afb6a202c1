"""A service on the emulated cloud with a watch, which requests use as that of their users."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.functional.drift.drift_cases import INTERVAL_S
from tests.functional.harness import LocalService
from tests.functional.openstack_types.emulated_service import ClockedEmulation
from tests.functional.user_clouds import service_of_users


@pytest.fixture
def emulated_cloud() -> ClockedEmulation:
    return ClockedEmulation()


@pytest.fixture
def service(
    tmp_path: Path, emulated_cloud: ClockedEmulation, monkeypatch: pytest.MonkeyPatch
) -> Iterator[LocalService]:
    with service_of_users(emulated_cloud, tmp_path, monkeypatch) as service:
        service.use_settings(watch_interval_s=INTERVAL_S)
        yield service
