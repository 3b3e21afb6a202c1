"""The services of the catalog, in the order in which their types are registered.

A new service is a module in the folder of its group, and one entry here.
"""

from __future__ import annotations

from heat_convergence.resources.catalog.automation.aodh import AODH
from heat_convergence.resources.catalog.automation.mistral import MISTRAL
from heat_convergence.resources.catalog.automation.zaqar import ZAQAR
from heat_convergence.resources.catalog.catalog_service import CatalogService
from heat_convergence.resources.catalog.compute.blazar import BLAZAR
from heat_convergence.resources.catalog.compute.ironic import IRONIC
from heat_convergence.resources.catalog.compute.magnum import MAGNUM
from heat_convergence.resources.catalog.compute.nova import NOVA
from heat_convergence.resources.catalog.compute.zun import ZUN
from heat_convergence.resources.catalog.networking.designate import DESIGNATE
from heat_convergence.resources.catalog.networking.neutron import NEUTRON
from heat_convergence.resources.catalog.networking.octavia import OCTAVIA
from heat_convergence.resources.catalog.shared_services.barbican import BARBICAN
from heat_convergence.resources.catalog.shared_services.glance import GLANCE
from heat_convergence.resources.catalog.shared_services.keystone import KEYSTONE
from heat_convergence.resources.catalog.storage.cinder import CINDER
from heat_convergence.resources.catalog.storage.manila import MANILA
from heat_convergence.resources.catalog.storage.swift import SWIFT
from heat_convergence.resources.catalog.storage.trove import TROVE

SERVICES: tuple[CatalogService, ...] = (
    AODH,
    BARBICAN,
    BLAZAR,
    CINDER,
    DESIGNATE,
    GLANCE,
    IRONIC,
    KEYSTONE,
    MAGNUM,
    MANILA,
    MISTRAL,
    NEUTRON,
    NOVA,
    OCTAVIA,
    SWIFT,
    TROVE,
    ZAQAR,
    ZUN,
)
