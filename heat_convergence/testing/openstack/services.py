"""What the emulated services do beyond keeping things: states, joins, refusals.

Each rule is one call or one kind of thing, as the real service was seen to answer.
"""

from __future__ import annotations

from typing import Any

from heat_convergence.testing.openstack import (
    cinder_api,
    glance_api,
    keystone_api,
    neutron_api,
    neutron_extension_api,
    nova_api,
    octavia_api,
    swift_api,
)
from heat_convergence.testing.openstack.emulation import Emulation

Json = Any


SERVICES = (
    neutron_api,
    neutron_extension_api,
    nova_api,
    cinder_api,
    glance_api,
    keystone_api,
    octavia_api,
    swift_api,
)


def install_services(emulation: Emulation) -> None:
    for service in SERVICES:
        service.install(emulation)
