"""Conformance cases of Magnum's types."""

from __future__ import annotations

from typing import Any

from tests.conformance.case import ConformanceCase, SupportedCloud


def _case(name: str, *prerequisites: Any, **fields: Any) -> ConformanceCase:
    fields.setdefault("runs_on", SupportedCloud.EMULATION_ONLY)
    return ConformanceCase(f"OS::Magnum::{name}", prerequisites, **fields)


TEMPLATE_PROPERTIES = {
    "image": "{cluster_image}",
    "coe": "kubernetes",
    "external_network": "public",
    "labels": {"kube_tag": "v1.30"},
}
KEY: tuple[str, str, dict[str, Any]] = ("key", "OS::Nova::KeyPair", {"name": "hc-key"})
OTHER_KEY = ("other", KEY[1], {"name": "hc-other-key"})
TEMPLATE = ("template", "OS::Magnum::ClusterTemplate", TEMPLATE_PROPERTIES)

CASES = [
    _case(
        "Cluster",
        KEY,
        OTHER_KEY,
        TEMPLATE,
        properties={"cluster_template": {"get": "template"}, "keypair": "hc-key"},
        changes=[{"node_count": 3}],
        attributes={"node_count": 3, "api_address": "https://192.0.2.10:6443"},
        replacement_properties={"keypair": "hc-other-key"},
    ),
    _case(
        "Cluster",
        TEMPLATE,
        properties={"cluster_template": {"get": "template"}, "keypair": "hc-key"},
        changes=[
            {"master_count": 2, "create_timeout": 30, "discovery_url": "http://discovery.invalid"},
            {"discovery_url": None},
        ],
        case_label="Cluster with changes that Magnum of today refuses",
        runs_on=SupportedCloud.EMULATION_ONLY,
    ),
    _case(
        "BayModel", properties=TEMPLATE_PROPERTIES, changes=[{"public": True}], needs_admin=True
    ),
    _case(
        "ClusterTemplate",
        properties=TEMPLATE_PROPERTIES,
        changes=[{"public": True}],
        needs_admin=True,
    ),
]
