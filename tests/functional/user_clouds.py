"""The cloud that requests of the API use as that of their users, without Keystone."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from heat_convergence.resources.driver.request_cloud import use_request_cloud
from tests.functional.harness import LocalService
from tests.functional.openstack_types.emulated_service import ClockedEmulation, emulation_service

_USE_REQUEST_CLOUD = "heat_convergence.api.trust_delegation.use_request_cloud"


def let_requests_use(monkeypatch: pytest.MonkeyPatch, cloud: Any) -> None:
    """Let requests use a cloud, or that of a ``ClockedEmulation``."""

    def use(_cloud: Any) -> AbstractContextManager[None]:
        of_emulation = isinstance(cloud, ClockedEmulation)
        return use_request_cloud(cloud.cloud_for("") if of_emulation else cloud)

    monkeypatch.setattr(_USE_REQUEST_CLOUD, use)


@contextmanager
def service_of_users(
    cloud: ClockedEmulation, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[LocalService]:
    """Yield a service on an emulated cloud, which requests use as that of their users."""
    let_requests_use(monkeypatch, cloud)
    service = emulation_service(cloud, folder)
    yield service
    service.close()
