"""The cloud as one stack's user sees it: ``View.cloud`` of resource types.

A process has one ``StackCloudCache``; ``of(tree_id)`` costs nothing until a type uses what it
gets, so that stacks without a cloud need no credential.  What verbs do with it::

    with translated():                       # clients.failures: errors of this service
        server = view.cloud.connection.compute.get_server(view.physical_id)

Tokens are renewed by keystoneauth whenever they run out, however long an action
takes.  A revoked trust raises ``AuthorizationFailure``, which says what to do.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from functools import cached_property
from typing import Any

from keystoneauth1.session import Session
from openstack.config.cloud_region import from_session
from openstack.connection import Connection

from heat_convergence.clients import auth, endpoints
from heat_convergence.clients.credentials import Credential
from heat_convergence.clients.sdk_error_mapping import translate_sdk_errors
from heat_convergence.clients.settings import ClientSettings
from heat_convergence.clients.stack_users import StackUsers
from heat_convergence.common import errors

MAX_CACHED_CLOUDS = 512  # stack trees whose sessions a process keeps
_VOLUMES = "volumev3"
_NO_ADDRESS = "The catalogue has no orchestration service to signal at: set [clients_heat] url"

LoadCredential = Callable[[str], Credential | None]


class StackCloud:
    """``create_session`` (keystoneauth1) and ``connection`` (openstacksdk) of one stack tree.

    Both raise ``AuthorizationFailure`` when the tree has no credential that Keystone
    takes.  ``user_id`` is who is acted for.
    """

    def __init__(self, tree_id: str, clouds: StackCloudCache) -> None:
        self.tree_id = tree_id
        self._clouds = clouds

    @cached_property
    def credential(self) -> Credential:
        found = self._clouds.load_credential(self.tree_id)
        if found is None or found.intent_name is not None:
            raise errors.AuthorizationFailure(
                "The service was given nothing to act for this stack's user with. Update"
                " the stack as a user of its project."
            )
        return found

    @cached_property
    def session(self) -> Session:
        stack_auth = auth.create_stack_auth(
            self.credential, self._clouds.service_auth, self._forget
        )
        return auth.create_session(self._clouds.settings, stack_auth)

    @cached_property
    def connection(self) -> Connection:
        return create_connection(self.session, self._clouds.settings, self.region)

    @property
    def users(self) -> StackUsers:
        """The Keystone users that the tree makes for who signals it."""
        return self._clouds.users

    @property
    def software(self) -> Any:
        """``resources.software_deployments.SoftwareConfigStore``."""
        return self._clouds.software

    @cached_property
    def heat_base_url(self) -> str:
        """Where guests reach this service, without version and project."""
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
            raise errors.ResourceFailure(f"{_NO_ADDRESS}: {error}") from error
        if found is None:
            raise errors.ResourceFailure(_NO_ADDRESS)
        return endpoints.base_url_from_endpoint(found)

    def signed_url_base(self, url_type: str) -> str:
        """Below which signed URLs of that kind are: ``signal`` or ``waitcondition``."""
        given = self.settings.waitcondition_url
        if url_type == "waitcondition" and given is not None:
            return given.rstrip("/")
        return endpoints.signed_url_base(self.heat_base_url, url_type)

    @cached_property
    def metadata_url(self) -> str | None:
        """Where tools of guests ask for metadata; None where there is no such service."""
        given = self.settings.metadata_url
        if given is None:
            try:
                with translate_sdk_errors():
                    given = self.session.get_endpoint(
                        service_type="cloudformation",
                        interface=self.settings.interface.removesuffix("URL"),
                        region_name=self.region,
                    )
            except errors.ResourceTypeUnavailable:
                return None
        return None if given is None else endpoints.metadata_base_url(given)

    @property
    def guest_auth_url(self) -> str:
        """Keystone as guests reach it."""
        interface = self.settings.guest_keystone_interface.removesuffix("URL")
        if interface:
            with translate_sdk_errors():
                found = self.session.get_endpoint(
                    service_type="identity", interface=interface, region_name=self.region
                )
            if found is None:
                raise errors.ResourceFailure(f"Keystone has no {interface} endpoint for guests")
            return auth.keystone_v3_url(found)
        return auth.keystone_v3_url(self.settings.auth_uri or self._clouds.service_auth.auth_url)

    @property
    def region(self) -> str | None:
        return self.credential.region or self._clouds.settings.region

    @property
    def user_id(self) -> str:
        return self.credential.user_id

    @property
    def settings(self) -> ClientSettings:
        return self._clouds.settings

    def _forget(self) -> None:
        """Another one may have been stored meanwhile."""
        self._clouds.evict(self.tree_id)

    def reauthenticate(self) -> None:
        """Log in anew; raises ``AuthorizationFailure`` when Keystone refuses."""
        self.session.invalidate()
        self.session.get_token()


class StackCloudCache:
    """``FakeStackCloud`` by stack tree, the last used ones kept.  Thread-safe."""

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
        self._kept: OrderedDict[str, StackCloud] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, tree_id: str) -> StackCloud:
        """``tree_id`` is ``Stack.tree_id``: nested stacks act as their root's user."""
        with self._lock:
            found = self._kept.get(tree_id)
            if found is None:
                found = self._kept[tree_id] = StackCloud(tree_id, self)
            self._kept.move_to_end(tree_id)
            while len(self._kept) > MAX_CACHED_CLOUDS:
                self._kept.popitem(last=False)
            return found

    def evict(self, tree_id: str) -> None:
        """Read the credential anew next time."""
        with self._lock:
            self._kept.pop(tree_id, None)


class RequestCloud:
    """The cloud as the user of a request sees it, by the request's own token."""

    def __init__(self, auth: Any, settings: ClientSettings, region: str | None) -> None:
        self._auth = auth
        self._settings = settings
        self._region = region or settings.region

    @cached_property
    def connection(self) -> Connection:
        session = auth.create_session(self._settings, self._auth)
        return create_connection(session, self._settings, self._region)


def create_connection(
    session: Session, settings: ClientSettings, region: str | None
) -> Connection:
    """openstacksdk over a session, with the interfaces and regions of the options."""
    config: dict[str, Any] = {"interface": settings.interface.removesuffix("URL")}
    for name, interface in settings.interfaces.items():
        config[f"{name}_interface"] = interface.removesuffix("URL")
    if settings.shared_services_region is not None:
        for kind in settings.shared_service_types:
            name = "block_storage" if kind == _VOLUMES else kind.replace("-", "_")
            config[f"{name}_region_name"] = settings.shared_services_region
    where = from_session(session, region_name=region, app_name="heat-convergence", **config)
    return Connection(config=where)
