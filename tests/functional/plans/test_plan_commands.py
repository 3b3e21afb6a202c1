"""The commands about plans, and their output."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from cliff.columns import FormattableColumn
from heatclient import exc
from osc_lib.exceptions import CommandError

from heat_convergence.cli.openstack_commands import plans as commands
from tests.functional.openstack_types.emulated_service import create_stack, port, template

Json = Any


class InProcessClient:
    """The part of python-heatclient that the commands use, over the service in process."""

    def __init__(self, service: Any) -> None:
        self._service = service
        self.http_client = self
        self.stacks = SimpleNamespace(get=self._get_stack)
        self.events = SimpleNamespace(list=self._list_events)

    def get(self, path: str) -> Any:
        return self._send("GET", path)

    def delete(self, path: str) -> Any:
        return self._send("DELETE", path)

    def post(self, path: str, data: Json = None) -> Any:
        return self._send("POST", path, data)

    def _send(self, method: str, path: str, body: Json = None) -> Any:
        answer = self._service.send(method, path, body)
        if answer.status_int >= 400:
            raise exc.from_response(
                SimpleNamespace(
                    status_code=answer.status_int, content=answer.body, reason="", headers={}
                )
            )
        return SimpleNamespace(json=lambda: answer.json)

    def _get_stack(self, name: str, **_options: Any) -> Any:
        for each in self._service.send("GET", "/stacks").json["stacks"]:
            if name in (each["stack_name"], each["id"]):
                return SimpleNamespace(**each, stack_name_or_id=name)
        raise exc.HTTPNotFound

    def _list_events(self, stack_id: str, **options: Any) -> list[Any]:
        stack = self._get_stack(stack_id)
        path = f"/stacks/{stack.stack_name}/{stack.id}/events"
        found = self._service.send("GET", path).json["events"]
        known = [each["id"] for each in found]
        marker = options.get("marker")
        if marker in known:
            found = found[: known.index(marker)]
        return [SimpleNamespace(**each) for each in reversed(found)]


@pytest.fixture
def client(service):
    create_stack(service, template(port=port(name="one")))
    return InProcessClient(service)


@pytest.fixture
def new_template(tmp_path: Path) -> str:
    body = template(port=port(name="two"), net2={"type": "OS::Neutron::Net"})
    path = tmp_path / "next.json"
    path.write_text(json.dumps(body))
    return str(path)


def run(client: InProcessClient, command_class: Any, *arguments: str) -> Any:
    app = SimpleNamespace(client_manager=SimpleNamespace(orchestration=client))
    command = command_class(app, None)
    found = command.take_action(command.get_parser("openstack").parse_args(arguments))
    return found if found is None else (found[0], [*found[1]])


def item(client: InProcessClient, command_class: Any, *arguments: str) -> dict[str, Json]:
    """Return the values of a command that shows one item, as text where they have one."""
    names, values = run(client, command_class, *arguments)
    shown = [
        each.human_readable() if isinstance(each, FormattableColumn) else each for each in values
    ]
    return dict(zip(names, shown, strict=True))


def test_plan_is_made_shown_listed_and_executed(client, service, new_template):
    made = item(client, commands.CreateStackPlan, "s", "-t", new_template)
    assert made["resource_counts"] == "2 unchanged, 1 add, 1 update"
    assert made["changes"].splitlines() == [
        "+ net2 (OS::Neutron::Net)",
        "~ port (OS::Neutron::Port)",
        '    name: "one" -> "two"',
    ]
    assert made["quotas"] == ""  # nothing of what has quotas is added
    assert item(client, commands.ShowStackPlan, made["id"])["changes"] == made["changes"]
    assert "changes" not in item(client, commands.ShowStackPlan, made["id"], "--summary")
    _, rows = run(client, commands.ListStackPlans, "s")
    assert [row[:4] for row in rows] == [[made["id"], "s", "update", "READY"]]
    assert item(client, commands.ExecuteStackPlan, made["id"])["plan_status"] == "EXECUTED"
    assert client.stacks.get("s").stack_status == "UPDATE_COMPLETE"


def test_refused_execution_prints_the_difference(client, service, new_template):
    plans = [item(client, commands.CreateStackPlan, "s", "-t", new_template) for _ in range(2)]
    item(client, commands.ExecuteStackPlan, plans[0]["id"])
    with pytest.raises(CommandError) as caught:
        run(client, commands.ExecuteStackPlan, plans[1]["id"])
    lines = str(caught.value).splitlines()
    assert "  s: the stack was CREATE_COMPLETE in version 1" in lines[1]


def test_execution_waits_for_the_end(client, service, new_template, capsys):
    made = item(client, commands.CreateStackPlan, "s", "-t", new_template)
    item(client, commands.ExecuteStackPlan, made["id"], "--wait")
    assert "UPDATE completed successfully" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "counts"),
    [
        (("--action", "delete", "--skip", "port"), "3 delete"),
        (("--action", "repair"), "3 unchanged"),
        (("--existing", "--converge"), "3 unchanged"),
    ],
)
def test_other_actions(client, arguments, counts):
    made = item(client, commands.CreateStackPlan, "s", *arguments)
    assert made["resource_counts"] == counts


def test_plan_of_a_new_stack(client, new_template):
    made = item(client, commands.CreateStackPlan, "new", "--action", "create", "-t", new_template)
    assert (made["stack_name"], made["resource_counts"]) == ("new", "4 add")


def test_plans_are_deleted(client, new_template):
    made = item(client, commands.CreateStackPlan, "s", "-t", new_template)
    assert run(client, commands.DeleteStackPlan, made["id"]) is None
    for command in (commands.DeleteStackPlan, commands.ShowStackPlan, commands.ExecuteStackPlan):
        with pytest.raises(CommandError, match="Plan not found"):
            run(client, command, made["id"])


def test_mistakes_are_named(client):
    with pytest.raises(CommandError, match="--template is required"):
        run(client, commands.CreateStackPlan, "s")
    with pytest.raises(CommandError, match="Stack not found"):
        run(client, commands.CreateStackPlan, "nothing", "--action", "delete")
