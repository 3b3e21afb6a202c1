"""What types have in common that are signalled from outside: a user who may do it, and
URLs to do it at.

Base of wait condition handles and of scaling policies.  Decides what such a user is
given; the user is made under the resource's physical name, so that one of a lost call
is found again (RULE 4).  Without Keystone there are no users: a signal is then a
request like any other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from heat_convergence.clients import addresses, signed_urls
from heat_convergence.clients.stack_users import Ec2Keys, StackUser
from heat_convergence.common.errors import ResourceNotAvailable
from heat_convergence.convergence.model import Action, Observed
from heat_convergence.resources.plugin import Look, ResourceType, View

Json = Any
USER, PROJECT, PASSWORD, ACCESS, SECRET, URL = (
    "user_id project_id password access secret url".split()
)


@dataclass(frozen=True, slots=True)
class Guest:
    """Who may signal: ``user`` None where there are no users.  ``project_id`` is the
    one that native URLs name."""

    project_id: str
    user: StackUser | None = None
    keys: Ec2Keys | None = None

    @classmethod
    def of(cls, data: Mapping[str, Json], project_id: str) -> Guest:
        """As a row's data tell; without any, of that project."""
        project_id = data.get(PROJECT) or project_id
        if USER not in data:
            return cls(project_id)
        keys = Ec2Keys(data[ACCESS], data[SECRET]) if ACCESS in data else None
        return cls(project_id, StackUser(data[USER], project_id, data[PASSWORD]), keys)

    def data(self) -> dict[str, Json]:
        """For the row."""
        found: dict[str, Json] = {PROJECT: self.project_id}
        if self.user is not None:
            found |= {USER: self.user.id, PASSWORD: self.user.password}
        if self.keys is not None:
            found |= {ACCESS: self.keys.access, SECRET: self.keys.secret}
        return found


class Responder(ResourceType):
    """``made`` says what else the row is to know of a new one."""

    secret_data: ClassVar[frozenset[str]] = frozenset({PASSWORD, ACCESS, SECRET, URL})

    def create(self, view: View) -> Look:
        guest = self._guest(view)
        physical_id = view.physical_name if guest.user is None else guest.user.id
        attributes, data = self.made(view, guest)
        return Look(
            Observed.READY,
            physical_id=physical_id,
            attributes=attributes,
            data={**guest.data(), **data},
        )

    def made(self, view: View, guest: Guest) -> tuple[Mapping[str, Json], Mapping[str, Json]]:
        """Attributes and further data of a new one."""
        return {}, {}

    def has_user(self, view: View) -> bool:
        """Whether anybody outside is to signal it."""
        return True

    def signs(self, view: View) -> bool:
        """Whether URLs are signed for its user, who needs keys then."""
        return False

    def update(self, view: View, after: Mapping[str, Json], changed: frozenset[str]) -> Look:
        return Look(Observed.READY, physical_id=view.physical_id)

    def delete(self, view: View) -> Look:
        if view.cloud is not None and view.cloud.users is not None and view.physical_id:
            view.cloud.users.delete_user(view.data.get(USER) or view.physical_id)
        return Look(Observed.ABSENT)

    def observe(self, view: View) -> Look:
        if view.action is Action.DELETE or view.physical_id is None:
            return Look(Observed.ABSENT)
        return Look(Observed.READY, physical_id=view.physical_id)

    def find(self, view: View) -> str | None:
        if view.cloud is None or view.cloud.users is None:
            return None
        found: str | None = view.cloud.users.find_user(view.physical_name)
        return found

    def found(self, view: View) -> Look:
        return self.create(view)  # its password was lost with the answer

    def suspend(self, view: View) -> Look:
        return self._enabled(view, enabled=False)

    def resume(self, view: View) -> Look:
        return self._enabled(view, enabled=True)

    # -- below

    def _enabled(self, view: View, *, enabled: bool) -> Look:
        user_id = view.data.get(USER)
        if view.cloud is not None and user_id is not None:
            view.cloud.users.enable_user(user_id, enabled=enabled)
        return Look(Observed.READY, physical_id=view.physical_id)

    def _guest(self, view: View) -> Guest:
        if view.cloud is None or view.cloud.users is None or not self.has_user(view):
            return Guest(view.project_id)
        users = view.cloud.users
        project_id = users.project(view.cloud.tree_id)
        user = users.user(view.physical_name, project_id)
        return Guest(project_id, user, users.ec2_keys(user) if self.signs(view) else None)


def must_be_made(view: View) -> None:
    """Raises ``ResourceNotAvailable``: what a signal would say is to be kept, and is
    not as long as what was made is not recorded."""
    if view.physical_id is None:
        raise ResourceNotAvailable(view.name)


def native_url(view: View, guest: Guest) -> str | None:
    """Where the guest signals with a token; None where this service's own address is
    not known."""
    root = None if view.cloud is None else view.cloud.heat_root
    if root is None:
        return None
    return addresses.signal(root, guest.project_id, _place(view))


def signed_url(view: View, guest: Guest, kind: str, verb: str) -> str | None:
    """Where anybody signals who has the URL; None where nobody can sign."""
    if guest.keys is None:
        return None
    base = view.cloud.signed_root(kind)
    url = addresses.signed(base, view.project_id, _place(view))
    return signed_urls.sign(url, guest.keys, verb=verb)


def _place(view: View) -> addresses.Place:
    return addresses.Place(view.stack_name, view.stack_id, view.name)
