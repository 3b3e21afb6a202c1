"""The operations for which the service's own account and the domain administrator are used.

The only module, beside ``auth`` that loads them, that logs in as either: whatever acts with their
power calls an operation that has a name here. Decides nothing about stacks. Ids are checked before
they stand in a path, since those of an adopted document may be any text.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from contextlib import suppress
from functools import cached_property
from typing import Any

from keystoneauth1 import exceptions
from keystoneauth1.adapter import Adapter
from keystoneauth1.identity.v3 import Password
from keystoneauth1.session import Session

from heat_convergence.clients import auth
from heat_convergence.clients.identity_api import (
    create_identity_adapter,
    translate_keystone_errors,
)
from heat_convergence.clients.settings import ClientSettings
from heat_convergence.common import errors

Json = Any
_ANY_NAME = "heat-convergence"  # Keystone refuses a query for an empty name
_ID = re.compile(r"[0-9A-Za-z_-]{1,64}")


class ServiceAccount:
    """The service's own user in Keystone: the trustee of trusts, and a verifier of signatures."""

    def __init__(self, settings: ClientSettings, service: auth.ServiceAuth) -> None:
        self._settings = settings
        self._service = service

    @cached_property
    def user_id(self) -> str:
        """Id of the account, to which trusts are given."""
        with translate_keystone_errors("the service's user could not log in"):
            return str(self._session.get_user_id())

    def find_endpoint(self, service_type: str) -> str | None:
        """Return the URL of a service in the catalog of the account, or None."""
        with translate_keystone_errors("Keystone did not list the services"):
            found = self._session.get_endpoint(
                service_type=service_type,
                interface=self._settings.interface.removesuffix("URL"),
                region_name=self._settings.region,
            )
        return None if found is None else str(found)

    def list_trusts(self, region: str | None) -> list[dict[str, Json]]:
        """Return the trusts that were given to the service; none if it may not list them."""
        query = {"trustee_user_id": self.user_id}
        return self._list("/OS-TRUST/trusts", "trusts", region, query)

    def list_application_credentials(
        self, user_id: str, region: str | None
    ) -> list[dict[str, Json]]:
        """Return the application credentials of a user; none if the service may not list them."""
        key = "application_credentials"
        return self._list(f"/users/{_checked(user_id)}/{key}", key, region, {})

    def delete_trust(self, trust_id: str, region: str | None) -> None:
        """Delete a trust; do nothing if it is missing or the service may not delete it."""
        self._delete(f"/OS-TRUST/trusts/{_checked(trust_id)}", region)

    def delete_application_credential(
        self, user_id: str, credential_id: str, region: str | None
    ) -> None:
        """Delete a user's application credential, as ``delete_trust`` deletes a trust."""
        path = f"/users/{_checked(user_id)}/application_credentials/{_checked(credential_id)}"
        self._delete(path, region)

    def validate_signature(self, credentials: Mapping[str, Any]) -> Mapping[str, Json]:
        """Return the token document of the user whose EC2 keys signed a request.

        Raises:
            AuthorizationFailure: The signature is invalid.
        """
        with translate_keystone_errors("Keystone rejected the signature"):
            answer = self._client(None).post("/ec2tokens", json={"credentials": credentials})
            found: Mapping[str, Json] = answer.json()["token"]
        return found

    def issue_token(self, credentials: Mapping[str, Any]) -> str:
        """Return a token of the user whose EC2 keys signed a request.

        Raises:
            AuthorizationFailure: The signature is invalid, or nobody has the keys.
        """
        with translate_keystone_errors("Keystone rejected the signature"):
            try:
                answer = self._client(None).post("/ec2tokens", json={"credentials": credentials})
            except exceptions.NotFound as error:
                raise errors.AuthorizationFailure("Nobody has this access key") from error
        token: str = answer.headers["X-Subject-Token"]
        return token

    def _list(
        self, path: str, key: str, region: str | None, query: Mapping[str, str]
    ) -> list[dict[str, Json]]:
        with translate_keystone_errors("Keystone did not list the credentials"):
            try:
                found: list[dict[str, Json]] = (
                    self._client(region).get(path, params=dict(query)).json()[key]
                )
            except (exceptions.Forbidden, exceptions.NotFound):
                return []
        return found

    def _delete(self, path: str, region: str | None) -> None:
        with suppress(exceptions.Forbidden, exceptions.NotFound):
            self._client(region).delete(path)

    @cached_property
    def _session(self) -> Session:
        return auth.create_session(
            self._settings, self._service.own_plugin, self._service.documents
        )

    def _client(self, region: str | None) -> Adapter:
        return create_identity_adapter(self._session, self._settings, region)


class DomainAdministrator:
    """The administrator of the domain in which stacks have users.

    Users and projects of other domains are refused before they are changed, whatever Keystone's
    policies allow the administrator. Raises keystoneauth's errors, which its caller translates.
    """

    def __init__(self, settings: ClientSettings, service: auth.ServiceAuth) -> None:
        self._settings = settings
        self._service = service

    @property
    def is_configured(self) -> bool:
        """True when the configuration names the administrator and the domain."""
        settings = self._settings
        return bool(
            settings.stack_domain_admin
            and (settings.stack_user_domain_id or settings.stack_user_domain_name)
        )

    @cached_property
    def domain_id(self) -> str:
        """Id of the domain."""
        if self._settings.stack_user_domain_id:
            return self._settings.stack_user_domain_id
        session: Any = self._client.session
        return str(session.auth.get_access(session).domain_id)

    def check_access(self) -> str:
        """Log in, find the role of stacks' users, and return the id of the domain."""
        self.list_projects(_ANY_NAME)
        return self.domain_id if self._role_id else ""

    # -- projects

    def create_project(self, name: str) -> str:
        """Create a project and return its id; raise ``Conflict`` for a known name."""
        body = {"name": name, "domain_id": self.domain_id, "description": "Users of a stack"}
        answer = self._client.post("/projects", json={"project": body})
        return str(answer.json()["project"]["id"])

    def list_projects(self, name: str) -> list[str]:
        """Return the ids of the projects of that name: one, or none."""
        query = {"name": name, "domain_id": self.domain_id}
        found = self._client.get("/projects", params=query).json()["projects"]
        return [str(each["id"]) for each in found]

    def rename_project(self, project_id: str, name: str) -> None:
        """Rename a project of the domain."""
        body = {"project": {"name": name}}
        self._client.patch(f"/projects/{_checked(project_id)}", json=body)

    def list_project_users(self, project_id: str) -> list[str]:
        """Return the ids of the users with a role in a project."""
        query = {"scope.project.id": project_id}
        found = self._client.get("/role_assignments", params=query).json()["role_assignments"]
        return sorted({str(each["user"]["id"]) for each in found if "user" in each})

    def delete_project(self, project_id: str) -> None:
        """Delete a project of ``list_projects``."""
        self._client.delete(f"/projects/{_checked(project_id)}")

    # -- users

    def create_user(self, name: str, project_id: str, password: str) -> str:
        """Create a user and return its id; raise ``Conflict`` for a known name."""
        body = {
            "name": name,
            "password": password,
            "domain_id": self.domain_id,
            "default_project_id": project_id,
        }
        return str(self._client.post("/users", json={"user": body}).json()["user"]["id"])

    def find_user(self, name: str) -> str | None:
        """Return the id of the user of that name, or None."""
        query = {"name": name, "domain_id": self.domain_id}
        found = self._client.get("/users", params=query).json()["users"]
        return str(found[0]["id"]) if found else None

    def get_user(self, user_id: str) -> Mapping[str, Json] | None:
        """Return a user of the domain; None for one of another domain, or a missing one."""
        if _ID.fullmatch(user_id) is None:
            return None
        try:
            answer = self._client.get(f"/users/{_checked(user_id)}")
        except exceptions.NotFound:
            return None
        found: Mapping[str, Json] = answer.json()["user"]
        return found if found.get("domain_id") == self.domain_id else None

    def set_password(self, user_id: str, password: str) -> None:
        """Set the password of a user of the domain."""
        self._update_user(user_id, {"password": password})

    def set_enabled(self, user_id: str, *, enabled: bool) -> None:
        """Enable or disable a user of the domain."""
        self._update_user(user_id, {"enabled": enabled})

    def assign_role(self, user_id: str, project_id: str) -> None:
        """Give a user the role of stacks' users in a project."""
        self._client.put(
            f"/projects/{_checked(project_id)}/users/{_checked(user_id)}/roles/{self._role_id}"
        )

    def delete_user(self, user_id: str) -> None:
        """Delete a user of the domain; do nothing about any other."""
        if self.get_user(user_id) is not None:
            self._client.delete(f"/users/{_checked(user_id)}")

    # -- EC2 keys of these users

    def store_ec2_keys(self, user_id: str, project_id: str, blob: Mapping[str, str]) -> None:
        """Store a pair of keys for a user."""
        body = {
            "type": "ec2",
            "user_id": user_id,
            "project_id": project_id,
            "blob": json.dumps(dict(blob)),
        }
        self._client.post("/credentials", json={"credential": body})

    def find_ec2_keys(self, user_id: str) -> Mapping[str, str] | None:
        """Return the first pair of keys of a user, or None."""
        query = {"user_id": user_id, "type": "ec2"}
        found = self._client.get("/credentials", params=query).json()["credentials"]
        return dict(json.loads(found[0]["blob"])) if found else None

    def get_ec2_keys(self, access: str) -> Mapping[str, str] | None:
        """Return the secret and the project of an access key; None without one."""
        try:
            answer = self._client.get(f"/credentials/{_credential_id(access)}")
        except exceptions.NotFound:
            return None
        found = answer.json()["credential"]
        secret = json.loads(found["blob"])["secret"]
        return {"secret": secret, "project_id": str(found.get("project_id"))}

    def delete_ec2_keys(self, access: str) -> None:
        """Delete the pair of an access key; raise ``NotFound`` for a missing one."""
        self._client.delete(f"/credentials/{_credential_id(access)}")

    # -- helpers

    def _update_user(self, user_id: str, values: Mapping[str, Json]) -> None:
        if self.get_user(user_id) is None:
            raise errors.AuthorizationFailure(
                "A user who is not in the domain of the stacks' users is not changed."
            )
        self._client.patch(f"/users/{_checked(user_id)}", json={"user": dict(values)})

    @cached_property
    def _role_id(self) -> str:
        name = self._settings.stack_user_role
        found = self._client.get("/roles", params={"name": name}).json()["roles"]
        if len(found) != 1:
            raise errors.AuthorizationFailure(
                f'Keystone does not have exactly one of roles named "{name}".'
            )
        return str(found[0]["id"])

    @cached_property
    def _client(self) -> Adapter:
        settings = self._settings
        if not self.is_configured:
            raise errors.MissingCredentialError(
                "Stacks cannot have users: set stack_user_domain_id, stack_domain_admin and"
                " stack_domain_admin_password."
            )
        domain_id = settings.stack_user_domain_id or None
        domain_name = None if domain_id else settings.stack_user_domain_name
        password_auth = Password(
            auth.keystone_v3_url(self._service.auth_url),
            username=settings.stack_domain_admin,
            password=settings.stack_domain_admin_password or "",
            domain_id=domain_id,
            domain_name=domain_name,
            user_domain_id=domain_id,
            user_domain_name=domain_name,
        )
        session = auth.create_session(settings, password_auth, self._service.documents)
        return create_identity_adapter(session, settings)


def _credential_id(access: str) -> str:
    """Return the id that Keystone derives from an access key."""
    return hashlib.sha256(access.encode()).hexdigest()


def _checked(record_id: str) -> str:
    """Return an id of Keystone.

    Raises:
        AuthorizationFailure: The text would be more than one part of a path, or no part.
    """
    if _ID.fullmatch(record_id) is None:
        raise errors.AuthorizationFailure("An id in the data of a resource is no id of Keystone.")
    return record_id
