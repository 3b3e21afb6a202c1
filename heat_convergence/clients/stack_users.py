"""Keystone users that stacks create for servers and other senders of signals.

Called by resource types through ``ResourceContext.cloud.users``. The users live in a domain of
their own (``stack_user_domain_id``), in a project of the stack tree, with one role; their
passwords give access to nothing else. Every call can be repeated: what a lost call has created
is found by its name (RULE 4), and deleting a missing record is no error.
"""

from __future__ import annotations

import json
import secrets
from contextlib import AbstractContextManager, suppress
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
_MAX_PROJECT_NAME = 64  # names of users may be longer


@dataclass(frozen=True, slots=True)
class StackUser:
    """A user in the project of its stack tree, with its password."""

    id: str
    project_id: str
    password: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Ec2Keys:
    """An EC2 access key and secret, with which URLs and requests are signed."""

    access: str
    secret: str = field(repr=False)

    @classmethod
    def generate(cls) -> Ec2Keys:
        """Return a new pair that belongs to no user yet."""
        return cls(secrets.token_hex(16), secrets.token_hex(16))


class StackUsers:
    """Users of stack trees in Keystone.

    All methods raise ``AuthorizationFailure`` when Keystone refuses, ``TemporaryFailure`` when
    it does not answer, and ``MissingCredentialError`` when no domain is configured.
    """

    def __init__(self, settings: ClientSettings, service: auth.ServiceAuth) -> None:
        self._settings = settings
        self._service = service

    def ensure_project(self, tree_id: str) -> str:
        """Return the id of the tree's project, created the first time."""
        with _keystone_call("create the project of the stack's users"):
            body = {
                "project": {
                    "name": tree_id[:_MAX_PROJECT_NAME],
                    "domain_id": self.domain_id,
                    "description": "Users of a stack",
                }
            }
            try:
                return str(self._api.post("/projects", json=body).json()["project"]["id"])
            except exceptions.Conflict:
                return self._find_id("projects", tree_id[:_MAX_PROJECT_NAME])

    def delete_project(self, project_id: str) -> None:
        """Delete a project; a missing one is no error."""
        self._delete(f"/projects/{project_id}")

    def delete_all(self, tree_id: str) -> None:
        """Delete all users and projects of a tree, including those that were never recorded.

        Does nothing when no domain is configured.
        """
        if not self.is_configured:
            return
        with _keystone_call("delete the stack's users"):
            query = {"name": tree_id[:_MAX_PROJECT_NAME], "domain_id": self.domain_id}
            for project in self._api.get("/projects", params=query).json()["projects"]:
                path = f"/role_assignments?scope.project.id={project['id']}"
                for each in self._api.get(path).json()["role_assignments"]:
                    if "user" in each:
                        self.delete_user(each["user"]["id"])
                self.delete_project(project["id"])

    def ensure_user(self, name: str, project_id: str, password: str | None = None) -> StackUser:
        """Return a user with that name, the role in the project and a new password."""
        password = password or secrets.token_urlsafe(_PASSWORD_BYTES)
        body = {
            "user": {
                "name": name,
                "password": password,
                "domain_id": self.domain_id,
                "default_project_id": project_id,
            }
        }
        with _keystone_call("create a user of the stack"):
            try:
                user_id = str(self._api.post("/users", json=body).json()["user"]["id"])
            except exceptions.Conflict:  # created by a lost call; its password is lost, too
                user_id = self._find_id("users", name)
                self._api.patch(f"/users/{user_id}", json={"user": {"password": password}})
            self._api.put(f"/projects/{project_id}/users/{user_id}/roles/{self._role_id}")
        return StackUser(user_id, project_id, password)

    def find_user(self, name: str) -> str | None:
        """Return the id of the user with that name, or None."""
        with _keystone_call("find a user of the stack"):
            query = {"name": name, "domain_id": self.domain_id}
            found = self._api.get("/users", params=query).json()["users"]
        return str(found[0]["id"]) if found else None

    def set_user_enabled(self, user_id: str, *, enabled: bool) -> None:
        """Enable or disable a user; disabling also invalidates its tokens and keys."""
        with _keystone_call("change a user of the stack"):
            self._api.patch(f"/users/{user_id}", json={"user": {"enabled": enabled}})

    def issue_token(self, user: StackUser) -> str:
        """Return a token of the user, which expires as Keystone is configured."""
        password_auth = Password(
            auth.keystone_v3_url(self._service.auth_url),
            user_id=user.id,
            password=user.password,
            project_id=user.project_id,
        )
        with _keystone_call("issue a token to a user of the stack"):
            return str(auth.create_session(self._settings, password_auth).get_token())

    def owns(self, tree_id: str, user: StackUser) -> bool:
        """Return whether the tree may act on the user with the domain administrator's power.

        RULE 12: a document that is adopted may name any user and any project. The tree owns the
        users in its own project; of another project it may use one whose password it has, for
        that is what the stack had that was abandoned.
        """
        with _keystone_call("read a user of the stack"):
            query = {"name": tree_id[:_MAX_PROJECT_NAME], "domain_id": self.domain_id}
            own = {
                each["id"] for each in self._api.get("/projects", params=query).json()["projects"]
            }
            if user.project_id in own:
                try:
                    found = self._api.get(f"/users/{user.id}").json()["user"]
                except exceptions.NotFound:
                    return False
                return found.get("default_project_id") in own
        try:
            self.issue_token(user)
        except errors.AuthorizationFailure:
            return False
        return True

    def delete_user(self, user_id: str) -> None:
        """Delete a user; a missing one is no error."""
        self._delete(f"/users/{user_id}")

    def create_ec2_keys(self, user: StackUser, keys: Ec2Keys | None = None) -> Ec2Keys:
        """Store a pair of keys for the user, new ones by default; deleted with the user."""
        keys = keys or Ec2Keys.generate()
        body = {
            "credential": {
                "type": "ec2",
                "user_id": user.id,
                "project_id": user.project_id,
                "blob": json.dumps({"access": keys.access, "secret": keys.secret}),
            }
        }
        with _keystone_call("create keys for a user of the stack"):
            self._api.post("/credentials", json=body)
        return keys

    def find_ec2_keys(self, user_id: str) -> Ec2Keys | None:
        """Return a pair of keys of the user, or None."""
        with _keystone_call("find the keys of a user of the stack"):
            query = {"user_id": user_id, "type": "ec2"}
            found = self._api.get("/credentials", params=query).json()["credentials"]
        if not found:
            return None
        blob = json.loads(found[0]["blob"])
        return Ec2Keys(blob["access"], blob["secret"])

    @property
    def is_configured(self) -> bool:
        """True when the configuration allows stacks to have users."""
        settings = self._settings
        return bool(
            settings.stack_domain_admin
            and (settings.stack_user_domain_id or settings.stack_user_domain_name)
        )

    # -- helpers

    @cached_property
    def _api(self) -> Adapter:
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
        return create_identity_adapter(auth.create_session(settings, password_auth), settings)

    @cached_property
    def domain_id(self) -> str:
        """Id of the domain of the users."""
        if self._settings.stack_user_domain_id:
            return self._settings.stack_user_domain_id
        session: Any = self._api.session
        return str(session.auth.get_access(session).domain_id)

    @cached_property
    def _role_id(self) -> str:
        return self._find_id("roles", self._settings.stack_user_role)

    def _find_id(self, collection: str, name: str) -> str:
        query = {"name": name}
        if collection != "roles":
            query["domain_id"] = self.domain_id
        found = self._api.get(f"/{collection}", params=query).json()[collection]
        if len(found) != 1:
            raise errors.AuthorizationFailure(
                f'Keystone does not have exactly one of {collection} named "{name}".'
            )
        return str(found[0]["id"])

    def _delete(self, path: str) -> None:
        with (
            _keystone_call("delete a user or project of the stack"),
            suppress(exceptions.NotFound),
        ):
            self._api.delete(path)


def _keystone_call(purpose: str) -> AbstractContextManager[None]:
    return translate_keystone_errors(f"Keystone did not {purpose}")
