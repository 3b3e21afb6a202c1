"""Drift policies: what the service does about resources that others have changed.

Decides which words an environment may have under ``drift``, and how they are stored with a
resource.  Called by ``resource_registry`` and, for the stored form, by ``convergence``.  Must not
know resource types: whether a property exists is checked where they are known.

Source: docs/use/drift.rst, "Policies".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any

from heat_convergence.common.errors import HTTPBadRequest
from heat_convergence.template.diagnostics import did_you_mean
from heat_convergence.template.environment.policy_entries import EntryForm
from heat_convergence.template.environment.repair_window import (
    REPAIR_WINDOW,
    RepairWindow,
    parse_window,
)

Json = Any
DRIFT = "drift"  # key of a resource's policies in the ``resource_registry``
_POLICY, _PROPERTIES = "policy", "properties"
_FORM = EntryForm("a drift policy", (_POLICY, _PROPERTIES, REPAIR_WINDOW))
_RESOURCE_PREFIX = f"{DRIFT}="
_PROPERTY_PREFIX = f"{DRIFT}."


class DriftPolicy(StrEnum):
    """The reaction to a difference between a resource and the properties applied last."""

    IGNORE = "ignore"  # it is neither compared nor restored
    REPORT = "report"  # it is shown, and restored at a user's request
    REPAIR = "repair"  # it is shown, and restored without a request
    OBSERVE_ONLY = "observe-only"  # it is shown, and never restored


def parse_policy(value: Json, path: str) -> DriftPolicy:
    """Return the policy that a word names.

    Args:
        value: the word.
        path: where it stands, for the error.

    Raises:
        HTTPBadRequest: there is no such policy.
    """
    try:
        return DriftPolicy(value)
    except ValueError as error:
        hint = did_you_mean(value, tuple(DriftPolicy)) if isinstance(value, str) else ""
        raise HTTPBadRequest(
            f'"{value}" is not a drift policy ({path}); it is one of'
            f" {', '.join(DriftPolicy)}{hint}"
        ) from error


def parse_drift(value: Json, path: str) -> dict[str, DriftPolicy]:
    """Return the policies of an entry ``drift``, by property; that of the resource under "".

    Raises:
        HTTPBadRequest: the entry has another form, or an unknown policy.
    """
    entry = _FORM.read(value, path)
    found = {}
    if entry.get(_POLICY) is not None:
        found[""] = parse_policy(entry[_POLICY], _FORM.word_path(value, path))
    properties = entry.get(_PROPERTIES)
    if properties is None:
        return found
    if not isinstance(properties, Mapping):
        raise HTTPBadRequest(f"{path}.{_PROPERTIES} is not a map.")
    for name, word in properties.items():
        if not isinstance(name, str) or not name:
            raise HTTPBadRequest(f'{path}.{_PROPERTIES} has "{name}", which names no property')
        found[name] = parse_policy(word, f"{path}.{_PROPERTIES}.{name}")
    return found


def parse_entry_window(value: Json, path: str) -> RepairWindow | None:
    """Return the repair window of an entry ``drift``; None if it has none.

    Raises:
        HTTPBadRequest: It is no repair window.
    """
    window = value.get(REPAIR_WINDOW) if isinstance(value, Mapping) else None
    return None if window is None else parse_window(window, f"{path}.{REPAIR_WINDOW}")


def to_words(policies: Mapping[str, DriftPolicy]) -> frozenset[str]:
    """Return the form of policies that is stored among a resource's restrictions."""
    return frozenset(
        f"{_PROPERTY_PREFIX}{name}={policy}" if name else f"{_RESOURCE_PREFIX}{policy}"
        for name, policy in policies.items()
    )


def from_words(words: Iterable[str]) -> dict[str, DriftPolicy]:
    """Return the policies among a resource's restrictions, as ``parse_drift`` does.

    Words of a later release are left out.
    """
    found = {}
    for word in words:
        name, separator, policy = word.rpartition("=")
        if not separator or policy not in set(DriftPolicy):
            continue
        if name == DRIFT:
            found[""] = DriftPolicy(policy)
        elif name.startswith(_PROPERTY_PREFIX):
            found[name.removeprefix(_PROPERTY_PREFIX)] = DriftPolicy(policy)
    return found
