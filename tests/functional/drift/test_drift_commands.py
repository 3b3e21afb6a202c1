"""The commands about drift, and their output."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from heatclient.exc import HTTPNotFound

from heat_convergence.cli.openstack_commands import drift as commands
from tests.functional.drift.drift_cases import ours, watch
from tests.functional.openstack_types.emulated_service import (
    create_stack,
    physical_id,
    port,
    template,
)

Json = Any
ROW = ["s", "port", "OS::Neutron::Port"]
CHANGE = 'name: "one" -> "other"'


class InProcessClient:
    """The part of python-heatclient that the commands use, over the service in process."""

    def __init__(self, service: Any) -> None:
        self._service = service
        self.http_client = self
        self.stacks = SimpleNamespace(get=self._get_stack)
        self.requests: list[str] = []

    def get(self, path: str) -> Any:
        return self._send("GET", path)

    def post(self, path: str, data: Json) -> Any:
        return self._send("POST", path, data)

    def put(self, path: str, data: Json) -> Any:
        return self._send("PUT", path, data)

    def delete(self, path: str) -> Any:
        return self._send("DELETE", path)

    def _send(self, method: str, path: str, body: Json = None) -> Any:
        self.requests.append(f"{method} {path}")
        answer = self._service.send(method, path, body)
        if answer.status_int == 404:
            raise HTTPNotFound(answer.text)
        assert answer.status_int in (200, 204), answer.text
        return SimpleNamespace(json=lambda: answer.json)

    def _get_stack(self, name: str) -> Any:
        (found,) = [
            each
            for each in self._service.send("GET", "/stacks").json["stacks"]
            if each["stack_name"] == name
        ]
        return SimpleNamespace(stack_name=name, id=found["id"])


def run(client: InProcessClient, command_class: Any, *arguments: str) -> list[list[Json]]:
    app = SimpleNamespace(client_manager=SimpleNamespace(orchestration=client))
    command = command_class(app, None)
    _columns, rows = command.take_action(command.get_parser("openstack").parse_args(arguments))
    return list(rows)


@pytest.fixture
def drifted(service, emulated_cloud):
    """A client, and the body of a port whose name others have changed."""
    path = create_stack(service, template(port=port(name="one")))
    body = ours(emulated_cloud, "neutron.port", physical_id(service, path, "port"))
    body["name"] = "other"
    watch(service)
    return InProcessClient(service), body


@pytest.mark.parametrize(
    ("command", "arguments"),
    [(commands.ListStackDrift, ()), (commands.ShowStackDrift, ("s",))],
)
def test_changed_properties_are_printed(drifted, command, arguments):
    (row,) = run(drifted[0], command, *arguments)
    assert [*row[:5], row[6]] == [*ROW, "MODIFIED", "report", CHANGE]
    assert run(drifted[0], command, *arguments, "--status", "DELETED") == []


def test_list_follows_pages(drifted, monkeypatch):
    client, _ = drifted
    monkeypatch.setattr(commands, "_PAGE_SIZE", 1)
    rows = run(client, commands.ListStackDrift, "--status", "MODIFIED", "--status", "IN_SYNC")
    assert sorted(row[1] for row in rows) == ["net", "port", "subnet"]
    assert len(client.requests) >= 3


def test_dry_run_prints_the_repair_and_does_nothing(drifted):
    client, body = drifted
    (row,) = run(client, commands.RepairStack, "s", "--dry-run")
    assert row == [*ROW, "MODIFIED", "restore", "", CHANGE]
    assert body["name"] == "other"


@pytest.mark.parametrize("arguments", [("s",), ("s", "--resource", "port")])
def test_repair_prints_what_it_does(drifted, arguments):
    client, body = drifted
    (row,) = run(client, commands.RepairStack, *arguments)
    assert row == [*ROW, "MODIFIED", "restore", "", CHANGE]
    assert body["name"] == "one"


def test_named_resources_alone_are_repaired(drifted):
    client, body = drifted
    (row,) = run(client, commands.RepairStack, "s", "--resource", "net")
    assert row[1] == "net"
    assert body["name"] == "other"
