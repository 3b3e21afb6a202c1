"""``OS::Manila::ShareNetwork`` and ``OS::Manila::SecurityService``: refusals and secrets."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from heat_convergence.common.errors import StackValidationFailed
from tests.catalog_types import CATALOG

TYPES: dict[str, Any] = {each.name: each for each in CATALOG}


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ({"nova_network"}, "nova_network is not supported"),
        ({"neutron_network"}, "requires neutron_subnet"),
    ],
)
def test_share_network_without_a_subnet_is_refused(names: set[str], message: str) -> None:
    with pytest.raises(StackValidationFailed, match=message):
        TYPES["OS::Manila::ShareNetwork"].validate_property_names(frozenset(names))


def test_share_network_takes_the_network_of_its_subnet_alone() -> None:
    TYPES["OS::Manila::ShareNetwork"].validate_property_names(frozenset({"neutron_subnet"}))


def test_password_of_a_security_service_is_not_recorded() -> None:
    shown = TYPES["OS::Manila::SecurityService"].recorded_attributes(
        SimpleNamespace(), {"id": "1", "password": "secret"}
    )
    assert shown == {"show": {"id": "1"}}
