"""A worker that lacks a resource type leaves its jobs and observations to other workers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from heat_convergence.resources.registry import ResourceTypeRegistry
from tests.functional.harness import LocalService
from tests.functional.scripted_type import ScriptedType, make, resource, state, template

KNOWN = {"type": "OS::Heat::TestResource"}
PASSES = 5


@pytest.fixture
def scripted() -> ScriptedType:
    return ScriptedType()


@pytest.fixture
def service(tmp_path: Any, scripted: ScriptedType) -> Iterator[LocalService]:
    service = LocalService(f"sqlite:///{tmp_path}/hc.sqlite", types=(scripted,))
    yield service
    service.close()


class WorkersWithoutType:
    """Makes the engine and the observer of a service ones that lack the scripted type."""

    def __init__(self, service: LocalService) -> None:
        self._service = service
        self._all_types = service.registry

    def __enter__(self) -> None:
        self._use(ResourceTypeRegistry.load())

    def __exit__(self, *_error: object) -> None:
        self._use(self._all_types)

    def _use(self, registry: ResourceTypeRegistry) -> None:
        self._service.registry = registry
        self._service.engine, self._service.observer = self._service.build_daemons()


def run_some_passes(service: LocalService) -> None:
    for _ in range(PASSES):
        service.run_due_work()
        service.clock.advance(10)


@pytest.mark.parametrize("slow", [False, True], ids=["job", "observation"])
def test_create_waits_for_a_worker_with_the_type(
    service: LocalService, scripted: ScriptedType, slow: bool
) -> None:
    document = template(r=resource(slow=slow), known=KNOWN)
    body = {"stack_name": "s", "template": document}
    created = service.send("POST", "/stacks", body, leave_pending=True)
    path = f"/stacks/s/{created.json['stack']['id']}"
    if slow:
        service.handle_next()  # the call of the engine that has the type
    with WorkersWithoutType(service):
        run_some_passes(service)
        resources = service.send("GET", f"{path}/resources", leave_pending=True).json["resources"]
        found = {each["resource_name"]: each for each in resources}
    assert found["known"]["resource_status"] == "CREATE_COMPLETE"
    assert "FAILED" not in found["r"]["resource_status"]
    if not slow:
        assert found["r"]["resource_status_reason"] == (
            "CallRefused: resources.r: This worker has no resource type Test::Scripted;"
            " the job is left to other workers."
        )
    service.run_until_idle()
    assert state(service, path)[0] == "CREATE_COMPLETE"
    assert scripted.call_count("create") == 1


@pytest.mark.parametrize("method", ["PUT", "DELETE"])
def test_existing_resource_stays_as_it_is_until_then(
    service: LocalService, scripted: ScriptedType, method: str
) -> None:
    path = make(service, template=template(r=resource()))
    body = {"template": template(r=resource(size=2))} if method == "PUT" else None
    service.send(method, path, body, leave_pending=True)
    with WorkersWithoutType(service):
        run_some_passes(service)
        assert row_status(service, path, "r") == "CREATE_COMPLETE"
    assert scripted.there
    service.run_until_idle()
    if method == "PUT":
        assert state(service, path)[0] == "UPDATE_COMPLETE"
        assert scripted.call_count("update") == 1
    else:
        assert not scripted.there


def test_value_of_a_resource_of_a_missing_type_is_waited_for(service: LocalService) -> None:
    """The type computes the reference id that another resource's job needs."""
    reader = {**KNOWN, "properties": {"value": {"get_resource": "r"}}}
    body = {"stack_name": "s", "template": template(r=resource(), reader=reader)}
    created = service.send("POST", "/stacks", body, leave_pending=True)
    path = f"/stacks/s/{created.json['stack']['id']}"
    while row_status(service, path, "r") != "CREATE_COMPLETE":
        assert service.handle_next()
    with WorkersWithoutType(service):
        run_some_passes(service)
        assert row_status(service, path, "reader") == "INIT_COMPLETE"
    service.run_until_idle()
    assert state(service, path)[0] == "CREATE_COMPLETE"


def row_status(service: LocalService, path: str, name: str) -> str:
    shown = service.send("GET", f"{path}/resources/{name}", leave_pending=True)
    return str(shown.json["resource"]["resource_status"])


def test_type_that_no_worker_has_ends_with_the_time_limit(service: LocalService) -> None:
    document = template(r=resource())
    body = {"stack_name": "s", "template": document, "timeout_mins": 2, "disable_rollback": True}
    created = service.send("POST", "/stacks", body, leave_pending=True)
    with WorkersWithoutType(service):
        service.run_until_idle()
        path = f"/stacks/s/{created.json['stack']['id']}"
        assert state(service, path) == ("CREATE_FAILED", "Timed out")
