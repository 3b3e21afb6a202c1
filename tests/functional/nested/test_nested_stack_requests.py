"""Users' requests to nested stacks themselves, and their effect on the stacks above."""

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


def test_suspended_nested_stack_is_updated_by_its_parent(heat: ProjectClient) -> None:
    heat.create("s", parent(v="one"), files=files(child()))
    descendant = heat.nested_stack("s", "n")["id"]
    heat.perform_action(descendant, "suspend")
    assert heat.status(descendant) == "SUSPEND_COMPLETE"
    heat.update("s", parent(v="two"), files=files(child()))
    assert (heat.status("s"), heat.outputs("s")["out"]) == ("UPDATE_COMPLETE", "two")
    heat.perform_action(descendant, "suspend")
    response = heat.send("PUT", heat.path(descendant), {"template": child()})
    assert (response.status_int, response.json["error"]["type"]) == (400, "NotSupported")


def test_update_of_a_nested_stack_changes_outputs_of_the_parent(heat: ProjectClient) -> None:
    heat.create("s", parent(), files=files(child()))
    descendant = heat.nested_stack("s", "n")["stack_name"]
    heat.update(descendant, child(), parameters={"v": "direct"})
    assert heat.outputs("s")["inner"] == "direct"


def test_nested_stack_that_was_deleted_directly_is_recreated(heat: ProjectClient) -> None:
    heat.create("s", parent(v="one"), files=files(child()))
    descendant = heat.nested_stack("s", "n")
    heat.delete(descendant["stack_name"])
    heat.update("s", parent(v="two"), files=files(child()))
    assert heat.status("s") == "UPDATE_COMPLETE", heat.stack("s")["stack_status_reason"]
    assert heat.nested_stack("s", "n")["id"] != descendant["id"]


def test_cancelled_update_of_a_nested_stack_fails_its_parent(heat: ProjectClient) -> None:
    """The nested stack rolls back; the parent's update fails and succeeds when repeated."""
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
