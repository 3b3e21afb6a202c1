"""The daemons as an operator runs them, driven by python-heatclient.

Two engines and two observers over RabbitMQ on each database and each concurrency
backend: the example is created, changed and deleted.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from heat_convergence.testing.daemon_processes import ServiceDeployment, wait_until
from tests.integration.conftest import Deploy
from tests.integration.harness import HeatUser, error_log_lines, query_rows, user_for

EXAMPLE = Path(__file__).parents[2] / "examples" / "shop.yaml"
RESOURCES = 21


@pytest.mark.parametrize("concurrency", ["eventlet", "threading"])
@pytest.mark.parametrize("database", ["mariadb", "postgresql"])
def test_the_example_stack_is_created_updated_and_deleted(
    database: str, concurrency: str, deploy: Deploy, request: pytest.FixtureRequest
) -> None:
    url = request.getfixturevalue(f"{database}_url")
    deployment = deploy(url, concurrency=concurrency).start(engines=2, observers=2)
    user = user_for(deployment)
    _all_report(user)
    _create_change_delete(user)
    assert query_rows(url, "SELECT id FROM resource") == []
    assert deployment.terminate() == [0] * 5
    assert query_rows(url, "SELECT id FROM service") == []
    assert error_log_lines(deployment) == []


def _all_report(user: HeatUser) -> None:
    wait_until(
        lambda: [one.status for one in user.heat.services.list()] == ["up"] * 5,
        "the API, two engines and two observers are up",
    )


def _create_change_delete(user: HeatUser) -> None:
    template = EXAMPLE.read_text()
    user.create("shop", template, pace=0)
    user.wait_for_status("shop", "CREATE_COMPLETE")
    before = user.resources("shop")
    assert len(before) == RESOURCES
    assert user.outputs("shop")["running"] == "shop-1.0"

    user.heat.stacks.update("shop", template=template, parameters={"pace": 0, "release": "2"})
    user.wait_for_status("shop", "UPDATE_COMPLETE")
    after = user.resources("shop")
    assert user.outputs("shop")["running"] == "shop-2"
    assert _replaced(before, after) == {"worker"}
    assert after["network"].updated_time == before["network"].updated_time

    user.heat.stacks.delete("shop")
    user.wait_deleted("shop")


def _replaced(before: dict[str, Any], after: dict[str, Any]) -> set[str]:
    return {
        name
        for name, one in before.items()
        if after[name].physical_resource_id != one.physical_resource_id
    }


def _settles(deployment: ServiceDeployment, name: str) -> None:
    user = user_for(deployment)
    user.create(name, EXAMPLE.read_text(), pace=0)
    user.wait_for_status(name, "CREATE_COMPLETE")


@pytest.mark.parametrize("concurrency", ["eventlet", "threading"])
def test_sighup_reloads_every_daemon(concurrency: str, deploy: Deploy, mariadb_url: str) -> None:
    """New workers read the new configuration; parents and their ports stay."""
    deployment = deploy(mariadb_url, concurrency=concurrency).start()
    _settles(deployment, "before")
    deployment.reconfigure({"revision": {"heat_revision": "reloaded"}, "DEFAULT": {"debug": True}})
    for daemon in deployment.daemons:
        starts, parent = daemon.start_count(), daemon.pid
        daemon.reload()
        wait_until(
            lambda it=daemon, n=starts: it.start_count() > n, f"{daemon.role} has new workers"
        )
        wait_until(
            lambda it=daemon: it.count_in_log(" DEBUG "), f"{daemon.role} logs at the new level"
        )
        assert daemon.is_running()
        assert daemon.pid == parent
    heat = user_for(deployment).heat
    wait_until(
        lambda: heat.build_info.build_info()["engine"]["revision"] == "reloaded",
        "the API tells the new revision",
    )
    _settles(deployment, "after")
    assert error_log_lines(deployment) == []
