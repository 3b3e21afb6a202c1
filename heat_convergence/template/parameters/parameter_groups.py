"""Parameter groups: how clients are to show the parameters.

Decides whether the section is right.  Called by ``building`` and ``to_dict``.
Must not change parameters.

Source: heat-facts ``template_functions.json``, ``parameter_groups``.
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
    section: Json, where: str, declared: Collection[str], problems: Diagnostics
) -> None:
    """Mistakes go to ``problems``; an absent section has been made an empty map."""
    if section == {}:
        return
    if not isinstance(section, list):
        problems.add(
            ValidationPhase.PARAMETER_GROUPS, f"The section {where} must be a list.", (where,)
        )
        return
    seen: dict[str, str] = {}
    for index, group in enumerate(section):
        _check_group(group, (where, index), declared, seen, problems)


def _check_group(
    group: Json,
    path: SourcePath,
    declared: Collection[str],
    seen: dict[str, str],
    problems: Diagnostics,
) -> None:
    def mistake(message: str, *where: str | int) -> None:
        problems.add(ValidationPhase.PARAMETER_GROUPS, message, (*path, *where))

    if not isinstance(group, dict):
        mistake("A parameter group must be a map")
        return
    for key in group:
        if key not in _KEYS:
            mistake(f'"{key}" is not a key of a parameter group{did_you_mean(key, _KEYS)}', key)
    names = group.get("parameters")
    if not isinstance(names, list):
        mistake("The parameters of a group must be a list")
        return
    label = str(group.get("label", ""))
    for index, name in enumerate(names):
        if not isinstance(name, str) or name not in declared:
            mistake(
                f'The grouped parameter "{name}" is not declared{did_you_mean(name, declared)}',
                "parameters",
                index,
            )
        elif name in seen:
            mistake(f'The parameter "{name}" is in a group already', "parameters", index)
        else:
            seen[name] = label
