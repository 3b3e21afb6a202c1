"""``AWS::IAM::User`` and ``OS::Heat::AccessPolicy``: users who read metadata of their stack.

Decides what a user is created with, and records which policies limit it: ``reference_scope`` reads
them when the user asks for metadata.

Source: docs/reference/aws-types.rst.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from heat_convergence.common.errors import InvalidTemplateAttribute
from heat_convergence.resources.aws.type_schemas import load_aws_schema
from heat_convergence.resources.builtin.local_type import LocalType
from heat_convergence.resources.builtin.signals.signal_responder import (
    SignalResponder,
    SignalUser,
)
from heat_convergence.resources.protocol.verb_values import ResourceContext
from heat_convergence.resources.reference_scope import ACCESS_POLICIES, ACCESS_POLICY_TYPE

Json = Any
_PROFILE, _POLICIES = "LoginProfile", "Policies"


class AccessPolicy(LocalType):
    """The names of resources whose metadata a user may read."""

    name = ACCESS_POLICY_TYPE
    schema = load_aws_schema("iam", name)

    def find(self, context: ResourceContext) -> str | None:
        """Return the physical name, which every create uses as the physical id."""
        return context.physical_name

    def reference_id(self, context: ResourceContext) -> Json:
        """Return the name, by which users refer to it."""
        return context.name


class IamUser(SignalResponder):
    """A user of the stack, who reads metadata of the stack's resources."""

    name = "AWS::IAM::User"
    schema = load_aws_schema("iam", name)
    observes_dependencies = True

    def initial_state(
        self, context: ResourceContext, signal_user: SignalUser
    ) -> tuple[Mapping[str, Json], Mapping[str, Json]]:
        """Return the names of the policies; maps are accepted for compatibility, and ignored.

        Raises:
            InvalidTemplateAttribute: One of them is another resource.
        """
        policies = context.properties.get(_POLICIES) or ()
        names = [each for each in policies if isinstance(each, str)]
        for name in names:
            found = context.dependencies.get(name)
            if found is not None and found.type != ACCESS_POLICY_TYPE:
                raise InvalidTemplateAttribute(
                    f"The Referenced Attribute ({context.name} {_POLICIES}) is incorrect:"
                    f" {name} is no {ACCESS_POLICY_TYPE}."
                )
        return {}, {ACCESS_POLICIES: names}

    def user_password(self, context: ResourceContext) -> str | None:
        """Return the password that the template sets."""
        profile = context.properties.get(_PROFILE) or {}
        password: str | None = profile.get("Password")
        return password

    def reference_id(self, context: ResourceContext) -> Json:
        """Return the physical name, which is the user's name."""
        return context.physical_name
