"""Keystone users that stacks make, for guests and others who signal them.

Called by resource types, through ``View.cloud.users``.  They live in a domain of their
own (``stack_user_domain_id``), in a project of the stack tree's, with one role; nobody
else's rights are in reach of their passwords.  Every call may be repeated: what a lost
one has made is found by its name (RULE 4), and gone is gone.
"""

from __future__ import annotations

import json
import secrets
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from keystoneauth1 import exceptions
from keystoneauth1.adapter import Adapter
from keystoneauth1.identity.v3 import Password

from heat_convergence.clients import auth
from heat_convergence.clients.keystone import create_identity_adapter, translate_keystone_errors
from heat_convergence.clients.settings import ClientSettings
from heat_convergence.common import errors

Json = Any
_PASSWORD_BYTES = 24
_MAX_NAME = 64  # of projects; users' names may be longer


@dataclass(frozen=True, slots=True)
class StackUser:
    """A user in its own project, with its password."""

    id: str
    project_id: str
    password: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Ec2Keys:
    """With which a URL is signed, or a request."""

    access: str
    secret: str = field(repr=False)

    @classmethod
    def generate(cls) -> Ec2Keys:
        """Of nobody yet."""
        return cls(secrets.token_hex(16), secrets.token_hex(16))


class StackUsers:
    """Raises ``AuthorizationFailure`` where Keystone refuses, ``TemporaryFailure`` where
    it does not answer, ``MissingCredentialError`` where no domain is configured."""

    def __init__(self, settings: ClientSettings, service: auth.ServiceAuth) -> None:
        self._settings = settings
        self._service = service

    def ensure_project(self, tree_id: str) -> str:
        """Id of the tree's project; made the first time."""
        with _making("a project for the stack's users"):
            body = {
                "project": {
                    "name": tree_id[:_MAX_NAME],
                    "domain_id": self.domain_id,
                    "description": "Users of a stack",
                }
            }
            try:
                return str(self._api.post("/projects", json=body).json()["project"]["id"])
            except exceptions.Conflict:
                return self._named("projects", tree_id[:_MAX_NAME])

    def delete_project(self, project_id: str) -> None:
        self._delete(f"/projects/{project_id}")

    def delete_all(self, tree_id: str) -> None:
        """Deletes all that is left of a tree's users, what nobody wrote down included;
        nothing where no domain is configured."""
        if not self.is_configured:
            return
        with _making("deleting what the stack's users had"):
            query = {"name": tree_id[:_MAX_NAME], "domain_id": self.domain_id}
            for project in self._api.get("/projects", params=query).json()["projects"]:
                path = f"/role_assignments?scope.project.id={project['id']}"
                for each in self._api.get(path).json()["role_assignments"]:
                    if "user" in each:
                        self.delete_user(each["user"]["id"])
                self.delete_project(project["id"])

    def ensure_user(self, name: str, project_id: str, password: str | None = None) -> StackUser:
        """A user of that name with the one role in the project, and a new password."""
        password = password or secrets.token_urlsafe(_PASSWORD_BYTES)
        body = {
            "user": {
                "name": name,
                "password": password,
                "domain_id": self.domain_id,
                "default_project_id": project_id,
            }
        }
        with _making("a user of the stack"):
            try:
                user_id = str(self._api.post("/users", json=body).json()["user"]["id"])
            except exceptions.Conflict:  # of a call that was lost, as was its password
                user_id = self._named("users", name)
                self._api.patch(f"/users/{user_id}", json={"user": {"password": password}})
            self._api.put(f"/projects/{project_id}/users/{user_id}/roles/{self._role_id}")
        return StackUser(user_id, project_id, password)

    def find_user(self, name: str) -> str | None:
        """Id of the user of that name, if there is one."""
        with _making("a look for a user of the stack"):
            query = {"name": name, "domain_id": self.domain_id}
            found = self._api.get("/users", params=query).json()["users"]
        return str(found[0]["id"]) if found else None

    def set_user_enabled(self, user_id: str, *, enabled: bool) -> None:
        """Whether the user may log in; what was given out before stops working, too."""
        with _making("a change of a user of the stack"):
            self._api.patch(f"/users/{user_id}", json={"user": {"enabled": enabled}})

    def issue_token(self, user: StackUser) -> str:
        """One of the user's own; it runs out when Keystone says."""
        password_auth = Password(
            auth.keystone_v3_url(self._service.auth_url),
            user_id=user.id,
            password=user.password,
            project_id=user.project_id,
        )
        with _making("a token for a user of the stack"):
            return str(auth.create_session(self._settings, password_auth).get_token())

    def delete_user(self, user_id: str) -> None:
        self._delete(f"/users/{user_id}")

    def create_ec2_keys(self, user: StackUser, keys: Ec2Keys | None = None) -> Ec2Keys:
        """A new pair of keys, these if given; the user's deletion deletes it."""
        keys = keys or Ec2Keys.generate()
        body = {
            "credential": {
                "type": "ec2",
                "user_id": user.id,
                "project_id": user.project_id,
                "blob": json.dumps({"access": keys.access, "secret": keys.secret}),
            }
        }
        with _making("keys for a user of the stack"):
            self._api.post("/credentials", json=body)
        return keys

    def find_ec2_keys(self, user_id: str) -> Ec2Keys | None:
        """A pair that the user has."""
        with _making("a look for the keys of a user of the stack"):
            query = {"user_id": user_id, "type": "ec2"}
            found = self._api.get("/credentials", params=query).json()["credentials"]
        if not found:
            return None
        blob = json.loads(found[0]["blob"])
        return Ec2Keys(blob["access"], blob["secret"])

    @property
    def is_configured(self) -> bool:
        """Whether stacks can have users."""
        how = self._settings
        return bool(
            how.stack_domain_admin and (how.stack_user_domain_id or how.stack_user_domain_name)
        )

    # -- helpers

    @cached_property
    def _api(self) -> Adapter:
        how = self._settings
        if not self.is_configured:
            raise errors.MissingCredentialError(
                "Stacks can have no users: set stack_user_domain_id, stack_domain_admin and"
                " stack_domain_admin_password."
            )
        domain = {"domain_id": how.stack_user_domain_id}
        if not how.stack_user_domain_id:
            domain = {"domain_name": how.stack_user_domain_name}
        password_auth = Password(
            auth.keystone_v3_url(self._service.auth_url),
            username=how.stack_domain_admin,
            password=how.stack_domain_admin_password,
            **domain,
            **{f"user_{name}": value for name, value in domain.items()},
        )
        return create_identity_adapter(auth.create_session(how, password_auth), how)

    @cached_property
    def domain_id(self) -> str:
        if self._settings.stack_user_domain_id:
            return self._settings.stack_user_domain_id
        session: Any = self._api.session
        return str(session.auth.get_access(session).domain_id)

    @cached_property
    def _role_id(self) -> str:
        return self._named("roles", self._settings.stack_user_role)

    def _named(self, what: str, name: str) -> str:
        query = {"name": name}
        if what != "roles":
            query["domain_id"] = self.domain_id
        found = self._api.get(f"/{what}", params=query).json()[what]
        if len(found) != 1:
            raise errors.AuthorizationFailure(f'Keystone has no one of {what} named "{name}".')
        return str(found[0]["id"])

    def _delete(self, path: str) -> None:
        with _making("deleting what the stack's users had"), suppress(exceptions.NotFound):
            self._api.delete(path)


def _making(what: str) -> Any:
    return translate_keystone_errors(f"Keystone refused {what}")
