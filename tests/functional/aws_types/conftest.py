"""Services without a cloud, and with an emulated one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from heat_convergence.resources.custom_constraints import CLOUDLESS_CONSTRAINTS
from tests.functional.aws_types.group_templates import CLOUD_NAMES
from tests.functional.harness import LocalService
from tests.functional.openstack_types.emulated_service import ClockedEmulation, emulation_service
from tests.functional.project_client import ProjectClient


@pytest.fixture
def emulated_cloud() -> ClockedEmulation:
    return ClockedEmulation()


@pytest.fixture
def heat(tmp_path: Path, emulated_cloud: ClockedEmulation) -> Iterator[ProjectClient]:
    service = emulation_service(emulated_cloud, tmp_path)
    yield ProjectClient(service)
    service.close()


@pytest.fixture
def local(tmp_path: Any) -> Iterator[ProjectClient]:
    checks = {**CLOUDLESS_CONSTRAINTS, **dict.fromkeys(CLOUD_NAMES, lambda _value: None)}
    service = LocalService(f"sqlite:///{tmp_path}/hc.sqlite", custom_constraints=checks)
    yield ProjectClient(service)
    service.close()
