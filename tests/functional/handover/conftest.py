"""A service on the emulated cloud, which requests use as that of their users."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from heat_convergence.resources.driver.request_cloud import use_request_cloud
from tests.functional.drift.drift_cases import INTERVAL_S
from tests.functional.harness import LocalService
from tests.functional.openstack_types.emulated_service import ClockedEmulation, emulation_service

USE_REQUEST_CLOUD = "heat_convergence.api.trust_delegation.use_request_cloud"


@pytest.fixture
def emulated_cloud() -> ClockedEmulation:
    return ClockedEmulation()


@pytest.fixture
def service(
    tmp_path: Path, emulated_cloud: ClockedEmulation, monkeypatch: pytest.MonkeyPatch
) -> Iterator[LocalService]:
    def use(_cloud: Any) -> AbstractContextManager[None]:
        return use_request_cloud(emulated_cloud.cloud_for(""))

    monkeypatch.setattr(USE_REQUEST_CLOUD, use)
    service = emulation_service(emulated_cloud, tmp_path)
    service.use_settings(watch_interval_s=INTERVAL_S)
    yield service
    service.close()
