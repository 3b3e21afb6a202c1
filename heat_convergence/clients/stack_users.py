"""Keystone users that stacks create for servers and other senders of signals.

Called by resource types through ``ResourceContext.cloud.users``. The users live in a domain of
their own (``stack_user_domain_id``), in a project of the stack tree, with one role; their
passwords give access to nothing else. Every call can be repeated: what a lost call has created
is found by its name (RULE 4), and deleting a missing record is no error.
"""

from __future__ import annotations

import secrets
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field

from keystoneauth1 import exceptions

from heat_convergence.clients import auth
from heat_convergence.clients.identity_api import translate_keystone_errors
from heat_convergence.clients.service_account import DomainAdministrator
from heat_convergence.clients.settings import ClientSettings
from heat_convergence.common import errors

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
        self._admin = DomainAdministrator(settings, service)

    @property
    def is_configured(self) -> bool:
        """True when the configuration allows stacks to have users."""
        return self._admin.is_configured

    @property
    def domain_id(self) -> str:
        """Id of the domain of the users."""
        return self._admin.domain_id

    def ensure_project(self, tree_id: str) -> str:
        """Return the id of the tree's project, created the first time."""
        name = _project_name(tree_id)
        with _keystone_call("create the project of the stack's users"):
            try:
                return self._admin.create_project(name)
            except exceptions.Conflict:
                found = self._admin.list_projects(name)
        if len(found) != 1:
            raise errors.AuthorizationFailure(
                f'Keystone does not have exactly one of projects named "{name}".'
            )
        return found[0]

    def take_over_project(self, tree_id: str, project_id: str) -> None:
        """Give the project of an imported tree the name by which the tree finds it.

        Another service has created the project and its users under a name of its own. Their ids
        stay, so that the guests' credentials stay valid.
        """
        name = _project_name(tree_id)
        with _keystone_call("rename the project of the stack's users"):
            if project_id not in self._admin.list_projects(name):
                self._admin.rename_project(project_id, name)

    def delete_all(self, tree_id: str) -> None:
        """Delete all users and projects of a tree, including those that were never recorded.

        Does nothing when no domain is configured.
        """
        if not self.is_configured:
            return
        with _keystone_call("delete the stack's users"):
            for project_id in self._admin.list_projects(_project_name(tree_id)):
                for user_id in self._admin.list_project_users(project_id):
                    self.delete_user(user_id)
                with suppress(exceptions.NotFound):
                    self._admin.delete_project(project_id)

    def ensure_user(self, name: str, project_id: str, password: str | None = None) -> StackUser:
        """Return a user with that name, the role in the project and a new password."""
        password = password or secrets.token_urlsafe(_PASSWORD_BYTES)
        with _keystone_call("create a user of the stack"):
            try:
                user_id = self._admin.create_user(name, project_id, password)
            except exceptions.Conflict:  # created by a lost call; its password is lost, too
                user_id = self._require_user(name)
                self._admin.set_password(user_id, password)
            self._admin.assign_role(user_id, project_id)
        return StackUser(user_id, project_id, password)

    def find_user(self, name: str) -> str | None:
        """Return the id of the user with that name, or None."""
        with _keystone_call("find a user of the stack"):
            return self._admin.find_user(name)

    def set_user_enabled(self, user_id: str, *, enabled: bool) -> None:
        """Enable or disable a user; disabling also invalidates its tokens and keys."""
        with _keystone_call("change a user of the stack"):
            self._admin.set_enabled(user_id, enabled=enabled)

    def issue_token(self, user: StackUser) -> str:
        """Return a token of the user, which expires as Keystone is configured."""
        plugin = auth.create_user_auth(
            self._service, user.id, password=user.password, project_id=user.project_id
        )
        with _keystone_call("issue a token to a user of the stack"):
            session = auth.create_session(self._settings, plugin, self._service.documents)
            return str(session.get_token())

    def owns(self, tree_id: str, user: StackUser) -> bool:
        """Return whether the tree may act on the user with the domain administrator's power.

        RULE 12: a document that is adopted may name any user and any project. The tree owns the
        users in its own project; of another project it may use one whose password it has, for
        that is what the stack had that was abandoned.
        """
        with _keystone_call("read a user of the stack"):
            own = self._admin.list_projects(_project_name(tree_id))
            if user.project_id in own:
                found = self._admin.get_user(user.id)
                return found is not None and found.get("default_project_id") in own
        try:
            self.issue_token(user)
        except errors.AuthorizationFailure:
            return False
        return True

    def delete_user(self, user_id: str) -> None:
        """Delete a user; a missing one is no error."""
        with (
            _keystone_call("delete a user of the stack"),
            suppress(exceptions.NotFound),
        ):
            self._admin.delete_user(user_id)

    def create_ec2_keys(self, user: StackUser, keys: Ec2Keys | None = None) -> Ec2Keys:
        """Store a pair of keys for the user, new ones by default; deleted with the user."""
        keys = keys or Ec2Keys.generate()
        with _keystone_call("create keys for a user of the stack"):
            blob = {"access": keys.access, "secret": keys.secret}
            self._admin.store_ec2_keys(user.id, user.project_id, blob)
        return keys

    def find_ec2_keys(self, user_id: str) -> Ec2Keys | None:
        """Return a pair of keys of the user, or None."""
        with _keystone_call("find the keys of a user of the stack"):
            blob = self._admin.find_ec2_keys(user_id)
        return None if blob is None else Ec2Keys(blob["access"], blob["secret"])

    def ensure_tree_keys(self, tree_id: str, user_name: str, access: str) -> Ec2Keys:
        """Return the pair of an access key, created for a user of the tree the first time.

        Raises:
            AuthorizationFailure: The tree has no such user.
        """
        found = self.find_tree_keys(tree_id, access)
        if found is not None:
            return found
        project_id = self.ensure_project(tree_id)
        with _keystone_call("find a user of the stack"):
            user = StackUser(self._require_user(user_name), project_id, "")
        if not self.owns(tree_id, user):
            raise errors.AuthorizationFailure(f'The stack has no user named "{user_name}".')
        return self.create_ec2_keys(user, Ec2Keys(access, Ec2Keys.generate().secret))

    def find_tree_keys(self, tree_id: str, access: str) -> Ec2Keys | None:
        """Return the pair of an access key; None without one in the tree's project.

        RULE 12: the domain administrator may read the keys of all trees.
        """
        with _keystone_call("find the keys of a user of the stack"):
            found = self._admin.get_ec2_keys(access)
            own = self._admin.list_projects(_project_name(tree_id)) if found else ()
        if found is None or found["project_id"] not in own:
            return None
        return Ec2Keys(access, found["secret"])

    def delete_tree_keys(self, tree_id: str, access: str) -> None:
        """Delete the pair of an access key if it is in the tree's project."""
        if self.find_tree_keys(tree_id, access) is None:
            return
        with (
            _keystone_call("delete the keys of a user of the stack"),
            suppress(exceptions.NotFound),
        ):
            self._admin.delete_ec2_keys(access)

    def _require_user(self, name: str) -> str:
        found = self._admin.find_user(name)
        if found is None:
            raise errors.AuthorizationFailure(f'Keystone has no user named "{name}".')
        return found


def _project_name(tree_id: str) -> str:
    return tree_id[:_MAX_PROJECT_NAME]


def _keystone_call(purpose: str) -> AbstractContextManager[None]:
    return translate_keystone_errors(f"Keystone did not {purpose}")
