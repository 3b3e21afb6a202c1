"""Many signals at once, from everywhere, while users change the stack they are for."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from heat_convergence.testing.daemon_processes import wait_until
from tests.integration.conftest import Deploy
from tests.integration.harness import SETTLE_TIMEOUT_S, HeatUser, error_log_lines, user_for

COUNT, SENDERS = 40, 8


def _template(value: str) -> dict[str, Any]:
    group = {"get_resource": "g"}
    policy = {"auto_scaling_group_id": group, "adjustment_type": "change_in_capacity"}
    resources: dict[str, Any] = {
        "h": {"type": "OS::Heat::WaitConditionHandle"},
        "wait": {
            "type": "OS::Heat::WaitCondition",
            "properties": {"handle": {"get_resource": "h"}, "timeout": 600, "count": COUNT},
        },
        "g": {
            "type": "OS::Heat::AutoScalingGroup",
            "properties": {
                "min_size": 1,
                "max_size": 9,
                "cooldown": 0,
                "resource": {"type": "OS::Heat::TestResource", "properties": {"value": "v"}},
            },
        },
        "other": {"type": "OS::Heat::TestResource", "properties": {"value": value}},
    }
    for name, amount in (("up", 2), ("down", -1)):
        resources[name] = {
            "type": "OS::Heat::ScalingPolicy",
            "properties": {**policy, "scaling_adjustment": amount},
        }
    return {
        "heat_template_version": "2021-04-16",
        "resources": resources,
        "outputs": {
            "data": {"value": {"get_attr": ["wait", "data"]}},
            "size": {"value": {"get_attr": ["g", "current_size"]}},
            "refs": {"value": {"get_attr": ["g", "refs"]}},
        },
    }


def _signal(user: HeatUser, resource: str, body: Any = None) -> None:
    user.heat.resources.signal("s", resource, data=body)


@pytest.mark.parametrize(
    ("database", "concurrency"), [("mariadb", "eventlet"), ("postgresql", "threading")]
)
def test_signals_from_everywhere(
    database: str, concurrency: str, deploy: Deploy, request: pytest.FixtureRequest
) -> None:
    url = request.getfixturevalue(f"{database}_url")
    deployment = deploy(url, concurrency=concurrency).start(engines=2, observers=2)
    user = user_for(deployment)
    user.create("s", _template("0"))
    for name in ("h", "g", "up", "down"):
        wait_until(
            lambda name=name: user.resources("s")[name].resource_status == "CREATE_COMPLETE",
            f"{name} is there",
            timeout_s=SETTLE_TIMEOUT_S,
        )

    def send(number: int) -> None:
        mine = user_for(deployment)
        _signal(mine, "h", {"id": str(number), "data": number * number})
        _signal(mine, "up" if number % 2 else "down")
        if number % 10 == 5:
            mine.heat.stacks.update("s", template=_template(str(number)))

    with ThreadPoolExecutor(SENDERS) as pool:
        list(pool.map(send, range(COUNT)))
    user.wait_complete("s")
    data = json.loads(user.outputs("s")["data"])
    assert data == {str(number): number * number for number in range(COUNT)}
    nested_id = user.resources("s")["g"].physical_resource_id
    user.wait_complete(nested_id)
    wait_until(
        lambda: user.outputs("s")["size"] == len(user.resources(nested_id)),
        "the group tells its size",
        timeout_s=SETTLE_TIMEOUT_S,
    )
    assert 1 <= user.outputs("s")["size"] <= 9
    assert len(user.outputs("s")["refs"]) == user.outputs("s")["size"]
    user.heat.stacks.delete("s")
    user.wait_deleted("s")
    assert error_log_lines(deployment) == []
    logs = "".join(daemon.log.read_text(errors="replace") for daemon in deployment.daemons)
    # No deadlock, since locks are taken in one order.
    assert "transaction retried after a conflict" not in logs
