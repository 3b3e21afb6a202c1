"""Keystone calls that delegate the rights of a user to the service, and revoke them.

Called by the API when a stack is created, and by the observer after it has been deleted.
Decides by ``deferred_auth_method`` what is requested from Keystone; stores nothing.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from keystoneauth1 import exceptions
from keystoneauth1.adapter import Adapter
from keystoneauth1.session import Session

from heat_convergence.clients import auth
from heat_convergence.clients.credentials import Credential
from heat_convergence.clients.settings import ClientSettings, DeferredAuthMethod
from heat_convergence.common import errors

Json = Any
_REFUSED = (400, 401, 403, 404)


@dataclass(frozen=True, slots=True)
class Requester:
    """The user of one request.

    Attributes:
        user_id: Id of the user.
        project_id: Project of the request's token.
        roles: Names of the user's roles in the project.
        auth: keystoneauth plug-in with the user's token.
        region: Region that the request names.
        password: Content of X-Auth-Key.
    """

    user_id: str
    project_id: str
    roles: tuple[str, ...]
    auth: Any
    region: str | None = None
    password: str | None = field(default=None, repr=False)


class CredentialIssuer:
    """Keystone calls that create and revoke the credentials of stacks.

    A created credential carries the name of its intent, by which ``revoke`` finds what a crash
    has left behind (RULE 4).
    """

    def __init__(self, settings: ClientSettings, service: auth.ServiceAuth) -> None:
        self._settings = settings
        self._service = service

    def create_intent(self, requester: Requester, name: str) -> Credential:
        """Return the intent to store before ``issue`` is called with the same arguments."""
        method = self._settings.deferred_auth_method
        return Credential(
            method=method,
            user_id=requester.user_id,
            project_id=requester.project_id,
            secret={"mark": name},
            region=requester.region,
        )

    def issue(self, requester: Requester, name: str) -> Credential:
        """Create a credential with which the service can act for the user.

        Args:
            requester: The user.
            name: Unique name of what is created in Keystone.

        Raises:
            MissingCredentialError: The request or the user lacks something.
            AuthorizationFailure: Keystone refused.
            TemporaryFailure: Keystone did not answer.
        """
        method = self._settings.deferred_auth_method
        secret = self._create_secret_by_method[method](requester, name)
        return Credential(
            method=method,
            user_id=requester.user_id,
            project_id=requester.project_id,
            secret=secret,
            region=requester.region,
        )

    def revoke(self, credential: Credential) -> None:
        """Revoke a credential, or everything that was created for an intent.

        Missing records are no error. Raises the errors of ``issue``.
        """
        if credential.intent_name is not None:
            for each in self._created_for(credential, credential.intent_name):
                self.revoke(each)
        elif credential.method is DeferredAuthMethod.TRUSTS:
            trust_id = credential.secret["trust_id"]
            self._delete(credential, f"/OS-TRUST/trusts/{trust_id}")
        elif credential.method is DeferredAuthMethod.APPLICATION_CREDENTIAL:
            user_id, own_id = credential.user_id, credential.secret["id"]
            self._delete(credential, f"/users/{user_id}/application_credentials/{own_id}")

    # -- one method for each DeferredAuthMethod

    def _trust(self, requester: Requester, name: str) -> Mapping[str, str]:
        role_names = self._delegated_roles(requester)
        body = {
            "trustor_user_id": requester.user_id,
            "trustee_user_id": self.trustee_user_id,
            "project_id": requester.project_id,
            "impersonation": True,
            "allow_redelegation": self._settings.allow_redelegation,
            "description": _record_name(name),
            "roles": [{"name": role} for role in role_names],
        }
        response = self._as_user(requester, "/OS-TRUST/trusts", {"trust": body})
        return {"trust_id": response["trust"]["id"]}

    def _application_credential(self, requester: Requester, name: str) -> Mapping[str, str]:
        # Unique, since Keystone keeps the names of those that could not be deleted.
        body: dict[str, Json] = {"name": f"{_record_name(name)}-{secrets.token_hex(4)}"}
        if self._settings.delegated_roles:
            body["roles"] = [{"name": role} for role in self._delegated_roles(requester)]
        path = f"/users/{requester.user_id}/application_credentials"
        response = self._as_user(requester, path, {"application_credential": body})
        made = response["application_credential"]
        return {"id": made["id"], "secret": made["secret"]}

    def _password(self, requester: Requester, name: str) -> Mapping[str, str]:
        if not requester.password:
            raise errors.MissingCredentialError(
                "Missing required credential: X-Auth-Key. The service is configured to store"
                " the user's password (deferred_auth_method)."
            )
        return {"password": requester.password}

    @property
    def _create_secret_by_method(self) -> Mapping[DeferredAuthMethod, Any]:
        return {
            DeferredAuthMethod.TRUSTS: self._trust,
            DeferredAuthMethod.APPLICATION_CREDENTIAL: self._application_credential,
            DeferredAuthMethod.PASSWORD: self._password,
        }

    def _delegated_roles(self, requester: Requester) -> tuple[str, ...]:
        role_names = self._settings.delegated_roles or requester.roles
        missing = sorted(set(role_names) - set(requester.roles))
        if missing:
            raise errors.MissingCredentialError(
                f'Missing required credential: roles "{", ".join(missing)}" in the project,'
                " which users have to delegate to the service (trusts_delegated_roles)."
            )
        return tuple(role_names)

    # -- leftovers of a crash

    def _created_for(self, intent: Credential, intent_name: str) -> list[Credential]:
        """Return the credentials that were created for an intent: mostly none, or one."""
        found: list[Mapping[str, str]] = []
        if intent.method is DeferredAuthMethod.TRUSTS:
            query = {"trustee_user_id": self.trustee_user_id}
            known = self._list(intent, "/OS-TRUST/trusts", "trusts", **query)
            found = [{"trust_id": each["id"]} for each in known
                     if each.get("description") == _record_name(intent_name)
                     and each["trustor_user_id"] == intent.user_id]  # fmt: skip
        elif intent.method is DeferredAuthMethod.APPLICATION_CREDENTIAL:
            what = "application_credentials"
            known = self._list(intent, f"/users/{intent.user_id}/{what}", what)
            found = [{"id": each["id"], "secret": ""} for each in known
                     if each["name"].startswith(f"{_record_name(intent_name)}-")]  # fmt: skip
        return [replace(intent, secret=secret) for secret in found]

    def _list(
        self, intent: Credential, path: str, key: str, **query: str
    ) -> list[dict[str, Json]]:
        """Return records that the service lists; none where it may not list."""
        client = create_identity_adapter(self._own_session, self._settings, intent.region)
        with translate_keystone_errors("Keystone did not list the credentials"):
            try:
                found: list[dict[str, Json]] = client.get(path, params=query).json()[key]
            except (exceptions.Forbidden, exceptions.NotFound):
                return []
        return found

    # -- HTTP

    @cached_property
    def trustee_user_id(self) -> str:
        """Id of the service's own user, to which trusts are given."""
        with translate_keystone_errors("the service's user could not log in"):
            return str(self._own_session.get_user_id())

    @cached_property
    def _own_session(self) -> Session:
        return auth.create_session(self._settings, self._service.load_plugin())

    def _as_user(self, requester: Requester, path: str, body: Json) -> Json:
        session = auth.create_session(self._settings, requester.auth)
        client = create_identity_adapter(session, self._settings, requester.region)
        with translate_keystone_errors("Keystone did not let the service act for the user"):
            return client.post(path, json=body).json()

    def _delete(self, credential: Credential, path: str) -> None:
        """Delete a record as the user acted for or as the service, whichever may."""
        stack_auth = auth.create_stack_auth(credential, self._service)
        acting = auth.create_session(self._settings, stack_auth)
        with translate_keystone_errors("Keystone did not revoke the credential"):
            for session in (acting, self._own_session):
                try:
                    create_identity_adapter(session, self._settings, credential.region).delete(
                        path
                    )
                except (errors.AuthorizationFailure, exceptions.Forbidden):
                    continue  # the credential is revoked, or this user may not delete it
                except exceptions.NotFound:
                    pass
                return


def _record_name(name: str) -> str:
    return f"heat-{name}"


class _SilentAdapter(Adapter):
    """An adapter that logs nothing, since passwords and keys pass through it."""

    def request(self, url: str, method: str, **kwargs: Any) -> Any:
        """Send a request without logging it."""
        return super().request(url, method, **{"log": False, **kwargs})


def create_identity_adapter(
    session: Session, settings: ClientSettings, region: str | None = None
) -> Adapter:
    """Return an adapter for version 3 of Keystone's API.

    The region is that of the request, else the configured one, else the first of the catalog.
    """
    interface = settings.interfaces.get("identity", settings.interface)
    return _SilentAdapter(
        session,
        service_type="identity",
        region_name=region or settings.region,
        interface=interface.removesuffix("URL"),
        min_version="3",
        max_version="3.latest",
        connect_retries=settings.connect_retries,
    )


@contextmanager
def translate_keystone_errors(failure: str) -> Iterator[None]:
    """Translate errors of Keystone into errors of this service that begin with ``failure``."""
    try:
        yield
    except exceptions.HttpError as error:
        if error.http_status not in _REFUSED:
            raise errors.TemporaryFailure(f"{failure}: {error}") from error
        raise errors.AuthorizationFailure(f"{failure}: {error}") from error
    except exceptions.ConnectionError as error:
        raise errors.TemporaryFailure(f"{failure}: Keystone did not answer") from error
    except exceptions.ClientException as error:
        raise errors.AuthorizationFailure(f"{failure}: {error}") from error
