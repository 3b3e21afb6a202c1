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

    def create(self, context: ResourceContext) -> VerbResult:
        guest = self._guest(context)
        physical_id = context.physical_name if guest.user is None else guest.user.id
        attributes, data = self.initial_state(context, guest)
        return VerbResult(
            ObservedState.READY,
            physical_id=physical_id,
            attributes=attributes,
            data={**guest.to_data(), **data},
        )

    def initial_state(
        self, context: ResourceContext, guest: SignalUser
    ) -> tuple[Mapping[str, Json], Mapping[str, Json]]:
        """Attributes and further data of a new one."""
        return {}, {}

    def needs_user(self, context: ResourceContext) -> bool:
        """Whether anybody outside is to signal it."""
        return True

    def needs_signed_url(self, context: ResourceContext) -> bool:
        """Whether URLs are signed for its user, who needs keys then."""
        return False

    def update(
        self, context: ResourceContext, after: Mapping[str, Json], changed: frozenset[str]
    ) -> VerbResult:
        return VerbResult(ObservedState.READY, physical_id=context.physical_id)

    def delete(self, context: ResourceContext) -> VerbResult:
        if context.cloud is not None and context.cloud.users is not None and context.physical_id:
            context.cloud.users.delete_user(context.data.get(USER_ID) or context.physical_id)
        return VerbResult(ObservedState.ABSENT)

    def observe(self, context: ResourceContext) -> VerbResult:
        if context.action is Action.DELETE or context.physical_id is None:
            return VerbResult(ObservedState.ABSENT)
        return VerbResult(ObservedState.READY, physical_id=context.physical_id)

    def find(self, context: ResourceContext) -> str | None:
        if context.cloud is None or context.cloud.users is None:
            return None
        found: str | None = context.cloud.users.find_user(context.physical_name)
        return found

    def resume_create(self, context: ResourceContext) -> VerbResult:
        return self.create(context)  # its password was lost with the answer

    def suspend(self, context: ResourceContext) -> VerbResult:
        return self._enabled(context, enabled=False)

    def resume(self, context: ResourceContext) -> VerbResult:
        return self._enabled(context, enabled=True)

    # -- below

    def _enabled(self, context: ResourceContext, *, enabled: bool) -> VerbResult:
        user_id = context.data.get(USER_ID)
        if context.cloud is not None and user_id is not None:
            context.cloud.users.set_user_enabled(user_id, enabled=enabled)
        return VerbResult(ObservedState.READY, physical_id=context.physical_id)

    def _guest(self, context: ResourceContext) -> SignalUser:
        if context.cloud is None or context.cloud.users is None or not self.needs_user(context):
            return SignalUser(context.project_id)
        users = context.cloud.users
        project_id = users.ensure_project(context.cloud.tree_id)
        user = users.ensure_user(context.physical_name, project_id)
        return SignalUser(
            project_id,
            user,
            users.create_ec2_keys(user) if self.needs_signed_url(context) else None,
        )


def require_created(context: ResourceContext) -> None:
    """Raises ``ResourceNotAvailable``: what a signal would say is to be kept, and is
    not as long as what was made is not recorded."""
    if context.physical_id is None:
        raise ResourceNotAvailable(context.name)


def native_signal_url(context: ResourceContext, guest: SignalUser) -> str | None:
    """Where the guest signals with a token; None where this service's own address is
    not known."""
    root = None if context.cloud is None else context.cloud.heat_base_url
    if root is None:
        return None
    return endpoints.signal_url(root, guest.project_id, _place(context))


def signed_signal_url(
    context: ResourceContext, guest: SignalUser, signal_type: str, verb: str
) -> str | None:
    """Where anybody signals who has the URL; None where nobody can sign."""
    if guest.ec2_keys is None:
        return None
    base = context.cloud.signed_url_base(signal_type)
    url = endpoints.signed_url_path(base, context.project_id, _place(context))
    return signed_urls.sign_url(url, guest.ec2_keys, http_method=verb)


def _place(context: ResourceContext) -> endpoints.ResourceLocator:
    return endpoints.ResourceLocator(context.stack_name, context.stack_id, context.name)
