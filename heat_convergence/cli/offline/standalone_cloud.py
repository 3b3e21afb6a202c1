"""The emulated cloud of ``heat-convergence standalone --cloud emulated``.

It lives in the memory of the process, and its clock is that of the machine. Built by
``daemons.standalone``.
"""

from __future__ import annotations

import time
from threading import RLock

from heat_convergence.cli.components.software_store import DatabaseSoftwareStore
from heat_convergence.clients.endpoints import base_url_from_endpoint
from heat_convergence.clients.rest_client import RequestLimiter, SdkCloudClient
from heat_convergence.db.connection.database import Database
from heat_convergence.resources.protocol.verb_values import CloudFactory
from heat_convergence.testing.openstack.emulation import (
    PROJECT_ID,
    EmulatedRequest,
    EmulatedResponse,
    Emulation,
)
from heat_convergence.testing.openstack.http_adapter import connect
from heat_convergence.testing.openstack.services import install_services

_REQUESTS_AT_ONCE = 4


class WallClockEmulation(Emulation):
    """The emulated services; they answer one request after the other."""

    def __init__(self) -> None:
        """Install the services; their clock starts at 0."""
        super().__init__()
        self._started_at_s = time.monotonic()
        self._lock = RLock()
        install_services(self)

    def handle(self, request: EmulatedRequest) -> EmulatedResponse:
        """Answer a request at the present time."""
        with self._lock:
            self.now_s = time.monotonic() - self._started_at_s
            return super().handle(request)


class _StandaloneClient(SdkCloudClient):
    """A client of the emulation; there is no Keystone that authenticates stack users.

    Attributes:
        software: The service's own software configurations.
        heat_base_url: Address of the service without version and project.
    """

    def __init__(self, software: DatabaseSoftwareStore, heat_base_url: str) -> None:
        connection = connect(WallClockEmulation())
        limiter = RequestLimiter(_REQUESTS_AT_ONCE)
        super().__init__("emulated", PROJECT_ID, lambda: connection, limiter)
        self.software = software
        self.heat_base_url = heat_base_url


def create_emulated_cloud(database: Database, heat_url: str) -> CloudFactory:
    """Return the cloud of all stacks.

    Args:
        database: The database of the service.
        heat_url: The endpoint of its Orchestration API.
    """
    client = _StandaloneClient(DatabaseSoftwareStore(database), base_url_from_endpoint(heat_url))
    return lambda _tree_id: client
