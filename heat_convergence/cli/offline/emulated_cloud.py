"""The emulated cloud on the clock of the service, and a service that uses it."""

from __future__ import annotations

from typing import Any, TypeVar

from heat_convergence.cli.offline.local_service import LocalService
from heat_convergence.clients.rest_client import RequestLimiter, SdkCloudClient
from heat_convergence.resources import custom_constraints
from heat_convergence.resources.catalog import custom_constraints as cloud_constraints
from heat_convergence.resources.catalog.resource_types import load_resource_types
from heat_convergence.testing.openstack.emulation import PROJECT_ID, Emulation
from heat_convergence.testing.openstack.http_adapter import connect, create_emulation

Json = Any
AnyLocalService = TypeVar("AnyLocalService", bound=LocalService)


class ClockedEmulation:
    """The emulated cloud, on the clock of the service."""

    def __init__(self) -> None:
        """Install all services, with what every cloud has."""
        self.emulation: Emulation = create_emulation()
        connection = connect(self.emulation)
        self.service: LocalService | None = None
        self._start: Any = None
        self._cloud = SdkCloudClient("emulated", PROJECT_ID, lambda: connection, RequestLimiter(4))

    def cloud_for(self, tree_id: str) -> SdkCloudClient:
        """Return the cloud, whose clock follows the service's."""
        assert self.service is not None
        now = self.service.clock()
        self._start = self._start or now
        self.emulation.now_s = (now - self._start).total_seconds()
        return self._cloud

    def bodies(self, entity: str) -> list[Json]:
        """Return the bodies of all resources of an entity."""
        return self.emulation.collection(entity).bodies()

    def addresses(self) -> list[str]:
        """Return the fixed IPs of all ports."""
        ips = [ip for port in self.bodies("neutron.port") for ip in port["fixed_ips"]]
        return [ip["ip_address"] for ip in ips]


def emulation_service(
    emulated_cloud: ClockedEmulation,
    folder: Any,
    service_class: type[AnyLocalService] = LocalService,  # type: ignore[assignment]
    **extra: Any,
) -> AnyLocalService:
    """Return a service that uses the emulated cloud, with its database in a folder."""
    checks = {
        **cloud_constraints.load_custom_constraints(load_resource_types()),
        **custom_constraints.load_constraints(),
    }
    services = {"cloud_of": emulated_cloud.cloud_for, "custom_constraints": checks, **extra}
    emulated_cloud.service = service_class(f"sqlite:///{folder}/hc.sqlite", **services)
    return emulated_cloud.service
