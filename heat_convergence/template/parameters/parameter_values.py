"""Parameter values: provided by the user, defaulted by the environment or declared.

Decides which source takes precedence and how the API shows values.  Called by
``evaluate_template`` and, for updates, where two sets of values are compared.  Must not
read the environment's resource registry.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

from heat_convergence.common.errors import (
    ImmutableParameterModified,
    UnknownUserParameter,
    UserParameterMissing,
)
from heat_convergence.template.diagnostics import Diagnostics, ValidationPhase, did_you_mean
from heat_convergence.template.evaluation_budget import current_budget
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
    """The treatment of required parameters that have no value, or an invalid one."""

    REJECT = "reject"
    # POST /validate: expressions that read it stay unevaluated; so do those with invalid values
    ALLOW = "allow"


@dataclass(frozen=True, slots=True)
class ParameterChecks:
    """The checks that ``resolve_parameters`` makes.

    Attributes:
        missing_parameters: Whether a required parameter without a value is an error.
        custom_constraints: Plug-in constraints by name; None leaves them unchecked.
        section: The name of the template's section, for the paths of errors.
        declared: Names of all declarations, including invalid ones already reported.
    """

    missing_parameters: MissingParameters
    custom_constraints: Mapping[str, CustomConstraintFunction] | None = None
    section: str = "parameters"
    declared: Collection[str] = ()


@dataclass(frozen=True, slots=True)
class StackContext:
    """The facts about its own stack that a template may read.

    Attributes:
        id: The stack's id, None before it is created.
        facade: ``metadata``, ``deletion_policy`` and ``update_policy`` of the resource in
            the parent stack that this stack implements; None for a root stack.
        availability_zones: The cloud's availability zones; None if they were not fetched.
    """

    id: str | None
    name: str
    project_id: str
    region: str | None = None
    facade: Mapping[str, Json] | None = None
    availability_zones: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class ParameterValue:
    """A parameter with its value, converted to the parameter's type.

    Attributes:
        value: The value; None if ``has_value`` is False.
        is_user_provided: False if the value is the declared default.
        has_value: False only where missing parameters are allowed.
        is_pseudo: Whether the language defines the parameter, not the template.
        default: The environment's default, else the declared one, unconverted.
        assigned: The value of the environment's ``parameters``, unconverted; None without one.
    """

    schema: ParameterSchema
    value: Json
    is_user_provided: bool = True
    has_value: bool = True
    is_pseudo: bool = False
    default: Json = None
    assigned: Json = None

    @property
    def display_text(self) -> str:
        """The value as the API's view of the stack shows it."""
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
    checks: ParameterChecks,
    diagnostics: Diagnostics,
) -> dict[str, ParameterValue]:
    """Return the value of every parameter by name and add errors to ``diagnostics``.

    Args:
        schemas: The valid declarations.
        user_values: The environment's ``parameters``; null counts as not provided, and
            ``UNKNOWN`` as provided later.
        defaults: The environment's ``parameter_defaults``.
        checks: The checks to make.
        diagnostics: The collection of errors.
    """
    for name in user_values:
        if name not in schemas and name not in checks.declared:
            diagnostics.add(
                ValidationPhase.PARAMETERS,
                UnknownUserParameter(
                    f"The Parameter ({name}) was not defined in template"
                    f"{did_you_mean(name, schemas)}."
                ),
            )
    values = {}
    budget = current_budget()
    for name, schema in schemas.items():
        budget.location = (checks.section, name)
        default = schema.default if defaults.get(name) is None else defaults[name]
        assigned = user_values.get(name)
        raw = default if assigned is None else assigned
        values[name] = ParameterValue(
            schema, None, is_user_provided=False, has_value=False, default=default
        )
        try:
            if raw is not None and raw is not UNKNOWN:
                found = _value(schema, raw, checks.custom_constraints)
                values[name] = replace(found, default=default, assigned=assigned)
            elif checks.missing_parameters is MissingParameters.REJECT and raw is None:
                error = UserParameterMissing(f"The Parameter ({name}) was not provided.")
                diagnostics.add(ValidationPhase.PARAMETERS, error, (checks.section, name))
        except InvalidParameterValue as invalid:
            if checks.missing_parameters is MissingParameters.ALLOW:
                values[name] = replace(values[name], assigned=assigned)
                continue
            secret = schema.hidden and not invalid.is_author_message
            reason = "the hidden value is not allowed" if secret else invalid
            message = f"Parameter '{name}' is invalid: {reason}"
            diagnostics.add(ValidationPhase.PARAMETERS, message, (checks.section, name))
    return values


def _value(
    schema: ParameterSchema,
    raw: Json,
    custom_constraints: Mapping[str, CustomConstraintFunction] | None,
) -> ParameterValue:
    value = schema.convert(raw)
    if raw is schema.default:
        schema.validate_default(value, custom_constraints)
        return ParameterValue(schema, value, is_user_provided=False)
    schema.validate(value, custom_constraints)
    return ParameterValue(schema, value)


def pseudo_parameters(version: TemplateVersion, stack: StackContext) -> dict[str, ParameterValue]:
    """Return the pseudo parameters of a version that have a value for this stack."""
    stack_id = stack.id if stack.id is not None else "None"
    texts = {
        "OS::stack_id": stack_id,
        "OS::stack_name": stack.name,
        "OS::project_id": stack.project_id,
        "OS::region": stack.region,
        "AWS::StackId": (f"arn:openstack:heat::{stack.project_id}:stacks/{stack.name}/{stack_id}"),
        "AWS::StackName": stack.name,
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
    """Raise ``ImmutableParameterModified`` if an update changes an immutable parameter.

    The declarations of the new template count.
    """
    changed = sorted(
        name
        for name, value in after.items()
        if value.schema.immutable and name in before and before[name].value != value.value
    )
    if changed:
        raise ImmutableParameterModified(
            f"The following parameters are immutable and may not be updated: {', '.join(changed)}"
        )
