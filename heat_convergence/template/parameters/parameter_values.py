"""The value of every parameter: given, defaulted for all stacks, or declared.

Decides which source wins and what the API shows.  Called by ``evaluate.build``
and, for updates, by whoever compares two sets of values.  Must not read the
environment's registry.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from heat_convergence.common.errors import (
    ImmutableParameterModified,
    UnknownUserParameter,
    UserParameterMissing,
)
from heat_convergence.template.diagnostics import Diagnostics, ValidationPhase, did_you_mean
from heat_convergence.template.functions.function import UNKNOWN
from heat_convergence.template.parameters.constraints import CustomConstraintFunction
from heat_convergence.template.parameters.parameter_schemas import (
    InvalidParameterValue,
    ParameterSchema,
    ParameterType,
)
from heat_convergence.template.parsing.template_versions import TemplateVersion
from heat_convergence.template.text_redaction import MASK

Json = Any
CFN_REGION = "ap-southeast-1"


class MissingParameters(Enum):
    """What to do about a required parameter without a value."""

    REJECT = "refuse"
    ALLOW = "allow"  # POST /validate: what reads it stays unevaluated


@dataclass(frozen=True, slots=True)
class StackContext:
    """What a template may ask about its own stack.

    ``facade`` has ``metadata``, ``deletion_policy`` and ``update_policy`` of the
    resource in the parent stack that this stack implements, None for a root stack.
    ``zones`` are the cloud's availability zones, None where no cloud was asked.
    """

    id: str | None
    name: str
    project_id: str
    region: str | None = None
    facade: Mapping[str, Json] | None = None
    availability_zones: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class ParameterValue:
    """A parameter with its value in its type.  ``given`` False: the default.

    ``value`` is None, and ``has_value`` False, only where missing ones are allowed.
    """

    schema: ParameterSchema
    value: Json
    is_user_provided: bool = True
    has_value: bool = True
    is_pseudo: bool = False

    @property
    def display_text(self) -> str:
        """As the stack's view shows it."""
        if self.schema.hidden:
            return MASK
        if not self.has_value:
            return ""
        if self.schema.type is ParameterType.COMMA_DELIMITED_LIST:
            return ",".join(self.value)
        if self.schema.type is ParameterType.JSON:
            return json.dumps(self.value)
        return str(self.value)


def resolve_parameters(
    schemas: Mapping[str, ParameterSchema],
    user_values: Mapping[str, Json],
    defaults: Mapping[str, Json],
    *,
    missing_parameters: MissingParameters,
    custom_constraints: Mapping[str, CustomConstraintFunction] | None,
    diagnostics: Diagnostics,
    section: str = "parameters",
    declared: Collection[str] = (),
) -> dict[str, ParameterValue]:
    """Values by name.  ``given`` are the environment's ``parameters``, ``rule_defaults``
    its ``parameter_defaults``; null counts as not given, and ``MISSING_REFERENCES`` as given
    later.  ``declared`` are names whose declaration is wrong, and told already."""
    for name in user_values:
        if name not in schemas and name not in declared:
            diagnostics.add(
                ValidationPhase.PARAMETERS,
                UnknownUserParameter(
                    f"The Parameter ({name}) was not defined in template{did_you_mean(name, schemas)}."  # noqa: E501
                ),
            )
    values = {}
    for name, schema in schemas.items():
        own = schema.default
        raw = next(
            (v for v in (user_values.get(name), defaults.get(name), own) if v is not None), None
        )
        values[name] = ParameterValue(schema, None, is_user_provided=False, has_value=False)
        try:
            if raw is not None and raw is not UNKNOWN:
                values[name] = _value(schema, raw, custom_constraints)
            elif missing_parameters is MissingParameters.REJECT and raw is None:
                error = UserParameterMissing(f"The Parameter ({name}) was not provided.")
                diagnostics.add(ValidationPhase.PARAMETERS, error, (section, name))
        except InvalidParameterValue as bad:
            secret = schema.hidden and not bad.is_author_message
            shown = "the hidden value is not allowed" if secret else bad
            message = f"Parameter '{name}' is invalid: {shown}"
            diagnostics.add(ValidationPhase.PARAMETERS, message, (section, name))
    return values


def _value(
    schema: ParameterSchema, raw: Json, custom: Mapping[str, CustomConstraintFunction] | None
) -> ParameterValue:
    value = schema.convert(raw)
    if raw is schema.default:
        schema.validate_default(value, custom)
        return ParameterValue(schema, value, is_user_provided=False)
    schema.validate(value, custom)
    return ParameterValue(schema, value)


def pseudo_parameters(version: TemplateVersion, facts: StackContext) -> dict[str, ParameterValue]:
    """What a version gives without being asked, where there is a value."""
    stack_id = facts.id if facts.id is not None else "None"
    texts = {
        "OS::stack_id": stack_id,
        "OS::stack_name": facts.name,
        "OS::project_id": facts.project_id,
        "OS::region": facts.region,
        "AWS::StackId": (f"arn:openstack:heat::{facts.project_id}:stacks/{facts.name}/{stack_id}"),
        "AWS::StackName": facts.name,
        "AWS::Region": CFN_REGION,
    }
    return {
        name: ParameterValue(
            ParameterSchema(name, ParameterType.STRING),
            texts[name],
            is_user_provided=False,
            is_pseudo=True,
        )
        for name in version.pseudo_parameters
        if texts[name] is not None
    }


def check_immutable_parameters(
    before: Mapping[str, ParameterValue], after: Mapping[str, ParameterValue]
) -> None:
    """Raises ``ImmutableParameterModified`` when an update changes what the new
    template calls immutable."""
    changed = sorted(
        name
        for name, value in after.items()
        if value.schema.immutable and name in before and before[name].value != value.value
    )
    if changed:
        raise ImmutableParameterModified(
            f"The following parameters are immutable and may not be updated: {', '.join(changed)}"
        )
