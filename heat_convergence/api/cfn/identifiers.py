"""Stacks as clients name them: by name, id or ARN."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import quote, unquote

_ARN = re.compile(r"arn:openstack:heat:[^:]*:([^:/]+):stacks/([^/]+)/([^/]+)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class StackIdentity:
    """A stack of a project."""

    project_id: str
    name: str
    stack_id: str

    @property
    def arn(self) -> str:
        """The identifier as one text."""
        project, name, stack_id = (
            quote(part, safe="") for part in (self.project_id, self.name, self.stack_id)
        )
        return f"arn:openstack:heat::{project}:stacks/{name}/{stack_id}"

    @classmethod
    def parse(cls, text: str) -> StackIdentity | None:
        """Return the stack that an ARN names, None for any other text."""
        found = _ARN.fullmatch(text)
        return None if found is None else cls(*(unquote(part) for part in found.groups()))
