"""Connections of ``OS::Heat::Stack`` to another cloud, with credentials of the template's author.

Decides which credentials are accepted. They come from a secret that the author has stored, and
give access to nothing of this service: no plug-in is loaded that reads files or environment
variables of this host.

Source: docs.openstack.org/heat/latest/template_guide/multi-clouds.html.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from keystoneauth1 import exceptions, loading
from keystoneauth1.session import Session

from heat_convergence.clients.remote.guarded_transport import create_transport
from heat_convergence.clients.sdk.connections import APP_NAME, Connection, connect
from heat_convergence.common.errors import AuthorizationFailure, StackValidationFailed

Json = Any
AUTH_TYPES = ("password", "token", "v3applicationcredential", "v3password", "v3token", "v3totp")


@dataclass(frozen=True, slots=True)
class RemoteAccess:
    """Access to another cloud, or to this one with another verification.

    Attributes:
        credential: The payload of the secret; empty for the stack's own user.
        region: The region of the endpoints; None for any.
        ca_cert: Certificates of authorities, as PEM.
        insecure: Whether certificates are not verified.
    """

    credential: str = field(default="", repr=False)
    region: str | None = None
    ca_cert: str | None = None
    insecure: bool = False


def create_plugin(credential: str) -> Any:
    """Return the plug-in that logs in with a credential.

    Raises:
        StackValidationFailed: The credential is none that can be used.
    """
    auth_type, options = _parse(credential)
    if auth_type not in AUTH_TYPES:
        raise StackValidationFailed(
            f'The credential\'s "auth_type" must be one of {", ".join(AUTH_TYPES)}.'
        )
    try:
        return loading.get_plugin_loader(auth_type).load_from_options(**options)
    except (exceptions.ClientException, TypeError, ValueError) as error:
        # The error may quote the options, which are secret.
        raise StackValidationFailed(
            f'The credential\'s "auth" has no usable options of {auth_type}.'
        ) from error


def connect_remote_cloud(
    access: RemoteAccess, plugin: Any, *, timeout_s: float, allows_private_addresses: bool
) -> Connection:
    """Return a connection to the cloud, without a request to it.

    Args:
        access: Where and how to connect.
        plugin: The plug-in that logs in.
        timeout_s: Seconds to wait for a response.
        allows_private_addresses: Whether the cloud may have such addresses.
    """
    transport = create_transport(
        ca_cert=access.ca_cert,
        insecure=access.insecure,
        allows_private_addresses=allows_private_addresses,
    )
    session = Session(
        auth=plugin,
        session=transport,
        verify=not access.insecure,
        timeout=timeout_s,
        app_name=APP_NAME,
    )
    return connect(session, access.region)


def check_login(connection: Connection) -> None:
    """Log in to another cloud.

    Raises:
        AuthorizationFailure: It refused the credential, or did not answer.
    """
    try:
        connection.session.get_token()
    except exceptions.ClientException as error:
        name = type(error).__name__  # the message may have the URL of the author's secret
        raise AuthorizationFailure(f"The other cloud did not accept the login: {name}.") from error


def _parse(credential: str) -> tuple[str, dict[str, Json]]:
    try:
        parsed = json.loads(credential)
    except (ValueError, RecursionError):
        parsed = None
    if not isinstance(parsed, Mapping):
        raise StackValidationFailed("The credential is no JSON object.")
    for key, expected in (("auth_type", str), ("auth", dict)):
        if not isinstance(parsed.get(key), expected):
            raise StackValidationFailed(f'The credential has no "{key}".')
    return parsed["auth_type"], parsed["auth"]
