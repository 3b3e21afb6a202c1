"""Previews of an update that comes before a resume has finished."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.functional.fake_server import FakeServer, create_stack
from tests.functional.harness import LocalService


@pytest.fixture
def service(tmp_path: Any) -> Iterator[LocalService]:
    service = LocalService(f"sqlite:///{tmp_path}/hc.sqlite", types=(FakeServer(),))
    yield service
    service.close()


@pytest.mark.parametrize("parameters", [{}, {"colour": "red"}])
def test_preview_shows_a_resource_that_is_still_resuming_as_updated(
    service: LocalService, parameters: dict[str, str]
) -> None:
    path = create_stack(service)
    service.send("POST", f"{path}/actions", {"suspend": None})
    service.send("POST", f"{path}/actions", {"resume": None}, leave_pending=True)
    body = {"parameters": parameters}
    answer = service.send("PATCH", f"{path}/preview", body, leave_pending=True)
    assert answer.status_int == 200, answer.text
    changes = answer.json["resource_changes"]
    assert "server" in {each["resource_name"] for each in changes["updated"]}


def test_preview_shows_a_resource_that_has_resumed_as_unchanged(service: LocalService) -> None:
    path = create_stack(service)
    service.send("POST", f"{path}/actions", {"suspend": None})
    service.send("POST", f"{path}/actions", {"resume": None})
    changes = service.send("PATCH", f"{path}/preview", {}).json["resource_changes"]
    assert "server" in {each["resource_name"] for each in changes["unchanged"]}
    assert changes["updated"] == []
