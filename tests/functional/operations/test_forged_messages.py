"""Messages that the service has not sent: what they name is read from the database.

Whoever can write to the broker may repeat, forge and mix up messages; no stack ends
otherwise for it, and no message about one stack changes another.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
import sqlalchemy as sa

from heat_convergence.db.tables import resource
from heat_convergence.testing.in_process_service import QueuedMessage
from tests.functional.harness import LocalService

CHILD = {
    "heat_template_version": "2018-08-31",
    "parameters": {"v": {"type": "string"}},
    "resources": {
        "x": {"type": "OS::Heat::TestResource", "properties": {"value": {"get_param": "v"}}}
    },
    "outputs": {"o": {"value": {"get_attr": ["x", "output"]}}},
}
TEMPLATE: dict[str, Any] = {
    "heat_template_version": "2018-08-31",
    "parameters": {"v": {"type": "string", "default": "a"}},
    "resources": {
        "t": {"type": "OS::Heat::TestResource", "properties": {"value": {"get_param": "v"}}},
        "n": {"type": "child.yaml", "properties": {"v": {"get_attr": ["t", "output"]}}},
        "last": {"type": "OS::Heat::Value", "properties": {"value": {"get_attr": ["n", "o"]}}},
    },
    "outputs": {"o": {"value": {"get_attr": ["last", "value"]}}},
}
BODY = {"template": TEMPLATE, "files": {"child.yaml": str(CHILD).replace("'", '"')}}


@pytest.fixture
def service(tmp_path: Path) -> Iterator[LocalService]:
    service = LocalService(f"sqlite:///{tmp_path}/forged.sqlite")
    yield service
    service.close()


def create(service: LocalService, project: str, *, leave_pending: bool = False) -> str:
    created = service.send(
        "POST",
        "/stacks",
        {"stack_name": "s", **BODY},
        project=project,
        leave_pending=leave_pending,
    )
    return str(created.json["stack"]["id"])


def shown(service: LocalService, project: str, stack_id: str) -> dict[str, Any]:
    stack: dict[str, Any] = service.send("GET", f"/stacks/s/{stack_id}", project=project).json
    return stack["stack"]


def all_ids(service: LocalService) -> list[tuple[str, str]]:
    """Return the id and the stack's id of every resource."""
    with service.database.read() as connection:
        rows = connection.execute(sa.select(resource.c.id, resource.c.stack_id))
        return [(row.id, row.stack_id) for row in rows]


def forge(service: LocalService, random: Random) -> None:
    """Deliver a message that mixes up methods, stacks, versions and resources."""
    ids = all_ids(service)
    stacks = [stack_id for _id, stack_id in ids] + ["absent"]
    named = [random.choice(ids)[0] for _ in range(random.randint(0, 3))] if ids else []
    service.deliver(
        QueuedMessage(
            random.choice(("converge", "observe")),
            random.choice(stacks),
            random.choice((0, 1, 2, 3, 2**62)),
            (*named, *random.choice(((), ("absent",)))),
        )
    )


def run_with_forgeries(service: LocalService, random: Random) -> None:
    for _ in range(500):
        if not service.bus.pending:
            break
        for _ in range(random.randint(0, 3)):
            forge(service, random)
        service.handle_next()
    service.run_until_idle()


@pytest.mark.parametrize("seed", range(4))
def test_forged_messages_change_no_result(service: LocalService, seed: int) -> None:
    random = Random(seed)
    stacks = {name: create(service, name, leave_pending=True) for name in ("one", "two")}
    run_with_forgeries(service, random)
    for project, stack_id in stacks.items():
        stack = shown(service, project, stack_id)
        assert stack["stack_status"] == "CREATE_COMPLETE"
        assert stack["outputs"][0]["output_value"] == "a"
        update = {**BODY, "parameters": {"v": project}}
        service.send("PUT", f"/stacks/s/{stack_id}", update, project=project, leave_pending=True)
    run_with_forgeries(service, random)
    for project, stack_id in stacks.items():
        stack = shown(service, project, stack_id)
        assert stack["stack_status"] == "UPDATE_COMPLETE"
        assert stack["outputs"][0]["output_value"] == project
    resources_before = all_ids(service)
    service.send("DELETE", f"/stacks/s/{stacks['one']}", project="one", leave_pending=True)
    run_with_forgeries(service, random)
    assert shown(service, "one", stacks["one"])["stack_status"] == "DELETE_COMPLETE"
    assert shown(service, "two", stacks["two"])["stack_status"] == "UPDATE_COMPLETE"
    kept = {row for row in resources_before if row[1] == stacks["two"]}
    assert kept <= set(all_ids(service))


def test_message_about_one_stack_changes_no_resource_of_another(service: LocalService) -> None:
    own, foreign = create(service, "one"), create(service, "two")
    theirs = resource.c.stack_id == foreign
    with service.database.write() as connection:
        due = {"observe_at": service.clock()}  # as after a change of its nested stack
        connection.execute(sa.update(resource).where(theirs, resource.c.name == "n").values(due))
    ids = tuple(row_id for row_id, stack_id in all_ids(service) if stack_id == foreign)

    def rows() -> list[Any]:
        with service.database.read() as connection:
            return list(connection.execute(sa.select(resource).where(theirs)))

    before = rows()
    for version in (0, 1, 2):
        service.deliver(QueuedMessage("observe", own, version, ids))
        service.deliver(QueuedMessage("converge", own, version, ids))
    assert rows() == before
