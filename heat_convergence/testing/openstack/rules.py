"""What the emulated services do beyond keeping things: states, joins, refusals.

Each rule is one call or one kind of thing, as the real service was seen to answer.
"""

from __future__ import annotations

from typing import Any

from heat_convergence.testing.openstack import network_rules
from heat_convergence.testing.openstack.emulation import Emulation

Json = Any


def install(emulation: Emulation) -> None:
    network_rules.install(emulation)
