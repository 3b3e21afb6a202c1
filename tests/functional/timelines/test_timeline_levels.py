"""The critical path through resources that start before what they need is complete."""

from __future__ import annotations

from typing import Any

import pytest

from tests.functional.harness import LocalService
from tests.functional.openstack_types.emulated_service import ClockedEmulation, create_stack

Json = Any
TOLERANCE = 0.05
PENDING_S = 8


def dns(levels: Json) -> dict[str, Json]:
    zone = {"name": "example.org.", "email": "a@example.org"}
    record_set = {
        "zone": {"get_resource": "zone"},
        "name": "www",
        "type": "A",
        "records": ["192.0.2.1"],
    }
    return {
        "environment": {"resource_registry": {"resources": {"zone": {"readiness": levels}}}},
        "template": {
            "heat_template_version": "2021-04-16",
            "resources": {
                "zone": {"type": "OS::Designate::Zone", "properties": zone},
                "www": {"type": "OS::Designate::RecordSet", "properties": record_set},
            },
        },
    }


def _pend(emulation: Any, zone: Any) -> None:
    zone.body.update(status="PENDING", serial=1, masters=[])
    zone.scheduled_changes = [(emulation.now_s + PENDING_S, {"status": "ACTIVE"})]


@pytest.mark.parametrize(
    ("level", "started_early", "path"),
    [("exists", True, ["zone"]), ("active", False, ["zone", "www"])],
)
def test_the_path_goes_through_what_ended_last(
    service: LocalService,
    emulated_cloud: ClockedEmulation,
    level: str,
    started_early: bool,
    path: list[str],
) -> None:
    emulated_cloud.emulation.on_create("designate.zone", _pend)
    stack = dns(level)
    address = create_stack(service, stack["template"], environment=stack["environment"])
    shown = service.send("GET", f"{address}/timeline").json["timeline"]
    zone, www = (
        next(each for each in shown["resources"] if each["path"] == name)
        for name in ("zone", "www")
    )
    assert (www["posted_at"] < zone["ready_at"]) is started_early
    assert www["unblocked_by"] == "zone"
    assert [each["path"] for each in shown["critical_path"]] == path
    assert shown["wall_time_s"] >= PENDING_S
    assert abs(shown["critical_path_s"] - shown["wall_time_s"]) <= (
        TOLERANCE * shown["wall_time_s"]
    )
