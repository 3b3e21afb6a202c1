"""The base of resource types that are signalled from outside, by a user and URLs of their own.

Base of wait condition handles, scaling policies and software deployments. Decides the credentials
of such a user, who is created under the resource's physical name, so that one of a lost call is
found again (RULE 4). Without Keystone there are no users: a signal is then a request like any
other.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from heat_convergence.clients import endpoints, signed_urls
from heat_convergence.clients.stack_users import Ec2Keys, StackUser
from heat_convergence.common.errors import ResourceNotAvailable
from heat_convergence.convergence.model.action import Action
from heat_convergence.convergence.model.job import ObservedState
from heat_convergence.resources.protocol.resource_type import ResourceType
from heat_convergence.resources.protocol.verb_values import ResourceContext, VerbResult
from heat_convergence.resources.reference_scope import USER_ID, owns_stack_user

LOG = logging.getLogger(__name__)
Json = Any
PROJECT_ID, PASSWORD, EC2_ACCESS_KEY, EC2_SECRET_KEY, SIGNED_URL = (
    "project_id password access secret url".split()
)
SIGNAL_URL_OBSTACLE = "the URL and the user of its signals name the stack and the resource"
_EC2_KEYS = (EC2_ACCESS_KEY, EC2_SECRET_KEY)


@dataclass(frozen=True, slots=True)
class SignalUser:
    """The user who may signal a resource.

    ``user`` is None where there are no users. ``project_id`` is the project in native URLs.
    """

    project_id: str
    user: StackUser | None = None
    ec2_keys: Ec2Keys | None = None

    @classmethod
    def from_data(cls, data: Mapping[str, Json], default_project_id: str) -> SignalUser:
        """Return the user that a row's data records; without one, only the project.

        The data may come from a document, where any of them may be missing or no text.
        """
        project_id, user_id, password, access, secret = (
            value if isinstance(value, str) else ""
            for value in map(data.get, (PROJECT_ID, USER_ID, PASSWORD, *_EC2_KEYS))
        )
        project_id = project_id or default_project_id
        if not user_id:
            return cls(project_id)
        keys = Ec2Keys(access, secret) if access and secret else None
        return cls(project_id, StackUser(user_id, project_id, password), keys)

    def to_data(self) -> dict[str, Json]:
        """Return the data to record in the row."""
        found: dict[str, Json] = {PROJECT_ID: self.project_id}
        if self.user is not None:
            found |= {USER_ID: self.user.id, PASSWORD: self.user.password}
        if self.ec2_keys is not None:
            found |= {EC2_ACCESS_KEY: self.ec2_keys.access, EC2_SECRET_KEY: self.ec2_keys.secret}
        return found


class SignalResponder(ResourceType):
    """A resource type with a user who may signal it."""

    secret_data: ClassVar[frozenset[str]] = frozenset(
        {PASSWORD, EC2_ACCESS_KEY, EC2_SECRET_KEY, SIGNED_URL}
    )

    def create(self, context: ResourceContext) -> VerbResult:
        """Create the user, and the state of the type."""
        signal_user = self._ensure_signal_user(context)
        physical_id = context.physical_name if signal_user.user is None else signal_user.user.id
        attributes, data = self.initial_state(context, signal_user)
        return VerbResult(
            ObservedState.READY,
            physical_id=physical_id,
            attributes=attributes,
            data={**signal_user.to_data(), **data},
        )

    def initial_state(
        self, context: ResourceContext, signal_user: SignalUser
    ) -> tuple[Mapping[str, Json], Mapping[str, Json]]:
        """Return the attributes and further data of a new resource."""
        return {}, {}

    def needs_user(self, context: ResourceContext) -> bool:
        """Return whether a user is to signal it."""
        return True

    def needs_signed_url(self, context: ResourceContext) -> bool:
        """Return whether its user signs URLs, which requires EC2 keys."""
        return False

    def user_password(self, context: ResourceContext) -> str | None:
        """Return the password of the user; None for a random one."""
        return None

    def update(
        self, context: ResourceContext, after: Mapping[str, Json], changed: frozenset[str]
    ) -> VerbResult:
        """Return READY; nothing outside the row changes."""
        return VerbResult(ObservedState.READY, physical_id=context.physical_id)

    def delete(self, context: ResourceContext) -> VerbResult:
        """Delete the user."""
        if context.cloud is not None and context.cloud.users is not None and context.physical_id:
            users, user = context.cloud.users, verified_signal_user(context).user
            user_id = users.find_user(context.physical_name) if user is None else user.id
            if user_id is not None:
                users.delete_user(user_id)
        return VerbResult(ObservedState.ABSENT)

    def observe(self, context: ResourceContext) -> VerbResult:
        """Return READY, or ABSENT for a resource being deleted."""
        if context.action is Action.DELETE or context.physical_id is None:
            return VerbResult(ObservedState.ABSENT)
        return VerbResult(ObservedState.READY, physical_id=context.physical_id)

    def find(self, context: ResourceContext) -> str | None:
        """Return the id of the user that a lost create made."""
        if context.cloud is None or context.cloud.users is None:
            return None
        found: str | None = context.cloud.users.find_user(context.physical_name)
        return found

    def resume_create(self, context: ResourceContext) -> VerbResult:
        """Create again, because the password was lost with the response."""
        return self.create(context)

    def handover_obstacle(self, context: ResourceContext) -> str:
        """Return that senders of signals know the names, unless nobody signals it."""
        return SIGNAL_URL_OBSTACLE if self.needs_user(context) else ""

    def suspend(self, context: ResourceContext) -> VerbResult:
        """Disable the user."""
        return self._set_user_enabled(context, enabled=False)

    def resume(self, context: ResourceContext) -> VerbResult:
        """Enable the user."""
        return self._set_user_enabled(context, enabled=True)

    def _set_user_enabled(self, context: ResourceContext, *, enabled: bool) -> VerbResult:
        user = verified_signal_user(context).user
        if user is not None:
            context.cloud.users.set_user_enabled(user.id, enabled=enabled)
        return VerbResult(ObservedState.READY, physical_id=context.physical_id)

    def _ensure_signal_user(self, context: ResourceContext) -> SignalUser:
        if context.cloud is None or context.cloud.users is None or not self.needs_user(context):
            return SignalUser(context.project_id)
        users = context.cloud.users
        project_id = users.ensure_project(context.cloud.tree_id)
        password = self.user_password(context)
        user = users.ensure_user(context.physical_name, project_id, password)
        return SignalUser(
            project_id,
            user,
            users.create_ec2_keys(user) if self.needs_signed_url(context) else None,
        )


def verified_signal_user(context: ResourceContext) -> SignalUser:
    """Return the user that a row records, if the tree owns it; else only the stack's project.

    RULE 12: the data of an adopted resource come from a document, which may name anybody.
    """
    users = None if context.cloud is None else context.cloud.users
    recorded = SignalUser.from_data(context.data, context.project_id)
    if users is None or recorded.user is None:
        return SignalUser(context.project_id)
    if owns_stack_user(context.cloud, recorded.user):
        return recorded
    LOG.warning(
        "user in resource data does not belong to the stack, ignored:"
        " stack=%(stack)s resource=%(resource)s",
        {"stack": context.stack_id, "resource": context.name},
    )
    return SignalUser(context.project_id)


def require_created(context: ResourceContext) -> None:
    """Check that the creation of the resource is recorded.

    Raises:
        ResourceNotAvailable: It is not, so that a signal could not be kept.
    """
    if context.physical_id is None:
        raise ResourceNotAvailable(context.name)


def native_signal_url(context: ResourceContext, project_id: str) -> str | None:
    """Return the URL to signal with a token; None if the service's own URL is not known.

    Args:
        context: The resource.
        project_id: The project of the tokens, that of the stack or of its own users.
    """
    root = None if context.cloud is None else context.cloud.heat_base_url
    if root is None:
        return None
    return endpoints.signal_url(root, project_id, _locator(context))


def signed_signal_url(
    context: ResourceContext, signal_user: SignalUser, signal_type: str, verb: str
) -> str | None:
    """Return the URL to signal without credentials; None where nobody can sign.

    Args:
        context: The resource.
        signal_user: The user whose keys sign.
        signal_type: The part of the URL that selects the kind of signal, ``signal`` or
        ``waitcondition``.
        verb: The HTTP method that the signature permits.
    """
    if signal_user.ec2_keys is None:
        return None
    base = context.cloud.signed_url_base(signal_type)
    url = endpoints.signed_url_path(base, context.project_id, _locator(context))
    return signed_urls.sign_url(url, signal_user.ec2_keys, http_method=verb)


def _locator(context: ResourceContext) -> endpoints.ResourceLocator:
    return endpoints.ResourceLocator(context.stack_name, context.stack_id, context.name)
