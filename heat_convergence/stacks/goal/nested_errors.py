"""Errors of a nested stack as its parent reports them: with the path from the parent.

Called where nested stacks are built and where they are validated, so that a mistake
reads the same whenever it is found.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from heat_convergence.common.errors import Error, StackValidationFailed
from heat_convergence.resources.validation import PROPERTY_ERROR
from heat_convergence.template.diagnostics import (
    ERROR_SEPARATOR,
    Diagnostic,
    format_path,
    source_details,
)
from heat_convergence.template.template import Template

_SECTIONS = frozenset({"resources", "parameters", "outputs", "conditions"})
_DETAILS_END = " there)"
_RESOURCE_PATH_LENGTH = 2  # section and resource
_PROPERTIES_PATH_LENGTH = 3
_VALUE_ERROR = "ValueError"  # the class that clients know for a wrong value


@dataclass(frozen=True, slots=True)
class NestedError:
    """A mistake in a nested template.

    Attributes:
        path: from the nested stack on.
        prefix: what goes before the whole path, such as ``Property error`` or a class.
    """

    path: tuple[str | int, ...]
    message: str
    prefix: str = ""


def nested_validation_error(error: Error, location: str) -> Error:
    """Return the error as one of the nested stack's validation.

    Args:
        error: the mistake as the nested template reports it.
        location: the path to the nested stack, which goes before the error's own.
    """
    found = nested_error(error)
    prefix = f"{found.prefix}: " if found.prefix else ""
    return StackValidationFailed(
        f"{prefix}{found.message}", path=format_path((location, *found.path))
    )


def nested_error(error: Error) -> NestedError:
    """Return the mistake that keeps a nested template from being evaluated."""
    prefix, path, message = _class_prefix(error), error.path, error.message
    if not path:
        *location, message = message.split(ERROR_SEPARATOR, 2)
        if location and location[-1].split(".")[0].lower() in _SECTIONS:
            path = location.pop()
        prefix = prefix or "".join(location)
    return NestedError((path,) if path else (), message, prefix)


def nested_error_from_diagnostic(problem: Diagnostic, template: Template | None) -> NestedError:
    """Return a mistake of a nested template.

    Args:
        problem: the mistake.
        template: the template if a user wrote it; adds line and column to the message.
    """
    prefix = _class_prefix(problem.error) or problem.prefix
    if prefix == PROPERTY_ERROR and len(problem.path) > _PROPERTIES_PATH_LENGTH:
        problem = replace(problem, path=problem.path[:_RESOURCE_PATH_LENGTH])
        prefix = _VALUE_ERROR
    message = problem.error.message
    if not message.endswith(_DETAILS_END):
        found = None if template is None else template.document.find_position(problem.source_path)
        details = source_details(problem, found)
        message = f"{message} ({details}{_DETAILS_END}" if details else message
    return NestedError(problem.path, message, prefix)


def _class_prefix(error: Error) -> str:
    error_type = type(error)
    return "" if error_type is StackValidationFailed else error_type.__name__
