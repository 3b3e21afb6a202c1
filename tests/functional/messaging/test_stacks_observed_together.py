"""Messages about several stacks that an observer processes in one transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from heat_convergence.common.failures import ConcurrentTransaction
from heat_convergence.convergence.lifecycle.progress.observed_stacks import process_observations
from heat_convergence.convergence.model.action import Action, Status
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.convergence.ports.bus import ResourceHint
from heat_convergence.convergence.ports.settings import ConvergenceSettings
from heat_convergence.db.connection.database import Database
from heat_convergence.db.store import SqlStore
from heat_convergence.observer import stack_transactions
from heat_convergence.resources.builtin.test_resource import TestResource
from heat_convergence.resources.registry import ResourceTypeRegistry
from heat_convergence.testing.in_process_service import InProcessDaemons, InProcessService
from heat_convergence.testing.statement_counter import count_statements
from tests.functional.harness import LocalService
from tests.functional.performance.test_traversal_cost import chain, wide

PARENT: dict[str, Any] = {
    "heat_template_version": "2018-08-31",
    "resources": {"child": {"type": "child.yaml"}, "other": {"type": "child.yaml"}},
    "outputs": {"value": {"value": {"get_attr": ["child", "value"]}}},
}
CHILD = """
heat_template_version: 2018-08-31
resources:
  r: {type: OS::Heat::TestResource, properties: {value: v}}
outputs:
  value: {value: {get_attr: [r, output]}}
"""


def take_observations(service: InProcessDaemons) -> dict[str, tuple[str, ...]]:
    """Run the jobs on the bus, and return what the engine has named to the observer."""
    named: dict[str, tuple[str, ...]] = {}
    while service.bus.pending:
        message = service.bus.pending.popleft()
        if message.method == "observe":
            named[message.stack_id] = (*named.get(message.stack_id, ()), *message.resource_ids)
        else:
            service.deliver(message)
    return named


def run_together(service: InProcessService) -> None:
    while named := take_observations(service):
        service.observer.observe_together(named)


def states(stacks: Mapping[str, Stack]) -> set[tuple[Action, Status]]:
    return {(stack.action, stack.status) for stack in stacks.values()}


def test_stacks_that_end_together_share_statements(
    database: Database, in_process: InProcessService
) -> None:
    costs = {}
    for count in (2, 12):
        ids = [in_process.create(wide(5), name=f"{count}-{at}") for at in range(count)]
        named = take_observations(in_process)
        assert named.keys() == set(ids)
        with count_statements(database.engine) as cost:
            in_process.observer.observe_together(named)
        found = {stack_id: in_process.stack(stack_id) for stack_id in ids}
        assert states(found) == {(Action.CREATE, Status.COMPLETE)}
        assert all(stack.complete_goal_id == stack.goal_id for stack in found.values())
        # SQLite takes the rows of an INSERT one by one.
        costs[count] = cost.total - cost.by_statement["INSERT INTO event"]
    assert costs[2] == costs[12] <= 11


def test_stacks_at_different_steps_go_on_together(in_process: InProcessService) -> None:
    ids = {
        "wide": in_process.create(wide(3), name="wide"),
        "chain": in_process.create(chain(3), name="chain"),
        "older": in_process.create(chain(2), name="older"),
    }
    run_together(in_process)
    in_process.update(ids["older"], wide(2, r1="changed"))
    in_process.delete(ids["wide"])
    in_process.create(chain(4), name="new")
    run_together(in_process)
    found = {name: in_process.stack(stack_id) for name, stack_id in ids.items()}
    assert {name: (str(each.action), each.status) for name, each in found.items()} == {
        "wide": ("DELETE", Status.COMPLETE),
        "chain": ("CREATE", Status.COMPLETE),
        "older": ("UPDATE", Status.COMPLETE),
    }
    assert found["wide"].deleted_at is not None


def test_stacks_that_go_on_together_share_the_places_on_the_bus(database: Database) -> None:
    settings = ConvergenceSettings(jobs_in_flight=6, jobs_on_bus=6)
    registry = ResourceTypeRegistry([TestResource()])
    service = InProcessService(SqlStore(database), registry, settings=settings)
    ids = [service.create(wide(20), name=f"wide-{at}") for at in range(3)]
    posted = []
    while named := take_observations(service):
        service.observer.observe_together(named)
        with service.store.transaction() as tx:
            posted.append(tx.jobs.get_workload("project").posted)
    assert 0 < max(posted) <= 6
    found = {stack_id: service.stack(stack_id) for stack_id in ids}
    assert states(found) == {(Action.CREATE, Status.COMPLETE)}


def create_all(service: LocalService, **properties: dict[str, Any]) -> dict[str, tuple[str, ...]]:
    """Create stacks of one resource each, by name; return what is to be observed."""
    for name, of_resource in properties.items():
        resource = {"type": TestResource.name, "properties": of_resource}
        template = {"heat_template_version": "2018-08-31", "resources": {"r": resource}}
        body = {"stack_name": name, "template": template, "disable_rollback": False}
        service.send("POST", "/stacks", body, leave_pending=True)
    return take_observations(service)


def show_all(service: LocalService) -> dict[str, str]:
    listed = service.send("GET", "/stacks", leave_pending=True).json["stacks"]
    return {each["stack_name"]: each["stack_status"] for each in listed}


def test_stacks_that_roll_back_have_transactions_of_their_own(
    service: LocalService, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes = []

    def process(tx: Any, *, named: Mapping[str, Any], **others: Any) -> Any:
        sizes.append(len(named))
        return process_observations(tx, named=named, **others)

    monkeypatch.setattr(stack_transactions, "process_observations", process)
    named = create_all(service, good={"value": "v"}, bad={"fail": True}, worse={"fail": True})
    assert len(named) == 3
    service.observer.observe_together(named)
    assert sizes == [3, 1, 1, 1]
    service.run_until_idle()
    assert show_all(service) == {
        "good": "CREATE_COMPLETE",
        "bad": "ROLLBACK_COMPLETE",
        "worse": "ROLLBACK_COMPLETE",
    }
    assert "unexpected error" not in caplog.text


def test_stacks_that_always_lose_together_are_processed_alone(
    service: LocalService, monkeypatch: pytest.MonkeyPatch
) -> None:
    def process(tx: Any, *, named: Mapping[str, Any], **others: Any) -> Any:
        if len(named) > 1:
            raise ConcurrentTransaction("another one was first")
        return process_observations(tx, named=named, **others)

    monkeypatch.setattr(stack_transactions, "process_observations", process)
    service.observer.observe_together(create_all(service, one={}, two={}))
    assert show_all(service) == {"one": "CREATE_COMPLETE", "two": "CREATE_COMPLETE"}


@pytest.fixture
def tree(service: LocalService, monkeypatch: pytest.MonkeyPatch) -> LocalService:
    """Return a service whose observer processes all that waits for it in one transaction."""
    single = service.observer.observe

    def observe(hints: Sequence[ResourceHint]) -> None:
        (hint,) = hints
        named = {hint.stack_id: hint.resource_ids}
        for message in [each for each in service.bus.pending if each.method == "observe"]:
            if message.resource_ids:
                service.bus.pending.remove(message)
                before = named.get(message.stack_id, ())
                named[message.stack_id] = (*before, *message.resource_ids)
        if hint.resource_ids:
            service.observer.observe_together(named)
        else:
            single(hints)

    monkeypatch.setattr(service.observer, "observe", observe)
    return service


def send(service: LocalService, method: str, path: str, body: Any = None) -> dict[str, Any]:
    """Send a request and handle messages until none is left; no time passes, nor does a sweep."""
    found = service.send(method, path, body, leave_pending=True)
    while service.handle_next():
        pass
    return dict(found.json["stack"]) if found.body else {}


def test_parent_is_observed_together_with_its_nested_stacks(tree: LocalService) -> None:
    body = {"stack_name": "s", "template": PARENT, "files": {"child.yaml": CHILD}}
    path = f"/stacks/s/{send(tree, 'POST', '/stacks', body)['id']}"
    shown = send(tree, "GET", path)
    assert shown["stack_status"] == "CREATE_COMPLETE"
    assert shown["outputs"][0]["output_value"] == "v"
    send(tree, "DELETE", path)
    assert send(tree, "GET", path)["stack_status"] == "DELETE_COMPLETE"
