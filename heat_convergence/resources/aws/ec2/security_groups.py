"""``AWS::EC2::SecurityGroup``: a security group of the network service.

Decides its rules, which are for IPv4. Its verbs are those of ``OS::Neutron::SecurityGroup``.

Source: docs/reference/aws-types.rst.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from heat_convergence.common.errors import StackValidationFailed
from heat_convergence.resources.aws.translated_type import TranslatedType

Json = Any
_DIRECTIONS = {"ingress": "SecurityGroupIngress", "egress": "SecurityGroupEgress"}
_PORTS = {"port_range_min": "FromPort", "port_range_max": "ToPort"}
_ANY_PROTOCOL = "-1"


class AwsSecurityGroup(TranslatedType):
    """A security group."""

    name = "AWS::EC2::SecurityGroup"
    target = "OS::Neutron::SecurityGroup"
    same_values: ClassVar[Mapping[str, str]] = {"description": "GroupDescription"}

    def translate(self, properties: Mapping[str, Json], project_id: str) -> dict[str, Json]:
        """Return the properties of the group."""
        rules = [
            _rule(direction, rule)
            for direction, name in _DIRECTIONS.items()
            for rule in properties.get(name) or ()
        ]
        return {"description": properties.get("GroupDescription"), "rules": rules}

    def validate(self, properties: Mapping[str, Json], timeout_s: float | None) -> None:
        """Check the ports.

        Raises:
            StackValidationFailed: One is no number.
        """
        for name in _DIRECTIONS.values():
            for index, rule in enumerate(properties.get(name) or ()):
                for key in _PORTS.values():
                    try:
                        _port(rule.get(key))
                    except ValueError as error:
                        path = f"{name}[{index}].{key}"
                        raise StackValidationFailed("a port is a number", path=path) from error


def _rule(direction: str, rule: Mapping[str, Json]) -> dict[str, Json]:
    protocol = rule.get("IpProtocol")
    group = rule.get("SourceSecurityGroupId") or rule.get("SourceSecurityGroupName")
    values = {
        "direction": direction,
        "ethertype": "IPv4",
        "protocol": None if protocol in (None, "", _ANY_PROTOCOL) else str(protocol).lower(),
        "remote_ip_prefix": rule.get("CidrIp"),
        "remote_group_id": group,
        "remote_mode": "remote_group_id" if group else None,
        **{name: _port(rule.get(key)) for name, key in _PORTS.items()},
    }
    return {name: value for name, value in values.items() if value is not None}


def _port(value: Json) -> int | None:
    """Return a port; negative numbers stand for none."""
    if value in (None, ""):
        return None
    number = int(value)
    return None if number < 0 else number
