"""Users' requests about nested stacks themselves, and what the stacks above make of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.functional.harness import LocalService
from tests.functional.nested.test_nested_lifecycle import child, files, parent, slow
from tests.functional.project_client import ProjectClient


@pytest.fixture
def heat(tmp_path: Any) -> Iterator[ProjectClient]:
    service = LocalService(f"sqlite:///{tmp_path}/hc.sqlite")
    yield ProjectClient(service)
    service.close()


def test_a_child_that_stayed_suspended_is_updated(heat: ProjectClient) -> None:
    heat.create("s", parent(v="one"), files=files(child()))
    below = heat.nested_stack("s", "n")["id"]
    heat.perform_action(below, "suspend")
    assert heat.status(below) == "SUSPEND_COMPLETE"
    heat.update("s", parent(v="two"), files=files(child()))
    assert (heat.status("s"), heat.outputs("s")["out"]) == ("UPDATE_COMPLETE", "two")
    heat.perform_action(below, "suspend")
    answer = heat.send("PUT", heat.path(below), {"template": child()})
    assert (answer.status_int, answer.json["error"]["type"]) == (400, "NotSupported")


def test_a_nested_stack_that_a_user_updates_shows_through(heat: ProjectClient) -> None:
    heat.create("s", parent(), files=files(child()))
    below = heat.nested_stack("s", "n")["stack_name"]
    heat.update(below, child(), parameters={"v": "direct"})
    assert heat.outputs("s")["inner"] == "direct"


def test_a_child_deleted_behind_its_parent_is_made_anew(heat: ProjectClient) -> None:
    heat.create("s", parent(v="one"), files=files(child()))
    below = heat.nested_stack("s", "n")
    heat.delete(below["stack_name"])
    heat.update("s", parent(v="two"), files=files(child()))
    assert heat.status("s") == "UPDATE_COMPLETE", heat.stack("s")["stack_status_reason"]
    assert heat.nested_stack("s", "n")["id"] != below["id"]


def test_a_nested_stack_that_a_user_takes_back_is_no_success(heat: ProjectClient) -> None:
    """It goes back, and is well; the update above has not come about, and comes about next."""
    heat.create("s", parent(v="one"), files=files(child()))
    below = heat.nested_stack("s", "n")["id"]
    heat.update("s", parent(v="two"), files=files(child(b=slow())), hold=True)
    heat.service.handle_pending()
    assert heat.status(below) == "UPDATE_IN_PROGRESS"
    assert heat.perform_action(below, "cancel_update").status_int == 200
    assert heat.status(below) == "ROLLBACK_COMPLETE"
    told = "nested stack UPDATE was superseded by ROLLBACK"
    assert heat.status("s") == "UPDATE_FAILED"
    assert told in heat.stack("s")["stack_status_reason"]
    heat.update("s", parent(v="two"), files=files(child(b=slow())))
    assert (heat.status("s"), heat.outputs("s")["out"]) == ("UPDATE_COMPLETE", "two")
    assert heat.status(below) == "UPDATE_COMPLETE"
