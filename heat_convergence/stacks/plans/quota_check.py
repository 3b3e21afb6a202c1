"""The check of a plan against the quotas of the compute, network and volume services.

Called by the API with the cloud of the user. Sends one request to each service that the plan
concerns and one for flavors, with a limit on the time of all together. A service that does not
answer leaves its quotas unknown; a plan never fails for that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from heat_convergence.clients.rest_client import CloudClient, CloudRequest
from heat_convergence.common.errors import Error
from heat_convergence.common.time_limit import is_over, time_limit
from heat_convergence.stacks.plans import quota_demand
from heat_convergence.stacks.plans.quota_demand import FLAVOR_PREFIX, Amounts, QuotaDemand

Json = Any
TIME_LIMIT_S = 5.0  # for all requests of one plan together
_COMPUTE, _NETWORK, _VOLUME = "compute", "network", "block_storage"


class QuotaStatus(StrEnum):
    """The verdict on a plan."""

    SUFFICIENT = "sufficient"
    EXCEEDED = "exceeded"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class QuotaEntry:
    """One quota and what a plan needs of it.

    Attributes:
        limit: None if it is not known; -1 for no limit.
        reason: why it is not known.
    """

    name: str
    service: str
    needed: int
    released: int
    used: int | None = None
    limit: int | None = None
    reason: str = ""

    @property
    def status(self) -> QuotaStatus:
        """The verdict on this quota."""
        if self.limit is None or self.used is None:
            return QuotaStatus.UNKNOWN
        fits = self.limit < 0 or self.needed <= 0 or self.used + self.needed <= self.limit
        return QuotaStatus.SUFFICIENT if fits else QuotaStatus.EXCEEDED


@dataclass(frozen=True, slots=True)
class QuotaResult:
    """The quotas that a plan concerns.

    Attributes:
        unknown_count: amounts that only the action will show.
    """

    entries: tuple[QuotaEntry, ...] = ()
    unknown_count: int = 0

    @property
    def status(self) -> QuotaStatus:
        """The verdict on the plan: the worst that is certain."""
        found = {each.status for each in self.entries}
        if QuotaStatus.EXCEEDED in found:
            return QuotaStatus.EXCEEDED
        certain = QuotaStatus.UNKNOWN not in found and not self.unknown_count
        return QuotaStatus.SUFFICIENT if certain else QuotaStatus.UNKNOWN

    def to_json(self) -> list[Json]:
        """Return the quotas as they are stored."""
        return [
            {
                "quota": each.name,
                "service": each.service,
                "needed": each.needed,
                "released": each.released,
                "used": each.used,
                "limit": each.limit,
                "status": str(each.status),
                "reason": each.reason,
            }
            for each in self.entries
        ]


@dataclass(frozen=True, slots=True)
class _Service:
    """A service, and how its quotas are read."""

    name: str
    quotas: Mapping[str, tuple[str, str]]  # quota → keys of its limit and of what is used
    path: Callable[[str], str]
    read: Callable[[Json, tuple[str, str]], tuple[int, int]]


def _absolute(body: Json, keys: tuple[str, str]) -> tuple[int, int]:
    found = body["limits"]["absolute"]
    return int(found[keys[0]]), int(found[keys[1]])


def _detail(body: Json, keys: tuple[str, str]) -> tuple[int, int]:
    found = body["quota"][keys[0]]
    return int(found["limit"]), int(found["used"]) + int(found.get("reserved") or 0)


_SERVICES = (
    _Service(
        _COMPUTE,
        {
            quota_demand.INSTANCES: ("maxTotalInstances", "totalInstancesUsed"),
            quota_demand.CORES: ("maxTotalCores", "totalCoresUsed"),
            quota_demand.RAM: ("maxTotalRAMSize", "totalRAMUsed"),
        },
        lambda _project: "/limits",
        _absolute,
    ),
    _Service(
        _NETWORK,
        {
            quota_demand.PORTS: ("port", ""),
            quota_demand.FLOATING_IPS: ("floatingip", ""),
        },
        lambda project: f"/quotas/{project}/details",
        _detail,
    ),
    _Service(
        _VOLUME,
        {
            quota_demand.VOLUMES: ("maxTotalVolumes", "totalVolumesUsed"),
            quota_demand.GIGABYTES: ("maxTotalVolumeGigabytes", "totalGigabytesUsed"),
        },
        lambda _project: "/limits",
        _absolute,
    ),
)


def check_quotas(cloud: CloudClient | None, demand: QuotaDemand) -> QuotaResult:
    """Return the quotas that a plan concerns, with limits and what is used."""
    with time_limit(TIME_LIMIT_S):
        resolved = _resolve_flavors(cloud, demand)
        entries = [
            entry for service in _SERVICES for entry in _check_service(cloud, service, resolved)
        ]
    return QuotaResult(tuple(entries), resolved.unknown_count)


def _check_service(
    cloud: CloudClient | None, service: _Service, demand: QuotaDemand
) -> Sequence[QuotaEntry]:
    concerned = [
        name for name in service.quotas if demand.needed[name] > 0 or demand.released[name] > 0
    ]
    if not concerned:
        return ()
    body, reason = None, ""
    try:
        body = _get(cloud, service.name, service.path)
    except Error as error:
        reason = str(error)
    return [_entry(service, name, demand, body, reason) for name in concerned]


def _entry(
    service: _Service, name: str, demand: QuotaDemand, body: Json, reason: str
) -> QuotaEntry:
    limit = used = None
    if not reason:
        try:
            limit, used = service.read(body, service.quotas[name])
        except (KeyError, TypeError, ValueError) as error:
            reason = f"the {service.name} service does not tell it: {error!r}"
    needed, released = demand.needed[name], demand.released[name]
    return QuotaEntry(name, service.name, needed, released, used, limit, reason)


def _resolve_flavors(cloud: CloudClient | None, demand: QuotaDemand) -> QuotaDemand:
    """Return the demand with cores and memory in place of flavors."""
    named = [key for key in (*demand.needed, *demand.released) if key.startswith(FLAVOR_PREFIX)]
    if not named:
        return demand
    flavors = _read_flavors(cloud)
    needed, missing = _without_flavors(demand.needed, flavors)
    released, _ = _without_flavors(demand.released, flavors)
    return QuotaDemand(needed, released, demand.unknown_count + missing)


def _without_flavors(amounts: Amounts, flavors: Mapping[str, Json]) -> tuple[Amounts, int]:
    found, missing = Amounts(), 0
    for key, count in amounts.items():
        if not key.startswith(FLAVOR_PREFIX):
            found[key] += count
            continue
        flavor = flavors.get(key.removeprefix(FLAVOR_PREFIX))
        if flavor is None:
            missing += count
            continue
        found[quota_demand.CORES] += count * int(flavor.get("vcpus") or 0)
        found[quota_demand.RAM] += count * int(flavor.get("ram") or 0)
    return found, missing


def _read_flavors(cloud: CloudClient | None) -> dict[str, Json]:
    """Return the first page of flavors by id and by name; none if they cannot be read."""
    try:
        body = _get(cloud, _COMPUTE, lambda _project: "/flavors/detail")
    except Error:
        return {}
    found = body.get("flavors") if isinstance(body, Mapping) else None
    flavors = [each for each in found or () if isinstance(each, Mapping)]
    by_name = {str(each.get("name")): each for each in flavors}
    return by_name | {str(each.get("id")): each for each in flavors}


def _get(cloud: CloudClient | None, service: str, path: Callable[[str], str]) -> Json:
    """Return the body of a GET request.

    Raises:
        Error: The service cannot be asked, or not in time.
    """
    if cloud is None or not cloud.has_service(service):
        raise Error(f"there is no {service} service")
    if is_over():
        raise Error("the services did not answer in time")
    return cloud.send(CloudRequest(service, "GET", path(cloud.project_id or ""))).body
