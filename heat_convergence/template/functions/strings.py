"""Functions that build or split strings.

Called by the evaluator.  Must charge the budget for the text that they make, because a
chain of them can double a string at every step.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

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
    to_json_text,
)

Json = Any
Value = Any
Render = Callable[[Json], str]

_MAX_JOINED_DELIMITER = 64  # before all parts are known, when the text is not accounted for
_REPLACE_FORM = "{template: <string>, params: {<placeholder>: <value>, ...}}"


# -- joining ------------------------------------------------------------------


def _check_join(arguments: Value) -> None:
    require_list(arguments, "[delimiter, [item, ...]]", at_least=2, at_most=2)
    _check_join_parts(arguments)


def _check_join_many(arguments: Value) -> None:
    require_list(arguments, "[delimiter, [item, ...], ...]", at_least=2)
    _check_join_parts(arguments)


def _check_join_parts(arguments: Value) -> None:
    if is_unresolved(arguments):
        return
    require_string(arguments[0], "The delimiter")
    for part in arguments[1:]:
        require_type(part, list, "Each list to join")


def _joiner(render: Render) -> Callable[[Json, FunctionScope], Value]:
    def join(arguments: Json, scope: FunctionScope) -> Value:
        delimiter, *lists = arguments
        items = [render(item) for part in lists for item in part or ()]
        scope.budget.charge_text(sum(map(len, items)) + len(delimiter) * len(items))
        joined: str = delimiter.join(items)
        return joined

    return join


def _join_known(arguments: Value) -> Value:
    """Join neighbouring known texts, if the delimiter is short."""
    if is_unresolved(arguments) or not isinstance(arguments[0], str):
        return arguments
    delimiter, *lists = arguments
    if len(delimiter) > _MAX_JOINED_DELIMITER:
        return arguments

    def join(texts: list[Json]) -> str:
        return str(delimiter).join(text or "" for text in texts)

    return [delimiter, *(merge_adjacent(part, _is_text, join) for part in lists)]


def _is_text(item: Value) -> bool:
    return item is None or isinstance(item, str)


def _string_item(item: Json) -> str:
    if item is None:
        return ""
    if not isinstance(item, str):
        raise FunctionError(f"Items to join must be strings, not {json_type_name(item)}s")
    return item


def _json_item(item: Json) -> str:
    if isinstance(item, dict | list):
        return to_json_text(item)
    if item is None or isinstance(item, str):
        return item or ""
    raise FunctionError(
        f"Items to join must be strings, maps or lists, not {json_type_name(item)}s"
    )


# -- replacing ----------------------------------------------------------------


def _check_replace(arguments: Value) -> None:
    require_map(arguments, _REPLACE_FORM, required=("template", "params"))
    if not is_unresolved(arguments):
        _check_replace_parts(arguments["template"], arguments["params"])


def _check_replace_parts(template: Value, params: Value) -> None:
    require_string(template, "The template")
    if not isinstance(params, dict) and not is_unresolved(params):
        raise FunctionError(f"params must be a map, not a {json_type_name(params)}")
    if isinstance(params, dict) and "" in params:
        raise FunctionError("A placeholder must not be empty")


def _scalar_text(value: Json) -> str:
    if isinstance(value, dict | list):
        raise FunctionError(
            "The replacement of a placeholder must be a string or number,"
            f" not a {json_type_name(value)}"
        )
    return "" if value is None else str(value)


def _json_or_text(value: Json) -> str:
    return to_json_text(value) if isinstance(value, dict | list) else _scalar_text(value)


def _replacer(render: Render) -> Callable[[Json, FunctionScope], Value]:
    def replace(arguments: Json, scope: FunctionScope) -> Value:
        replaced, _ = _replaced(arguments["template"], arguments["params"], render, scope)
        return replaced

    return replace


def _replace_strict(arguments: Json, scope: FunctionScope) -> Value:
    replaced, unused = _replaced(arguments["template"], arguments["params"], _json_or_text, scope)
    if unused:
        raise FunctionError(
            f"The following params were not found in the template: {', '.join(unused)}"
        )
    return replaced


def _replace_very_strict(arguments: Json, scope: FunctionScope) -> Value:
    for name, value in arguments["params"].items():
        if value is None or value == "":
            raise FunctionError(f'The param "{name}" has no value')
    return _replace_strict(arguments, scope)


def _replaced(
    template: str, params: Mapping[str, Json], render: Render, scope: FunctionScope
) -> tuple[str, list[str]]:
    """Return the text, and the placeholders that do not occur in it.

    The longest placeholder is replaced first, and replacements are not searched again: of
    ``pieces``, even ones are text and odd ones replacements.
    """
    pieces = [template]
    unused = []
    for name in sorted(params, key=lambda name: (-len(name), name)):
        scope.budget.charge(len(pieces))
        scope.budget.charge_search(template, name)
        replacement = render(params[name])
        cut: list[str] = []
        occurrences = 0
        for index, piece in enumerate(pieces):
            if index % 2:
                cut.append(piece)
                continue
            first, *others = piece.split(name)
            cut.append(first)
            for other in others:
                cut += (replacement, other)
            occurrences += len(others)
        scope.budget.charge_text(occurrences * len(replacement))
        if not occurrences:
            unused.append(name)
        pieces = cut
    scope.budget.charge_text(len(template))
    return "".join(pieces), unused


def _check_cfn_replace(arguments: Value) -> None:
    require_list(arguments, "[{<placeholder>: <value>, ...}, template]", at_least=2, at_most=2)
    if not is_unresolved(arguments):
        _check_replace_parts(arguments[1], arguments[0])


def _cfn_replace(arguments: Json, scope: FunctionScope) -> Value:
    replaced, _ = _replaced(arguments[1], arguments[0], _scalar_text, scope)
    return replaced


# -- the rest -----------------------------------------------------------------


def _check_split(arguments: Value) -> None:
    require_list(arguments, "[delimiter, string, (index)]", at_least=2, at_most=3)
    _check_split_parts(arguments)


def _check_cfn_split(arguments: Value) -> None:
    require_list(arguments, "[delimiter, string]", at_least=2, at_most=2)
    _check_split_parts(arguments)


def _check_split_parts(arguments: Value) -> None:
    if is_unresolved(arguments):
        return
    require_string(arguments[0], "The delimiter")
    if arguments[0] == "":
        raise FunctionError("The delimiter must not be empty")
    if arguments[1] is not None:
        require_string(arguments[1], "The string to split")


def _split(arguments: Json, scope: FunctionScope) -> Value:
    delimiter, text, *index = arguments
    if text is None:
        return None
    scope.budget.charge_text(len(text))
    scope.budget.charge_search(text, delimiter)
    scope.budget.charge(text.count(delimiter))
    pieces: list[str] = text.split(delimiter)
    return pieces[_split_index(index[0], len(pieces))] if index else pieces


def _split_index(index: Json, length: int) -> int:
    try:
        number = int(index)
    except (TypeError, ValueError) as error:
        raise FunctionError(f"The index must be a number, not {index!r}") from error
    if not -length <= number < length:
        raise FunctionError(
            f'Incorrect index to "str_split" should be between 0 and {length - 1}, not {number}'
        )
    return number


def _check_digest(arguments: Value) -> None:
    require_list(arguments, "[algorithm, string]", at_least=2, at_most=2)
    if not is_unresolved(arguments):
        require_string(arguments[0], "The algorithm")
        require_string(arguments[1], "The string to digest")


def _digest(arguments: Sequence[str], scope: FunctionScope) -> Value:
    algorithm, text = arguments
    try:
        return hashlib.new(algorithm, text.encode("latin-1"), usedforsecurity=False).hexdigest()
    except UnicodeEncodeError as error:
        raise FunctionError("The string to digest must be Latin-1 text") from error
    except (ValueError, TypeError) as error:
        raise FunctionError(f'There is no digest algorithm "{algorithm}"') from error


def _check_string(arguments: Value) -> None:
    require_string(arguments, "The argument")


def _same(arguments: Json, scope: FunctionScope) -> Value:
    return arguments


LIST_JOIN = Function("The strings of a list in one, with a delimiter.",
                     _joiner(_string_item), _check_join, simplify=_join_known)  # fmt: skip
LIST_JOIN_MULTIPLE = Function("The members of lists in one string, with a delimiter.",
                          _joiner(_json_item), _check_join_many,
                          simplify=_join_known)  # fmt: skip
STR_REPLACE = Function("A text with placeholders replaced.",
                       _replacer(_scalar_text), _check_replace)  # fmt: skip
STR_REPLACE_JSON = Function("A text with placeholders replaced; maps and lists as JSON.",
                            _replacer(_json_or_text), _check_replace)  # fmt: skip
STR_REPLACE_STRICT = Function("Like str_replace; every placeholder must be in the text.",
                              _replace_strict, _check_replace)  # fmt: skip
STR_REPLACE_VSTRICT = Function("Like str_replace_strict; no replacement may be empty.",
                               _replace_very_strict, _check_replace)  # fmt: skip
FN_REPLACE = Function("A text with placeholders replaced.", _cfn_replace, _check_cfn_replace)
STR_SPLIT = Function("The pieces of a string between delimiters, or one of them.",
                     _split, _check_split)  # fmt: skip
FN_SPLIT = Function("The pieces of a string between delimiters.", _split, _check_cfn_split)
DIGEST = Function("The digest of a string, in hexadecimal.", _digest, _check_digest)
FN_BASE64 = Function("The string itself; services encode it.", _same, _check_string)
