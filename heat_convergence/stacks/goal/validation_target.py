"""The input and the result of the validation of a tree of stacks.

Used by the validation of root and nested stacks and by those that start it. Decides nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from heat_convergence.resources.nested.template_cache import TemplateFiles
from heat_convergence.resources.service_lookups import ServiceLookups
from heat_convergence.stacks.goal.desired_resources import resolve_implementations
from heat_convergence.template.environment.environment import Environment
from heat_convergence.template.evaluation.evaluated_template import EvaluatedTemplate
from heat_convergence.template.parameters.parameter_values import MissingParameters

TypeForbidden = Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class ValidationOptions:
    """Values of a request that decide about its validation.

    Attributes:
        is_type_forbidden: whether policy keeps a resource type from the caller.
        allow_absent_services: whether to accept types whose service is absent.
        missing_parameters: where they may be missing, values that functions give are not
            checked.
        lookups: asks services about the objects that parameters and resources name.
    """

    is_type_forbidden: TypeForbidden = lambda _name: False
    allow_absent_services: bool = False
    missing_parameters: MissingParameters = MissingParameters.REJECT
    lookups: ServiceLookups = field(default_factory=ServiceLookups)


@dataclass(frozen=True, slots=True)
class ValidationTarget:
    """One stack of the tree to validate; ``depth`` is 0 for the root.

    Attributes:
        implementations: resource name to the type or template that its type resolves to.
        timeout_s: how long an action of the stack may take; None for that of the root.
    """

    evaluated: EvaluatedTemplate
    environment: Environment
    files: TemplateFiles
    depth: int
    implementations: Mapping[str, str]
    timeout_s: float | None = None

    @classmethod
    def from_evaluated(
        cls,
        evaluated: EvaluatedTemplate,
        environment: Environment,
        files: TemplateFiles,
        depth: int,
    ) -> ValidationTarget:
        """Return the target, with its resource types resolved."""
        implementations = resolve_implementations(evaluated.definitions, environment)
        return cls(evaluated, environment, files, depth, implementations)


@dataclass(frozen=True, slots=True)
class ValidatedNestedStack:
    """A resource's nested template, evaluated as far as values are known.

    Attributes:
        nested: the nested stacks of its own resources, by resource name.
    """

    resource_type: str
    evaluated: EvaluatedTemplate
    nested: Mapping[str, ValidatedNestedStack]


@dataclass(frozen=True, slots=True)
class ValidationResult:
    """The number of resources of a tree, and its nested stacks by resource name."""

    resource_count: int
    nested: Mapping[str, ValidatedNestedStack]
