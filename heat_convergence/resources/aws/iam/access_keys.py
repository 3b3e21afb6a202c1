"""``AWS::IAM::AccessKey``: a pair of EC2 keys of a stack's user.

Decides the access key, which follows from the resource: the pair of a lost create is found by it,
with its secret (RULE 4). A pair is read and deleted only in the project of the stack's own users
(RULE 12).

Source: docs/reference/aws-types.rst.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from heat_convergence.clients.stack_users import StackUsers
from heat_convergence.convergence.model.action import Action
from heat_convergence.convergence.model.job import ObservedState
from heat_convergence.resources.aws.type_schemas import load_aws_schema
from heat_convergence.resources.builtin.signals.signal_responder import EC2_SECRET_KEY
from heat_convergence.resources.protocol.resource_type import ResourceType
from heat_convergence.resources.protocol.verb_values import ResourceContext, VerbResult

Json = Any
_SECRET, _USER = "SecretAccessKey", "UserName"
_NO_SECRET = "000-000-000"  # nosec B105  # pragma: allowlist secret


class AccessKey(ResourceType):
    """A pair of keys, with which a user signs requests."""

    name = "AWS::IAM::AccessKey"
    schema = load_aws_schema("iam", name)
    secret_data: ClassVar[frozenset[str]] = frozenset({EC2_SECRET_KEY})
    secret_attributes: ClassVar[frozenset[str]] = frozenset({_SECRET})

    def create(self, context: ResourceContext) -> VerbResult:
        """Create the pair unless it exists."""
        users, access = _users(context), _access_key(context)
        if users is None:
            return VerbResult(ObservedState.READY, access, data={})
        user_name = str(context.properties[_USER])
        keys = users.ensure_tree_keys(context.cloud.tree_id, user_name, access)
        return VerbResult(ObservedState.READY, access, data={EC2_SECRET_KEY: keys.secret})

    def resume_create(self, context: ResourceContext) -> VerbResult:
        """Read the secret of the pair."""
        return self.create(context)

    def find(self, context: ResourceContext) -> str | None:
        """Return the access key if there is such a pair."""
        users, access = _users(context), _access_key(context)
        if users is None:
            return None
        found = users.find_tree_keys(context.cloud.tree_id, access)
        return None if found is None else access

    def update(
        self, context: ResourceContext, after: Mapping[str, Json], changed: frozenset[str]
    ) -> VerbResult:
        """Return READY; every property requires replacement."""
        return VerbResult(ObservedState.READY, context.physical_id)

    def delete(self, context: ResourceContext) -> VerbResult:
        """Delete the pair, which may be gone with its user."""
        users = _users(context)
        if users is not None and context.physical_id is not None:
            users.delete_tree_keys(context.cloud.tree_id, context.physical_id)
        return VerbResult(ObservedState.ABSENT)

    def observe(self, context: ResourceContext) -> VerbResult:
        """Return READY, or ABSENT for a resource being deleted."""
        if context.action is Action.DELETE or context.physical_id is None:
            return VerbResult(ObservedState.ABSENT)
        return VerbResult(ObservedState.READY, context.physical_id)

    def attribute(self, context: ResourceContext, name: str) -> Json:
        """Return the user's name, or the secret."""
        if name == _USER:
            return context.properties.get(_USER)
        if name == _SECRET:
            return context.data.get(EC2_SECRET_KEY) or _NO_SECRET
        return super().attribute(context, name)


def _access_key(context: ResourceContext) -> str:
    return context.resource_id.replace("-", "")


def _users(context: ResourceContext) -> StackUsers | None:
    found: StackUsers | None = getattr(context.cloud, "users", None)
    return found
