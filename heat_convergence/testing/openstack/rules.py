"""What the emulated services do beyond keeping things: states, joins, refusals.

Each rule is one call or one kind of thing, as the real service was seen to answer.
"""

from __future__ import annotations

from typing import Any

from heat_convergence.testing.openstack import (
    compute_rules,
    identity_rules,
    network_rules,
    storage_rules,
)
from heat_convergence.testing.openstack.emulation import Emulation

Json = Any


def install(emulation: Emulation) -> None:
    for service in (network_rules, compute_rules, storage_rules, identity_rules):
        service.install(emulation)
