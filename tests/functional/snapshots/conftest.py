"""A service with a resource type that supports snapshots."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.functional.harness import LocalService
from tests.functional.snapshots.snapshot_disk import SnapshotDisk


@pytest.fixture
def disks() -> SnapshotDisk:
    return SnapshotDisk()


@pytest.fixture
def service(tmp_path: Any, disks: SnapshotDisk) -> Iterator[LocalService]:
    service = LocalService(f"sqlite:///{tmp_path}/hc.sqlite", types=(disks,))
    yield service
    service.close()
