"""A rollback returns to the goal before, also one that was not reached."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.functional.harness import LocalService
from tests.functional.project_client import ProjectClient, hot_template
from tests.functional.scripted_type import ScriptedType, resource

Json = Any
FAILING = {"type": "OS::Heat::TestResource", "properties": {"fail": True}}
RANDOM = {"type": "OS::Heat::RandomString"}


@pytest.fixture
def heat(tmp_path: Any) -> Iterator[ProjectClient]:
    service = LocalService(f"sqlite:///{tmp_path}/hc.sqlite", types=(ScriptedType(),))
    yield ProjectClient(service)
    service.close()


def physical_ids(heat: ProjectClient) -> dict[str, str]:
    return {each["resource_name"]: each["physical_resource_id"] for each in heat.resources("s")}


def test_failed_update_of_a_failed_stack_keeps_its_resources(heat: ProjectClient) -> None:
    heat.create("s", hot_template({"good": RANDOM, "bad": FAILING}))
    assert heat.status("s") == "CREATE_FAILED"
    good = physical_ids(heat)["good"]
    changed = {"good": RANDOM, "other": RANDOM, "bad": FAILING, "worse": FAILING}
    heat.update("s", hot_template(changed), disable_rollback=False)
    assert heat.status("s") == "ROLLBACK_FAILED", "the goal before the update failed, too"
    assert physical_ids(heat)["good"] == good


def test_update_of_a_running_create_returns_to_the_create(heat: ProjectClient) -> None:
    heat.create("s", hot_template({"good": RANDOM, "slow": resource(slow=True)}), hold=True)
    heat.service.handle_pending()
    good = physical_ids(heat)["good"]
    heat.update(
        "s",
        hot_template({"good": RANDOM, "slow": resource(slow=True), "bad": FAILING}),
        disable_rollback=False,
    )
    assert heat.status("s") == "ROLLBACK_COMPLETE"
    found = physical_ids(heat)
    assert found["good"] == good
    assert set(found) == {"good", "slow"}


def test_create_that_was_rolled_back_is_not_repeated(heat: ProjectClient) -> None:
    heat.create("s", hot_template({"good": RANDOM, "bad": FAILING}), disable_rollback=False)
    assert heat.status("s") == "ROLLBACK_COMPLETE"
    heat.update("s", hot_template({"worse": FAILING}), disable_rollback=False)
    assert heat.status("s") == "ROLLBACK_COMPLETE"
    assert physical_ids(heat) == {}


def test_a_failed_rollback_lists_nothing_that_it_has_deleted(heat: ProjectClient) -> None:
    heat.create("s", hot_template({"good": RANDOM, "bad": FAILING}))
    changed = {"good": RANDOM, "bad": FAILING, "new": RANDOM}
    heat.update("s", hot_template(changed), disable_rollback=False)
    assert heat.status("s") == "ROLLBACK_FAILED"
    assert set(physical_ids(heat)) == {"good", "bad"}
    answer = heat.send("GET", f"{heat.path('s')}/resources/new")
    assert (answer.status_int, answer.json["error"]["type"]) == (404, "ResourceNotFound")


def test_update_after_a_failed_update_returns_to_that(heat: ProjectClient) -> None:
    """Not to the last goal that was complete, as in Heat."""
    heat.create("s", hot_template({"first": RANDOM}))
    heat.update("s", hot_template({"second": RANDOM, "bad": FAILING}))
    assert heat.status("s") == "UPDATE_FAILED"
    second = physical_ids(heat)["second"]
    changed = {"second": RANDOM, "third": RANDOM, "worse": FAILING}
    heat.update("s", hot_template(changed), disable_rollback=False)
    assert heat.status("s") == "ROLLBACK_FAILED", "the goal before the update fails again"
    found = physical_ids(heat)
    assert found["second"] == second
    assert "bad" in found
    assert not {"third", "worse"} & set(found)
    template = heat.send("GET", f"{heat.path('s')}/template").json
    assert set(template["resources"]) == {"second", "bad"}


def test_cancelled_update_of_a_failed_update_returns_to_that(heat: ProjectClient) -> None:
    heat.create("s", hot_template({"first": RANDOM}))
    heat.update("s", hot_template({"second": RANDOM, "bad": FAILING}))
    slow = {"second": RANDOM, "slow": resource(slow=True)}
    heat.update("s", hot_template(slow), hold=True)
    heat.service.handle_pending()
    heat.perform_action("s", "cancel_update")
    assert heat.status("s") == "ROLLBACK_FAILED"
    assert "second" in physical_ids(heat)
