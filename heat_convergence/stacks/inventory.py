"""The inventory of a project: what its services hold that no stack owns.

Called by the API with the cloud of the user.  Sends one list request for each kind of object, a
few at a time, with one limit on the time of all together; a service that does not answer is named
in the result.  Must not change anything.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass
from typing import Any

from heat_convergence.clients.rest_client import CloudClient
from heat_convergence.common.errors import Error
from heat_convergence.common.time_limit import is_over, time_limit
from heat_convergence.resources.driver.declarative import DeclarativeType
from heat_convergence.resources.driver.resource_client import RestResourceClient
from heat_convergence.resources.driver.rest_resources import RestResource
from heat_convergence.resources.protocol.resource_type import ResourceType

Json = Any
TIME_LIMIT_S = 20.0  # for all lists together
MAX_CONCURRENT_LISTS = 6  # of one request
MAX_OBJECTS_PER_TYPE = 10_000
FindOwned = Callable[[Collection[str], Collection[str]], frozenset[str]]
"""Physical ids and names → those that belong to resources of the project's stacks."""

_PROJECT_KEYS = ("project_id", "tenant_id", "os-vol-tenant-attr:tenant_id", "owner")
# What administrators of the cloud make, of which lists show every project's.
_ADMINISTERED_SERVICES = frozenset({"keystone", "ironic", "blazar"})
_ADMINISTERED = frozenset(
    {
        "nova.flavor",
        "nova.aggregate",
        "cinder.vtype",
        "cinder.qos_specs",
        "manila.share_type",
        "neutron.segment",
        "neutron.network_gateway",
        "octavia.availabilityzone",
        "octavia.availabilityzoneprofile",
        "octavia.flavor",
        "octavia.flavorprofile",
    }
)


@dataclass(frozen=True, slots=True)
class UnownedObject:
    """An object of a service that belongs to no stack.

    Attributes:
        resource_type: the type as which a stack can import it.
        status: as the service shows it; None if it shows none.
    """

    resource_type: str
    physical_id: str
    name: str | None
    status: str | None
    created_at: str | None


@dataclass(frozen=True, slots=True)
class UnreadType:
    """A resource type whose objects could not be listed, and why."""

    resource_type: str
    reason: str


@dataclass(frozen=True, slots=True)
class Inventory:
    """The objects that were found, and the types that could not be read."""

    objects: tuple[UnownedObject, ...] = ()
    unread: tuple[UnreadType, ...] = ()


def find_listed_types(types: Iterable[ResourceType]) -> dict[str, DeclarativeType]:
    """Return the types of the objects that belong to projects, by name; one for each kind."""
    by_entity: dict[str, list[DeclarativeType]] = {}
    for each in types:
        if isinstance(each, DeclarativeType) and _is_listed(each):
            by_entity.setdefault(each.spec.rest_resource.entity, []).append(each)
    chosen = (
        min(each, key=lambda found: (len(found.name), found.name)) for each in by_entity.values()
    )
    return {each.name: each for each in sorted(chosen, key=lambda found: found.name)}


def _is_listed(resource_type: DeclarativeType) -> bool:
    """Return whether a list shows the objects that a type of this name creates."""
    spec, rest_resource = resource_type.spec, resource_type.spec.rest_resource
    service = rest_resource.entity.partition(".")[0]
    own = spec.name.split("::")[1:2] and spec.name.split("::")[1].lower() == service
    administered = service in _ADMINISTERED_SERVICES or rest_resource.entity in _ADMINISTERED
    return bool(own) and spec.is_listed and not spec.path_properties and not administered


def list_unowned(
    cloud: CloudClient,
    types: Mapping[str, DeclarativeType],
    find_owned: FindOwned,
) -> Inventory:
    """List the objects of some types that no stack of the project owns."""
    with time_limit(TIME_LIMIT_S), ThreadPoolExecutor(MAX_CONCURRENT_LISTS) as executor:
        # Each thread has the deadline of this one.
        futures = {
            name: executor.submit(copy_context().run, _read, cloud, resource_type)
            for name, resource_type in types.items()
        }
    objects: list[UnownedObject] = []
    unread: list[UnreadType] = []
    for name, future in futures.items():
        found = future.result()
        if isinstance(found, str):
            unread.append(UnreadType(name, found))
        elif found:
            objects += _keep_unowned(name, types[name].spec.rest_resource, found, find_owned)
    return Inventory(tuple(objects), tuple(unread))


def _read(cloud: CloudClient, resource_type: DeclarativeType) -> list[Mapping[str, Json]] | str:
    """Return the objects of one type, or why they could not be listed."""
    rest_resource = resource_type.spec.rest_resource
    try:
        if is_over():
            return "earlier lists have taken too long"
        if not cloud.has_service(rest_resource.service):
            return []
        return list(_list_own(cloud, rest_resource))
    except Error as error:
        return error.message


def _list_own(cloud: CloudClient, rest_resource: RestResource) -> Iterator[Mapping[str, Json]]:
    """Yield the project's objects; lists show shared ones of other projects, too."""
    count = 0
    for body in RestResourceClient(cloud, rest_resource).list():
        owners = {str(body[key]) for key in _PROJECT_KEYS if body.get(key)}
        if owners and cloud.project_id is not None and cloud.project_id not in owners:
            continue
        count += 1
        if count > MAX_OBJECTS_PER_TYPE:
            return
        yield body


def _keep_unowned(
    name: str,
    rest_resource: RestResource,
    bodies: Iterable[Mapping[str, Json]],
    find_owned: FindOwned,
) -> list[UnownedObject]:
    found = {str(body.get(rest_resource.id_key)): body for body in bodies}
    name_key = rest_resource.name_key or "name"
    devices = {str(body["device_id"]) for body in found.values() if body.get("device_id")}
    names = {str(body[name_key]) for body in found.values() if body.get(name_key)}
    owned = find_owned(found.keys() | devices, names)
    return [
        UnownedObject(
            name,
            physical_id,
            _text(body.get(name_key)),
            _text(body.get("status") or body.get("provisioning_status")),
            _text(body.get("created_at") or body.get("created")),
        )
        for physical_id, body in sorted(found.items())
        # A port that a server or router of a stack has made belongs to it.
        if owned.isdisjoint({physical_id, str(body.get("device_id")), str(body.get(name_key))})
    ]


def _text(value: Json) -> str | None:
    return None if value in (None, "") else str(value)
