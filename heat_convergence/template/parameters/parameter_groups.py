"""Validation of parameter groups, which tell clients how to present parameters.

Decides whether the section is valid.  Called by the template evaluator.  Must not
change parameters.

Source: docs/reference/template-language.rst, "Parameter groups".
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from heat_convergence.template.diagnostics import (
    Diagnostics,
    SourcePath,
    ValidationPhase,
    did_you_mean,
)

Json = Any
_KEYS = ("label", "description", "parameters")


def validate_parameter_groups(
    section: Json, where: str, declared: Collection[str], diagnostics: Diagnostics
) -> None:
    """Add the errors of the section to ``diagnostics``.

    Args:
        section: The section's content; an absent one is an empty map.
        where: The section's name.
        declared: The names of the declared parameters.
        diagnostics: The collection of errors.
    """
    if section == {}:
        return
    if not isinstance(section, list):
        diagnostics.add(
            ValidationPhase.PARAMETER_GROUPS, f"The section {where} must be a list.", (where,)
        )
        return
    label_by_parameter: dict[str, str] = {}
    for index, group in enumerate(section):
        _check_group(group, (where, index), declared, label_by_parameter, diagnostics)


def _check_group(
    group: Json,
    path: SourcePath,
    declared: Collection[str],
    label_by_parameter: dict[str, str],
    diagnostics: Diagnostics,
) -> None:
    def report(message: str, *where: str | int) -> None:
        shown = (path[0], str(group.get("label", ""))) if isinstance(group, dict) else path
        diagnostics.add(
            ValidationPhase.PARAMETER_GROUPS,
            message,
            shown,
            prefix="Parameter Groups error",
            source_path=(*path, *where),
        )

    if not isinstance(group, dict):
        report("A parameter group must be a map")
        return
    for key in group:
        if key not in _KEYS:
            report(f'"{key}" is not a key of a parameter group{did_you_mean(key, _KEYS)}', key)
    names = group.get("parameters")
    if not isinstance(names, list):
        report("The parameters of a group must be a list")
        return
    label = str(group.get("label", ""))
    for index, name in enumerate(names):
        if not isinstance(name, str) or name not in declared:
            report(
                f"The grouped parameter {name} does not reference a valid parameter."
                f"{did_you_mean(name, declared)}",
                "parameters",
                index,
            )
        elif name in label_by_parameter:
            report(
                f"The {name} parameter must be assigned to one parameter group only.",
                "parameters",
                index,
            )
        else:
            label_by_parameter[name] = label
