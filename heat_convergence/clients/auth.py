"""keystoneauth plug-ins: the service's own, and one for each stack's credential.

Called by ``keystone`` and ``clouds``.  Decides which section of the configuration
the service logs in with, and turns Keystone's refusals into this service's error,
so that no resource type takes a revoked trust for a vanished resource (RULE 10).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import requests
from keystoneauth1 import exceptions, loading
from keystoneauth1.access import AccessInfo
from keystoneauth1.identity.base import BaseIdentityPlugin
from keystoneauth1.identity.v3 import ApplicationCredential, Password
from keystoneauth1.session import Session, TCPKeepAliveAdapter
from oslo_config import cfg

from heat_convergence.clients.credentials import Credential
from heat_convergence.clients.settings import MAX_OPEN_REQUESTS, ClientSettings, DeferredAuthMethod
from heat_convergence.common import errors

TRUSTEE_GROUP = "trustee"
FALLBACK_AUTH_GROUP = "keystone_authtoken"
OnRefused = Callable[[], None]
_NO_PROJECT = {
    "project_id": None,
    "project_name": None,
    "project_domain_id": None,
    "project_domain_name": None,
}
_REFUSALS = (exceptions.Unauthorized, exceptions.Forbidden, exceptions.NotFound)
REVOKED_CREDENTIAL_MESSAGE = (
    "Keystone no longer lets the service act for the user of this stack"
    " (its {method} was revoked, or the user lost the project or a role): {why}."
    " Repeat the action, for instance an update with the same template, as a user"
    " who has the needed roles in the project; the service is then given a new one."
)


class ServiceAuth:
    """Logs the service itself in, as the options say.

    Plug-ins are loaded from ``[trustee]`` or, where that names none, from
    ``[keystone_authtoken]``.
    """

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        self._conf = conf
        for group in (TRUSTEE_GROUP, FALLBACK_AUTH_GROUP):
            loading.register_auth_conf_options(conf, group)

    def load_plugin(self, **changes: Any) -> Any:
        """Raises ``MissingCredentialError`` where the configuration has no user."""
        trustee = self._conf[TRUSTEE_GROUP]
        group = TRUSTEE_GROUP if trustee.auth_type or trustee.auth_section else FALLBACK_AUTH_GROUP
        found = loading.load_auth_from_conf_options(self._conf, group, **changes)
        if found is None:
            raise errors.MissingCredentialError(
                "The service has no user of its own: set auth_type and what belongs to"
                f" it in [{TRUSTEE_GROUP}] or [{FALLBACK_AUTH_GROUP}]."
            )
        return found

    def load_trust_plugin(self, trust_id: str) -> Any:
        return self.load_plugin(trust_id=trust_id, **_NO_PROJECT)

    @property
    def auth_url(self) -> str:
        return str(self.load_plugin().auth_url)


class StackAuth(BaseIdentityPlugin):  # type: ignore[misc]  # untyped library
    """Logs in with a stack's credential, again whenever the token runs out.

    Raises ``AuthorizationFailure``, never a keystoneauth error, when Keystone refuses.
    """

    def __init__(self, inner: Any, method: DeferredAuthMethod, on_refused: OnRefused) -> None:
        super().__init__(auth_url=inner.auth_url)
        self._inner = inner
        self._method = method
        self._on_refused = on_refused

    def get_auth_ref(self, session: Session, **kwargs: Any) -> AccessInfo:
        try:
            return self._inner.get_auth_ref(session, **kwargs)
        except _REFUSALS as error:
            self._on_refused()
            method = self._method.value.rstrip("s").replace("_", " ")
            why = str(error).rstrip(".")
            raise errors.AuthorizationFailure(
                REVOKED_CREDENTIAL_MESSAGE.format(method=method, why=why)
            ) from error

    def get_cache_id_elements(self) -> dict[str, str | None]:
        return {}


def create_stack_auth(
    credential: Credential, service: ServiceAuth, on_refused: OnRefused = lambda: None
) -> StackAuth:
    """The plug-in of a stack's credential; ``on_refused`` is called when Keystone does
    not take it any more."""
    return StackAuth(_inner(credential, service), credential.method, on_refused)


def _inner(credential: Credential, service: ServiceAuth) -> Any:
    if credential.method is DeferredAuthMethod.TRUSTS:
        return service.load_trust_plugin(credential.secret["trust_id"])
    auth_url = keystone_v3_url(credential.auth_url or service.auth_url)
    if credential.method is DeferredAuthMethod.PASSWORD:
        return Password(
            auth_url,
            user_id=credential.user_id,
            password=credential.secret["password"],
            project_id=credential.project_id,
        )
    return ApplicationCredential(
        auth_url,
        application_credential_id=credential.secret["id"],
        application_credential_secret=credential.secret["secret"],
    )


def keystone_v3_url(url: str) -> str:
    """The URL of Keystone's version 3, for plug-ins that ask for no list of versions."""
    url = url.rstrip("/")
    return url if url.endswith("/v3") else f"{url}/v3"


def create_session(settings: ClientSettings, auth: Any) -> Session:
    """Keeps as many connections to a host as requests may be open there."""
    pool = requests.Session()
    for scheme in ("http://", "https://"):
        pool.mount(scheme, TCPKeepAliveAdapter(pool_maxsize=MAX_OPEN_REQUESTS))
    return Session(
        auth=auth,
        session=pool,
        verify=settings.verify,
        cert=settings.cert,
        timeout=settings.timeout_s,
        app_name="heat-convergence",
    )
