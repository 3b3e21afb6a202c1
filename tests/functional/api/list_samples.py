"""Stacks, resources and events for the tests of lists, and readers of what is listed."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from heat_convergence.convergence.model.action import Action, Status
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.testing.sample_rows import (
    START_TIME,
    event_row,
    goal_row,
    resource_row,
    stack_row,
    time_at,
)
from tests.functional.harness import LocalService

Json = Any


def uid(number: int) -> str:
    return f"00000000-0000-4000-8000-{number:012d}"


def stack(number: int, name: str, action: Action, status: Status, **values: Json) -> Stack:
    settings: dict[str, Json] = {
        "name": name, "project_id": "p", "goal_id": uid(1000 + number), "action": action,
        "status": status, "created_at": time_at(number), "status_reason": "r",
        "username": "ursula",
    }  # fmt: skip
    return stack_row(uid(number), **{**settings, **values})


# The nested stack is of "a"; "gone" is deleted; "far" is another project's.
STACKS = (
    stack(1, "a", Action.CREATE, Status.COMPLETE, tags=("red", "blue"), timeout_mins=5),
    stack(2, "b", Action.CREATE, Status.FAILED, tags=("red",), updated_at=time_at(50),
          status_reason="broken"),
    stack(3, "c", Action.UPDATE, Status.COMPLETE, tags=("green",), updated_at=time_at(40),
          disable_rollback=False),
    stack(4, "d", Action.UPDATE, Status.FAILED, username="vera", timeout_mins=7),
    stack(5, "secret", Action.CREATE, Status.COMPLETE, tags=("hide",)),
    stack(6, "gone", Action.DELETE, Status.COMPLETE, deleted_at=time_at(60), updated_at=time_at(60)),  # noqa: E501
    stack(7, "a-inner", Action.CREATE, Status.COMPLETE, owner_id=uid(1), root_id=uid(1),
          depth=1, parent_resource="n"),
    stack(8, "far", Action.CREATE, Status.COMPLETE, project_id="q"),
)  # fmt: skip
RESOURCES = (
    ("n", uid(1), "My::Nested", Action.CREATE, Status.COMPLETE, uid(7)),
    ("x", uid(1), "OS::Nova::Server", Action.CREATE, Status.COMPLETE, "server-x"),
    ("y", uid(1), "OS::Nova::Keypair", Action.UPDATE, Status.FAILED, "key-y"),
    ("z", uid(7), "OS::Nova::Server", Action.CREATE, Status.IN_PROGRESS, "server-z"),
)


def fill(service: LocalService) -> None:
    with service.services.store.transaction() as tx:
        for each in STACKS:
            goal = goal_row(each.goal_id, stack_id=each.id, template_hash="0" * 64)
            tx.stacks.insert(each)
            tx.goals.insert(goal)
        tx.resources.insert([
            resource_row(
                uid(100 + number), stack_id=stack_id, name=name, type=rtype,
                implementation="OS::Heat::None", action=action, status=status,
                physical_id=physical, definition={"type": rtype, "description": f"the {name}"},
                requires=("x",) if name == "y" else (),
            )
            for number, (name, stack_id, rtype, action, status, physical) in enumerate(RESOURCES)
        ])  # fmt: skip
        tx.events.insert(tuple(_events()))


def _events() -> Iterator[Any]:
    """Nine of "a": three rounds over its resources, and two of the nested stack."""
    number = 0
    for round_ in range(3):
        for name, rtype in (("n", "My::Nested"), ("x", "OS::Nova::Server"), ("y", "K")):
            number += 1
            yield event_row(
                uid(200 + number), stack_id=uid(1), resource_name=name, resource_type=rtype,
                action=Action.UPDATE if round_ == 2 else Action.CREATE,
                status=Status.FAILED if name == "y" else Status.COMPLETE,
                created_at=START_TIME + timedelta(seconds=round_),
            )  # fmt: skip
    for number in (20, 21):
        yield event_row(uid(200 + number), stack_id=uid(7), resource_name="z",
                        resource_type="OS::Nova::Server",
                        created_at=START_TIME + timedelta(seconds=number))  # fmt: skip


def ask(service: LocalService, path: str) -> Json:
    answer = service.send("GET", path, leave_pending=True)
    assert answer.status_int == 200, answer.text
    return answer.json


def names(service: LocalService, path: str) -> list[str]:
    found = ask(service, path)
    if "stacks" in found:
        return [each["stack_name"] for each in found["stacks"]]
    if "resources" in found:
        return [each["resource_name"] for each in found["resources"]]
    return [each["id"][-3:].lstrip("2").lstrip("0") for each in found["events"]]


# -- resources -------------------------------------------------------------------------

A = f"/stacks/a/{uid(1)}"
