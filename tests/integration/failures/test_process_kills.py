"""Daemons that crash or are stopped during the create of a stack of 200 resources.

The daemon is started again and nothing else is repaired: the stack completes, and every
resource is created exactly once.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from heat_convergence.testing.daemon_processes import API, ENGINE, OBSERVER, wait_until
from heat_convergence.testing.file_cloud import FILE_TYPE, FileCloudAudit
from tests.integration.conftest import Deploy
from tests.integration.harness import (
    assert_each_once,
    error_log_lines,
    query_rows,
    slow_template,
    user_for,
    wait_until_more_ready,
)

COUNT = 200
WAIT_S = 0.5
LEASE_S = 4
HELD = "SELECT count(*) FROM resource WHERE lease_owner IS NOT NULL"


@pytest.mark.parametrize("role", [API, ENGINE, OBSERVER])
@pytest.mark.parametrize(
    ("database", "concurrency"), [("mariadb", "eventlet"), ("postgresql", "threading")]
)
def test_killed_and_started_again(
    role: str, database: str, concurrency: str, deploy: Deploy, request: pytest.FixtureRequest
) -> None:
    url = request.getfixturevalue(f"{database}_url")
    deployment = deploy(url, concurrency=concurrency).start()
    user = user_for(deployment)
    user.create("big", slow_template(COUNT, WAIT_S))
    wait_until_more_ready(url, COUNT // 10)
    (victim,) = deployment.daemons_with_role(role)
    victim.kill()
    assert query_rows(url, "SELECT status FROM stack") == [("IN_PROGRESS",)]
    victim.start()
    user.wait_for_status("big", "CREATE_COMPLETE")
    assert_each_once(url, user, "big", COUNT)
    assert error_log_lines(deployment) == []


@pytest.mark.parametrize("role", [ENGINE, OBSERVER])
def test_a_second_process_takes_over(role: str, deploy: Deploy, mariadb_url: str) -> None:
    """Another process of the role continues when one is killed for good."""
    deployment = deploy(mariadb_url).start(engines=2, observers=2)
    user = user_for(deployment)
    user.create("big", slow_template(COUNT, WAIT_S))
    wait_until_more_ready(mariadb_url, COUNT // 10)
    deployment.daemons_with_role(role)[0].kill()
    user.wait_for_status("big", "CREATE_COMPLETE")
    assert_each_once(mariadb_url, user, "big", COUNT)


@pytest.mark.parametrize("concurrency", ["eventlet", "threading"])
def test_sigterm_drains(concurrency: str, deploy: Deploy, mariadb_url: str) -> None:
    """Running jobs are finished and recorded: no lease is left to expire."""
    deployment = deploy(mariadb_url, concurrency=concurrency).start()
    user = user_for(deployment)
    user.create("big", slow_template(COUNT, 4 * WAIT_S))  # the end of an engine may take seconds
    wait_until_more_ready(mariadb_url, COUNT // 10)
    (engine,) = deployment.daemons_with_role(ENGINE)
    assert engine.terminate() == 0
    assert query_rows(mariadb_url, HELD) == [(0,)]
    assert query_rows(mariadb_url, "SELECT status FROM stack") == [("IN_PROGRESS",)]
    engine.start()
    (observer,) = deployment.daemons_with_role(OBSERVER)
    assert observer.terminate() == 0
    observer.start()
    user.wait_for_status("big", "CREATE_COMPLETE")
    assert_each_once(mariadb_url, user, "big", COUNT)
    assert error_log_lines(deployment) == []


def test_draining_engine_keeps_its_leases(deploy: Deploy, mariadb_url: str, cloud: Path) -> None:
    """A call that outlasts the lease is not repeated by the other engine."""
    deployment = deploy(mariadb_url)
    deployment.reconfigure({"engine": {"lease": LEASE_S}})
    engines = deployment.start(engines=2).daemons_with_role(ENGINE)
    user = user_for(deployment)
    properties = {"latency_s": 4 * LEASE_S}
    template = {
        "heat_template_version": "2021-04-16",
        "resources": {"file": {"type": FILE_TYPE, "properties": properties}},
    }
    user.create("slow", template)
    owners = "SELECT lease_owner FROM resource WHERE lease_owner IS NOT NULL"
    wait_until(lambda: query_rows(mariadb_url, owners), "an engine has the job")
    ((owner,),) = query_rows(mariadb_url, owners)
    first, second = sorted(engines, key=lambda engine: engine.count_in_log(owner) == 0)
    assert first.terminate() == 0
    user.wait_for_status("slow", "CREATE_COMPLETE")
    assert second.count_in_log("lease taken over") == 0
    assert [action for action, _ in FileCloudAudit.of_directory(cloud).calls] == ["create"]
