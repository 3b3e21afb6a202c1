"""``OS::Manila::Share``: access rules and export locations."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from heat_convergence.common.failures import Conflict
from heat_convergence.convergence.model.action import Action
from heat_convergence.convergence.model.job import ObservedState
from heat_convergence.resources.protocol.verb_values import ResourceContext
from tests.unit.resources.emulated_cloud import TYPES, EmulatedCloud

NAME = "OS::Manila::Share"
SHARE = TYPES[NAME]
READ, WRITE = (
    {"access_type": "ip", "access_to": "192.0.2.0/24", "access_level": level}
    for level in ("ro", "rw")
)


def rules(cloud: EmulatedCloud) -> list[tuple[str, str]]:
    """Return the level and the user of each rule that the service has."""
    (share,) = cloud.emulation.collection("manila.share").bodies()
    found = share["access_rules"].values()
    return sorted((each["access_level"], each["access_to"]) for each in found)


def test_rules_are_set_once_when_the_share_is_available() -> None:
    cloud = EmulatedCloud()
    properties = {"share_protocol": "NFS", "size": 1, "access_rules": [READ]}
    context = replace(cloud.created(NAME, properties), action=Action.CREATE)
    assert SHARE.observe(context).observed is ObservedState.BUSY
    assert rules(cloud) == []
    cloud.emulation.advance(2)
    for _ in range(2):
        result = SHARE.observe_many([context])[context.resource_id]
        assert result.observed is ObservedState.READY
        assert rules(cloud) == [("ro", "192.0.2.0/24")]
    (path,) = (result.attributes or {})["export_locations"]
    assert path.startswith("192.0.2.5:/shares/")


def test_update_removes_and_adds_rules() -> None:
    cloud = EmulatedCloud()
    context = cloud.created(NAME, {"share_protocol": "NFS", "size": 1})
    cloud.emulation.advance(2)
    for new_rules in ([READ], [{**WRITE, "access_level": None}], []):
        after = {**context.properties, "access_rules": new_rules}
        update_rules(cloud, context, after)
        levels = [each["access_level"] or "rw" for each in new_rules]
        assert [level for level, _ in rules(cloud)] == levels
        context = replace(context, properties=after)


def test_rule_waits_until_that_of_the_same_user_is_removed() -> None:
    cloud = EmulatedCloud()
    context = cloud.created(NAME, {"share_protocol": "NFS", "size": 1})
    cloud.emulation.advance(2)
    before = {**context.properties, "access_rules": [READ]}
    update_rules(cloud, context, before)
    after = {**context.properties, "access_rules": [WRITE]}
    with pytest.raises(Conflict, match="same user"):
        SHARE.update(replace(context, properties=before), after, frozenset({"access_rules"}))
    update_rules(cloud, replace(context, properties=before), after)
    assert [level for level, _ in rules(cloud)] == ["rw"]


def update_rules(cloud: EmulatedCloud, context: ResourceContext, after: dict[str, Any]) -> None:
    """Update the rules, again after each conflict."""
    for _ in range(3):
        with suppress(Conflict):
            SHARE.update(context, after, frozenset({"access_rules"}))
        cloud.emulation.advance(2)


def test_export_locations_that_cannot_be_read_leave_the_share_busy() -> None:
    cloud = EmulatedCloud()
    properties = {"share_protocol": "NFS", "size": 1}
    context = replace(cloud.created(NAME, properties), action=Action.CREATE)
    cloud.emulation.advance(2)
    cloud.emulation.inject_failure("GET", "export_locations", 503)
    assert SHARE.observe_many([context])[context.resource_id].observed is ObservedState.BUSY
    assert SHARE.observe_many([context])[context.resource_id].observed is ObservedState.READY
