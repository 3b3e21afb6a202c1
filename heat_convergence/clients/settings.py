"""What an operator decides about reaching other services, as plain values.

Made of options by ``cli``; read by every file beside this one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

# That a process has open at one service.  A service's own workers are fewer: what is
# more waits there instead of here, holds a socket, and meets the service's time limits.
MAX_OPEN_REQUESTS = 32


class DeferredAuthMethod(Enum):
    """As whom the service acts for a stack after the request that made it."""

    TRUSTS = "trusts"
    APPLICATION_CREDENTIAL = "application_credential"
    PASSWORD = "password"


@dataclass(frozen=True, slots=True)
class ClientSettings:
    """``verify`` is whether, or by which file, certificates are verified; ``cert`` a
    PEM file, or (certificate, key).  ``interfaces`` maps openstacksdk's name of a
    service to its interface, ``shared`` lists types whose region is another."""

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
    guest_keystone_interface: str = ""  # of Keystone, for guests; "": auth_uri
    send_scheduler_hints: bool = False  # whether schedulers are told of stacks
    verify: bool | str = True
    cert: str | tuple[str, str] | None = None
    timeout_s: float = 60.0
    connect_retries: int = 2
    stack_user_role: str = "heat_stack_user"
    stack_user_domain_id: str | None = None
    stack_user_domain_name: str | None = None
    stack_domain_admin: str | None = None
    stack_domain_admin_password: str | None = None
