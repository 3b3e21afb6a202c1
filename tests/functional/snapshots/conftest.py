"""A service in which disks save themselves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.functional.disks import Disk
from tests.functional.harness import LocalService


@pytest.fixture
def disks() -> Disk:
    return Disk()


@pytest.fixture
def service(tmp_path: Any, disks: Disk) -> Iterator[LocalService]:
    service = LocalService(f"sqlite:///{tmp_path}/hc.sqlite", types=(disks,))
    yield service
    service.close()
