"""Functions on lists and maps.

Called by the evaluator.  Must charge the budget before they multiply anything.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from typing import Any

from heat_convergence.common.strict_json import parse_json
from heat_convergence.template.evaluation_budget import SLOW_CHARS_PER_STEP, STEPS_PER_TEXT
from heat_convergence.template.expression import is_known
from heat_convergence.template.functions.function import (
    Function,
    FunctionError,
    FunctionScope,
    is_unresolved,
    json_type_name,
    merge_adjacent,
    require_list,
    require_map,
    require_string,
    require_type,
    select_path,
    to_json_text,
)
from heat_convergence.template.parsing.yaml_reader import json_key

Json = Any
Value = Any


# -- lists --------------------------------------------------------------------


def _check_lists(arguments: Value) -> None:
    require_list(arguments, "[list, list, ...]")
    if not is_unresolved(arguments):
        for part in arguments:
            require_type(part, list, "Each argument")


def _concat(arguments: Json, scope: FunctionScope) -> Value:
    return _joined(arguments)


def _joined(lists: list[Json]) -> list[Json]:
    return [item for part in lists for item in part or ()]


def _concat_known(arguments: Value) -> Value:
    return merge_adjacent(arguments, is_known, _joined)


def _concat_unique(arguments: Json, scope: FunctionScope) -> Value:
    joined = _joined(arguments)
    scope.budget.charge(STEPS_PER_TEXT * len(joined))
    return list(_unique(joined))


def _unique(items: Iterable[Json]) -> Iterator[Json]:
    found: set[str] = set()
    for item in items:
        text = to_json_text(item)  # distinguishes 1 from "1", and True from 1
        if text not in found:
            found.add(text)
            yield item


def _check_filter(arguments: Value) -> None:
    require_list(arguments, "[[value, ...], list]", at_least=2, at_most=2)
    if not is_unresolved(arguments):
        if arguments[0] is None:
            raise FunctionError("The values must be a list, not null")
        require_type(arguments[0], list, "The values")
        require_type(arguments[1], list, "The list to filter")


def _filter(arguments: Json, scope: FunctionScope) -> Value:
    values, items = arguments
    if items is None:
        return None
    scope.budget.charge(STEPS_PER_TEXT * (len(values) + len(items)))
    excluded = {to_json_text(value) for value in values}
    return [item for item in items if to_json_text(item) not in excluded]


def _check_contains(arguments: Value) -> None:
    require_list(arguments, "[value, sequence]", at_least=2, at_most=2)
    if not is_unresolved(arguments):
        sequence = arguments[1]
        if not isinstance(sequence, list | str) and not is_unresolved(sequence):
            raise FunctionError(f"The sequence must be a list, not a {json_type_name(sequence)}")


def _contains(arguments: Json, scope: FunctionScope) -> Value:
    value, sequence = arguments
    if isinstance(sequence, str):
        if not isinstance(value, str):
            return False
        scope.budget.charge_search(sequence, value)
        return value in sequence
    return value in sequence


# -- maps ---------------------------------------------------------------------


def _check_maps(arguments: Value) -> None:
    require_list(arguments, "[map, map, ...]")
    if not is_unresolved(arguments):
        for part in arguments:
            require_type(part, dict, "Each argument")


def _map_merge(arguments: Json, scope: FunctionScope) -> Value:
    return _merged(arguments)


def _merged(maps: list[Json]) -> dict[str, Json]:
    merged: dict[str, Json] = {}
    for part in maps:
        merged.update(part or {})
    return merged


def _merge_known(arguments: Value) -> Value:
    return merge_adjacent(arguments, is_known, _merged)


_MAP_REPLACE_FORM = "[map, {keys: {<old>: <new>}, values: {<old>: <new>}}]"


def _check_map_replace(arguments: Value) -> None:
    require_list(arguments, _MAP_REPLACE_FORM, at_least=2, at_most=2)
    if is_unresolved(arguments):
        return
    require_type(arguments[0], dict, "The first argument")
    require_map(arguments[1], _MAP_REPLACE_FORM, optional=("keys", "values"))
    if isinstance(arguments[1], dict):
        for key, part in arguments[1].items():
            require_type(part, dict, key)


def _map_replace(arguments: Json, scope: FunctionScope) -> Value:
    source, rules = arguments
    keys, values = rules.get("keys") or {}, rules.get("values") or {}
    replaced: dict[str, Json] = {}
    for key, value in (source or {}).items():
        new_key = _new_key(keys, key)
        if new_key in replaced or (new_key != key and new_key in source):
            raise FunctionError(f'The new key "{new_key}" for "{key}" exists already')
        replaced[new_key] = _new_value(values, value)
    return replaced


def _new_key(keys: dict[str, Json], key: str) -> str:
    new_key = keys.get(key)
    if isinstance(new_key, dict | list):
        raise FunctionError(f'The new key for "{key}" must be a string')
    return key if new_key is None else json_key(new_key)


def _new_value(values: dict[str, Json], value: Json) -> Json:
    if isinstance(value, dict | list):
        return value
    replacement = values.get(json_key(value))  # a key of 1 or true is text in JSON
    return value if replacement is None else replacement


def _check_select(arguments: Value) -> None:
    require_list(arguments, "[index or key, list or map]", at_least=2, at_most=2)


def _select(arguments: Json, scope: FunctionScope) -> Value:
    key, source = arguments
    if isinstance(source, str):
        scope.budget.charge(len(source) // SLOW_CHARS_PER_STEP)
        try:
            source = parse_json(source) if source else {}
        except (ValueError, RecursionError) as error:
            raise FunctionError("What is selected from must be JSON, when a string") from error
    if isinstance(source, list) and isinstance(key, str) and not _is_number(key):
        raise FunctionError(f"The index into a list must be a number, not {key!r}")
    if not isinstance(source, dict | list | type(None)):
        raise FunctionError(f"Cannot select from a {json_type_name(source)}")  # nosec B608  # no SQL
    found = select_path(source, [key], missing="")
    return "" if found is None else found


def _is_number(text: str) -> bool:
    return text.lstrip("-").isdigit()


_MEMBER_FORM = "[key name, value name, [<string>, ...]]"


def _check_member_list(arguments: Value) -> None:
    require_list(arguments, _MEMBER_FORM, at_least=3, at_most=3)
    if not is_unresolved(arguments):
        require_string(arguments[0], "The key name")
        require_string(arguments[1], "The value name")
        require_type(arguments[2], list, "The third argument")


def _member_list_to_map(arguments: Json, scope: FunctionScope) -> Value:
    key_name, value_name, members = arguments
    groups: dict[str, dict[str, str]] = {}
    for member in members or ():
        if not isinstance(member, str):
            raise FunctionError("The members must be strings")
        name, _, value = member.partition("=")
        parts = name.split(".")
        if len(parts) == 4 and parts[:2] == ["", "member"]:
            groups.setdefault(parts[2], {})[parts[3]] = value
    return {
        group[key_name]: group[value_name]
        for _, group in sorted(groups.items())
        if key_name in group and value_name in group
    }


# -- repeating ----------------------------------------------------------------

_REPEAT_FORM = "{template: <body>, for_each: {<variable>: <list>, ...}}"


class RepeatFunction:
    """One variant of ``repeat``.

    Args:
        allow_maps: Whether a variable may iterate over the keys of a map.
        allow_permutations_flag: Whether ``permutations`` is an argument.
    """

    def __init__(self, *, allow_maps: bool, allow_permutations_flag: bool) -> None:
        self._value_types = list | dict if allow_maps else list
        self._optional = ("permutations",) if allow_permutations_flag else ()

    def check(self, arguments: Value) -> None:
        """Check the form of the arguments."""
        require_map(
            arguments, _REPEAT_FORM, required=("template", "for_each"), optional=self._optional
        )
        if is_unresolved(arguments):
            return
        for_each = arguments["for_each"]
        if not isinstance(for_each, dict) and not is_unresolved(for_each):
            raise FunctionError(f"for_each must be a map, not a {json_type_name(for_each)}")
        permutations = arguments.get("permutations", True)
        if not isinstance(permutations, bool) and not is_unresolved(permutations):
            raise FunctionError("permutations must be true or false")
        if isinstance(for_each, dict):
            for name, values in for_each.items():
                self._check_values(name, values)

    def _check_values(self, name: str, values: Value) -> None:
        if name == "":
            raise FunctionError("A variable of for_each must not be empty")
        if (
            values is not None
            and not isinstance(values, self._value_types)
            and not is_unresolved(values)
        ):
            raise FunctionError(
                f'The values of "{name}" in for_each must be a list,'
                f" not a {json_type_name(values)}"
            )

    def evaluate(self, arguments: Json, scope: FunctionScope) -> Value:
        """Return the template once for every combination of the variables' values."""
        names = list(arguments["for_each"])
        values = list(arguments["for_each"].values())
        if not names:
            raise FunctionError("for_each has no variable")
        template = arguments["template"]
        combinations, count = (
            _permuted(values) if arguments.get("permutations", True) else _zipped(values)
        )
        scope.budget.charge(count * len(names))
        scope.budget.charge_repeated(template, count * len(names))
        return [_substituted(template, names, combination, scope) for combination in combinations]


def _permuted(values: list[Json]) -> tuple[Iterable[Sequence[Json]], int]:
    """Return all combinations of the variables' values and their number."""
    lists = [list(value or ()) for value in values]
    return product(*lists), math.prod(map(len, lists))


def _zipped(values: list[Json]) -> tuple[Iterable[Sequence[Json]], int]:
    """Return the combinations of values with the same index and their number."""
    if any(isinstance(value, dict) for value in values):
        raise FunctionError("Without permutations the values of for_each must be lists")
    lists = [value or () for value in values]  # null: no combination
    if len({len(value) for value in values if value is not None}) > 1:
        raise FunctionError("Without permutations the lists of for_each must be equally long")
    return zip(*lists, strict=False), min(map(len, lists))


def _substituted(
    template: Json, names: Sequence[str], values: Sequence[Json], scope: FunctionScope
) -> Json:
    if isinstance(template, str):
        return _substituted_text(template, names, values, scope)
    if isinstance(template, list):
        return [_substituted(item, names, values, scope) for item in template]
    if isinstance(template, dict):
        return {
            _text(_substituted_text(key, names, values, scope)): _substituted(
                item, names, values, scope
            )
            for key, item in template.items()
        }
    return template


def _substituted_text(
    text: str, names: Sequence[str], values: Sequence[Json], scope: FunctionScope
) -> Json:
    """Replace the variables in a text.

    A text that is nothing but a variable becomes its value, of any type.
    """
    for name, value in zip(names, values, strict=True):
        if text == name and not isinstance(value, str):
            return value
        scope.budget.charge_search(text, name)
        if name in text:
            scope.budget.charge_value(value)
            replacement = _text(value)
            scope.budget.charge_text(len(text) + text.count(name) * len(replacement))
            text = text.replace(name, replacement)
    return text


def _text(value: Json) -> str:
    if isinstance(value, dict | list):
        return to_json_text(value)
    return "" if value is None else str(value)


_LISTS_ONLY = RepeatFunction(allow_maps=False, allow_permutations_flag=False)
_LISTS_OR_MAPS = RepeatFunction(allow_maps=True, allow_permutations_flag=False)
_WITH_FLAG = RepeatFunction(allow_maps=True, allow_permutations_flag=True)
_REPEAT_SUMMARY = "A body once for every combination of the variables' values."

LIST_CONCAT = Function(
    "The members of lists in one list.", _concat, _check_lists, simplify=_concat_known
)
LIST_CONCAT_UNIQUE = Function(
    "The members of lists in one list, each once.",
    _concat_unique,
    _check_lists,
    simplify=_concat_known,
)
FILTER = Function("A list without certain values.", _filter, _check_filter)
CONTAINS = Function("True if a list has a value.", _contains, _check_contains)
MAP_MERGE = Function(
    "Maps in one; the later wins.", _map_merge, _check_maps, simplify=_merge_known
)
MAP_REPLACE = Function(
    "A map with keys renamed and values replaced.", _map_replace, _check_map_replace
)
FN_SELECT = Function("A member of a list or map.", _select, _check_select)
FN_MEMBER_LIST_TO_MAP = Function(
    "A map from strings such as .member.0.Name=x and .member.0.Value=y.",
    _member_list_to_map,
    _check_member_list,
)
REPEAT_OVER_LISTS = Function(_REPEAT_SUMMARY, _LISTS_ONLY.evaluate, _LISTS_ONLY.check)
REPEAT_OVER_LISTS_OR_MAPS = Function(
    _REPEAT_SUMMARY, _LISTS_OR_MAPS.evaluate, _LISTS_OR_MAPS.check
)
REPEAT_WITH_PERMUTATIONS = Function(_REPEAT_SUMMARY, _WITH_FLAG.evaluate, _WITH_FLAG.check)
