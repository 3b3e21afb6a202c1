"""Lists of a project's objects by the operator's credential, for the watch.

Decides which lists can be requested so, and how they are filtered by project; ``shared_lists``
decides when one serves several projects. All other requests go to the stack's own cloud. RULE 12:
a read of a single object by its id must not show those of other projects. Called by observers that
have such a credential. It must not change anything.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

from heat_convergence.clients.rest_client import CloudClient, CloudRequest, CloudResponse
from heat_convergence.common.errors import (
    AuthorizationFailure,
    Forbidden,
    ResourceTypeUnavailable,
)
from heat_convergence.resources.openstack.shared_lists import ListRound, ProjectColumn
from heat_convergence.resources.protocol.watchable import ProjectList, Watchable

Json = Any
LOG = logging.getLogger(__name__)
_ALL_TENANTS = {"all_tenants": "1"}
_EVERYTHING: Mapping[str, str] = {}
_NETWORK_LISTS = (
    "address-scopes",
    "floatingips",
    "networks",
    "ports",
    "routers",
    "security-group-rules",
    "security-groups",
    "subnetpools",
    "subnets",
    "trunks",
)
_BALANCER_LISTS = ("healthmonitors", "l7policies", "listeners", "loadbalancers", "pools")

PROJECT_LISTS: Mapping[tuple[str, str], Mapping[str, str]] = {
    ("compute", "/servers/detail"): _ALL_TENANTS,
    ("block_storage", "/volumes/detail"): _ALL_TENANTS,
    **{("network", f"/{name}"): _EVERYTHING for name in _NETWORK_LISTS},
    **{("load_balancer", f"/lbaas/{name}"): _EVERYTHING for name in _BALANCER_LISTS},
}
"""Service and path of a list → what an administrator sends beside ``project_id``.

Source: the services' API references. Lists without an owner (flavors, volume types), without a
filter by project (segments, rules of QoS policies), and those of Keystone and Glance are left out.
"""

_PROJECT_COLUMNS: Mapping[str, ProjectColumn] = {
    "compute": ProjectColumn("tenant_id"),
    "block_storage": ProjectColumn("os-vol-tenant-attr:tenant_id"),
    "network": ProjectColumn("project_id", is_repeatable=True),
    "load_balancer": ProjectColumn("project_id"),
}


def shared_list(resource_type: object) -> ProjectList | None:
    """Return the list of a type that one call can request for several projects, if it has one."""
    found = resource_type.project_list if isinstance(resource_type, Watchable) else None
    return found if found and (found.service, found.path) in PROJECT_LISTS else None


class RefusalLog:
    """One line in the log for each service that refuses the operator's credential."""

    def __init__(self) -> None:
        self._services: set[str] = set()
        self._lock = threading.Lock()

    def add(self, service: str, error: Exception) -> None:
        """Log the first refusal of a service."""
        with self._lock:
            if service in self._services:
                return
            self._services.add(service)
        LOG.warning(
            "credential of drift_auth refused, credentials of stacks are used instead:"
            " service=%(service)s error=%(error)s",
            {"service": service, "error": error},
        )


class ProjectListsCloud:
    """The cloud of a stack whose lists are requested by the operator's credential.

    The clients are made when a request needs them: a stack whose credential cannot be read is
    found out when it is read (RULE 11).

    Args:
        create_own: Returns the client with the stack's credential.
        create_operator: Returns the client with the operator's credential.
        stack_cloud: The cloud of the stack, as types see it.
        refusals: The log of refusals.
        lists: The lists that projects share in this round.
    """

    def __init__(
        self,
        create_own: Callable[[], CloudClient],
        create_operator: Callable[[], CloudClient],
        stack_cloud: Any,
        refusals: RefusalLog,
        lists: ListRound,
    ) -> None:
        self._create_own = create_own
        self._create_operator = create_operator
        self._stack_cloud = stack_cloud
        self._refusals = refusals
        self._lists = lists

    @cached_property
    def _own(self) -> CloudClient:
        return self._create_own()

    @cached_property
    def _operator(self) -> CloudClient:
        return self._create_operator()

    @property
    def cache_key(self) -> str:
        """The key of lists and names that may be shared."""
        return self._own.cache_key

    @property
    def project_id(self) -> str | None:
        """The project of the requests."""
        return self._own.project_id

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the stack's cloud, for types that need more than lists."""
        return getattr(self._stack_cloud, name)

    def send(self, request: CloudRequest) -> CloudResponse:
        """Send a request; a list of the project's objects with the operator's credential."""
        extra = PROJECT_LISTS.get((request.service, request.path))
        if request.method != "GET" or extra is None or not self.project_id:
            return self._own.send(request)
        try:
            return self._read_shared(request, extra) or self._operator.send(
                _with_query(request, {**extra, "project_id": self.project_id})
            )
        except (AuthorizationFailure, Forbidden, ResourceTypeUnavailable) as error:
            self._refusals.add(request.service, error)
            return self._own.send(request)

    def _read_shared(
        self, request: CloudRequest, extra: Mapping[str, str]
    ) -> CloudResponse | None:
        """Return the project's part of a list for all projects of the round, if there is one."""
        return self._lists.read(
            request,
            str(getattr(self._stack_cloud, "call_region", "")),
            self.project_id or "",
            _PROJECT_COLUMNS[request.service],
            lambda each: self._operator.send(_with_query(each, extra)),
        )

    def has_service(self, service: str) -> bool:
        """Return whether the stack's service catalog lists the service."""
        return self._own.has_service(service)

    def endpoint_url(self, service: str) -> str:
        """Return the endpoint of the service."""
        return self._own.endpoint_url(service)

    def in_region(self, region: str) -> CloudClient:
        """Return the stack's own client in another region."""
        return self._own.in_region(region)


def _with_query(request: CloudRequest, extra: Mapping[str, Json]) -> CloudRequest:
    return replace(request, query={**request.query, **extra})
