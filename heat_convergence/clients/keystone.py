"""Keystone calls that delegate the rights of a user to the service, and revoke them.

Called by the API when a stack is created, and by the observer after it has been deleted.
Decides by ``deferred_auth_method`` what is requested from Keystone; stores nothing.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from keystoneauth1 import exceptions
from keystoneauth1.session import Session

from heat_convergence.clients import auth
from heat_convergence.clients.credentials import Credential, shared_trust_secret
from heat_convergence.clients.identity_api import (
    create_identity_adapter,
    translate_keystone_errors,
)
from heat_convergence.clients.service_account import ServiceAccount
from heat_convergence.clients.settings import ClientSettings, DeferredAuthMethod
from heat_convergence.common import errors

Json = Any


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
        self._account = ServiceAccount(settings, service)

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

    def revoke(self, credential: Credential, plugin: Any = None) -> None:
        """Revoke a credential, or everything that was created for an intent.

        Missing records are no error. Raises the errors of ``issue``.

        Args:
            credential: The credential.
            plugin: The plug-in that has logged in with it, if any.
        """
        if credential.intent_name is not None:
            for each in self._created_for(credential, credential.intent_name):
                self.revoke(each)
        elif credential.is_shared:
            return  # the stack that created the trust revokes it
        elif credential.method is DeferredAuthMethod.TRUSTS:
            trust_id, region = credential.secret["trust_id"], credential.region
            self._delete(
                credential,
                f"/OS-TRUST/trusts/{trust_id}",
                lambda: self._account.delete_trust(trust_id, region),
                plugin,
            )
        elif credential.method is DeferredAuthMethod.APPLICATION_CREDENTIAL:
            user_id, own_id, region = (
                credential.user_id,
                credential.secret["id"],
                credential.region,
            )
            self._delete(
                credential,
                f"/users/{user_id}/application_credentials/{own_id}",
                lambda: self._account.delete_application_credential(user_id, own_id, region),
                plugin,
            )

    # -- one method for each DeferredAuthMethod

    def _trust(self, requester: Requester, name: str) -> Mapping[str, str]:
        own_trust_id = self._trust_of_own_token(requester)
        if own_trust_id is not None:
            return shared_trust_secret(own_trust_id)
        role_names = self._delegated_roles(requester)
        body = {
            "trustor_user_id": requester.user_id,
            "trustee_user_id": self._account.user_id,
            "project_id": requester.project_id,
            "impersonation": True,
            "allow_redelegation": self._settings.allow_redelegation,
            "description": _record_name(name),
            "roles": [{"name": role} for role in role_names],
        }
        response = self._as_user(requester, "/OS-TRUST/trusts", {"trust": body})
        return {"trust_id": response["trust"]["id"]}

    def _trust_of_own_token(self, requester: Requester) -> str | None:
        """Return the trust of a token that this service itself requested, or None.

        Such a token comes from an ``OS::Heat::Stack`` of another stack.  Keystone creates no
        trust for it unless trusts may be redelegated, but the same trust serves both stacks.
        """
        if self._settings.allow_redelegation or requester.auth is None:
            return None
        session = self._session(requester.auth)
        with translate_keystone_errors("Keystone did not tell the token's trust"):
            access = requester.auth.get_access(session)
        if access.trust_id is None or access.trustee_user_id != self._account.user_id:
            return None
        return str(access.trust_id)

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
            known = self._account.list_trusts(intent.region)
            found = [{"trust_id": each["id"]} for each in known
                     if each.get("description") == _record_name(intent_name)
                     and each["trustor_user_id"] == intent.user_id]  # fmt: skip
        elif intent.method is DeferredAuthMethod.APPLICATION_CREDENTIAL:
            known = self._account.list_application_credentials(intent.user_id, intent.region)
            found = [{"id": each["id"], "secret": ""}  # nosec B105  # it was never stored
                     for each in known
                     if each["name"].startswith(f"{_record_name(intent_name)}-")]  # fmt: skip
        return [replace(intent, secret=secret) for secret in found]

    # -- HTTP

    def _session(self, plugin: Any) -> Session:
        return auth.create_session(self._settings, plugin, self._service.documents)

    def _as_user(self, requester: Requester, path: str, body: Json) -> Json:
        session = self._session(requester.auth)
        client = create_identity_adapter(session, self._settings, requester.region)
        with translate_keystone_errors("Keystone did not let the service act for the user"):
            return client.post(path, json=body).json()

    def _delete(
        self,
        credential: Credential,
        path: str,
        delete_as_service: Callable[[], None],
        plugin: Any,
    ) -> None:
        """Delete a record as the user acted for or as the service, whichever may."""
        session = self._session(plugin or auth.create_stack_auth(credential, self._service))
        client = create_identity_adapter(session, self._settings, credential.region)
        with translate_keystone_errors("Keystone did not revoke the credential"):
            try:
                client.delete(path)
            except (errors.AuthorizationFailure, exceptions.Forbidden):
                # The credential is revoked already, or may not delete itself.
                delete_as_service()
            except exceptions.NotFound:
                pass


def _record_name(name: str) -> str:
    return f"heat-{name}"
