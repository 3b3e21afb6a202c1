"""Expressions that end their own process: the resource fails, and the engine's worker goes on.

A test in one process cannot show that a worker outlives the process of an expression.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from heat_convergence.testing.daemon_processes import ENGINE, ServiceDeployment, wait_until
from tests.integration.conftest import Deploy
from tests.integration.harness import HeatUser, error_log_lines, user_for

Json = Any
LONG_S = 120
# Neither the number of items nor the size of a value ends the expression before its process.
UNLIMITED = {"limit_iterators": 10**12, "memory_quota": 10**15, "time_limit": LONG_S}
TOO_LARGE = "('x' * (1000000000 * $.data)).len()"
ENDLESS = "range(1000000000000 * $.data).len()"


def value(content: Json) -> dict[str, Json]:
    return {"type": "OS::Heat::Value", "properties": {"value": content}}


def evaluated_by_an_engine(expression: str) -> dict[str, Json]:
    """Return a template whose expression needs an attribute."""
    call = {"yaql": {"expression": expression, "data": {"get_attr": ["a", "value"]}}}
    resources = {"a": value(1), "b": value(call)}
    return {"heat_template_version": "2021-04-16", "resources": resources}


def children_of(process_id: int) -> Iterator[int]:
    """Yield the ids of the descendants of a process."""
    for task in Path(f"/proc/{process_id}/task").glob("*/children"):
        for child in map(int, task.read_text().split()):
            yield child
            yield from children_of(child)


def expression_processes(engine_id: int) -> list[int]:
    """Return the processes in which an engine evaluates expressions: those that another forks."""
    servers = [
        each
        for each in children_of(engine_id)
        if b"fork_server" in Path(f"/proc/{each}/cmdline").read_bytes()
    ]
    return sorted({child for each in servers for child in children_of(each)})


def reason_of_failure(user: HeatUser, name: str) -> str:
    """Wait until the stack has failed and return the reason of its resource."""
    wait_until(lambda: user.status(name) == "CREATE_FAILED", f"{name} has failed")
    return str(user.resources(name)["b"].resource_status_reason)


def assert_worker_is_alive(deployment: ServiceDeployment, user: HeatUser) -> None:
    """The same worker evaluates the next expression, in a new process."""
    user.create("next", evaluated_by_an_engine("$.data + 1"))
    user.wait_for_status("next", "CREATE_COMPLETE")
    (engine,) = deployment.daemons_with_role(ENGINE)
    assert engine.start_count() == 1
    assert error_log_lines(deployment) == []


@pytest.fixture(params=["eventlet", "threading"])
def deployment(
    request: pytest.FixtureRequest, deploy: Deploy, mariadb_url: str
) -> ServiceDeployment:
    deployed = deploy(mariadb_url, concurrency=request.param)
    deployed.reconfigure({"yaql": UNLIMITED})
    return deployed.start()


def test_expression_that_needs_too_much_memory_fails_its_resource(
    deployment: ServiceDeployment,
) -> None:
    user = user_for(deployment)
    user.create("large", evaluated_by_an_engine(TOO_LARGE))
    assert "memory" in reason_of_failure(user, "large").lower()
    assert_worker_is_alive(deployment, user)


def test_killed_expression_process_fails_its_resource(
    deployment: ServiceDeployment,
) -> None:
    """The kernel does that when the machine has no memory left."""
    user = user_for(deployment)
    user.create("killed", evaluated_by_an_engine(ENDLESS))
    (engine,) = deployment.daemons_with_role(ENGINE)
    wait_until(lambda: expression_processes(engine.pid), "an expression is evaluated")
    for process_id in expression_processes(engine.pid):
        os.kill(process_id, signal.SIGKILL)
    assert "too much memory" in reason_of_failure(user, "killed")
    assert_worker_is_alive(deployment, user)
