"""The files and environment of a stack, for resource types that send them to another service.

Such a type sets ``ResourceType.stack_source_property``.  Built by the api for validation, and by
engines for the verbs that create and update.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Json = Any


@dataclass(frozen=True, slots=True)
class StackSource:
    """The files and environment of one stack.

    Attributes:
        files: Text by name; read when it is used.
        environment: The environment as the API takes it, without parameters.
    """

    files: Mapping[str, str] = field(default_factory=dict)
    environment: Mapping[str, Json] = field(default_factory=dict)


NO_STACK_SOURCE = StackSource()
