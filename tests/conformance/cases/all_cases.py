"""All cases of the conformance suite."""

from __future__ import annotations

from tests.conformance.cases.automation import aodh, mistral, zaqar
from tests.conformance.cases.compute import blazar, ironic, magnum, nova, zun
from tests.conformance.cases.networking import (
    designate,
    networks,
    neutron_extensions,
    neutron_services,
    octavia,
    routers,
)
from tests.conformance.cases.shared_services import barbican, glance, keystone
from tests.conformance.cases.storage import cinder, manila, swift, trove

CASES = [
    *aodh.CASES,
    *barbican.CASES,
    *networks.CASES,
    *routers.CASES,
    *neutron_extensions.CASES,
    *cinder.CASES,
    *glance.CASES,
    *keystone.CASES,
    *designate.CASES,
    *manila.CASES,
    *blazar.CASES,
    *ironic.CASES,
    *magnum.CASES,
    *mistral.CASES,
    *nova.CASES,
    *octavia.CASES,
    *swift.CASES,
    *trove.CASES,
    *zaqar.CASES,
    *zun.CASES,
    *neutron_services.CASES,
]
