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

from heat_convergence.clients import endpoints, signed_urls
from heat_convergence.clients.stack_users import Ec2Keys, StackUser
from heat_convergence.common.errors import ResourceNotAvailable
from heat_convergence.convergence.model.action import Action
from heat_convergence.convergence.model.job import ObservedState
from heat_convergence.resources.protocol.resource_type import (
    ResourceContext,
    ResourceType,
    VerbResult,
)

Json = Any
USER_ID, PROJECT_ID, PASSWORD, EC2_ACCESS_KEY, EC2_SECRET_KEY, SIGNED_URL = (
    "user_id project_id password access secret url".split()
)


@dataclass(frozen=True, slots=True)
class SignalUser:
    """Who may signal: ``user`` None where there are no users.  ``project_id`` is the
    one that native URLs name."""

    project_id: str
    user: StackUser | None = None
    ec2_keys: Ec2Keys | None = None

    @classmethod
    def from_data(cls, data: Mapping[str, Json], project_id: str) -> SignalUser:
        """As a row's data tell; without any, of that project."""
        project_id = data.get(PROJECT_ID) or project_id
        if USER_ID not in data:
            return cls(project_id)
        keys = (
            Ec2Keys(data[EC2_ACCESS_KEY], data[EC2_SECRET_KEY]) if EC2_ACCESS_KEY in data else None
        )
        return cls(project_id, StackUser(data[USER_ID], project_id, data[PASSWORD]), keys)

    def to_data(self) -> dict[str, Json]:
        """For the row."""
        found: dict[str, Json] = {PROJECT_ID: self.project_id}
        if self.user is not None:
            found |= {USER_ID: self.user.id, PASSWORD: self.user.password}
        if self.ec2_keys is not None:
            found |= {EC2_ACCESS_KEY: self.ec2_keys.access, EC2_SECRET_KEY: self.ec2_keys.secret}
        return found


class SignalResponder(ResourceType):
    """``made`` says what else the row is to know of a new one."""

    secret_data: ClassVar[frozenset[str]] = frozenset(
        {PASSWORD, EC2_ACCESS_KEY, EC2_SECRET_KEY, SIGNED_URL}
    )

    def create(self, view: ResourceContext) -> VerbResult:
        guest = self._guest(view)
        physical_id = view.physical_name if guest.user is None else guest.user.id
        attributes, data = self.initial_state(view, guest)
        return VerbResult(
            ObservedState.READY,
            physical_id=physical_id,
            attributes=attributes,
            data={**guest.to_data(), **data},
        )

    def initial_state(
        self, view: ResourceContext, guest: SignalUser
    ) -> tuple[Mapping[str, Json], Mapping[str, Json]]:
        """Attributes and further data of a new one."""
        return {}, {}

    def needs_user(self, view: ResourceContext) -> bool:
        """Whether anybody outside is to signal it."""
        return True

    def needs_signed_url(self, view: ResourceContext) -> bool:
        """Whether URLs are signed for its user, who needs keys then."""
        return False

    def update(
        self, view: ResourceContext, after: Mapping[str, Json], changed: frozenset[str]
    ) -> VerbResult:
        return VerbResult(ObservedState.READY, physical_id=view.physical_id)

    def delete(self, view: ResourceContext) -> VerbResult:
        if view.cloud is not None and view.cloud.users is not None and view.physical_id:
            view.cloud.users.delete_user(view.data.get(USER_ID) or view.physical_id)
        return VerbResult(ObservedState.ABSENT)

    def observe(self, view: ResourceContext) -> VerbResult:
        if view.action is Action.DELETE or view.physical_id is None:
            return VerbResult(ObservedState.ABSENT)
        return VerbResult(ObservedState.READY, physical_id=view.physical_id)

    def find(self, view: ResourceContext) -> str | None:
        if view.cloud is None or view.cloud.users is None:
            return None
        found: str | None = view.cloud.users.find_user(view.physical_name)
        return found

    def resume_create(self, view: ResourceContext) -> VerbResult:
        return self.create(view)  # its password was lost with the answer

    def suspend(self, view: ResourceContext) -> VerbResult:
        return self._enabled(view, enabled=False)

    def resume(self, view: ResourceContext) -> VerbResult:
        return self._enabled(view, enabled=True)

    # -- below

    def _enabled(self, view: ResourceContext, *, enabled: bool) -> VerbResult:
        user_id = view.data.get(USER_ID)
        if view.cloud is not None and user_id is not None:
            view.cloud.users.set_user_enabled(user_id, enabled=enabled)
        return VerbResult(ObservedState.READY, physical_id=view.physical_id)

    def _guest(self, view: ResourceContext) -> SignalUser:
        if view.cloud is None or view.cloud.users is None or not self.needs_user(view):
            return SignalUser(view.project_id)
        users = view.cloud.users
        project_id = users.ensure_project(view.cloud.tree_id)
        user = users.ensure_user(view.physical_name, project_id)
        return SignalUser(
            project_id, user, users.create_ec2_keys(user) if self.needs_signed_url(view) else None
        )


def require_created(view: ResourceContext) -> None:
    """Raises ``ResourceNotAvailable``: what a signal would say is to be kept, and is
    not as long as what was made is not recorded."""
    if view.physical_id is None:
        raise ResourceNotAvailable(view.name)


def native_signal_url(view: ResourceContext, guest: SignalUser) -> str | None:
    """Where the guest signals with a token; None where this service's own address is
    not known."""
    root = None if view.cloud is None else view.cloud.heat_base_url
    if root is None:
        return None
    return endpoints.signal_url(root, guest.project_id, _place(view))


def signed_signal_url(
    view: ResourceContext, guest: SignalUser, signal_type: str, verb: str
) -> str | None:
    """Where anybody signals who has the URL; None where nobody can sign."""
    if guest.ec2_keys is None:
        return None
    base = view.cloud.signed_url_base(signal_type)
    url = endpoints.signed_url_path(base, view.project_id, _place(view))
    return signed_urls.sign_url(url, guest.ec2_keys, http_method=verb)


def _place(view: ResourceContext) -> endpoints.ResourceLocator:
    return endpoints.ResourceLocator(view.stack_name, view.stack_id, view.name)
