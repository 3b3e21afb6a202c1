"""Connections of openstacksdk over sessions of keystoneauth.

Decides which interface and which region a connection uses for each service. Called by the clients
of stacks, of requests and of other clouds; opening a connection sends no request.
"""

from __future__ import annotations

from typing import Any

from keystoneauth1.session import Session

from heat_convergence.clients.sdk.loading import load
from heat_convergence.clients.settings import ClientSettings

Connection = Any  # an ``openstack.connection.Connection``, whose module is not loaded here

APP_NAME = "heat-convergence"
_VOLUMES = "volumev3"


def create_connection(
    session: Session, settings: ClientSettings, region: str | None
) -> Connection:
    """Return a connection with the configured interfaces and regions."""
    options: dict[str, Any] = {"interface": settings.interface.removesuffix("URL")}
    for name, interface in settings.interfaces.items():
        options[f"{name}_interface"] = interface.removesuffix("URL")
    if settings.shared_services_region is not None:
        for service_type in settings.shared_service_types:
            name = "block_storage" if service_type == _VOLUMES else service_type.replace("-", "_")
            options[f"{name}_region_name"] = settings.shared_services_region
    return connect(session, region, options)


def connect_in_region(connection: Connection, region: str) -> Connection:
    """Return a connection with the session and options of another one, but in a region."""
    config = connection.config
    return connect(config.get_session(), region, config.config)


def connect(
    session: Session, region: str | None, options: dict[str, Any] | None = None
) -> Connection:
    """Return a connection in a region, None for any, with options of openstacksdk."""
    from_session = load("config.cloud_region.from_session")
    config = from_session(
        session, **{**(options or {}), "app_name": APP_NAME, "region_name": region}
    )
    return load("connection.Connection")(config=config)
