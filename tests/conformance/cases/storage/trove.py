"""Conformance cases of Trove's types."""

from __future__ import annotations

from typing import Any

from tests.conformance.case import ConformanceCase, SupportedCloud
from tests.conformance.cases.networking.networks import NET, SUBNET


def _case(name: str, *prerequisites: Any, **fields: Any) -> ConformanceCase:
    fields.setdefault("runs_on", SupportedCloud.EMULATION_ONLY)
    return ConformanceCase(f"OS::Trove::{name}", prerequisites, **fields)


ANN = {"name": "ann", "password": "secret1", "databases": ["one"]}
NETWORKS = [{"network": {"get": "net"}}]
ONE, TWO = {"name": "one"}, {"name": "two"}

CASES = [
    _case(
        "Instance",
        NET,
        SUBNET,
        properties={
            "flavor": "{database_flavor}",
            "size": 1,
            "networks": NETWORKS,
            "datastore_type": "mysql",
            "datastore_version": "8.4",
            "databases": [ONE],
            "users": [ANN],
        },
        changes=[
            {"flavor": "{second_database_flavor}", "size": 2, "name": "hc-database"},
            {
                "databases": [ONE, TWO],
                "users": [
                    {**ANN, "password": "secret2", "databases": ["two"]},
                    {"name": "bob", "password": "secret3", "databases": ["one"]},
                ],
            },
            {"users": [], "databases": [TWO]},
        ],
        replacement_properties={"availability_zone": "nova"},
    ),
    _case(
        "Cluster",
        NET,
        SUBNET,
        properties={
            "datastore_type": "mongodb",
            "datastore_version": "7.0",
            "instances": [
                {
                    "flavor": "{database_flavor}",
                    "volume_size": 1,
                    "networks": NETWORKS,
                },
                {"flavor": "{second_database_flavor}", "volume_size": 2},
            ],
        },
        attributes={"ip": ["192.0.2.20"]},
        replacement_properties={"datastore_version": "8.0"},
        runs_on=SupportedCloud.EMULATION_ONLY,  # the test cloud has no datastore with clusters
    ),
]
