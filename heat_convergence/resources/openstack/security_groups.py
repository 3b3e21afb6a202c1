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
from heat_convergence.resources.driver.declared import DeclaredType
from heat_convergence.resources.driver.row import Made, Part
from heat_convergence.resources.openstack.parts import delete_if_there

Json = Any
RULES = "rules"
OWN_GROUP = "remote_group_id"
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


class Rules(Part):
    """Bulk: all missing rules are made by one call."""

    names = frozenset({RULES})

    def put(
        self, made: Made, wanted: Mapping[str, Json], before: Mapping[str, Json] | None
    ) -> None:
        there = {_key(rule): rule for rule in self._rules(made)}
        goal = {_key(rule): rule for rule in _wanted(made, wanted.get(RULES) or ())}
        for key in sorted(there.keys() - goal.keys()):
            delete_if_there(made, f"/security-group-rules/{there[key]['id']}")
        missing = [
            {**goal[key], "security_group_id": made.thing_id}
            for key in sorted(goal.keys() - there.keys())
        ]
        if missing:
            made.calls.send("POST", "/security-group-rules", {"security_group_rules": missing})

    @staticmethod
    def _rules(made: Made) -> list[dict[str, Json]]:
        known = made.body.get("security_group_rules")
        body = made.body if known is not None else made.calls.get(made.thing_id)
        return list(body["security_group_rules"])


class SecurityGroup(DeclaredType):
    def validate(self, properties: Mapping[str, Json], timeout_s: float | None) -> None:
        if properties.get("name") == "default":
            raise StackValidationFailed(
                "Security groups cannot be assigned the name \"default\"."
            )


def _wanted(made: Made, rules: Any) -> list[dict[str, Json]]:
    found = [_argument(made, rule) for rule in rules]
    if not any(rule["direction"] == "egress" for rule in found):
        found.extend(dict(rule) for rule in _EVERYTHING_OUT)
    return found


def _argument(made: Made, rule: Mapping[str, Json]) -> dict[str, Json]:
    """A rule without group in the group mode means its own group."""
    argument = {key: rule[key] for key in _KEYS if rule.get(key) not in (None, "")}
    if rule.get("remote_mode") == OWN_GROUP:
        group = rule.get(OWN_GROUP)
        argument[OWN_GROUP] = (
            made.lookups.id_of("neutron.security_group", group) if group else made.thing_id
        )
    else:
        argument.pop(OWN_GROUP, None)
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
