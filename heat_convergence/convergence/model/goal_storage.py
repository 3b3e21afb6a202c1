"""The stored form of goals: shared parts by their hashes, the rest as it is.

Decides which parts of a goal become contents.  Called when a goal is stored and when
one is read, so that a tree of a thousand stacks stores its environment, its list of
files and every long parameter once.  Must not read rows: it asks for contents only.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import Any

from heat_convergence.common.failures import RowsContradict
from heat_convergence.common.stored_values import parse_content
from heat_convergence.convergence.model.goal import Goal
from heat_convergence.template import expression

Json = Any
ContentLoader = Callable[[Collection[str]], Mapping[str, str]]  # hashes → texts
_OWN = ("parameters", "encrypted_param_names")  # sections that stacks do not share


def deduplicate(goal: Goal) -> tuple[Goal, dict[str, str]]:
    """Separate the shared parts from a goal.

    A goal that already has a ``common_part_hash`` keeps it: its environment then has
    sections of its own only, and it has no list of files.

    Returns:
        The goal as its row stores it, and the separated texts by their hashes.
    """
    texts: dict[str, str] = {}
    environment, files, inherited = goal.environment, goal.files, goal.common_part_hash
    if inherited is None:
        inherited = _put(common_part(environment, files), texts)
        environment = {name: environment[name] for name in _OWN if name in environment}
        files = {}
    environment = {**environment, "parameters": _share(environment.get("parameters"), texts)}
    stored = replace(
        goal,
        environment=environment,
        files=files,
        parameters=_share(goal.parameters, texts),
        common_part_hash=inherited,
        content_hashes=tuple(sorted({*goal.content_hashes, *texts} - {inherited})),
    )
    return stored, texts


def common_part(environment: Mapping[str, Json], files: Mapping[str, str]) -> dict[str, Json]:
    """Return the part of a goal that the stacks of a tree share."""
    sections = {name: item for name, item in environment.items() if name not in _OWN}
    return {"environment": sections, "files": dict(files)}


def file_hashes_of_common_part(text: str) -> dict[str, str]:
    """Return the files of a stored common part, name → hash."""
    return dict(_parse_common_part(text)["files"])


def environment_of_common_part(text: str) -> dict[str, Json]:
    """Return the shared sections of the environment of a stored common part."""
    return dict(_parse_common_part(text)["environment"])


def with_parameter_values(goal: Goal, load: ContentLoader) -> Goal:
    """Return the goal with all of its parameters, without the shared part."""
    hashes = _named(goal.parameters) | _named(goal.environment.get("parameters"))
    texts = load(hashes) if hashes else {}
    environment = dict(goal.environment)
    if "parameters" in environment:
        environment["parameters"] = _unshare(environment["parameters"], texts)
    return replace(goal, environment=environment, parameters=_unshare(goal.parameters, texts))


def restore_full(goal: Goal, load: ContentLoader) -> Goal:
    """Return the goal as it was before ``deduplicate``."""
    if goal.common_part_hash is None:
        return goal
    shared = _parse_common_part(load([goal.common_part_hash])[goal.common_part_hash])
    full = with_parameter_values(goal, load)
    return replace(
        full,
        environment={**shared["environment"], **full.environment},
        files=shared["files"],
        common_part_hash=None,
        content_hashes=(),
    )


def _parse_common_part(text: str) -> dict[str, Any]:
    found = parse_content(text)
    if isinstance(found, dict) and {"environment", "files"} <= found.keys():
        return found
    raise RowsContradict("A stored text is no environment with files")


def _put(value: Json, texts: dict[str, str]) -> str:
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    digest = hashlib.sha256(text.encode()).hexdigest()
    texts[digest] = text
    return digest


def _share(values: Mapping[str, Json] | None, texts: dict[str, str]) -> dict[str, Json]:
    return expression.deduplicate_values(expression.dump_values(values or {}), texts)


def _unshare(values: Mapping[str, Json], texts: Mapping[str, str]) -> dict[str, Json]:
    return {
        name: expression.load_deduplicated(value, texts.__getitem__)
        for name, value in values.items()
    }


def _named(values: Mapping[str, Json] | None) -> frozenset[str]:
    found = (expression.collect_content_hashes(value) for value in (values or {}).values())
    return frozenset().union(*found)
