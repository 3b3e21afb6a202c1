"""What the API tells of templates: validation view, versions, functions.

Called by the api's controllers.  Decides only the shapes; must not validate.

Source: heat-facts ``rest_api.md``, views ``validate_properties``, ``template_versions`` and
``template_functions``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from heat_convergence.common.errors import NotFound
from heat_convergence.template.diagnostics import did_you_mean
from heat_convergence.template.environment.environment import Environment
from heat_convergence.template.evaluation.evaluated_template import EvaluatedTemplate
from heat_convergence.template.functions.builtin_functions import BUILTIN_FUNCTIONS
from heat_convergence.template.parameters.constraints import (
    AllowedPattern,
    AllowedValues,
    Constraint,
    CustomConstraint,
    Length,
    Modulo,
    Range,
)
from heat_convergence.template.parameters.parameter_values import ParameterValue
from heat_convergence.template.parsing.template_versions import TEMPLATE_VERSIONS
from heat_convergence.template.template import find_template_version
from heat_convergence.template.text_redaction import MASK

Json = Any


def validation_view(evaluated: EvaluatedTemplate, environment: Environment) -> dict[str, Json]:
    """The answer to POST /validate, for a template built with missing values allowed."""
    shown = environment.to_dict()
    del shown["encrypted_param_names"]
    return {**template_view(evaluated), "Environment": shown}


def template_view(evaluated: EvaluatedTemplate) -> dict[str, Json]:
    """Description, parameters and groups: also of each nested template."""
    view: dict[str, Json] = {
        "Description": evaluated.description,
        "Parameters": {
            name: parameter_view(value)
            for name, value in evaluated.parameters.items()
            if not value.is_pseudo
        },
    }
    if evaluated.parameter_groups:
        view["ParameterGroups"] = list(evaluated.parameter_groups)
    return view


def parameter_view(parameter: ParameterValue) -> dict[str, Json]:
    """One parameter; keys without a value are left out."""
    schema = parameter.schema
    view: dict[str, Json] = {
        "Type": schema.type.value,
        "Description": schema.description,
        "NoEcho": "true" if schema.hidden else "false",
        "Label": schema.label or schema.name,
    }
    if schema.default is not None:
        view["Default"] = schema.default
    if parameter.has_value:
        view["Value"] = MASK if schema.hidden else parameter.value
    if schema.tags:
        view["Tags"] = list(schema.tags)
    descriptions = []
    for constraint in schema.constraints:
        view.update(_constraint_keys(constraint))
        if constraint.description:
            descriptions.append(constraint.description)
    told = schema.constraint_description or " ".join(descriptions)
    if told:
        view["ConstraintDescription"] = told
    return view


def _constraint_keys(constraint: Constraint) -> dict[str, Json]:
    match constraint:
        case Range(low, high):
            return _given(MinValue=low, MaxValue=high)
        case Length(low, high):
            return _given(MinLength=low, MaxLength=high)
        case Modulo(step, offset):
            return {"Step": step, "Offset": offset}
        case AllowedValues(values):
            return {"AllowedValues": list(values)}
        case AllowedPattern(pattern):
            return {"AllowedPattern": pattern}
        case CustomConstraint(name):
            return {"CustomConstraint": name}
    return {}


def _given(**entries: Json) -> dict[str, Json]:
    return {key: value for key, value in entries.items() if value is not None}


def template_versions() -> list[dict[str, Json]]:
    """Every version with its kind and other names."""
    return [
        {
            "version": version.id,
            "type": version.template_format.value,
            "aliases": [f"{version.key}.{alias}" for alias in version.aliases],
        }
        for version in TEMPLATE_VERSIONS.values()
    ]


def template_functions(
    version_name: str, *, with_conditions: bool = False, plugins: Mapping[str, str] | None = None
) -> list[dict[str, str]]:
    """The functions of a version, named ``<key>.<date>``; ``plugins`` are summaries by
    name.  Raises ``NotFound``."""
    version = find_template_version(version_name)
    if version is None:
        raise NotFound(
            f"Template with version {version_name} not found{did_you_mean(version_name, TEMPLATE_VERSIONS)}"  # noqa: E501
        )
    variants = dict(version.functions)
    if with_conditions:
        variants = {**version.condition_functions, **variants}
    summaries = dict(plugins or {})
    summaries |= {
        name: BUILTIN_FUNCTIONS[name, variant].summary for name, variant in variants.items()
    }
    return [{"functions": name, "description": summaries[name]} for name in sorted(summaries)]
