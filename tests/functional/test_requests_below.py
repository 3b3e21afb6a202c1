"""Users' requests about nested stacks themselves, and what the stacks above make of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.functional.harness import LocalService
from tests.functional.nesting import Conversation
from tests.functional.test_nested_stacks import child, files, parent, slow


@pytest.fixture
def heat(tmp_path: Any) -> Iterator[Conversation]:
    service = LocalService(f"sqlite:///{tmp_path}/hc.sqlite")
    yield Conversation(service)
    service.close()


def test_a_child_that_stayed_suspended_is_updated(heat: Conversation) -> None:
    heat.create("s", parent(v="one"), files=files(child()))
    below = heat.nested("s", "n")["id"]
    heat.act(below, "suspend")
    assert heat.status(below) == "SUSPEND_COMPLETE"
    heat.update("s", parent(v="two"), files=files(child()))
    assert (heat.status("s"), heat.outputs("s")["out"]) == ("UPDATE_COMPLETE", "two")
    heat.act(below, "suspend")
    answer = heat.send("PUT", heat.path(below), {"template": child()})
    assert (answer.status_int, answer.json["error"]["type"]) == (400, "NotSupported")


def test_a_nested_stack_that_a_user_updates_shows_through(heat: Conversation) -> None:
    heat.create("s", parent(), files=files(child()))
    below = heat.nested("s", "n")["stack_name"]
    heat.update(below, child(), parameters={"v": "direct"})
    assert heat.outputs("s")["inner"] == "direct"


def test_a_child_deleted_behind_its_parent_is_made_anew(heat: Conversation) -> None:
    heat.create("s", parent(v="one"), files=files(child()))
    below = heat.nested("s", "n")
    heat.delete(below["stack_name"])
    heat.update("s", parent(v="two"), files=files(child()))
    assert heat.status("s") == "UPDATE_COMPLETE", heat.stack("s")["stack_status_reason"]
    assert heat.nested("s", "n")["id"] != below["id"]


def test_a_nested_stack_that_a_user_takes_back_is_no_success(heat: Conversation) -> None:
    """It goes back, and is well; the update above has not come about, and comes about next."""
    heat.create("s", parent(v="one"), files=files(child()))
    below = heat.nested("s", "n")["id"]
    heat.update("s", parent(v="two"), files=files(child(b=slow())), hold=True)
    heat.service.run_messages()
    assert heat.status(below) == "UPDATE_IN_PROGRESS"
    assert heat.act(below, "cancel_update").status_int == 200
    assert heat.status(below) == "ROLLBACK_COMPLETE"
    told = "another request came over the nested stack's UPDATE: it is ROLLBACK_COMPLETE"
    assert heat.status("s") == "UPDATE_FAILED"
    assert told in heat.stack("s")["stack_status_reason"]
    heat.update("s", parent(v="two"), files=files(child(b=slow())))
    assert (heat.status("s"), heat.outputs("s")["out"]) == ("UPDATE_COMPLETE", "two")
    assert heat.status(below) == "UPDATE_COMPLETE"
