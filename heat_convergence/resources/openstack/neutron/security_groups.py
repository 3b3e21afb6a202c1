"""``OS::Neutron::SecurityGroup``: a group with exactly the desired rules.

Decides which rules to create and delete by comparing with those that exist, so that a repetition
changes nothing (RULE 4).  A group without egress rules of its own lets everything out, as
Neutron's new groups do.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from typing import Any

from heat_convergence.common.errors import StackValidationFailed
from heat_convergence.convergence.drift.comparison import PropertyComparison
from heat_convergence.resources.driver.declarative import DeclarativeType
from heat_convergence.resources.driver.type_spec import PhysicalResource, SubResource
from heat_convergence.resources.openstack.subresources import delete_if_exists
from heat_convergence.resources.protocol.verb_values import ResourceContext

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
_DEFAULT_EGRESS = tuple(
    {"direction": "egress", "ethertype": ethertype} for ethertype in ("IPv4", "IPv6")
)
_ALL_ADDRESSES = frozenset({"0.0.0.0/0", "::/0"})


class SecurityGroupRules(SubResource):
    """The rules of a security group."""

    property_names = frozenset({RULES})

    def apply(
        self,
        resource: PhysicalResource,
        properties: Mapping[str, Json],
        before: Mapping[str, Json] | None,
    ) -> None:
        """Delete rules that are not desired, and create the missing ones by one call."""
        current = {_rule_key(rule): rule for rule in self._current_rules(resource)}
        desired = {
            _rule_key(rule): rule for rule in _desired_rules(resource, properties.get(RULES) or ())
        }
        for key in sorted(current.keys() - desired.keys()):
            delete_if_exists(resource, f"/security-group-rules/{current[key]['id']}")
        missing = [
            {**desired[key], "security_group_id": resource.path_id}
            for key in sorted(desired.keys() - current.keys())
        ]
        if missing:
            resource.client.send(
                "POST", "/security-group-rules", {"security_group_rules": missing}
            )

    @staticmethod
    def _current_rules(resource: PhysicalResource) -> list[dict[str, Json]]:
        known = resource.body.get("security_group_rules")
        body = resource.body if known is not None else resource.client.get(resource.path_id)
        return list(body["security_group_rules"])


class SecurityGroup(DeclarativeType):
    """A security group of the network service."""

    def applied_value(self, context: ResourceContext, name: str) -> Json:
        """Return the value of a property, rules in the form that duplicates have in common."""
        if name != RULES:
            return super().applied_value(context, name)
        group = PhysicalResource(
            self.client(context), self._id(context), {}, self.id_lookup(context), context
        )
        return [_rule_text(rule) for rule in _desired_rules(group, context.properties[RULES])]

    def observed_value(self, name: str, value: Json, rule: PropertyComparison) -> Json:
        """Return the value of a property, rules in the form that duplicates have in common."""
        if name != RULES:
            return super().observed_value(name, value, rule)
        return sorted(_rule_text(each) for each in value or ())

    def validate(self, properties: Mapping[str, Json], timeout_s: float | None) -> None:
        """Reject the name ``default``, which Neutron reserves."""
        if properties.get("name") == "default":
            raise StackValidationFailed('Security groups cannot be assigned the name "default".')


def _desired_rules(resource: PhysicalResource, rules: Any) -> list[dict[str, Json]]:
    desired = [_rule_arguments(resource, rule) for rule in rules]
    if not any(rule["direction"] == "egress" for rule in desired):
        desired.extend(dict(rule) for rule in _DEFAULT_EGRESS)
    return desired


def _rule_arguments(resource: PhysicalResource, rule: Mapping[str, Json]) -> dict[str, Json]:
    """Return a rule as Neutron takes it.

    In the mode ``remote_group_id``, a rule without a group refers to the group itself.
    """
    argument = {key: rule[key] for key in _KEYS if rule.get(key) not in (None, "")}
    if rule.get("remote_mode") == REMOTE_GROUP_ID:
        group = rule.get(REMOTE_GROUP_ID)
        argument[REMOTE_GROUP_ID] = (
            resource.id_lookup.resolve_id("neutron.security_group", group)
            if group
            else resource.path_id
        )
    else:
        argument.pop(REMOTE_GROUP_ID, None)
    return argument


def _rule_key(rule: Mapping[str, Json]) -> tuple[str, ...]:
    """Return a key that is equal for rules that Neutron treats as duplicates."""
    values = {key: rule.get(key) for key in _KEYS}
    values["ethertype"] = values["ethertype"] or "IPv4"
    values["remote_ip_prefix"] = _normalized_prefix(values["remote_ip_prefix"])
    values["protocol"] = str(values["protocol"] or "").lower()
    return tuple("" if values[key] is None else str(values[key]) for key in _KEYS)


def _rule_text(rule: Mapping[str, Json]) -> str:
    """Return a rule as text, equal for rules that Neutron treats as duplicates."""
    pairs = zip(_KEYS, _rule_key(rule), strict=True)
    return " ".join(f"{key}={value}" for key, value in pairs if value)


def _normalized_prefix(value: Json) -> str | None:
    if not value or value in _ALL_ADDRESSES:
        return None
    return str(ipaddress.ip_network(value, strict=False))
