"""A template, an environment and files → definitions; definitions → plain values.

``build`` is called once, when a goal arrives; ``finish`` by the engine for each
resource whose turn has come and by the api for outputs.  Decides nothing itself
beyond what it hands to ``building`` and ``folding``.  Must not know resource types:
whether an attribute exists is asked by whoever has their schemas
(``attribute_references``).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from heat_convergence.common.errors import Error, StackValidationFailed
from heat_convergence.template import bounded_regex
from heat_convergence.template.diagnostics import Diagnostics
from heat_convergence.template.environment.environment import Environment
from heat_convergence.template.evaluation.evaluated_template import EvaluatedTemplate
from heat_convergence.template.evaluation.evaluator import Extensions, TemplateEvaluator
from heat_convergence.template.evaluation.output_definition import OutputDefinition
from heat_convergence.template.evaluation.partial_evaluation import ExpressionResolver
from heat_convergence.template.evaluation.references import (
    AttributeReference,
    attribute_references,
    referenced_resources,
)
from heat_convergence.template.evaluation.scopes import (
    ResolutionScope,
    ResourceValues,
    ValueAtPath,
)
from heat_convergence.template.expression import is_known, iter_expressions
from heat_convergence.template.functions.function import (
    NO_FUNCTIONS,
    OMIT,
    UNKNOWN,
    Function,
    FunctionError,
)
from heat_convergence.template.limits import DEFAULT_LIMITS, TemplateLimits
from heat_convergence.template.parameters.constraints import CustomConstraintFunction
from heat_convergence.template.parameters.parameter_values import MissingParameters, StackContext
from heat_convergence.template.template import Template

Json = Any
Value = Any

__all__ = [
    "UNKNOWN",
    "AttributeReference",
    "EvaluatedTemplate",
    "MissingParameters",
    "OutputDefinition",
    "ResourceValues",
    "StackContext",
    "ValueAtPath",
    "attribute_references",
    "evaluate_template",
    "is_known",
    "referenced_resources",
    "resolve_partially",
    "resolve_value",
]


def evaluate_template(
    template: Template,
    environment: Environment,
    files: Mapping[str, str],
    stack: StackContext,
    *,
    functions: Mapping[str, Function] = NO_FUNCTIONS,
    custom_constraints: Mapping[str, CustomConstraintFunction] | None = None,
    missing_parameters: MissingParameters = MissingParameters.REJECT,
    diagnostics: Diagnostics | None = None,
) -> EvaluatedTemplate:
    """Everything evaluated that does not depend on a resource.

    ``functions`` and ``custom_constraints`` come from plug-ins, by name;
    ``custom_constraints`` None leaves such constraints unchecked.

    Raises the error of the first mistake, in the order of heat-facts
    ``validation.md``; its text tells all others too.  With ``problems`` they are added
    there instead: what is returned is then good for finding more of them, and for
    nothing else if there are any.
    """
    additions = Extensions(functions, custom_constraints, missing_parameters, diagnostics)
    with bounded_regex.regex_budget(template.limits):
        return TemplateEvaluator(template, environment, files, stack, additions).evaluate()


def resolve_value(
    value: Value,
    inputs: ResourceValues,
    *,
    limits: TemplateLimits = DEFAULT_LIMITS,
    functions: Mapping[str, Function] = NO_FUNCTIONS,
    location: str = "",
) -> Json:
    """The value as plain JSON, with what it reads of other resources.

    Raises what the functions say is wrong (``StackValidationFailed`` mostly, with
    ``where`` as its path) and ``RequestLimitExceeded``.
    """
    reduced = resolve_partially(
        value, inputs, limits=limits, functions=functions, location=location
    )
    if not is_known(reduced):
        left = next(iter_expressions(reduced))[1]
        raise StackValidationFailed(f"{left.function} has no value yet", path=location)
    return reduced


def resolve_partially(
    value: Value,
    inputs: ResourceValues,
    *,
    limits: TemplateLimits = DEFAULT_LIMITS,
    functions: Mapping[str, Function] = NO_FUNCTIONS,
    location: str = "",
    allow_unknown_parameters: bool = False,
) -> Value:
    """As ``finish``, leaving expressions where ``inputs`` answer ``MISSING_REFERENCES``, or, with
    ``later``, what the template was built from was ``MISSING_REFERENCES`` itself."""
    if is_known(value):
        return value
    scope = ResolutionScope(limits, inputs, allow_unknown_parameters=allow_unknown_parameters)
    try:
        with bounded_regex.regex_budget(limits):
            reduced = ExpressionResolver(scope, functions).resolve(value)
    except FunctionError as error:
        raise _placed(error.error, location) from error
    return None if reduced is OMIT else reduced


def _placed(error: Error, where: str) -> Error:
    if where and not error.path:
        error.path = where
    return error
