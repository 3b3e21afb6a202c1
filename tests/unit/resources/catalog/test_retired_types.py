"""Retired types: their schema is not shown, and the refusal names the successor."""

from __future__ import annotations

import pytest

from heat_convergence.common.errors import NotSupported
from heat_convergence.resources.registry import ResourceTypeRegistry
from tests.catalog_types import CATALOG

REGISTRY = ResourceTypeRegistry(CATALOG)


@pytest.mark.parametrize(
    ("name", "successor"),
    [
        ("OS::Neutron::LBaaS::Listener", "Use OS::Octavia::Listener instead."),
        ("OS::Magnum::BayModel", "Use OS::Magnum::ClusterTemplate instead."),
        ("OS::Aodh::CombinationAlarm", "Use OS::Aodh::CompositeAlarm instead."),
        ("OS::Senlin::Cluster", "OpenStack does not have Senlin any more."),
    ],
)
def test_refusal_names_the_successor(name: str, successor: str) -> None:
    with pytest.raises(NotSupported) as caught:
        REGISTRY.schema_view(name)
    assert str(caught.value) == f"The resource type {name} is hidden. {successor}"
    assert name not in REGISTRY.list_view()


def test_successors_exist() -> None:
    for each in CATALOG:
        message = each.schema.support_status.message or ""
        if message.startswith("Use "):
            assert message.split()[1] in REGISTRY
