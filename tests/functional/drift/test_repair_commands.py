"""The commands about repairs that the service starts by itself, and their output."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from osc_lib.exceptions import CommandError

from heat_convergence.cli.openstack_commands import repairs as commands
from heat_convergence.convergence.drift.repair_budget import RepairLimits
from heat_convergence.convergence.drift.settings import DriftSettings
from tests.functional.drift.drift_cases import ours, watch
from tests.functional.drift.test_drift_commands import InProcessClient, run
from tests.functional.openstack_types.emulated_service import (
    create_stack,
    physical_id,
    port,
    template,
)

Json = Any
NET = {"type": "OS::Neutron::Net"}


def take_action(client: InProcessClient, command_class: Any, *arguments: str) -> Any:
    app = SimpleNamespace(client_manager=SimpleNamespace(orchestration=client))
    command = command_class(app, None)
    return command.take_action(command.get_parser("openstack").parse_args(arguments))


def show(client: InProcessClient, command_class: Any, *arguments: str) -> dict[str, Json]:
    return dict(zip(*take_action(client, command_class, *arguments), strict=True))


@pytest.fixture
def stack_path(service) -> str:
    limits = RepairLimits(tries=1, backoff_s=1.0)
    service.use_settings(drift=DriftSettings(repairs=limits))
    service.engine, service.observer = service.build_daemons()
    return create_stack(service, template(port=port(name="one")))


@pytest.fixture
def client(service, stack_path) -> InProcessClient:
    return InProcessClient(service)


def test_policy_is_set_and_shown(client):
    unset = show(client, commands.ShowDriftPolicy, "s")
    assert {**unset, "policy": None, "paused": False, "repair_window": None} == unset
    window = ("--repair-window", "0 2 * * *", "--window-duration", "7200")
    policy = ("--policy", "repair", "--pause", "--window-timezone", "Europe/Berlin")
    changed = show(client, commands.SetDriftPolicy, "s", *window, *policy)
    assert changed == {
        "stack_id": unset["stack_id"],
        "policy": "repair",
        "paused": True,
        "repair_window": {"cron": "0 2 * * *", "duration": 7200, "timezone": "Europe/Berlin"},
    }
    show(client, commands.SetDriftPolicy, "s", "--resume", "--repair-window", "* * * * *")
    found = show(client, commands.ShowDriftPolicy, "s")
    assert (found["policy"], found["paused"]) == ("repair", False)
    assert found["repair_window"]["cron"] == "* * * * *"
    removed = show(client, commands.SetDriftPolicy, "s", "--no-policy", "--no-repair-window")
    assert removed == unset


@pytest.mark.parametrize("arguments", [(), ("--window-duration", "60")])
def test_options_that_set_nothing_are_refused(client, arguments):
    with pytest.raises(CommandError):
        show(client, commands.SetDriftPolicy, "s", *arguments)
    assert not [each for each in client.requests if each.startswith("PUT")]


def test_ends_of_repairs_are_listed_and_suspended_ones_resumed(
    service, emulated_cloud, stack_path, client
):
    show(client, commands.SetDriftPolicy, "s", "--policy", "repair")
    watch(service)
    assert run(client, commands.ListDriftRepairs, "s") == []
    for status, outcome in (("STARTED", "REPAIRED"), ("SUSPENDED", "NOT_LASTING")):
        key = physical_id(service, stack_path, "port")
        ours(emulated_cloud, "neutron.port", key)["name"] = "other"
        for _ in range(2):
            watch(service)
            service.run_until_idle()
        (row,) = run(client, commands.ListDriftRepairs, "s")
        assert row[:5] == ["s", "port", status, outcome, 1]
    assert row[7:] == [None, "1 repairs have not lasted; the last difference was MODIFIED"]
    take_action(client, commands.ResumeDriftRepairs, "s")
    (row,) = run(client, commands.ListDriftRepairs, "s")
    assert (row[2], row[4]) == ("STARTED", 0)


def test_mass_losses_are_listed_and_confirmed(service, emulated_cloud):
    nets = {f"net{number}": NET for number in range(10)}
    create_stack(service, {"heat_template_version": "2016-10-14", "resources": nets})
    client = InProcessClient(service)
    watch(service)
    assert run(client, commands.ListDriftBreakers) == []
    collection = emulated_cloud.emulation.collection("neutron.network")
    for each in [each for each in collection.bodies() if each["name"].startswith("s-net")]:
        collection.remove(each["id"])
    watch(service)
    (row,) = run(client, commands.ListDriftBreakers)
    assert [row[1], row[3], row[6]] == ["OS::Neutron::Net", 10, False]
    take_action(client, commands.ConfirmDriftBreakers, row[0])
    (row,) = run(client, commands.ListDriftBreakers)
    assert row[6] is True
    with pytest.raises(CommandError, match="absent"):
        take_action(client, commands.ConfirmDriftBreakers, "absent")
