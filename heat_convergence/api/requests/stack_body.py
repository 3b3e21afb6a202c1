"""The body that creates, updates, previews or validates a stack.

Called by the controllers that take one.  Decides the types of its fields and
which may be given where; what the texts in it mean is the template's affair.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from heat_convergence.api.requests.params import (
    parse_boolean,
    parse_non_negative_int,
    parse_tags,
)
from heat_convergence.common import errors
from heat_convergence.common.errors import InvalidRequestValue
from heat_convergence.stacks.source.template_source import SourceRequest

Json = Any


class BodyPurpose(Enum):
    """What the body is for."""

    VALIDATE = "validate"
    CREATE = "create"
    PREVIEW = "preview"
    UPDATE = "update"
    PATCH = "patch"


_MAKES_A_STACK = frozenset({BodyPurpose.CREATE, BodyPurpose.PREVIEW})
_CHANGES_A_STACK = frozenset({BodyPurpose.UPDATE, BodyPurpose.PATCH})


@dataclass(frozen=True, slots=True, kw_only=True)
class StackBody(SourceRequest):
    """The fields of the body as they came, None where absent.

    Attributes:
        adopt_stack_data: the document that abandoning a stack gave.
    """

    name: str = ""
    timeout_mins: int | None = None
    disable_rollback: bool | None = None
    tags: tuple[str, ...] | None = None
    converge: bool = False
    adopt_stack_data: str | Mapping[str, Json] | None = None

    @property
    def has_template(self) -> bool:
        return self.template is not None or self.template_url is not None

    @property
    def is_empty_patch(self) -> bool:
        """Whether a PATCH says no more than "again"."""
        return self == StackBody(name=self.name)


def parse_stack_body(given: Mapping[str, Json] | None, use: BodyPurpose) -> StackBody:
    """Raises ``HTTPBadRequest`` and its kin, naming the field."""
    if given is None and use is not BodyPurpose.PATCH:
        raise errors.HTTPBadRequest("The request has no body that is a JSON object.")
    given = given or {}
    _refuse_unsupported(given, use)
    body = StackBody(
        name=_name(given) if use in _MAKES_A_STACK else str(given.get("stack_name", "")),
        template=_text_or_map(given, "template"),
        template_url=_text(given, "template_url"),
        environment=_text_or_map(given, "environment"),
        environment_files=_names(given, "environment_files"),
        parameters=_map(given, "parameters"),
        files=_files(given),
        files_container=_text(given, "files_container") or None,
        timeout_mins=_timeout(given),
        disable_rollback=_flag(given, "disable_rollback"),
        tags=parse_tags(given["tags"]) if "tags" in given else None,
        converge=bool(_flag(given, "converge")),
        clear_parameters=_names(given, "clear_parameters") if use is BodyPurpose.PATCH else (),
        adopt_stack_data=_text_or_map(given, "adopt_stack_data")
        if use in _MAKES_A_STACK
        else None,
    )
    if body.adopt_stack_data is None and not body.has_template and use is not BodyPurpose.PATCH:
        raise errors.HTTPBadRequest("No template specified.")
    return body


def _refuse_unsupported(given: Mapping[str, Json], use: BodyPurpose) -> None:
    if use in _MAKES_A_STACK and "converge" in given:
        raise errors.HTTPBadRequest('"converge" is for updates alone.')


def _name(given: Mapping[str, Json]) -> str:
    name = given.get("stack_name")
    if not isinstance(name, str) or not name:
        raise errors.HTTPBadRequest("No stack name specified.")
    return name


def _text(given: Mapping[str, Json], key: str) -> str | None:
    value = given.get(key)
    if value is not None and not isinstance(value, str):
        raise errors.HTTPBadRequest(f'"{key}" must be a string.')
    return value


def _text_or_map(given: Mapping[str, Json], key: str) -> str | Mapping[str, Json] | None:
    value = given.get(key)
    if value is not None and not isinstance(value, str | dict):
        raise errors.HTTPBadRequest(f'"{key}" must be a map or a string.')
    return value or None


def _map(given: Mapping[str, Json], key: str) -> Mapping[str, Json]:
    value = given.get(key)
    if value is not None and not isinstance(value, dict):
        raise errors.HTTPBadRequest(f'"{key}" must be a map.')
    return value or {}


def _names(given: Mapping[str, Json], key: str) -> tuple[str, ...]:
    value = given.get(key)
    if value is None:
        return ()
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise InvalidRequestValue(f'"{key}" must be a list of names.')
    return tuple(value)


def _files(given: Mapping[str, Json]) -> Mapping[str, str]:
    value = given.get("files")
    if value is not None and not isinstance(value, dict):
        raise InvalidRequestValue('"files" must be a map of names to contents.')
    for name, content in (value or {}).items():
        if not isinstance(content, str):
            raise InvalidRequestValue(f'"files": the content of "{name}" must be a string.')
    return value or {}


def _timeout(given: Mapping[str, Json]) -> int | None:
    value = given.get("timeout_mins")
    if value is None or value == "":
        return None
    if isinstance(value, bool):
        raise errors.HTTPBadRequest('"timeout_mins" must be an integer, not a boolean.')
    return parse_non_negative_int("timeout_mins", value) or None


def _flag(given: Mapping[str, Json], key: str) -> bool | None:
    value = given.get(key)
    return None if value is None else parse_boolean(key, value)
