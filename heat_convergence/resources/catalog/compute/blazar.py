"""REST resources and specs of Blazar's resource types."""

from __future__ import annotations

from functools import partial

from heat_convergence.resources.catalog.catalog_rows import make_rest_resource, make_spec
from heat_convergence.resources.catalog.catalog_service import CatalogService
from heat_convergence.resources.catalog.missing_sdk_resources import HostResource, LeaseResource
from heat_convergence.resources.driver.rest_resources import by_entity
from heat_convergence.resources.driver.type_spec import StatusMapping
from heat_convergence.resources.openstack.blazar.reservations import Lease, ReservableHost

TESTED_RELEASE = "Blazar 18"
_rest_resource = partial(
    make_rest_resource, "Blazar", "reservation", name_query=None, ids_are_uuids=False
)

REST_RESOURCES = by_entity(
    _rest_resource("host", HostResource), _rest_resource("lease", LeaseResource)
)

_spec = partial(
    make_spec, "Blazar", REST_RESOURCES, test_environment=TESTED_RELEASE, has_name=False
)

TYPE_SPECS = (
    _spec("Host", "host"),
    _spec("Lease", "lease", status_mapping=StatusMapping(busy=frozenset({"creating"}))),
)

BLAZAR = CatalogService(
    REST_RESOURCES,
    TYPE_SPECS,
    {"OS::Blazar::Host": ReservableHost, "OS::Blazar::Lease": Lease},
)
