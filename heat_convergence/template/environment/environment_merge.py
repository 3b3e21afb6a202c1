"""Merging of several environment files into one environment.

Decides how sections and parameters of the files merge.  Called when a request names
``environment_files``.  Must not read files: their contents arrive by name.

Source: docs/reference/events-and-states.rst, "Merging environment_files".
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import Any

from heat_convergence.common.errors import (
    ConflictingMergeStrategyForParam,
    HTTPBadRequest,
    InvalidMergeStrategyForParam,
)
from heat_convergence.template.environment.environment import (
    MERGE_STRATEGIES_SECTION,
    Environment,
    parse_environment_sections,
)
from heat_convergence.template.limits import DEFAULT_LIMITS, TemplateLimits
from heat_convergence.template.parameters.parameter_schemas import (
    InvalidParameterValue,
    ParameterSchema,
    ParameterType,
)

Json = Any


class MergeStrategy(StrEnum):
    """The way in which two files' values of one parameter are combined."""

    OVERWRITE = "overwrite"
    MERGE = "merge"
    DEEP_MERGE = "deep_merge"


def merge_environment_files(
    files: Mapping[str, str],
    names: Sequence[str],
    schemas: Mapping[str, ParameterSchema],
    *,
    request: Mapping[str, Json] | None = None,
    base: Environment | None = None,
    limits: TemplateLimits = DEFAULT_LIMITS,
) -> Environment:
    """Merge environment files, in their order, over the request's own environment.

    Args:
        files: Contents of the request's files by name.
        names: The environment files to merge.
        schemas: Parameters of the root template and of templates among the files.
        request: The sections of the request's own environment.
        base: The operator's global environment.
        limits: Limits on the size of each document.

    Raises:
        HTTPBadRequest: A file is malformed or missing from the request.
        InvalidMergeStrategyForParam: The parameter's type does not support the strategy.
        ConflictingMergeStrategyForParam: Two files name different strategies.
    """
    merged: dict[str, Json] = dict(request or {})
    merged.pop(MERGE_STRATEGIES_SECTION, None)
    chosen: dict[str, MergeStrategy] = {}
    for name in names:
        if name not in files:
            raise HTTPBadRequest(f'The environment file "{name}" is not among the files.')
        sections = _sections(name, files[name], limits)
        strategies = sections.pop(MERGE_STRATEGIES_SECTION, {})
        for section, content in sections.items():
            if section in ("parameters", "parameter_defaults"):
                merged[section] = _merge_parameters(
                    merged.get(section, {}), content, schemas, strategies, chosen
                )
            elif section == "resource_registry":
                kept = {key: entry for key, entry in content.items() if entry is not None}
                merged[section] = {**merged.get(section, {}), **kept}
            elif not merged.get(section):
                merged[section] = content
    return Environment.parse(merged, base=base, limits=limits)


def _sections(name: str, text: str, limits: TemplateLimits) -> dict[str, Json]:
    try:
        return parse_environment_sections(text, limits=limits)
    except HTTPBadRequest as error:
        raise HTTPBadRequest(f"The environment file {name}: {error.message}") from error


def _merge_parameters(
    before: Mapping[str, Json],
    after: Mapping[str, Json],
    schemas: Mapping[str, ParameterSchema],
    strategies: Mapping[str, Json],
    chosen: dict[str, MergeStrategy],
) -> dict[str, Json]:
    if not before:
        # Nothing to merge with: all names are kept, so that unknown ones are reported.
        for name in after:
            if name in strategies:
                _choose(name, strategies, chosen)
        return dict(after)
    merged = dict(before)
    for name, value in after.items():
        schema = schemas.get(name)
        if schema is None or value is None:
            continue
        strategy = _choose(name, strategies, chosen)
        if strategy is MergeStrategy.OVERWRITE or merged.get(name) is None:
            merged[name] = value
        else:
            merged[name] = _merged(schema, merged[name], value, strategy)
    return merged


def _choose(
    name: str, strategies: Mapping[str, Json], chosen: dict[str, MergeStrategy]
) -> MergeStrategy:
    """Return the strategy for a parameter.

    The file's entry for the parameter takes precedence over an earlier choice, which takes
    precedence over the file's default.
    """
    explicit = strategies.get(name)
    if explicit is None:
        by_default = _strategy(name, strategies.get("default", "overwrite"))
        return chosen.setdefault(name, by_default)
    strategy = _strategy(name, explicit)
    if chosen.setdefault(name, strategy) is not strategy:
        raise ConflictingMergeStrategyForParam(
            f'Conflicting merge strategies "{chosen[name]}" and "{strategy}" for the'
            f' parameter "{name}".'
        )
    return strategy


def _strategy(name: str, value: Json) -> MergeStrategy:
    try:
        return MergeStrategy(value)
    except ValueError as error:
        raise HTTPBadRequest(f'"{value}" is not a merge strategy (for "{name}").') from error


def _merged(schema: ParameterSchema, before: Json, after: Json, strategy: MergeStrategy) -> Json:
    merge = _MERGERS.get(schema.type)
    if merge is None:
        raise InvalidMergeStrategyForParam(
            f'Invalid merge strategy "{strategy}" for the parameter "{schema.name}".'
        )
    try:
        return merge(schema.convert(before), schema.convert(after), strategy)
    except InvalidParameterValue as error:
        raise HTTPBadRequest(f'The parameter "{schema.name}": {error}') from error


def _merge_json(before: Json, after: Json, strategy: MergeStrategy) -> Json:
    if isinstance(before, dict) and isinstance(after, dict):
        return (
            _deep(before, after) if strategy is MergeStrategy.DEEP_MERGE else {**before, **after}
        )
    if isinstance(before, list) and isinstance(after, list):
        return [*before, *after]
    raise InvalidParameterValue(
        f"{json.dumps(before)[:40]} and {json.dumps(after)[:40]} cannot be merged"
    )


def _deep(before: Json, after: Json) -> Json:
    if isinstance(before, dict) and isinstance(after, dict):
        both = {key: _deep(before[key], after[key]) for key in before if key in after}
        return {**before, **after, **both}
    if isinstance(before, list) and isinstance(after, list):
        return [*before, *after]
    if isinstance(before, str) and isinstance(after, str):
        return before + after
    return after


def _append(before: Json, after: Json, strategy: MergeStrategy) -> Json:
    return before + after


_MERGERS: Mapping[ParameterType, Callable[[Json, Json, MergeStrategy], Json]] = {
    ParameterType.JSON: _merge_json,
    ParameterType.COMMA_DELIMITED_LIST: _append,
    ParameterType.STRING: _append,
    ParameterType.NUMBER: _append,
}
