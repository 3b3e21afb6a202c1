"""Repairs that the service starts by itself begin inside of their window alone."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from heat_convergence.convergence.drift.repair_budget import RepairLimits
from heat_convergence.convergence.drift.settings import DriftSettings
from heat_convergence.template.environment.repair_window import RepairWindow
from tests.functional.drift.drift_cases import INTERVAL_S, ours
from tests.functional.openstack_types.emulated_service import (
    create_stack,
    physical_id,
    port,
    template,
)

Json = Any
REPAIR: Json = {"policy": "repair"}


def opening_in(service, hours: int) -> Json:
    """Return a window of an hour that opens after so many full hours."""
    at = (service.clock() + timedelta(hours=hours)).replace(minute=0)
    return {"cron": f"0 {at.hour} * * *", "duration": 3600, "timezone": "UTC"}


def environment(**drift: Json) -> Json:
    return {"resource_registry": {"resources": {"port": {"drift": {**REPAIR, **drift}}}}}


def create(service, cloud, **drift: Json) -> tuple[str, Json]:
    """Create a stack, and rename its port; return the stack and the port."""
    body = template(port=port(name="one"))
    path = create_stack(service, body, environment=environment(**drift))
    found = ours(cloud, "neutron.port", physical_id(service, path, "port"))
    found["name"] = "other"
    return path, found


def run(service, seconds: float) -> None:
    for _ in range(int(seconds / INTERVAL_S)):
        service.clock.advance(INTERVAL_S)
        service.watch.tick()
        service.run_until_idle()


def repair(service, path) -> Json:
    (found,) = service.send("GET", f"{path}/drift/repairs").json["repairs"]
    return found


def test_repair_waits_for_its_window_and_shows_when_it_may_start(service, emulated_cloud):
    path, found = create(service, emulated_cloud, repair_window=opening_in(service, 2))
    run(service, 90)
    assert found["name"] == "other"
    shown = repair(service, path)
    assert (shown["repair_status"], shown["tries"]) == ("DEFERRED", 0)
    assert shown["repair_reason"].startswith("repairs start in the window")
    opens = datetime.fromisoformat(shown["next_at"])
    assert timedelta(0) < opens - service.clock() <= timedelta(hours=2)
    assert (opens.minute, opens.second) == (0, 0)
    service.clock.advance((opens - service.clock()).total_seconds() - 2 * INTERVAL_S)
    run(service, INTERVAL_S)
    assert found["name"] == "other"
    run(service, 60)
    assert found["name"] == "one"
    shown = repair(service, path)
    assert (shown["repair_status"], shown["repair_outcome"]) == ("STARTED", "REPAIRED")
    assert datetime.fromisoformat(shown["started_at"]) >= opens


def test_request_of_a_user_is_not_bound(service, emulated_cloud):
    path, found = create(service, emulated_cloud, repair_window=opening_in(service, 5))
    run(service, 60)
    assert service.send("POST", f"{path}/actions", {"repair": None}).status_int == 200
    assert found["name"] == "one"


def test_user_changes_the_window_of_a_stack(service, emulated_cloud):
    path, found = create(service, emulated_cloud)
    control = f"{path}/drift/policy"
    window = opening_in(service, 5)
    answer = service.send("PUT", control, {"repair_window": window})
    assert answer.json["drift_policy"]["repair_window"] == window
    run(service, 90)
    assert (found["name"], repair(service, path)["repair_status"]) == ("other", "DEFERRED")
    shorthand = {"repair_window": "* * * * *"}
    assert service.send("PUT", control, shorthand).json["drift_policy"]["repair_window"] == {
        "cron": "* * * * *",
        "duration": 3600,
        "timezone": "UTC",
    }
    run(service, 60)
    assert found["name"] == "one"
    assert service.send("PUT", control, {"repair_window": None}).status_int == 200
    assert service.send("GET", control).json["drift_policy"]["repair_window"] is None


def test_update_with_another_window_lets_the_repair_start(service, emulated_cloud):
    path, found = create(service, emulated_cloud, repair_window=opening_in(service, 5))
    run(service, 90)
    assert repair(service, path)["repair_status"] == "DEFERRED"
    request = {"template": template(port=port(name="one")), "environment": environment()}
    assert service.send("PUT", path, request).status_int == 202
    run(service, 180)
    assert found["name"] == "one"


def test_window_of_the_operator_counts_where_no_other_one_is_set(service, emulated_cloud):
    cron = opening_in(service, 2)["cron"]
    limits = RepairLimits(window=RepairWindow(cron))
    service.use_settings(drift=DriftSettings(repairs=limits))
    path, found = create(service, emulated_cloud)
    run(service, 90)
    assert (found["name"], repair(service, path)["repair_status"]) == ("other", "DEFERRED")
    service.clock.advance(7200)
    run(service, 60)
    assert found["name"] == "one"


@pytest.mark.parametrize(
    ("window", "text"),
    [
        ("0 2 * *", 'repair_window: "0 2 * *" is not a cron expression of five fields'),
        ({"cron": "0 2 * * *", "duration": 1}, 'repair_window: "1" is not a duration'),
        ({"cron": "0 2 * * *", "timezone": "X/Y"}, 'repair_window: "X/Y" is not a time zone'),
        (7, "repair_window must be a cron expression, or a map"),
    ],
)
def test_mistake_is_refused_with_its_place(service, emulated_cloud, window, text):
    path = create_stack(service, template(port=port(name="one")))
    answer = service.send("PUT", f"{path}/drift/policy", {"repair_window": window})
    assert (answer.status_int, text in answer.json["error"]["message"]) == (400, True)
    request = {
        "stack_name": "other",
        "template": template(port=port(name="one")),
        "environment": environment(repair_window=window),
    }
    answer = service.send("POST", path.rsplit("/", 2)[0], request)
    assert answer.status_int == 400
    message = answer.json["error"]["message"]
    assert f"resource_registry.resources.port.drift.{text}" in message
