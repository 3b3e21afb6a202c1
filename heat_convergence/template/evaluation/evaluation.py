"""Evaluation of a template, and resolution of values that wait for resources.

``evaluate_template`` is called once, when a goal is set; ``resolve_value`` by the engine
for each resource that is due, and by the API for outputs.  Delegates all decisions to
``evaluator`` and ``partial_evaluation``.  Must not know resource types: callers that have
their schemas check attributes (``attribute_references``).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from heat_convergence.common.errors import (
    Error,
    RequestLimitExceeded,
    StackValidationFailed,
)
from heat_convergence.template.diagnostics import format_path
from heat_convergence.template.environment.environment import Environment
from heat_convergence.template.evaluation.evaluated_template import EvaluatedTemplate
from heat_convergence.template.evaluation.evaluation_options import (
    DEFAULT_OPTIONS,
    EvaluationOptions,
)
from heat_convergence.template.evaluation.evaluator import TemplateEvaluator
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
from heat_convergence.template.evaluation_budget import evaluation_budget
from heat_convergence.template.expression import is_known, iter_expressions
from heat_convergence.template.functions.function import (
    NO_FUNCTIONS,
    OMIT,
    UNKNOWN,
    Function,
    FunctionError,
)
from heat_convergence.template.limits import DEFAULT_LIMITS, TemplateLimits
from heat_convergence.template.parameters.parameter_values import MissingParameters, StackContext
from heat_convergence.template.template import Template

Json = Any
Value = Any

__all__ = [
    "UNKNOWN",
    "AttributeReference",
    "EvaluatedTemplate",
    "EvaluationOptions",
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
    options: EvaluationOptions = DEFAULT_OPTIONS,
) -> EvaluatedTemplate:
    """Evaluate everything that does not depend on a resource.

    Args:
        template: The template.
        environment: Parameter values and the resource registry.
        files: Contents for ``get_file`` by name.
        stack: Facts about the stack that the template may read.
        options: Plug-ins, and the treatment of missing parameters and errors.

    Returns:
        The result.  If ``options.diagnostics`` collected errors, it serves only to find more
        of them.

    Raises:
        Error: The first error in the order of docs/reference/validation.rst; its text holds
            all others too.  Raised only without ``options.diagnostics``.
    """
    with evaluation_budget(template.limits) as budget:
        try:
            return TemplateEvaluator(template, environment, files, stack, options).evaluate()
        except RequestLimitExceeded as error:
            raise _with_path(error, format_path(budget.location)) from error


def resolve_value(
    value: Value,
    inputs: ResourceValues,
    *,
    limits: TemplateLimits = DEFAULT_LIMITS,
    functions: Mapping[str, Function] = NO_FUNCTIONS,
    location: str = "",
) -> Json:
    """Return the value as plain JSON, with its references to other resources resolved.

    Raises:
        StackValidationFailed: A function failed, or a referenced value is not available;
            ``location`` is the error's path.
        RequestLimitExceeded: The result is too large.
    """
    resolved = resolve_partially(
        value, inputs, limits=limits, functions=functions, location=location
    )
    if not is_known(resolved):
        unresolved = next(iter_expressions(resolved))[1]
        raise StackValidationFailed(f"{unresolved.function} has no value yet", path=location)
    return resolved


def resolve_partially(
    value: Value,
    inputs: ResourceValues,
    *,
    limits: TemplateLimits = DEFAULT_LIMITS,
    functions: Mapping[str, Function] = NO_FUNCTIONS,
    location: str = "",
    allow_unknown_parameters: bool = False,
) -> Value:
    """Resolve a value as far as possible.

    Expressions remain where ``inputs`` return ``UNKNOWN`` and, if
    ``allow_unknown_parameters`` is set, where the template itself was evaluated without the
    parameter or the parent resource.
    """
    if is_known(value):
        return value
    with evaluation_budget(limits) as budget:
        scope = ResolutionScope(budget, inputs, allow_unknown_parameters=allow_unknown_parameters)
        try:
            resolved = ExpressionResolver(scope, functions).resolve(value)
        except FunctionError as error:
            raise _with_path(error.error, location) from error
        except RequestLimitExceeded as error:
            error.path = ".".join(part for part in (location, error.path) if part)
            raise
    return None if resolved is OMIT else resolved


def _with_path(error: Error, where: str) -> Error:
    if where and not error.path:
        error.path = where
    return error
