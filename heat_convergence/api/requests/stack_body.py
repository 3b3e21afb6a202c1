"""The body that creates, updates, previews or validates a stack.

Called by the controllers that take one.  Decides the types of its fields and which of
them are allowed for which purpose; the template's own parsers read the texts in it.
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
    """The purpose of a body."""

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
        """The presence of a template or its URL."""
        return self.template is not None or self.template_url is not None

    @property
    def is_empty_patch(self) -> bool:
        """True for a PATCH that only repeats the last update."""
        return self == StackBody(name=self.name)


def parse_stack_body(fields: Mapping[str, Json] | None, purpose: BodyPurpose) -> StackBody:
    """Return the parsed body.

    Raises:
        HTTPBadRequest: or a subclass, naming the field.
    """
    if fields is None and purpose is not BodyPurpose.PATCH:
        raise errors.HTTPBadRequest("The request has no body that is a JSON object.")
    fields = fields or {}
    _refuse_unsupported(fields, purpose)
    body = StackBody(
        name=_name(fields) if purpose in _MAKES_A_STACK else str(fields.get("stack_name", "")),
        template=_text_or_map(fields, "template"),
        template_url=_text(fields, "template_url"),
        environment=_text_or_map(fields, "environment"),
        environment_files=_names(fields, "environment_files"),
        parameters=_map(fields, "parameters"),
        files=_files(fields),
        files_container=_text(fields, "files_container") or None,
        timeout_mins=_timeout(fields),
        disable_rollback=_flag(fields, "disable_rollback"),
        tags=parse_tags(fields["tags"]) if "tags" in fields else None,
        converge=bool(_flag(fields, "converge")),
        clear_parameters=_names(fields, "clear_parameters")
        if purpose is BodyPurpose.PATCH
        else (),
        adopt_stack_data=_text_or_map(fields, "adopt_stack_data")
        if purpose in _MAKES_A_STACK
        else None,
    )
    if (
        body.adopt_stack_data is None
        and not body.has_template
        and purpose is not BodyPurpose.PATCH
    ):
        raise errors.HTTPBadRequest("No template specified")
    return body


def _refuse_unsupported(fields: Mapping[str, Json], purpose: BodyPurpose) -> None:
    if purpose in _MAKES_A_STACK and "converge" in fields:
        raise errors.HTTPBadRequest(
            "converge flag only supported in stack update (or update preview) request."
        )


def _name(fields: Mapping[str, Json]) -> str:
    name = fields.get("stack_name")
    if name is None:
        raise errors.HTTPBadRequest("No stack name specified")
    if not isinstance(name, str):
        raise errors.StackValidationFailed(f"Invalid stack name {name}, must be a string")
    return name


def _text(fields: Mapping[str, Json], key: str) -> str | None:
    value = fields.get(key)
    if value is not None and not isinstance(value, str):
        raise errors.HTTPBadRequest(f'"{key}" must be a string.')
    return value


def _text_or_map(fields: Mapping[str, Json], key: str) -> str | Mapping[str, Json] | None:
    value = fields.get(key)
    if value is not None and not isinstance(value, str | dict):
        raise errors.HTTPBadRequest(f'"{key}" must be a map or a string.')
    return value or None


def _map(fields: Mapping[str, Json], key: str) -> Mapping[str, Json]:
    value = fields.get(key)
    if value is not None and not isinstance(value, dict):
        raise errors.HTTPBadRequest(f'"{key}" must be a map.')
    return value or {}


def _names(fields: Mapping[str, Json], key: str) -> tuple[str, ...]:
    value = fields.get(key)
    if value is None:
        return ()
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise InvalidRequestValue(f'"{key}" must be a list of names.')
    return tuple(value)


def _files(fields: Mapping[str, Json]) -> Mapping[str, str]:
    value = fields.get("files")
    if value is not None and not isinstance(value, dict):
        raise InvalidRequestValue('"files" must be a map of names to contents.')
    for name, content in (value or {}).items():
        if not isinstance(content, str):
            raise InvalidRequestValue(f'"files": the content of "{name}" must be a string.')
    return value or {}


def _timeout(fields: Mapping[str, Json]) -> int | None:
    value = fields.get("timeout_mins")
    if value is None or value == "":
        return None
    if isinstance(value, bool):
        raise errors.HTTPBadRequest(
            "Only integer is acceptable by 'timeout_mins'. It is a boolean."
        )
    return parse_non_negative_int("timeout_mins", value) or None


def _flag(fields: Mapping[str, Json], key: str) -> bool | None:
    value = fields.get(key)
    return None if value is None else parse_boolean(key, value)
