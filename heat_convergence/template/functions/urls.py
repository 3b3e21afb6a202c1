"""``make_url``: a URL built from its parts, each escaped as its position requires.

Called by the evaluator.  Must not resolve or fetch anything.
"""

from __future__ import annotations

import ipaddress
from typing import Any
from urllib.parse import quote, urlencode

from heat_convergence.template.evaluation_budget import SLOW_CHARS_PER_STEP
from heat_convergence.template.functions.function import (
    Function,
    FunctionError,
    FunctionScope,
    is_unresolved,
    require_map,
    require_string,
    require_type,
)

Json = Any
Value = Any

_PARTS = ("scheme", "username", "password", "host", "port", "path", "query", "fragment")
_FORM = "{" + ", ".join(_PARTS) + "}"


def _check(arguments: Value) -> None:
    require_map(arguments, _FORM, optional=_PARTS)
    if is_unresolved(arguments):
        return
    for key, value in arguments.items():
        if key == "query":
            if not isinstance(value, str):
                require_type(value, dict, "query")
        elif key == "port":
            _check_port(value)
        elif value is not None:
            require_string(value, key)
    if isinstance(arguments.get("scheme"), str) and ":" in arguments["scheme"]:
        raise FunctionError('The scheme must not contain ":"')


def _check_port(port: Value) -> None:
    if port is None or port == "" or is_unresolved(port):
        return
    try:
        number = int(port)
    except (TypeError, ValueError) as error:
        raise FunctionError(f"The port must be a number, not {port!r}") from error
    if not 1 <= number <= 65535:
        raise FunctionError(f"Invalid URL port {number}, must be in range 1-65535")


def _make_url(arguments: dict[str, Json], scope: FunctionScope) -> Value:
    scope.budget.charge(len(str(arguments)) // SLOW_CHARS_PER_STEP)
    scheme = arguments.get("scheme") or ""
    address = _address(arguments)
    url = f"{scheme}:" if scheme else ""
    if scheme or address:
        url += "//"
    url += address + _path(arguments.get("path") or "", absolute=bool(address))
    query = arguments.get("query")
    if query:
        url += "?" + (quote(query, safe="=&;/?:@,+") if isinstance(query, str) else _query(query))
    if arguments.get("fragment"):
        url += "#" + quote(arguments["fragment"], safe="/?")
    scope.budget.charge_text(len(url))
    return url


def _address(arguments: dict[str, Json]) -> str:
    text = ""
    if arguments.get("username"):
        text += quote(arguments["username"], safe="")
        if arguments.get("password"):
            text += ":" + quote(arguments["password"], safe="")
        text += "@"
    text += _host(arguments.get("host") or "")
    port = arguments.get("port")
    return text if port is None or port == "" else f"{text}:{int(port)}"


def _host(host: str) -> str:
    bare = host[1:-1] if host.startswith("[") and host.endswith("]") else host
    try:
        if ipaddress.ip_address(bare).version == 6:
            return f"[{bare}]"
    except ValueError:
        pass
    return quote(host, safe="")


def _path(path: str, *, absolute: bool) -> str:
    quoted = quote(path, safe="/~")
    return "/" + quoted if absolute and quoted and not quoted.startswith("/") else quoted


def _query(query: dict[str, Json]) -> str:
    return urlencode({key: "" if value is None else value for key, value in query.items()})


MAKE_URL = Function("A URL from its parts.", _make_url, _check)
