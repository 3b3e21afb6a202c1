"""Aodh's alarms: actions, updates of the whole alarm, and suspended resources."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from heat_convergence.clients.rest_client import RequestLimiter, SdkCloudClient
from heat_convergence.convergence.model.action import Action
from heat_convergence.convergence.model.job import ObservedState
from heat_convergence.resources.protocol.verb_values import ResourceContext, VerbResult
from heat_convergence.testing.openstack.emulation import PROJECT_ID
from heat_convergence.testing.openstack.http_adapter import connect, create_emulation
from tests.catalog_types import types_of_service
from tests.unit.resources.conftest import make_context

TYPES = types_of_service("Aodh")
RULE = {"operator": "or", "rules": [{"a": 1}, {"b": 2}]}
HOOK = "http://hook.invalid/"


class CreatedAlarm:
    """A composite alarm on an emulated service."""

    def __init__(self, properties: Mapping[str, Any]) -> None:
        self.emulation = create_emulation()
        connection = connect(self.emulation)
        cloud = SdkCloudClient(
            str(uuid.uuid4()), PROJECT_ID, lambda: connection, RequestLimiter(8)
        )
        self.type = TYPES["CompositeAlarm"]
        context = make_context(self.type, {"composite_rule": RULE, **properties}, cloud=cloud)
        created = self.type.create(context)
        self.context: ResourceContext = replace(
            context, physical_id=created.physical_id, action=Action.UPDATE
        )

    @property
    def body(self) -> dict[str, Any]:
        """The alarm as the service has it."""
        (body,) = self.emulation.collection("aodh.alarm").bodies()
        return body


@pytest.fixture
def alarm() -> CreatedAlarm:
    return CreatedAlarm({"alarm_actions": [HOOK, ""], "ok_queues": ["q"]})


def test_queues_are_actions_and_empty_actions_are_dropped(alarm: CreatedAlarm) -> None:
    assert alarm.body["alarm_actions"] == [HOOK]
    assert alarm.body["ok_actions"] == ["trust+zaqar://?queue_name=q"]
    assert "ok_queues" not in alarm.body
    assert alarm.body["composite_rule"] == {"or": RULE["rules"]}


def test_update_keeps_the_actions_that_did_not_change(alarm: CreatedAlarm) -> None:
    after = {**alarm.context.properties, "description": "new"}
    alarm.type.update(alarm.context, after, frozenset({"description"}))
    assert alarm.body["description"] == "new"
    assert alarm.body["alarm_actions"] == [HOOK]
    assert alarm.body["ok_actions"] == ["trust+zaqar://?queue_name=q"]


def test_other_operator_replaces_the_rules(alarm: CreatedAlarm) -> None:
    after = {**alarm.context.properties, "composite_rule": {**RULE, "operator": "and"}}
    alarm.type.update(alarm.context, after, frozenset({"composite_rule"}))
    assert alarm.body["composite_rule"] == {"and": RULE["rules"]}


@pytest.mark.parametrize("enabled", [True, False])
def test_suspended_alarm_is_disabled_until_it_is_resumed(enabled: bool) -> None:
    alarm = CreatedAlarm({"enabled": enabled})
    alarm.type.suspend(alarm.context)
    assert alarm.body["enabled"] is False
    suspended = replace(alarm.context, action=Action.SUSPEND)
    shown = VerbResult(ObservedState.READY, "id", {"show": alarm.body})
    assert "enabled" not in alarm.type.comparable_values(suspended, shown)
    alarm.type.resume(alarm.context)
    assert alarm.body["enabled"] is enabled


def test_rule_is_compared_with_what_the_service_shows() -> None:
    prometheus = TYPES["PrometheusAlarm"]
    cloud = SimpleNamespace(send=None, cache_key="k")  # not called
    context = make_context(prometheus, {"query": "up", "threshold": 1}, cloud=cloud)
    shown = {"prometheus_rule": {"query": "down", "threshold": 1.0}, "severity": "low"}
    result = VerbResult(ObservedState.READY, "id", {"show": shown})
    values = prometheus.comparable_values(context, result)
    assert values == {"query": "down", "threshold": 1.0, "severity": "low"}
    assert [drift.name for drift in prometheus.compare(context, values)] == ["query"]
