"""Parameters of a request: query and form, read once and within bounds.

Decides how a body is read. Must not know any action.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl

import webob

from heat_convergence.api.cfn.cfn_errors import CfnError, missing_parameter

_FORM = "application/x-www-form-urlencoded"
_MAX_FIELDS = 10_000
_MEMBER = re.compile(r"member\.(\d{1,6})\.(\w+)")
_BOOLEANS = {"true": True, "false": False}


@dataclass(frozen=True, slots=True)
class RequestParameters:
    """The parameters by name, and the body as it was sent."""

    values: Mapping[str, str]
    body: bytes

    @classmethod
    def read(cls, environ: dict[str, Any], max_body_bytes: int) -> RequestParameters:
        """Read the request.

        Raises:
            CfnError: The body is too large or no form, or there are too many parameters.
        """
        request = webob.Request(environ)
        body = _read_body(request, max_body_bytes)
        is_form = (request.content_type or "").lower() == _FORM
        try:
            pairs = _parse(environ.get("QUERY_STRING", "").encode("latin-1"))
            pairs += _parse(body) if is_form else []
        except ValueError as error:
            text = "The parameters are not UTF-8 text, or there are too many of them."
            raise CfnError("InvalidParameterValue", text) from error
        return cls(dict(pairs), body)

    def get(self, name: str) -> str | None:
        """Return the value of a parameter, None if it is not set or empty."""
        return self.values.get(name) or None

    def require(self, name: str) -> str:
        """Return the value of a parameter.

        Raises:
            CfnError: It is missing.
        """
        value = self.get(name)
        if value is None:
            raise missing_parameter(name)
        return value

    def flag(self, name: str) -> bool | None:
        """Return the value of a truth value, None if it is not set.

        Raises:
            CfnError: It is neither true nor false.
        """
        value = self.get(name)
        if value is None:
            return None
        if value.lower() not in _BOOLEANS:
            message = f"{name} must be true or false, not {value[:40]!r}"
            raise CfnError("InvalidParameterValue", message)
        return _BOOLEANS[value.lower()]

    def members(self, name: str) -> list[dict[str, str]]:
        """Return the maps of a list, ``NAME.member.N.KEY``, in order of their numbers."""
        found: dict[int, dict[str, str]] = {}
        for key, value in self.values.items():
            head, _, rest = key.partition(".")
            match = _MEMBER.fullmatch(rest) if head == name else None
            if match is not None:
                found.setdefault(int(match[1]), {})[match[2]] = value
        return [found[number] for number in sorted(found)]


def _parse(text: bytes) -> list[tuple[str, str]]:
    return parse_qsl(
        text.decode(), keep_blank_values=True, errors="strict", max_num_fields=_MAX_FIELDS
    )


def _read_body(request: webob.Request, limit: int) -> bytes:
    """Return the body.

    Raises:
        CfnError: It is larger than the limit, or shorter than it says.
    """
    if not request.is_body_readable:
        return b""
    too_large = CfnError(
        "RequestLimitExceeded", f"The body is larger than max_json_body_size ({limit} bytes)."
    )
    if request.content_length is not None and request.content_length > limit:
        raise too_large
    try:
        body: bytes = request.body_file.read(limit + 1)
    except (OSError, ValueError) as error:
        message = "The body cannot be read to its end."
        raise CfnError("InvalidParameterValue", message) from error
    if len(body) > limit:
        raise too_large
    return body
