"""The API's views of templates, template versions and template functions.

Called by the API's controllers.  Decides only the shape of responses; must not
validate.

Source: docs/reference/rest-api.rst, views ``validate_properties``, ``template_versions``
and ``template_functions``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from heat_convergence.common.errors import NotFound
from heat_convergence.template.diagnostics import did_you_mean
from heat_convergence.template.environment.environment import Environment
from heat_convergence.template.environment.type_mappings import is_template_name
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
    """Return the response to POST /validate.

    ``evaluated`` must have been built with missing parameters allowed.
    """
    environment_view = environment.to_dict()
    del environment_view["encrypted_param_names"]
    types = {definition.type for definition in evaluated.definitions.values()}
    templates = {name: name for name in sorted(types) if is_template_name(name)}
    environment_view["resource_registry"] = {
        **templates,
        **environment_view["resource_registry"],
    }
    return {**template_view(evaluated), "Environment": environment_view}


def template_view(evaluated: EvaluatedTemplate) -> dict[str, Json]:
    """Return description, parameters and parameter groups, also of a nested template."""
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
    """Return the view of one parameter without the keys that have no value.

    Values are shown as they were given, not as they were converted.
    """
    schema = parameter.schema
    view: dict[str, Json] = {
        "Type": schema.type.value,
        "Description": schema.description,
        "NoEcho": "true" if schema.hidden else "false",
        "Label": schema.label or schema.name,
    }
    if parameter.default is not None:
        view["Default"] = parameter.default
    if parameter.assigned not in (None, ""):
        view["Value"] = MASK if schema.hidden else parameter.assigned
    if schema.tags:
        view["Tags"] = list(schema.tags)
    descriptions = []
    for constraint in schema.constraints:
        view.update(_constraint_view(constraint))
        if constraint.description:
            descriptions.append(constraint.description)
    constraint_description = schema.constraint_description or " ".join(descriptions)
    if constraint_description:
        view["ConstraintDescription"] = constraint_description
    return view


def _constraint_view(constraint: Constraint) -> dict[str, Json]:
    match constraint:
        case Range(low, high):
            return _without_none(MinValue=low, MaxValue=high)
        case Length(low, high):
            return _without_none(MinLength=low, MaxLength=high)
        case Modulo(step, offset):
            return {"Step": step, "Offset": offset}
        case AllowedValues(values):
            return {"AllowedValues": list(values)}
        case AllowedPattern(pattern):
            return {"AllowedPattern": pattern}
        case CustomConstraint(name):
            return {"CustomConstraint": name}
    return {}


def _without_none(**entries: Json) -> dict[str, Json]:
    return {key: value for key, value in entries.items() if value is not None}


def template_versions() -> list[dict[str, Json]]:
    """Return every version of the language with its format and aliases."""
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
    """Return the functions of a version with their summaries, sorted by name.

    Args:
        version_name: The version as ``<key>.<date>``.
        with_conditions: Whether to include the functions allowed in conditions.
        plugins: Summaries of plug-in functions by name.

    Raises:
        NotFound: There is no such version.
    """
    version = find_template_version(version_name)
    if version is None:
        raise NotFound(
            f"Template with version {version_name} not found"
            f"{did_you_mean(version_name, TEMPLATE_VERSIONS)}"
        )
    variants = dict(version.functions)
    if with_conditions:
        variants = {**version.condition_functions, **variants}
    summaries = dict(plugins or {})
    summaries |= {
        name: BUILTIN_FUNCTIONS[name, variant].summary for name, variant in variants.items()
    }
    return [{"functions": name, "description": summaries[name]} for name in sorted(summaries)]
