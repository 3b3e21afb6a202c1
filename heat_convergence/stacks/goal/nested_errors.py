"""Errors of a nested stack as its parent reports them: with the path from the parent.

Called where nested stacks are built and where they are validated, so that a mistake
reads the same whenever it is found.
"""

from __future__ import annotations

from dataclasses import dataclass

from heat_convergence.common.errors import Error, StackValidationFailed
from heat_convergence.resources.validation import PROPERTY_ERROR
from heat_convergence.template.diagnostics import Diagnostic, format_path
from heat_convergence.template.template import Template

_SECTIONS = frozenset({"resources", "parameters", "outputs", "conditions"})
_POSITION_END = " there)"


@dataclass(frozen=True, slots=True)
class NestedError:
    """A mistake in a nested template.

    Attributes:
        path: from the nested stack on.
        prefix: what goes before the whole path, such as ``Property error``.
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
    prefix, path, message = "", error.path, error.message
    if not path:
        if message.startswith(f"{PROPERTY_ERROR}: "):
            prefix = f"{PROPERTY_ERROR}: "
            message = message.removeprefix(prefix)
        head, colon, rest = message.partition(": ")
        if colon and head.split(".")[0].lower() in _SECTIONS:
            path, message = head, rest
    full = f"{location}.{path}" if path else location
    return StackValidationFailed(f"{prefix}{_type_prefix(error)}{message}", path=full)


def nested_error(error: Error) -> NestedError:
    """Return the mistake that keeps a nested template from being evaluated."""
    found = nested_validation_error(error, "")
    prefix, message = "", found.message
    if message.startswith(f"{PROPERTY_ERROR}: "):
        prefix, message = PROPERTY_ERROR, message.removeprefix(f"{PROPERTY_ERROR}: ")
    path = found.path.lstrip(".")
    return NestedError((path,) if path else (), message, prefix)


def nested_error_from_diagnostic(problem: Diagnostic, template: Template | None) -> NestedError:
    """Return a mistake of a nested template.

    Args:
        problem: the mistake.
        template: the template if a user wrote it; adds line and column to the message.
    """
    prefix = PROPERTY_ERROR if problem.location.startswith(PROPERTY_ERROR) else ""
    path = problem.location.removeprefix(prefix).removeprefix(": ") or format_path(
        problem.source_path
    )
    message = f"{_type_prefix(problem.error)}{problem.error.message}"
    position = None
    if template is not None and problem.source_path and not message.endswith(_POSITION_END):
        position = template.document.find_position(problem.source_path)
    if position is not None:
        message = f"{message} (line {position[0]}, column {position[1]}{_POSITION_END}"
    return NestedError((path,) if path else (), message, prefix)


def _type_prefix(error: Error) -> str:
    error_type = type(error)
    return "" if error_type is StackValidationFailed else f"{error_type.__name__}: "
