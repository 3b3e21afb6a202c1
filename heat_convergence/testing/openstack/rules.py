"""What the emulated services do beyond keeping things: states, joins, refusals.

Each rule is one call or one kind of thing, as the real service was seen to answer.
"""

from __future__ import annotations

from typing import Any

from heat_convergence.testing.openstack import (
    balancer_rules,
    compute_rules,
    identity_rules,
    image_rules,
    network_part_rules,
    network_rules,
    object_rules,
    storage_rules,
)
from heat_convergence.testing.openstack.emulation import Emulation

Json = Any


SERVICES = (
    network_rules,
    network_part_rules,
    compute_rules,
    storage_rules,
    image_rules,
    identity_rules,
    balancer_rules,
    object_rules,
)


def install(emulation: Emulation) -> None:
    for service in SERVICES:
        service.install(emulation)
