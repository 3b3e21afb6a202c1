"""Conformance cases of Zun's type."""

from __future__ import annotations

from tests.conformance.case import ConformanceCase, SupportedCloud
from tests.conformance.cases.networking.networks import NET, SUBNET

OTHER_NET = ("other", NET[1], NET[2])

CASES = [
    ConformanceCase(
        "OS::Zun::Container",
        (NET, SUBNET, OTHER_NET),
        properties={
            "image": "cirros",
            "command": "sh -c 'sleep 60'",
            "restart_policy": "on-failure:2",
            "environment": {"a": "b"},
            "mounts": [{"volume_size": 1, "mount_path": "/data"}],
            "networks": [{"network": {"get": "net"}, "fixed_ip": "10.90.0.31"}],
        },
        changes=[
            {"name": "hc-container", "cpu": 1, "memory": 256},
            {"networks": [{"network": {"get": "other"}}]},
        ],
        attributes={"name": "hc-container"},
        replacement_properties={"name": None, "image": "cirros-2"},
        runs_on=SupportedCloud.EMULATION_ONLY,
    ),
]
