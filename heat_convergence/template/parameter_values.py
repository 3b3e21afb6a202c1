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
from heat_convergence.template.constraints import CustomCheck
from heat_convergence.template.functions.base import UNKNOWN
from heat_convergence.template.masking import MASK
from heat_convergence.template.parameters import BadValue, ParameterSchema, ParameterType
from heat_convergence.template.problems import Phase, Problems, nearest
from heat_convergence.template.versions import Version

Json = Any
CFN_REGION = "ap-southeast-1"


class Missing(Enum):
    """What to do about a required parameter without a value."""

    REFUSE = "refuse"
    ALLOW = "allow"  # POST /validate: what reads it stays unevaluated


@dataclass(frozen=True, slots=True)
class StackFacts:
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
    zones: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class ParameterValue:
    """A parameter with its value in its type.  ``given`` False: the default.

    ``value`` is None, and ``is_set`` False, only where missing ones are allowed.
    """

    schema: ParameterSchema
    value: Json
    given: bool = True
    is_set: bool = True
    pseudo: bool = False

    @property
    def api_text(self) -> str:
        """As the stack's view shows it."""
        if self.schema.hidden:
            return MASK
        if not self.is_set:
            return ""
        if self.schema.type is ParameterType.COMMA_DELIMITED_LIST:
            return ",".join(self.value)
        if self.schema.type is ParameterType.JSON:
            return json.dumps(self.value)
        return str(self.value)


def resolve(
    schemas: Mapping[str, ParameterSchema],
    given: Mapping[str, Json],
    defaults: Mapping[str, Json],
    *,
    missing: Missing,
    custom: Mapping[str, CustomCheck] | None,
    problems: Problems,
    section: str = "parameters",
    declared: Collection[str] = (),
) -> dict[str, ParameterValue]:
    """Values by name.  ``given`` are the environment's ``parameters``, ``defaults``
    its ``parameter_defaults``; null counts as not given, and ``UNKNOWN`` as given
    later.  ``declared`` are names whose declaration is wrong, and told already."""
    for name in given:
        if name not in schemas and name not in declared:
            problems.add(
                Phase.PARAMETERS,
                UnknownUserParameter(
                    f"The Parameter ({name}) was not defined in template{nearest(name, schemas)}."
                ),
            )
    values = {}
    for name, schema in schemas.items():
        own = schema.default
        raw = next((v for v in (given.get(name), defaults.get(name), own) if v is not None), None)
        values[name] = ParameterValue(schema, None, given=False, is_set=False)
        try:
            if raw is not None and raw is not UNKNOWN:
                values[name] = _value(schema, raw, custom)
            elif missing is Missing.REFUSE and raw is None:
                error = UserParameterMissing(f"The Parameter ({name}) was not provided.")
                problems.add(Phase.PARAMETERS, error, (section, name))
        except BadValue as bad:
            secret = schema.hidden and not bad.described
            shown = "the hidden value is not allowed" if secret else bad
            message = f"Parameter '{name}' is invalid: {shown}"
            problems.add(Phase.PARAMETERS, message, (section, name))
    return values


def _value(
    schema: ParameterSchema, raw: Json, custom: Mapping[str, CustomCheck] | None
) -> ParameterValue:
    value = schema.convert(raw)
    if raw is schema.default:
        schema.check_default(value, custom)
        return ParameterValue(schema, value, given=False)
    schema.check(value, custom)
    return ParameterValue(schema, value)


def pseudo_parameters(version: Version, facts: StackFacts) -> dict[str, ParameterValue]:
    """What a version gives without being asked, where there is a value."""
    stack_id = facts.id if facts.id is not None else "None"
    texts = {
        "OS::stack_id": stack_id,
        "OS::stack_name": facts.name,
        "OS::project_id": facts.project_id,
        "OS::region": facts.region,
        "AWS::StackId": (
            f"arn:openstack:heat::{facts.project_id}:stacks/{facts.name}/{stack_id}"
        ),
        "AWS::StackName": facts.name,
        "AWS::Region": CFN_REGION,
    }
    return {
        name: ParameterValue(
            ParameterSchema(name, ParameterType.STRING), texts[name], given=False, pseudo=True
        )
        for name in version.pseudo_parameters
        if texts[name] is not None
    }


def check_immutable(
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
            "The following parameters are immutable and may not be updated:"
            f" {', '.join(changed)}"
        )
