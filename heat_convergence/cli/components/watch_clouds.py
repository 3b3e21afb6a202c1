"""The clouds that the watch reads with: those of stacks, whose lists an operator may request.

Decides how the process logs in with the operator's credential of ``[drift_auth]``, which lists the
resources of all projects. Called by observers when they start; the credential must not be used for
any other request.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from functools import partial
from typing import Any

from heat_convergence.cli.components.assembly import ProcessComponents
from heat_convergence.clients import auth
from heat_convergence.clients.clouds import StackCloudCache
from heat_convergence.clients.rest_client import RequestLimiter, SdkCloudClient, make_cache_key
from heat_convergence.clients.sdk.connections import Connection, create_connection
from heat_convergence.clients.settings import MAX_OPEN_REQUESTS
from heat_convergence.resources.driver.declarative_steps import client_of_cloud
from heat_convergence.resources.openstack.project_lists import ProjectListsCloud, RefusalLog
from heat_convergence.resources.openstack.shared_lists import ListRound
from heat_convergence.resources.protocol.verb_values import CloudFactory
from heat_convergence.stacks.daemon_services import WatchCloudFactory

_MAX_REGIONS = 64


class OperatorReader:
    """The clients with the operator's credential, one for each region.

    Args:
        plugin: The plug-in of keystoneauth that logs in.
        clouds: The clients of stack trees, whose settings and circuit breakers hold here, too.
    """

    def __init__(self, plugin: object, clouds: StackCloudCache) -> None:
        self._clouds = clouds
        self._session = auth.create_session(clouds.settings, plugin, clouds.service_auth.documents)
        self._limiter = RequestLimiter(MAX_OPEN_REQUESTS)
        self._connections: OrderedDict[str, Connection] = OrderedDict()
        self._lock = threading.Lock()

    def client(self, project_id: str, region: str) -> SdkCloudClient:
        """Return the client for the lists of one project in one region; "" for any."""
        return SdkCloudClient(
            make_cache_key(project_id, region),
            project_id,
            partial(self._connect, region),
            self._limiter,
            breakers=self._clouds.breakers,
        )

    def _connect(self, region: str) -> Connection:
        with self._lock:
            found = self._connections.get(region)
            if found is None:
                found = create_connection(self._session, self._clouds.settings, region or None)
                self._connections[region] = found
            self._connections.move_to_end(region)
            while len(self._connections) > _MAX_REGIONS:
                self._connections.popitem(last=False)
            return found


def create_watch_clouds(components: ProcessComponents) -> WatchCloudFactory | None:
    """Return the factory with the operator's credential; None if ``[drift_auth]`` has none."""
    clouds = components.cloud_cache
    plugin = None if clouds is None else clouds.service_auth.load_reader_plugin()
    if clouds is None or plugin is None:
        return None
    return with_operator_lists(components.cloud_of, OperatorReader(plugin, clouds))


def with_operator_lists(cloud_of: CloudFactory, reader: OperatorReader) -> WatchCloudFactory:
    """Return the factory of clouds whose lists are requested by the operator's credential."""
    limiter, refusals = RequestLimiter(MAX_OPEN_REQUESTS), RefusalLog()

    def create(tree_id: str, project_id: str, lists: ListRound) -> Any:
        cloud = cloud_of(tree_id)
        own = partial(client_of_cloud, cloud, project_id, limiter)

        def operator() -> SdkCloudClient:
            return reader.client(project_id, str(getattr(cloud, "call_region", "")))

        return ProjectListsCloud(own, operator, cloud, refusals, lists)

    return create
