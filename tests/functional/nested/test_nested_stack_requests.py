"""Users' requests about nested stacks themselves, and what the stacks above make of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.functional.harness import LocalService
from tests.functional.nested.test_nested_interruptions import slow
from tests.functional.nested.test_nested_lifecycle import child, files, parent
from tests.functional.project_client import ProjectClient


@pytest.fixture
def heat(tmp_path: Any) -> Iterator[ProjectClient]:
    service = LocalService(f"sqlite:///{tmp_path}/hc.sqlite")
    yield ProjectClient(service)
    service.close()


def test_a_child_that_stayed_suspended_is_updated(heat: ProjectClient) -> None:
    heat.create("s", parent(v="one"), files=files(child()))
    descendant = heat.nested_stack("s", "n")["id"]
    heat.perform_action(descendant, "suspend")
    assert heat.status(descendant) == "SUSPEND_COMPLETE"
    heat.update("s", parent(v="two"), files=files(child()))
    assert (heat.status("s"), heat.outputs("s")["out"]) == ("UPDATE_COMPLETE", "two")
    heat.perform_action(descendant, "suspend")
    answer = heat.send("PUT", heat.path(descendant), {"template": child()})
    assert (answer.status_int, answer.json["error"]["type"]) == (400, "NotSupported")


def test_a_nested_stack_that_a_user_updates_shows_through(heat: ProjectClient) -> None:
    heat.create("s", parent(), files=files(child()))
    descendant = heat.nested_stack("s", "n")["stack_name"]
    heat.update(descendant, child(), parameters={"v": "direct"})
    assert heat.outputs("s")["inner"] == "direct"


def test_a_nested_stack_that_was_deleted_directly_is_recreated(heat: ProjectClient) -> None:
    heat.create("s", parent(v="one"), files=files(child()))
    descendant = heat.nested_stack("s", "n")
    heat.delete(descendant["stack_name"])
    heat.update("s", parent(v="two"), files=files(child()))
    assert heat.status("s") == "UPDATE_COMPLETE", heat.stack("s")["stack_status_reason"]
    assert heat.nested_stack("s", "n")["id"] != descendant["id"]


def test_a_nested_stack_that_a_user_takes_back_is_no_success(heat: ProjectClient) -> None:
    """It goes back, and is well; the update above has not come about, and comes about next."""
    heat.create("s", parent(v="one"), files=files(child()))
    descendant = heat.nested_stack("s", "n")["id"]
    heat.update("s", parent(v="two"), files=files(child(b=slow())), hold=True)
    heat.service.handle_pending()
    assert heat.status(descendant) == "UPDATE_IN_PROGRESS"
    assert heat.perform_action(descendant, "cancel_update").status_int == 200
    assert heat.status(descendant) == "ROLLBACK_COMPLETE"
    reported = "nested stack UPDATE was superseded by ROLLBACK"
    assert heat.status("s") == "UPDATE_FAILED"
    assert reported in heat.stack("s")["stack_status_reason"]
    heat.update("s", parent(v="two"), files=files(child(b=slow())))
    assert (heat.status("s"), heat.outputs("s")["out"]) == ("UPDATE_COMPLETE", "two")
    assert heat.status(descendant) == "UPDATE_COMPLETE"
