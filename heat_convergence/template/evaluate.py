"""A template, an environment and files → definitions; definitions → plain values.

``build`` is called once, when a goal arrives; ``finish`` by the engine for each
resource whose turn has come and by the api for outputs.  Decides nothing itself
beyond what it hands to ``building`` and ``folding``.  Must not know resource types:
whether an attribute exists is asked by whoever has their schemas
(``attribute_uses``).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from heat_convergence.common.errors import Error, StackValidationFailed
from heat_convergence.template import patterns
from heat_convergence.template.building import Additions, Builder
from heat_convergence.template.constraints import CustomCheck
from heat_convergence.template.environment import Environment
from heat_convergence.template.evaluated import EvaluatedTemplate
from heat_convergence.template.expression import expressions, is_known
from heat_convergence.template.folding import Reducer
from heat_convergence.template.functions.base import (
    NO_FUNCTIONS,
    OMIT,
    UNKNOWN,
    Function,
    FunctionError,
)
from heat_convergence.template.limits import DEFAULT, Limits
from heat_convergence.template.outputs import OutputDefinition
from heat_convergence.template.parameter_values import Missing, StackFacts
from heat_convergence.template.problems import Problems
from heat_convergence.template.scopes import FinishScope, Inputs, PathApplied
from heat_convergence.template.template import Template
from heat_convergence.template.uses import AttributeUse, attribute_uses, references

Json = Any
Value = Any

__all__ = [
    "UNKNOWN",
    "AttributeUse",
    "EvaluatedTemplate",
    "Inputs",
    "Missing",
    "OutputDefinition",
    "PathApplied",
    "StackFacts",
    "advance",
    "attribute_uses",
    "build",
    "finish",
    "is_known",
    "references",
]


def build(
    template: Template,
    environment: Environment,
    files: Mapping[str, str],
    stack: StackFacts,
    *,
    functions: Mapping[str, Function] = NO_FUNCTIONS,
    custom_constraints: Mapping[str, CustomCheck] | None = None,
    missing: Missing = Missing.REFUSE,
    problems: Problems | None = None,
) -> EvaluatedTemplate:
    """Everything evaluated that does not depend on a resource.

    ``functions`` and ``custom_constraints`` come from plug-ins, by name;
    ``custom_constraints`` None leaves such constraints unchecked.

    Raises the error of the first mistake, in the order of heat-facts
    ``validation.md``; its text tells all others too.  With ``problems`` they are added
    there instead: what is returned is then good for finding more of them, and for
    nothing else if there are any.
    """
    additions = Additions(functions, custom_constraints, missing, problems)
    with patterns.patience(template.limits):
        return Builder(template, environment, files, stack, additions).build()


def finish(
    value: Value,
    inputs: Inputs,
    *,
    limits: Limits = DEFAULT,
    functions: Mapping[str, Function] = NO_FUNCTIONS,
    where: str = "",
) -> Json:
    """The value as plain JSON, with what it reads of other resources.

    Raises what the functions say is wrong (``StackValidationFailed`` mostly, with
    ``where`` as its path) and ``RequestLimitExceeded``.
    """
    reduced = advance(value, inputs, limits=limits, functions=functions, where=where)
    if not is_known(reduced):
        left = next(expressions(reduced))[1]
        raise StackValidationFailed(f"{left.function} has no value yet", path=where)
    return reduced


def advance(
    value: Value,
    inputs: Inputs,
    *,
    limits: Limits = DEFAULT,
    functions: Mapping[str, Function] = NO_FUNCTIONS,
    where: str = "",
    later: bool = False,
) -> Value:
    """As ``finish``, leaving expressions where ``inputs`` answer ``UNKNOWN``, or, with
    ``later``, what the template was built from was ``UNKNOWN`` itself."""
    if is_known(value):
        return value
    scope = FinishScope(limits, inputs, later=later)
    try:
        with patterns.patience(limits):
            reduced = Reducer(scope, functions).reduce(value)
    except FunctionError as error:
        raise _placed(error.error, where) from error
    return None if reduced is OMIT else reduced


def _placed(error: Error, where: str) -> Error:
    if where and not error.path:
        error.path = where
    return error
