"""keystoneauth plug-ins for the service itself and for the credential of each stack.

Called by ``keystone`` and ``clouds``. Decides which section of the configuration the service
logs in with, and translates Keystone's refusals into an error of this service, so that no
resource type takes a revoked trust for a deleted resource (RULE 10).
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import requests
from keystoneauth1 import exceptions, loading
from keystoneauth1.access import AccessInfo
from keystoneauth1.identity.base import BaseIdentityPlugin
from keystoneauth1.identity.generic.base import BaseGenericPlugin
from keystoneauth1.identity.v3 import ApplicationCredential, Password
from keystoneauth1.session import Session, TCPKeepAliveAdapter
from oslo_config import cfg

from heat_convergence.clients.circuit_breaker import CircuitBreakers, Endpoint, FailureScope
from heat_convergence.clients.credentials import Credential
from heat_convergence.clients.settings import MAX_OPEN_REQUESTS, ClientSettings, DeferredAuthMethod
from heat_convergence.clients.version_documents import (
    DOCUMENT_RETRIES,
    DocumentUnreadable,
    VersionDocuments,
    is_document_request,
)
from heat_convergence.common import errors
from heat_convergence.common.failures import TemporaryFailure
from heat_convergence.common.single_flight import SingleFlight
from heat_convergence.common.telemetry.call_metrics import timed_call
from heat_convergence.common.telemetry.request_contexts import current_request_id

TRUSTEE_GROUP = "trustee"
FALLBACK_AUTH_GROUP = "keystone_authtoken"
DRIFT_AUTH_GROUP = "drift_auth"
OnRefused = Callable[[], None]
_NO_PROJECT = {
    "project_id": None,
    "project_name": None,
    "project_domain_id": None,
    "project_domain_name": None,
}
_IDENTITY = Endpoint("identity")
_VERSION_3 = (3, 0)
_REFUSALS = (exceptions.Unauthorized, exceptions.Forbidden, exceptions.NotFound)
_FAILURES = (
    exceptions.ConnectionError,
    exceptions.DiscoveryFailure,
    DocumentUnreadable,
    exceptions.TooManyRequests,
    exceptions.HttpServerError,
)
REVOKED_CREDENTIAL_MESSAGE = (
    "Keystone no longer lets the service act for the user of this stack"
    " (its {method} was revoked, or the user lost the project or a role): {reason}."
    " Repeat the action, for instance an update with the same template, as a user"
    " who has the required roles in the project; the service then gets a new one."
)


class ServiceAuth:
    """Authentication of the service itself, from the configuration.

    Plug-ins are loaded from ``[trustee]`` or, where that names none, from
    ``[keystone_authtoken]``.

    Attributes:
        documents: Version documents, which the sessions of the process share.
    """

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        self.documents = VersionDocuments()
        self._conf = conf
        self._own_plugin: Any = None
        self._lock = threading.Lock()
        for group in (TRUSTEE_GROUP, FALLBACK_AUTH_GROUP, DRIFT_AUTH_GROUP):
            loading.register_auth_conf_options(conf, group)

    def load_plugin(self, **changes: Any) -> Any:
        """Return a plug-in that logs in as the service.

        Args:
            **changes: Options of the plug-in that replace the configured ones.

        Raises:
            MissingCredentialError: The configuration names no user.
        """
        trustee = self._conf[TRUSTEE_GROUP]
        group = TRUSTEE_GROUP if trustee.auth_type or trustee.auth_section else FALLBACK_AUTH_GROUP
        found = loading.load_auth_from_conf_options(self._conf, group, **changes)
        if found is None:
            raise errors.MissingCredentialError(
                "The service has no user: set auth_type and the options that belong to"
                f" it in [{TRUSTEE_GROUP}] or [{FALLBACK_AUTH_GROUP}]."
            )
        return _of_version_3(found)

    @property
    def own_plugin(self) -> Any:
        """The plug-in that logs in as the service, whose token its users in a process share.

        Raises:
            MissingCredentialError: The configuration names no user.
        """
        with self._lock:
            if self._own_plugin is None:
                self._own_plugin = self.load_plugin()
            return self._own_plugin

    def load_reader_plugin(self) -> Any:
        """Return a plug-in that logs in as the reader of all projects; None without one."""
        return _of_version_3(loading.load_auth_from_conf_options(self._conf, DRIFT_AUTH_GROUP))

    def load_trust_plugin(self, trust_id: str) -> Any:
        """Return a plug-in that logs in as the service with a trust."""
        return self.load_plugin(trust_id=trust_id, **_NO_PROJECT)

    @property
    def auth_url(self) -> str:
        """URL of Keystone that the configuration names."""
        return str(self.own_plugin.auth_url)


def _of_version_3(plugin: Any) -> Any:
    """Return a plug-in for version 3 of Keystone instead of one that asks for the versions."""
    if not isinstance(plugin, BaseGenericPlugin) or not plugin.auth_url:
        return plugin
    url = keystone_v3_url(plugin.auth_url)
    return plugin.create_plugin(Session(), _VERSION_3, url) or plugin  # it uses no session


class StackAuth(BaseIdentityPlugin):
    """Authentication with a stack's credential, repeated whenever the token expires.

    Raises ``AuthorizationFailure``, never an error of keystoneauth, when Keystone refuses, and
    ``CallRefused`` while the circuit of Keystone is open.
    """

    def __init__(
        self,
        inner: Any,
        method: DeferredAuthMethod,
        on_refused: OnRefused,
        breakers: CircuitBreakers,
    ) -> None:
        super().__init__(auth_url=inner.auth_url)
        self._breakers = breakers
        self._inner = inner
        self._method = method
        self._on_refused = on_refused
        self._logins: SingleFlight[AccessInfo] = SingleFlight(is_shared=lambda _error: True)

    def get_access(self, session: Session, **_kwargs: Any) -> AccessInfo:
        """Return what Keystone granted last or, once that has expired, log in.

        Threads that need a login at the same time share it with its error, which is that of the
        credential. keystoneauth lets them log in one after the other, each without a time limit.
        """
        return self._logins.run("login", self._valid_access, lambda: self._log_in(session))

    def _valid_access(self) -> AccessInfo | None:
        return None if self._needs_reauthenticate() else self.auth_ref

    def _log_in(self, session: Session) -> AccessInfo:
        granted = self.auth_ref = self.get_auth_ref(session)
        return granted

    def get_auth_ref(self, session: Session, **kwargs: Any) -> AccessInfo:
        """Log in, and return what Keystone granted."""
        with self._breakers.attempt(_IDENTITY) as attempt:
            try:
                with timed_call(_IDENTITY.service, "POST") as call:
                    granted: AccessInfo = self._inner.get_auth_ref(session, **kwargs)
                    call.record_status(201)
            except _FAILURES as error:
                failure = TemporaryFailure(f"identity: no token: {error}")
                attempt.fail(FailureScope.ENDPOINT, failure)
                raise failure from error
            except _REFUSALS as error:
                attempt.succeed()
                raise self._refused(error) from error
            attempt.succeed()
        return granted

    def _refused(self, error: Exception) -> errors.AuthorizationFailure:
        self._on_refused()
        method = self._method.value.rstrip("s").replace("_", " ")
        reason = str(error).rstrip(".")
        return errors.AuthorizationFailure(
            REVOKED_CREDENTIAL_MESSAGE.format(method=method, reason=reason)
        )

    def get_cache_id_elements(self) -> dict[str, str | None]:
        """Return nothing: the plug-in is not cached by its parameters."""
        return {}


def create_stack_auth(
    credential: Credential,
    service: ServiceAuth,
    on_refused: OnRefused = lambda: None,
    breakers: CircuitBreakers | None = None,
) -> StackAuth:
    """Return the plug-in that logs in with a stack's credential.

    Args:
        credential: What the service stores to act for the stack's user.
        service: Authentication of the service itself, which trusts need.
        on_refused: Called when Keystone no longer accepts the credential.
        breakers: The process's circuit breakers; None for those of this plug-in alone.
    """
    plugin = _credential_plugin(credential, service)
    return StackAuth(plugin, credential.method, on_refused, breakers or CircuitBreakers())


def _credential_plugin(credential: Credential, service: ServiceAuth) -> Any:
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


def create_user_auth(
    service: ServiceAuth, user_id: str, *, password: str, project_id: str
) -> Password:
    """Return the plug-in that logs in as a user, with the user's own password alone."""
    return Password(
        keystone_v3_url(service.auth_url),
        user_id=user_id,
        password=password,
        project_id=project_id,
    )


def keystone_v3_url(url: str) -> str:
    """Return the URL of version 3 of Keystone, for plug-ins without version discovery."""
    url = url.rstrip("/").removesuffix("/v2.0")
    return url if url.endswith("/v3") else f"{url}/v3"


class _RequestIdSession(Session):
    """A session that names the request for which a thread works in whatever it sends.

    openstacksdk's ``global_request_id`` belongs to a connection, which here serves many requests.

    Attributes:
        documents: Version documents that are read before; None to read each anew.
    """

    documents: VersionDocuments | None = None

    def request(  # type: ignore[override]  # the arguments go on as they are
        self, url: str, method: str, **kwargs: Any
    ) -> requests.Response:
        """Send a request with the id of the request that caused it."""
        if kwargs.get("global_request_id") is None:
            kwargs["global_request_id"] = current_request_id()
        if self.documents is None or not is_document_request(method, kwargs):
            return super().request(url, method, **kwargs)
        kwargs.setdefault("connect_retries", DOCUMENT_RETRIES)
        send = partial(super().request, url, method, **kwargs)
        return self.documents.get(url, kwargs.get("headers") or {}, send)


def create_session(
    settings: ClientSettings, auth: Any, documents: VersionDocuments | None = None
) -> Session:
    """Return a session that keeps as many connections per host as requests may be open.

    Args:
        settings: Settings of the clients.
        auth: The plug-in that logs in.
        documents: Version documents that the process has read; None to read each anew.
    """
    pool = requests.Session()
    for scheme in ("http://", "https://"):
        pool.mount(scheme, TCPKeepAliveAdapter(pool_maxsize=MAX_OPEN_REQUESTS))
    session = _RequestIdSession(
        auth=auth,
        session=pool,
        verify=settings.verify,
        cert=settings.cert,
        timeout=settings.timeout_s,
        app_name="heat-convergence",
    )
    session.documents = documents
    return session
