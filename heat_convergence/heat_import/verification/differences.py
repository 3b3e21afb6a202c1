"""Differences of two JSON documents, and those that every import makes.

Pure. ``KNOWN_DIFFERENCES`` are those of the page "Moving from Heat": they are counted and
printed with their reason, apart from the others.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Json = Any
_MAX_TEXT = 200  # characters of a value that are shown


class _Absent:
    """The value of a key that only the other document has."""

    def __repr__(self) -> str:
        return "absent"


ABSENT = _Absent()


@dataclass(frozen=True, slots=True)
class Difference:
    """A value that the two services show differently.

    Attributes:
        path: Location in the views of the stack.
        heat: Value of Heat; ``ABSENT`` if it has none.
        own: Value of this service, likewise.
    """

    path: str
    heat: Json
    own: Json

    def __str__(self) -> str:
        return f"{self.path}: Heat has {_shown(self.heat)}, this service {_shown(self.own)}"

    @property
    def reason(self) -> str | None:
        """The reason, if every import makes this difference."""
        for known in KNOWN_DIFFERENCES:
            if known.path.fullmatch(self.path) and known.accepts(self):
                return known.reason
        return None


@dataclass(frozen=True, slots=True)
class KnownDifference:
    """A difference that every import makes.

    Attributes:
        path: Pattern of the paths.
        reason: Text for the operator.
        heat: Values that Heat may have; None for any.
        own: Values that this service may have; None for any.
    """

    path: re.Pattern[str]
    reason: str
    heat: tuple[Json, ...] | None = None
    own: tuple[Json, ...] | None = None

    def accepts(self, difference: Difference) -> bool:
        """Return whether the values are those of the known difference."""
        return all(
            values is None or found in values
            for values, found in ((self.heat, difference.heat), (self.own, difference.own))
        )


KNOWN_DIFFERENCES = (
    KnownDifference(
        re.compile(r"(stack|resources/[^/]+(/show)?)/(drift_status|observed_at|waiting)"),
        "drift_status, observed_at and waiting are fields of this service alone",
        heat=(ABSENT,),
    ),
    KnownDifference(
        re.compile(r"stack/stack_user_project_id"),
        "stack_user_project_id is null in the views of stacks",
        own=(None,),
    ),
    KnownDifference(
        re.compile(r"resources/[^/]+/show/attributes/(refs|refs_map|current_size)"),
        "attributes of groups that Heat shows as null in views of resources",
        heat=(None, ABSENT),
    ),
    KnownDifference(
        re.compile(r"environment/encrypted_param_names.*"),
        "encrypted_param_names of environments is empty",
        own=([], ABSENT),
    ),
    KnownDifference(
        re.compile(r"resources/[^/]+/(show/)?physical_resource_id"),
        "resources without a physical resource show their physical name",
        heat=(None, ""),
    ),
    KnownDifference(
        re.compile(r"events/\d+/physical_resource_id"),
        "resources without a physical resource show their physical name",
        heat=(None, ""),
    ),
)


def find_differences(path: str, heat: Json, own: Json) -> Iterator[Difference]:
    """Yield the differences of two values; numbers of other types that are equal are none."""
    if isinstance(heat, Mapping) and isinstance(own, Mapping):
        for name in sorted({*heat, *own}):
            place = f"{path}/{name}"
            yield from find_differences(place, heat.get(name, ABSENT), own.get(name, ABSENT))
    elif _is_list(heat) and _is_list(own) and len(heat) == len(own):
        for position, (one, other) in enumerate(zip(heat, own, strict=True)):
            yield from find_differences(f"{path}/{position}", one, other)
    elif isinstance(heat, bool) is not isinstance(own, bool) or heat != own:
        yield Difference(path, heat, own)


def _is_list(value: Json) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _shown(value: Json) -> str:
    text = repr(value) if value is ABSENT else json.dumps(value, sort_keys=True, default=str)
    return text if len(text) <= _MAX_TEXT else f"{text[:_MAX_TEXT]}… ({len(text)} characters)"
