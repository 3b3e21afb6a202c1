"""Handing the service the right to act for a user later, and giving it back.

Called by the API when a stack is made, and by the observer when it is gone.  Decides
what is asked of Keystone by ``deferred_auth_method``; stores nothing.
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
    """The user of one request.  ``auth`` is a keystoneauth plug-in that has the
    user's token; ``password`` what X-Auth-Key gave."""

    user_id: str
    project_id: str
    roles: tuple[str, ...]
    auth: Any
    region: str | None = None
    password: str | None = field(default=None, repr=False)


class CredentialIssuer:
    """The calls that make and revoke what a stack's credential stands for.

    What is made carries the name that it was made for, by which ``revoke`` finds what
    a crash has left behind (RULE 4).
    """

    def __init__(self, settings: ClientSettings, service: auth.ServiceAuth) -> None:
        self._settings = settings
        self._service = service

    def create_intent(self, requester: Requester, name: str) -> Credential:
        """What is to be stored before ``issue`` is called with the same."""
        method = self._settings.deferred_auth_method
        return Credential(
            method=method,
            user_id=requester.user_id,
            project_id=requester.project_id,
            secret={"mark": name},
            region=requester.region,
        )

    def issue(self, requester: Requester, name: str) -> Credential:
        """Takes from the user what the service needs to act for them; ``name`` is
        unique, for what Keystone wants named.

        Raises ``MissingCredentialError`` where the request or the user lacks
        something, ``AuthorizationFailure`` where Keystone refuses,
        ``TemporaryFailure`` where it does not answer.
        """
        method = self._settings.deferred_auth_method
        secret = self._makers[method](requester, name)
        return Credential(
            method=method,
            user_id=requester.user_id,
            project_id=requester.project_id,
            secret=secret,
            region=requester.region,
        )

    def revoke(self, credential: Credential) -> None:
        """Gives back what ``issue`` took; what is not there any more is no error.
        Raises as ``issue``."""
        if credential.intent_name is not None:
            for each in self._marked(credential, credential.intent_name):
                self.revoke(each)
        elif credential.method is DeferredAuthMethod.TRUSTS:
            trust_id = credential.secret["trust_id"]
            self._delete(credential, f"/OS-TRUST/trusts/{trust_id}")
        elif credential.method is DeferredAuthMethod.APPLICATION_CREDENTIAL:
            user_id, own_id = credential.user_id, credential.secret["id"]
            self._delete(credential, f"/users/{user_id}/application_credentials/{own_id}")

    # -- one way or another

    def _trust(self, requester: Requester, name: str) -> Mapping[str, str]:
        wanted = self._delegated(requester)
        body = {
            "trustor_user_id": requester.user_id,
            "trustee_user_id": self.trustee_user_id,
            "project_id": requester.project_id,
            "impersonation": True,
            "allow_redelegation": self._settings.allow_redelegation,
            "description": _name(name),
            "roles": [{"name": role} for role in wanted],
        }
        answer = self._as_user(requester, "/OS-TRUST/trusts", {"trust": body})
        return {"trust_id": answer["trust"]["id"]}

    def _application_credential(self, requester: Requester, name: str) -> Mapping[str, str]:
        # Unique: Keystone keeps names of earlier ones that could not be deleted.
        body: dict[str, Json] = {"name": f"{_name(name)}-{secrets.token_hex(4)}"}
        if self._settings.delegated_roles:
            body["roles"] = [{"name": role} for role in self._delegated(requester)]
        path = f"/users/{requester.user_id}/application_credentials"
        answer = self._as_user(requester, path, {"application_credential": body})
        made = answer["application_credential"]
        return {"id": made["id"], "secret": made["secret"]}

    def _password(self, requester: Requester, name: str) -> Mapping[str, str]:
        if not requester.password:
            raise errors.MissingCredentialError(
                "Missing required credential: X-Auth-Key. The service is configured to keep"
                " the user's password (deferred_auth_method)."
            )
        return {"password": requester.password}

    @property
    def _makers(self) -> Mapping[DeferredAuthMethod, Any]:
        return {
            DeferredAuthMethod.TRUSTS: self._trust,
            DeferredAuthMethod.APPLICATION_CREDENTIAL: self._application_credential,
            DeferredAuthMethod.PASSWORD: self._password,
        }

    def _delegated(self, requester: Requester) -> tuple[str, ...]:
        wanted = self._settings.delegated_roles or requester.roles
        missing = sorted(set(wanted) - set(requester.roles))
        if missing:
            raise errors.MissingCredentialError(
                f'Missing required credential: roles "{", ".join(missing)}" in the project,'
                " which the service is configured to be given (trusts_delegated_roles)."
            )
        return tuple(wanted)

    # -- what a crash has left behind

    def _marked(self, intent: Credential, mark: str) -> list[Credential]:
        """What was made for the intent: mostly nothing, or one."""
        found: list[Mapping[str, str]] = []
        if intent.method is DeferredAuthMethod.TRUSTS:
            query = {"trustee_user_id": self.trustee_user_id}
            known = self._listed(intent, "/OS-TRUST/trusts", "trusts", **query)
            found = [{"trust_id": each["id"]} for each in known
                     if each.get("description") == _name(mark)
                     and each["trustor_user_id"] == intent.user_id]  # fmt: skip
        elif intent.method is DeferredAuthMethod.APPLICATION_CREDENTIAL:
            what = "application_credentials"
            known = self._listed(intent, f"/users/{intent.user_id}/{what}", what)
            found = [{"id": each["id"], "secret": ""} for each in known
                     if each["name"].startswith(f"{_name(mark)}-")]  # fmt: skip
        return [replace(intent, secret=secret) for secret in found]

    def _listed(
        self, intent: Credential, path: str, key: str, **query: str
    ) -> list[dict[str, Json]]:
        """As the service; nothing where it may not list."""
        client = create_identity_adapter(self._own_session, self._settings, intent.region)
        with translate_keystone_errors("Keystone does not tell what was made"):
            try:
                found: list[dict[str, Json]] = client.get(path, params=query).json()[key]
            except (exceptions.Forbidden, exceptions.NotFound):
                return []
        return found

    # -- HTTP

    @cached_property
    def trustee_user_id(self) -> str:
        with translate_keystone_errors("the service's own user could not log in"):
            return str(self._own_session.get_user_id())

    @cached_property
    def _own_session(self) -> Session:
        return auth.create_session(self._settings, self._service.load_plugin())

    def _as_user(self, requester: Requester, path: str, body: Json) -> Json:
        session = auth.create_session(self._settings, requester.auth)
        client = create_identity_adapter(session, self._settings, requester.region)
        with translate_keystone_errors("Keystone does not let the service act for the user"):
            return client.post(path, json=body).json()

    def _delete(self, credential: Credential, path: str) -> None:
        """As the user who is acted for, or as the service, whichever may."""
        stack_auth = auth.create_stack_auth(credential, self._service)
        acting = auth.create_session(self._settings, stack_auth)
        with translate_keystone_errors("Keystone does not revoke it"):
            for session in (acting, self._own_session):
                try:
                    create_identity_adapter(session, self._settings, credential.region).delete(
                        path
                    )
                except (errors.AuthorizationFailure, exceptions.Forbidden):
                    continue  # nothing of the user's is left, or it may not do this
                except exceptions.NotFound:
                    pass
                return


def _name(of: str) -> str:
    return f"heat-{of}"


class _Silent(Adapter):  # type: ignore[misc]  # untyped library
    """What is sent and answered here has passwords and keys: none of it is logged."""

    def request(self, url: str, method: str, **kwargs: Any) -> Any:
        return super().request(url, method, **{"log": False, **kwargs})


def create_identity_adapter(
    session: Session, settings: ClientSettings, region: str | None = None
) -> Adapter:
    """Keystone's API, version 3, below a session; in the request's region, else in the
    operator's, else wherever the catalogue has it first."""
    interface = settings.interfaces.get("identity", settings.interface)
    return _Silent(
        session,
        service_type="identity",
        region_name=region or settings.region,
        interface=interface.removesuffix("URL"),
        min_version=(3,),
        max_version=(3, "latest"),
        connect_retries=settings.connect_retries,
    )


@contextmanager
def translate_keystone_errors(failure: str) -> Iterator[None]:
    """Keystone's answers as errors of this service."""
    try:
        yield
    except exceptions.HttpError as error:
        kind = errors.AuthorizationFailure
        if error.http_status not in _REFUSED:
            raise errors.TemporaryFailure(f"{failure}: {error}") from error
        raise kind(f"{failure}: {error}") from error
    except exceptions.ConnectionError as error:
        raise errors.TemporaryFailure(f"{failure}: Keystone does not answer") from error
    except exceptions.ClientException as error:
        raise errors.AuthorizationFailure(f"{failure}: {error}") from error
