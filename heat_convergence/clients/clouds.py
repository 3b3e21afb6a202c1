"""The cloud as the user of one stack tree sees it: ``ResourceContext.cloud``.

A process has one ``StackCloudCache``. ``get(tree_id)`` costs nothing until a resource type uses
the result, so that stacks without a cloud need no credential. A verb uses it so::

    with translate_sdk_errors():  # clients.error_mapping
        server = context.cloud.connection.compute.get_server(context.physical_id)

keystoneauth renews tokens whenever they expire, however long an action takes. A revoked trust
raises ``AuthorizationFailure``, whose text names the remedy.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from functools import cached_property
from typing import Any

from keystoneauth1.session import Session

from heat_convergence.clients import auth, endpoints
from heat_convergence.clients.circuit_breaker import CircuitBreakers
from heat_convergence.clients.credentials import Credential
from heat_convergence.clients.error_mapping import translate_sdk_errors
from heat_convergence.clients.remote.remote_clouds import (
    RemoteAccess,
    check_login,
    connect_remote_cloud,
    create_plugin,
)
from heat_convergence.clients.sdk.connections import Connection, create_connection
from heat_convergence.clients.settings import ClientSettings
from heat_convergence.clients.stack_users import StackUser, StackUsers
from heat_convergence.clients.version_documents import VersionDocuments
from heat_convergence.common import errors
from heat_convergence.common.failures import ResourceFailure

MAX_CACHED_REGIONS = 65_536
MAX_CACHED_CLOUDS = 512  # stack trees with an open session in a process
MAX_USER_CONNECTIONS = 64  # of users of one tree, whose tokens are kept
_NO_HEAT_ENDPOINT = (
    "The service catalog has no orchestration endpoint for signals: set [clients_heat] url"
)

LoadCredential = Callable[[str], Credential | None]


class StackCloud:
    """Clients of one stack tree: a keystoneauth session and an openstacksdk connection.

    Both raise ``AuthorizationFailure`` when the tree has no credential that Keystone accepts.
    """

    def __init__(self, tree_id: str, clouds: StackCloudCache) -> None:
        self.tree_id = tree_id
        self._clouds = clouds
        # Held for no request of a network: it keeps threads that begin together to one session,
        # which has one token.
        self._lock = threading.RLock()
        self._session: Session | None = None
        self._connection: Connection | None = None
        self._user_connections: dict[StackUser, Connection] = {}

    @cached_property
    def credential(self) -> Credential:
        """Stored credential of the tree."""
        found = self._clouds.load_credential(self.tree_id)
        if found is None or found.intent_name is not None:
            raise errors.AuthorizationFailure(
                "The service has no credential to act for the user of this stack. Update"
                " the stack as a user of its project."
            )
        return found

    @property
    def session(self) -> Session:
        """Session of keystoneauth that logs in with the credential."""
        with self._lock:
            if self._session is None:
                service = self._clouds.service_auth
                stack_auth = auth.create_stack_auth(
                    self.credential, service, self._evict, self.breakers
                )
                self._session = auth.create_session(self.settings, stack_auth, service.documents)
            return self._session

    @property
    def connection(self) -> Connection:
        """Connection of openstacksdk over the session."""
        with self._lock:
            if self._connection is None:
                self._connection = create_connection(self.session, self.settings, self.region)
            return self._connection

    def connect_as(self, user: StackUser) -> Connection:
        """Return a connection that logs in as a user of the tree, with its own password."""
        with self._lock:
            found = self._user_connections.get(user)
            if found is None:
                found = self._open_connection(user)
                if len(self._user_connections) >= MAX_USER_CONNECTIONS:
                    self._user_connections = {}
                self._user_connections[user] = found
            return found

    def _open_connection(self, user: StackUser) -> Connection:
        service = self._clouds.service_auth
        plugin = auth.create_user_auth(
            service, user.id, password=user.password, project_id=user.project_id
        )
        session = auth.create_session(self.settings, plugin, service.documents)
        return create_connection(session, self.settings, self.region)

    def connect_remote(self, access: RemoteAccess) -> Connection:
        """Return a connection to another cloud that has logged in there.

        Without a credential it is this cloud, with another verification of its certificates.

        Raises:
            StackValidationFailed: The credential or the certificates cannot be used.
            AuthorizationFailure: The other cloud refused the credential.
        """
        is_own = not access.credential
        connection = connect_remote_cloud(
            access,
            self.session.auth if is_own else create_plugin(access.credential),
            timeout_s=self.settings.timeout_s,
            allows_private_addresses=is_own or self.settings.remote_private_addresses,
        )
        if not is_own:
            check_login(connection)
        return connection

    @property
    def breakers(self) -> CircuitBreakers:
        """Circuit breakers of the process."""
        return self._clouds.breakers

    @property
    def users(self) -> StackUsers:
        """Keystone users that the tree creates for the senders of signals."""
        return self._clouds.users

    @property
    def software(self) -> Any:
        """A ``SoftwareConfigStore``."""
        return self._clouds.software

    @cached_property
    def heat_base_url(self) -> str:
        """Address of this service as servers reach it, without version and project."""
        how = self.settings
        if how.heat_url is not None:
            return endpoints.base_url_from_endpoint(how.heat_url)
        interface = how.interfaces.get("orchestration", how.interface)
        try:
            with translate_sdk_errors():
                found = self.session.get_endpoint(
                    service_type="orchestration",
                    interface=interface.removesuffix("URL"),
                    region_name=self.region,
                )
        except errors.ResourceTypeUnavailable as error:
            raise ResourceFailure(f"{_NO_HEAT_ENDPOINT}: {error}") from error
        if found is None:
            raise ResourceFailure(_NO_HEAT_ENDPOINT)
        return endpoints.base_url_from_endpoint(found)

    def signed_url_base(self, url_type: str) -> str:
        """Return the base of signed URLs; ``url_type`` is ``signal`` or ``waitcondition``."""
        waitcondition_url = self.settings.waitcondition_url
        if url_type == "waitcondition" and waitcondition_url is not None:
            return waitcondition_url.rstrip("/")
        return endpoints.signed_url_base(self.heat_base_url, url_type)

    @cached_property
    def metadata_url(self) -> str | None:
        """URL from which agents poll metadata; None when there is no such service."""
        url = self.settings.metadata_url
        if url is None:
            try:
                with translate_sdk_errors():
                    url = self.session.get_endpoint(
                        service_type="cloudformation",
                        interface=self.settings.interface.removesuffix("URL"),
                        region_name=self.region,
                    )
            except errors.ResourceTypeUnavailable:
                return None
        return None if url is None else endpoints.metadata_base_url(url)

    @property
    def server_auth_url(self) -> str:
        """URL of Keystone as servers reach it."""
        interface = self.settings.server_keystone_interface.removesuffix("URL")
        if interface:
            with translate_sdk_errors():
                found = self.session.get_endpoint(
                    service_type="identity", interface=interface, region_name=self.region
                )
            if found is None:
                raise ResourceFailure(f"Keystone has no {interface} endpoint for servers")
            return auth.keystone_v3_url(found)
        return auth.keystone_v3_url(self.settings.auth_uri or self._clouds.service_auth.auth_url)

    @property
    def region(self) -> str | None:
        """Region of the stack's endpoints; None for any."""
        return self.credential.region or self._clouds.settings.region

    @property
    def call_region(self) -> str:
        """Region that calls of the stack go to; empty when it is not known."""
        return self._clouds.call_region(self)

    @property
    def user_id(self) -> str:
        """The user on whose behalf the service acts."""
        return self.credential.user_id

    @property
    def settings(self) -> ClientSettings:
        """Settings of the clients."""
        return self._clouds.settings

    def _evict(self) -> None:
        # Another credential may have been stored meanwhile.
        self._clouds.evict(self.tree_id)

    def find_open_auth(self, credential: Credential) -> Any:
        """Return the plug-in of the open session; None without one of this credential."""
        with self._lock:
            if self._session is None or self.credential != credential:
                return None
            return self._session.auth

    def reauthenticate(self) -> None:
        """Log in again.

        Raises:
            AuthorizationFailure: Keystone refused.
            TemporaryFailure: Keystone did not answer.
        """
        session = self.session
        session.invalidate()
        with translate_sdk_errors():
            session.get_token()


class StackCloudCache:
    """``StackCloud`` by stack tree, limited to the most recently used. Thread-safe.

    Args:
        settings: Settings of the clients.
        service_auth: Authentication of the service itself.
        load_credential: Function that reads the credential of a tree.
        software: A ``SoftwareConfigStore``.
    """

    def __init__(
        self,
        settings: ClientSettings,
        service_auth: auth.ServiceAuth,
        load_credential: LoadCredential,
        software: Any = None,
    ) -> None:
        self.software = software
        self.settings = settings
        self.service_auth = service_auth
        self.load_credential = load_credential
        self.users = StackUsers(settings, service_auth)
        self.breakers = CircuitBreakers(settings.circuits)
        self._by_tree: OrderedDict[str, StackCloud] = OrderedDict()
        self._regions: OrderedDict[str, str] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, tree_id: str) -> StackCloud:
        """Return the cloud of a stack tree.

        Args:
            tree_id: ``Stack.tree_id``; nested stacks act as the user of their root.
        """
        with self._lock:
            found = self._by_tree.get(tree_id)
            if found is None:
                found = self._by_tree[tree_id] = StackCloud(tree_id, self)
            self._by_tree.move_to_end(tree_id)
            while len(self._by_tree) > MAX_CACHED_CLOUDS:
                self._by_tree.popitem(last=False)
            return found

    def find_open_auth(self, tree_id: str, credential: Credential) -> Any:
        """Return the plug-in that has logged in with a tree's credential; None without one."""
        with self._lock:
            found = self._by_tree.get(tree_id)
        return None if found is None else found.find_open_auth(credential)

    def call_region(self, cloud: StackCloud) -> str:
        """Return the region of a cloud's credential; empty where that cannot be read."""
        found = self._regions.get(cloud.tree_id)
        if found is None:
            try:
                found = cloud.region or ""
            except errors.Error:
                return ""  # the verb itself fails for the same reason
            with self._lock:
                self._regions[cloud.tree_id] = found
                while len(self._regions) > MAX_CACHED_REGIONS:
                    self._regions.popitem(last=False)
        return found

    def evict(self, tree_id: str) -> None:
        """Drop a tree's cloud, so that its credential is read again."""
        with self._lock:
            self._regions.pop(tree_id, None)
            self._by_tree.pop(tree_id, None)


class RequestCloud:
    """The cloud as the user of a request sees it, with the request's own token."""

    def __init__(
        self,
        auth: Any,
        settings: ClientSettings,
        region: str | None,
        breakers: CircuitBreakers,
        documents: VersionDocuments | None = None,
    ) -> None:
        self.breakers = breakers
        self._documents = documents
        self._auth = auth
        self._settings = settings
        self._region = region or settings.region

    @property
    def call_region(self) -> str:
        """Region that calls of the request go to; empty when it is not known."""
        return self._region or ""

    @cached_property
    def connection(self) -> Connection:
        """Connection of openstacksdk with the token of the request."""
        session = auth.create_session(self._settings, self._auth, self._documents)
        return create_connection(session, self._settings, self._region)
