"""A service that looks at parts of small stacks, too."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from heat_convergence.api.services import ApiOptions
from heat_convergence.db.repositories.resources import SqlResourceRepository
from tests.functional.harness import LocalService
from tests.functional.project_client import ProjectClient


@pytest.fixture
def heat(tmp_path: Any) -> Iterator[ProjectClient]:
    options = ApiOptions(partial_update_min_resources=12)
    service = LocalService(f"sqlite:///{tmp_path}/hc.sqlite", options)
    yield ProjectClient(service)
    service.close()


@pytest.fixture
def whole_updates(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list to which each update appends its stack if it reads all of its rows."""
    found: list[str] = []
    original = SqlResourceRepository.lock_by_stack

    def noted(self: Any, stack_id: str) -> Any:
        found.append(stack_id)
        return original(self, stack_id)

    monkeypatch.setattr(SqlResourceRepository, "lock_by_stack", noted)
    return found
