"""Alarms of Aodh, whose update replaces the whole alarm.

Decides what an alarm calls: the URLs of its actions, and its queues by URLs of their own. An
alarm is disabled while its resource is suspended.

Source: docs.openstack.org/aodh/latest/webapi.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from heat_convergence.convergence.model.action import Action
from heat_convergence.convergence.model.job import ObservedState
from heat_convergence.resources.driver.declarative import DeclarativeType
from heat_convergence.resources.protocol.verb_values import ResourceContext, VerbResult

Json = Any
STATES = ("alarm", "ok", "insufficient_data")
ENABLED, COMPOSITE_RULE = "enabled", "composite_rule"
_METERS_OF_SERVERS = frozenset("instance memory cpu cpu_util vcpus disk network".split())
QUEUE_URL = "trust+zaqar://?queue_name="


class AodhAlarm(DeclarativeType):
    """An alarm of any type."""

    def create_arguments(self, context: ResourceContext) -> dict[str, Json]:
        """Return the alarm with the URLs of its actions and queues."""
        return self.complete(super().create_arguments(context), context.properties)

    def update_arguments(
        self, context: ResourceContext, after: Mapping[str, Json], names: frozenset[str]
    ) -> dict[str, Json]:
        """Return the whole alarm: the service replaces it."""
        assigned = frozenset(name for name in self._sendable if after.get(name) is not None)
        arguments = super().update_arguments(context, after, names | assigned)
        arguments = self.complete(arguments, after)
        current = self.client(context).get(self._id(context))
        rule = self.rule_name
        merged = {**(current.get(rule) or {}), **arguments.get(rule, {})}
        return {**current, **arguments, rule: merged}

    @property
    def rule_name(self) -> str:
        """The field with the rule of the alarm's type."""
        return f"{self.spec.fixed_arguments['type']}_rule"

    def complete(
        self, arguments: dict[str, Json], properties: Mapping[str, Json]
    ) -> dict[str, Json]:
        """Return the arguments with the actions that the properties assign."""
        return {**arguments, **{f"{each}_actions": _urls(properties, each) for each in STATES}}

    def suspend(self, context: ResourceContext) -> VerbResult:
        """Disable the alarm."""
        return self._set_enabled(context, False)

    def resume(self, context: ResourceContext) -> VerbResult:
        """Enable the alarm, unless the template disables it."""
        return self._set_enabled(context, context.properties.get(ENABLED, True))

    def _set_enabled(self, context: ResourceContext, enabled: Json) -> VerbResult:
        client, path_id = self.client(context), self._id(context)
        client.update(path_id, {**client.get(path_id), ENABLED: enabled})
        return VerbResult(ObservedState.READY, context.physical_id)

    def comparable_values(self, context: ResourceContext, result: VerbResult) -> dict[str, Json]:
        """Return the observed values; a suspended alarm is disabled on purpose."""
        found = super().comparable_values(context, result)
        if context.action is Action.SUSPEND:
            found.pop(ENABLED, None)
        return found


class CompositeAlarm(AodhAlarm):
    """An alarm of several rules, which its operator joins."""

    def complete(
        self, arguments: dict[str, Json], properties: Mapping[str, Json]
    ) -> dict[str, Json]:
        """Return the arguments with the rules under their operator."""
        rule = properties[COMPOSITE_RULE]
        joined = {COMPOSITE_RULE: {rule["operator"]: rule["rules"]}}
        return {**super().complete(arguments, properties), **joined}

    def update_arguments(
        self, context: ResourceContext, after: Mapping[str, Json], names: frozenset[str]
    ) -> dict[str, Json]:
        """Return the whole alarm; its rules are not merged with those of before."""
        arguments = super().update_arguments(context, after, names)
        return self.complete(arguments, after)


class ThresholdAlarm(AodhAlarm):
    """An alarm on a meter, which services of today refuse."""

    def complete(
        self, arguments: dict[str, Json], properties: Mapping[str, Json]
    ) -> dict[str, Json]:
        """Return the arguments with the metadata to match as parts of the query."""
        rule = dict(arguments.get(self.rule_name) or {})
        query = [*(rule.get("query") or ()), *_metadata_query(properties)]
        rule.pop("query", None)
        rule |= {"query": query} if query else {}
        return {**super().complete(arguments, properties), self.rule_name: rule}


def _metadata_query(properties: Mapping[str, Json]) -> list[dict[str, str]]:
    meter = str(properties.get("meter_name") or "").partition(".")[0]
    prefix = "user_metadata" if meter in _METERS_OF_SERVERS else "metering"
    found = []
    for key, value in sorted((properties.get("matching_metadata") or {}).items()):
        name = key if key.startswith(f"{prefix}.") else f"{prefix}.{key}"
        found.append({"field": f"metadata.{name}", "op": "eq", "value": str(value)})
    return found


def _urls(properties: Mapping[str, Json], state: str) -> list[str]:
    actions = [str(url) for url in properties.get(f"{state}_actions") or () if url]
    queues = [f"{QUEUE_URL}{name}" for name in properties.get(f"{state}_queues") or () if name]
    return actions + queues
