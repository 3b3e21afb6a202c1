"""Options of an evaluation that most callers leave at their defaults.

Decides nothing; passed to ``evaluate_template``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from heat_convergence.template.diagnostics import Diagnostics
from heat_convergence.template.functions.function import Function
from heat_convergence.template.parameters.constraints import CustomConstraintFunction
from heat_convergence.template.parameters.parameter_values import MissingParameters


@dataclass(frozen=True, slots=True)
class EvaluationOptions:
    """Plug-ins, and the treatment of missing parameters and errors.

    Attributes:
        functions: Functions of plug-ins by name.
        custom_constraints: Constraints of plug-ins by name; None leaves them unchecked.
        missing_parameters: Whether a required parameter without a value is an error.
        diagnostics: Collects the errors, which are raised if it is None.
        ignores_properties: Whether a resource, by its type and name, never reads its properties:
            an expression in them that fails is no error.
    """

    functions: Mapping[str, Function] = field(default_factory=dict)
    custom_constraints: Mapping[str, CustomConstraintFunction] | None = None
    missing_parameters: MissingParameters = MissingParameters.REJECT
    diagnostics: Diagnostics | None = None
    ignores_properties: Callable[[str, str], bool] = lambda _type, _name: False


DEFAULT_OPTIONS = EvaluationOptions()
