"""Behavior of the emulated services beyond storing resources: states, associations, refusals.

Each handler is one call or one entity, as the real service was observed to respond.
"""

from __future__ import annotations

from typing import Any

from heat_convergence.testing.openstack import extensions_api
from heat_convergence.testing.openstack.automation import aodh_api, mistral_api, zaqar_api
from heat_convergence.testing.openstack.compute import (
    blazar_api,
    ironic_api,
    magnum_api,
    nova_api,
    zun_api,
)
from heat_convergence.testing.openstack.emulation import Emulation
from heat_convergence.testing.openstack.networking import (
    designate_api,
    neutron_api,
    neutron_extension_api,
    octavia_api,
)
from heat_convergence.testing.openstack.shared_services import (
    barbican_api,
    glance_api,
    keystone_api,
)
from heat_convergence.testing.openstack.storage import cinder_api, manila_api, swift_api, trove_api

Json = Any


SERVICES = (
    extensions_api,
    neutron_api,
    neutron_extension_api,
    nova_api,
    cinder_api,
    glance_api,
    keystone_api,
    octavia_api,
    swift_api,
    designate_api,
    manila_api,
    barbican_api,
    aodh_api,
    zaqar_api,
    zun_api,
    trove_api,
    mistral_api,
    blazar_api,
    ironic_api,
    magnum_api,
)


def install_services(emulation: Emulation) -> None:
    """Install the handlers and initial resources of all services."""
    for service in SERVICES:
        service.install(emulation)
