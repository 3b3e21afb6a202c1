"""Settings of the clients of other services, as plain values.

Built from options by ``cli``; read by the other modules of this package.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from heat_convergence.clients.circuit_breaker import CircuitSettings

# Per process and service. A service has fewer workers than this: further requests would
# wait there instead of here, hold a socket and run into the service's time limits.
MAX_OPEN_REQUESTS = 32


class DeferredAuthMethod(Enum):
    """Ways to authenticate on behalf of a stack's user after the request has ended."""

    TRUSTS = "trusts"
    APPLICATION_CREDENTIAL = "application_credential"
    PASSWORD = "password"  # nosec B105  # the name of the method


@dataclass(frozen=True, slots=True)
class ClientSettings:
    """Settings of the clients of other services.

    Attributes:
        deferred_auth_method: How the service authenticates on behalf of users.
        delegated_roles: Roles that users delegate; empty for all.
        allow_redelegation: Whether trusts may be redelegated.
        region: Region of a request that names none.
        shared_services_region: Region of the shared services.
        shared_service_types: Types of the services that regions share.
        interface: Interface of endpoints.
        interfaces: Interface by openstacksdk's name of a service.
        heat_url: Endpoint of this service instead of the catalog's.
        waitcondition_url: Base of the signed URLs of wait conditions.
        metadata_url: URL from which agents poll metadata.
        auth_uri: URL of Keystone as servers reach it.
        server_keystone_interface: Interface of Keystone's endpoint for servers; empty for
            ``auth_uri``.
        send_scheduler_hints: Whether scheduler hints name the stack and the resource.
        verify: Whether certificates are verified, or the file with the authorities.
        cert: PEM file, or certificate and key.
        timeout_s: Seconds to wait for a response.
        connect_retries: Retries of a request when the connection fails.
        circuits: When services that fail are not called any more.
        stack_user_role: Role of the users that stacks create.
        stack_user_domain_id: Domain of these users, by id.
        stack_user_domain_name: Domain of these users, by name.
        stack_domain_admin: Administrator of the domain.
        stack_domain_admin_password: Password of the administrator.
        remote_private_addresses: Whether clouds that users name may have loopback, link-local
            and private addresses.
    """

    deferred_auth_method: DeferredAuthMethod = DeferredAuthMethod.TRUSTS
    delegated_roles: tuple[str, ...] = ()
    allow_redelegation: bool = False
    region: str | None = None
    shared_services_region: str | None = None
    shared_service_types: tuple[str, ...] = ("image", "volumev3")
    interface: str = "public"
    interfaces: Mapping[str, str] = field(default_factory=dict)
    heat_url: str | None = None
    waitcondition_url: str | None = None
    metadata_url: str | None = None
    auth_uri: str | None = None
    server_keystone_interface: str = ""
    send_scheduler_hints: bool = False
    verify: bool | str = True
    cert: str | tuple[str, str] | None = None
    timeout_s: float = 60.0
    connect_retries: int = 2
    circuits: CircuitSettings = field(default_factory=CircuitSettings)
    stack_user_role: str = "heat_stack_user"
    stack_user_domain_id: str | None = None
    stack_user_domain_name: str | None = None
    stack_domain_admin: str | None = None
    stack_domain_admin_password: str | None = None
    remote_private_addresses: bool = False
