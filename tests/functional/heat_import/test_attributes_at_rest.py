"""The import reads the attributes of objects that have not changed for long."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from unittest.mock import Mock

import pytest

from heat_convergence.convergence.model.action import Action, Status
from heat_convergence.heat_import.cloud_access import CloudAccess
from heat_convergence.testing.openstack.emulation import PROJECT_ID, EmulatedResponse
from heat_convergence.testing.sample_rows import resource_row, stack_row
from tests.functional.openstack_types.driver_bench import START, DriverBench, server

AGE_S = 86_400.0
STACK_ID = "s"


@pytest.fixture
def old_servers() -> DriverBench:
    """Return a cloud whose list of changed servers is empty."""
    bench = DriverBench()

    def list_servers(emulation: Any, request: Any) -> EmulatedResponse:
        bodies, _ = emulation.collection("nova.server").list_page(request.query)
        return EmulatedResponse(
            200, {"servers": [] if "changes-since" in request.query else bodies}
        )

    bench.emulation.add_handler("compute", "GET", "/servers/detail", list_servers)
    return bench


@pytest.mark.parametrize("status", ["ACTIVE", "SHUTOFF", "SUSPENDED", "ERROR", "VERIFY_RESIZE"])
def test_attributes_of_several_old_servers_are_read(
    old_servers: DriverBench, monkeypatch: pytest.MonkeyPatch, status: str
) -> None:
    bench, stack = old_servers, stack_row(STACK_ID, project_id=PROJECT_ID)
    contexts = [bench.create(server(bench)) for _ in range(3)]
    bench.emulation.advance(AGE_S)
    for context in contexts:
        bench.emulation.collection("nova.server").get(context.physical_id).body["status"] = status
    rows = [
        resource_row(
            context.resource_id,
            stack_id=STACK_ID,
            type=context.type,
            implementation=context.type,
            action=Action.CREATE,
            status=Status.COMPLETE,
            physical_id=context.physical_id,
        )
        for context in contexts
    ]
    services = Mock(registry=bench.registry, clock=lambda: START + timedelta(seconds=AGE_S))
    access = CloudAccess(Mock(), Mock(), services, _credentials={STACK_ID: Mock()})
    clouds = Mock(get=Mock(return_value=bench.cloud))
    monkeypatch.setattr(CloudAccess, "_clouds", lambda _access: clouds)

    bench.emulation.request_counts.clear()
    found = access.observe(stack, rows)

    methods = {each.partition(" ")[0] for each in bench.emulation.request_counts}
    assert methods == {"GET"}, "an import changes nothing in the cloud"
    shown = {row_id: attributes["show"]["status"] for row_id, attributes in found.items()}
    assert shown == {context.resource_id: status for context in contexts}
