"""``OS::Neutron::SecurityGroup``: a group with exactly the rules that are wanted.

Decides which rules to add and to delete from what is there, so that doing it again
changes nothing.  A group without egress rules of its own lets everything out, as the
service's new groups do.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from typing import Any

from heat_convergence.common.errors import StackValidationFailed
from heat_convergence.resources.driver.declarative import DeclarativeType
from heat_convergence.resources.driver.type_spec import PhysicalResource, SubResource
from heat_convergence.resources.openstack.neutron.subresources import delete_if_exists

Json = Any
RULES = "rules"
REMOTE_GROUP_ID = "remote_group_id"
_KEYS = (
    "direction",
    "ethertype",
    "protocol",
    "port_range_min",
    "port_range_max",
    "remote_group_id",
    "remote_ip_prefix",
    "description",
)
_EVERYTHING_OUT = tuple(
    {"direction": "egress", "ethertype": ethertype} for ethertype in ("IPv4", "IPv6")
)
_EVERYWHERE = frozenset({"0.0.0.0/0", "::/0"})


class SecurityGroupRules(SubResource):
    """Bulk: all missing rules are made by one call."""

    property_names = frozenset({RULES})

    def apply(
        self, made: PhysicalResource, wanted: Mapping[str, Json], before: Mapping[str, Json] | None
    ) -> None:
        there = {_key(rule): rule for rule in self._rules(made)}
        goal = {_key(rule): rule for rule in _wanted(made, wanted.get(RULES) or ())}
        for key in sorted(there.keys() - goal.keys()):
            delete_if_exists(made, f"/security-group-rules/{there[key]['id']}")
        missing = [
            {**goal[key], "security_group_id": made.path_id}
            for key in sorted(goal.keys() - there.keys())
        ]
        if missing:
            made.client.send("POST", "/security-group-rules", {"security_group_rules": missing})

    @staticmethod
    def _rules(made: PhysicalResource) -> list[dict[str, Json]]:
        known = made.body.get("security_group_rules")
        body = made.body if known is not None else made.client.get(made.path_id)
        return list(body["security_group_rules"])


class SecurityGroup(DeclarativeType):
    def validate(self, properties: Mapping[str, Json], timeout_s: float | None) -> None:
        if properties.get("name") == "default":
            raise StackValidationFailed('Security groups cannot be assigned the name "default".')


def _wanted(made: PhysicalResource, rules: Any) -> list[dict[str, Json]]:
    found = [_argument(made, rule) for rule in rules]
    if not any(rule["direction"] == "egress" for rule in found):
        found.extend(dict(rule) for rule in _EVERYTHING_OUT)
    return found


def _argument(made: PhysicalResource, rule: Mapping[str, Json]) -> dict[str, Json]:
    """A rule without group in the group mode means its own group."""
    argument = {key: rule[key] for key in _KEYS if rule.get(key) not in (None, "")}
    if rule.get("remote_mode") == REMOTE_GROUP_ID:
        group = rule.get(REMOTE_GROUP_ID)
        argument[REMOTE_GROUP_ID] = (
            made.id_lookup.resolve_id("neutron.security_group", group) if group else made.path_id
        )
    else:
        argument.pop(REMOTE_GROUP_ID, None)
    return argument


def _key(rule: Mapping[str, Json]) -> tuple[str, ...]:
    """Equal for rules that the service takes for the same."""
    values = {key: rule.get(key) for key in _KEYS}
    values["ethertype"] = values["ethertype"] or "IPv4"
    values["remote_ip_prefix"] = _prefix(values["remote_ip_prefix"])
    values["protocol"] = str(values["protocol"] or "").lower()
    return tuple("" if values[key] is None else str(values[key]) for key in _KEYS)


def _prefix(value: Json) -> str | None:
    if not value or value in _EVERYWHERE:
        return None
    return str(ipaddress.ip_network(value, strict=False))
