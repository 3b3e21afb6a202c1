"""Marks of unhealthy resources: their states, reasons and events."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.functional.harness import LocalService
from tests.functional.project_client import ProjectClient, hot_template

RANDOM = {"type": "OS::Heat::RandomString"}


@pytest.fixture
def heat(tmp_path: Any) -> Iterator[ProjectClient]:
    service = LocalService(f"sqlite:///{tmp_path}/hc.sqlite")
    yield ProjectClient(service)
    service.close()


def mark(heat: ProjectClient, reason: str, *, unhealthy: bool = True) -> tuple[str, str]:
    """Return the resource's status and reason after the mark."""
    body = {"mark_unhealthy": unhealthy, "resource_status_reason": reason}
    path = f"{heat.path('s')}/resources/a"
    assert heat.send("PATCH", path, body).status_int == 200
    shown = heat.resource("s", "a")
    return shown["resource_status"], shown["resource_status_reason"]


def test_a_second_mark_changes_the_reason_without_an_event(heat: ProjectClient) -> None:
    """An event tells of another state, as in Heat."""
    heat.create("s", hot_template({"a": RANDOM}))
    assert mark(heat, "it smokes") == ("CHECK_FAILED", "it smokes")
    assert mark(heat, "it burns") == ("CHECK_FAILED", "it burns")
    assert mark(heat, "put out", unhealthy=False) == ("CHECK_COMPLETE", "put out")
    events = [each["resource_status_reason"] for each in heat.events("s")
              if each["resource_status"].startswith("CHECK")]  # fmt: skip
    assert sorted(events) == ["it smokes", "put out"]
