"""Conformance cases of Magnum's types."""

from __future__ import annotations

from typing import Any

from tests.conformance.case import ConformanceCase, SupportedCloud
from tests.conformance.cases.networking.networks import NET


def _case(name: str, *prerequisites: Any, **fields: Any) -> ConformanceCase:
    return ConformanceCase(
        f"OS::Magnum::{name}", prerequisites, runs_on=SupportedCloud.EMULATION_ONLY, **fields
    )


TEMPLATE_PROPERTIES = {
    "image": "cirros",
    "coe": "kubernetes",
    "external_network": {"get": "net"},
    "labels": {"kube_tag": "v1.30"},
}
TEMPLATE = ("template", "OS::Magnum::ClusterTemplate", TEMPLATE_PROPERTIES)

CASES = [
    _case(
        "Cluster",
        NET,
        TEMPLATE,
        properties={"cluster_template": {"get": "template"}, "keypair": "key"},
        changes=[
            {"node_count": 3},
            {"master_count": 2, "create_timeout": 30, "discovery_url": "http://discovery.invalid"},
            {"discovery_url": None},
        ],
        attributes={"node_count": 3, "api_address": "https://192.0.2.10:6443"},
        replacement_properties={"keypair": "another"},
    ),
    _case("BayModel", NET, properties=TEMPLATE_PROPERTIES, changes=[{"public": True}]),
    _case("ClusterTemplate", NET, properties=TEMPLATE_PROPERTIES, changes=[{"public": True}]),
]
