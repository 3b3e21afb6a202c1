"""Goals as they are stored: what many have in common by its hash, the rest as it is.

Decides which parts of a goal become contents.  Called when a goal is kept and when
one is read; a tree of a thousand stacks then has its environment, its list of files
and every long parameter once.  Asks for texts, never for rows.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import Any

from heat_convergence.convergence.model.goal import Goal
from heat_convergence.template import expression

Json = Any
ContentLoader = Callable[[Collection[str]], Mapping[str, str]]  # hashes → texts
_OWN = ("parameters", "encrypted_param_names")  # sections of a stack's alone


def deduplicate(goal: Goal) -> tuple[Goal, dict[str, str]]:
    """The goal as its row has it, and texts by their hashes.

    One that names what it inherits already keeps that; its environment then has
    sections of its own only, and its files are not told.
    """
    texts: dict[str, str] = {}
    environment, files, inherited = goal.environment, goal.files, goal.common_part_hash
    if inherited is None:
        inherited = _put(common_part(environment, files), texts)
        environment = {name: environment[name] for name in _OWN if name in environment}
        files = {}
    environment = {**environment, "parameters": _share(environment.get("parameters"), texts)}
    lean = replace(
        goal,
        environment=environment,
        files=files,
        parameters=_share(goal.parameters, texts),
        common_part_hash=inherited,
        content_hashes=tuple(sorted({*goal.content_hashes, *texts} - {inherited})),
    )
    return lean, texts


def common_part(environment: Mapping[str, Json], files: Mapping[str, str]) -> dict[str, Json]:
    """What the stacks of a tree have in common."""
    sections = {name: item for name, item in environment.items() if name not in _OWN}
    return {"environment": sections, "files": dict(files)}


def file_hashes_of_common_part(text: str) -> dict[str, str]:
    """Name → hash, of a stored common part."""
    return dict(json.loads(text)["files"])


def with_parameter_values(goal: Goal, load: ContentLoader) -> Goal:
    """With every parameter; what it inherits is left out."""
    hashes = _named(goal.parameters) | _named(goal.environment.get("parameters"))
    texts = load(hashes) if hashes else {}
    environment = dict(goal.environment)
    if "parameters" in environment:
        environment["parameters"] = _unshare(environment["parameters"], texts)
    return replace(goal, environment=environment, parameters=_unshare(goal.parameters, texts))


def restore_full(goal: Goal, load: ContentLoader) -> Goal:
    """As it was before ``apart``."""
    if goal.common_part_hash is None:
        return goal
    shared = json.loads(load([goal.common_part_hash])[goal.common_part_hash])
    full = with_parameter_values(goal, load)
    return replace(
        full,
        environment={**shared["environment"], **full.environment},
        files=shared["files"],
        common_part_hash=None,
        content_hashes=(),
    )


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
