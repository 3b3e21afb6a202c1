"""Arithmetic of a group's new size when a scaling policy asks for more or fewer members.

Called by scaling policies, which request an adjustment, and by the scaling of groups, which
applies it. It must not know stacks or templates.

Source: docs/reference/resource-groups.rst, "OS::Heat::ScalingPolicy".
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any


class AdjustmentType(StrEnum):
    """The meaning of an adjustment's number."""

    CHANGE = "change_in_capacity"
    EXACT = "exact_capacity"
    PERCENT = "percent_change_in_capacity"


@dataclass(frozen=True, slots=True)
class ScalingBounds:
    """A group's size limits and its own cooldown in seconds.

    The group's cooldown applies to adjustments that have none.
    """

    min_size: int
    max_size: int
    cooldown_s: float = 0.0


@dataclass(frozen=True, slots=True)
class ScalingAdjustment:
    """A change of a group's size that a policy requests.

    ``min_adjustment_step`` applies to percentages only; ``cooldown_s`` None uses the group's.
    """

    adjustment_type: AdjustmentType
    amount: float
    min_adjustment_step: int | None = None
    cooldown_s: float | None = None

    def new_size(self, current: int, bounds: ScalingBounds) -> int:
        """Return the number of members after the adjustment, within the bounds."""
        if self.adjustment_type is AdjustmentType.EXACT:
            size = int(self.amount)
        elif self.adjustment_type is AdjustmentType.CHANGE:
            size = current + int(self.amount)
        else:
            size = current + self._share(current)
        return min(max(size, bounds.min_size), bounds.max_size)

    def _share(self, current: int) -> int:
        """Return a percentage as members, rounded towards zero, but at least one or the step."""
        part = abs(self.amount) * current / 100.0
        step = math.ceil(part) if part < 1.0 else math.floor(part)
        if self.amount and self.min_adjustment_step is not None:
            step = max(step, self.min_adjustment_step)
        return step if self.amount > 0 else -step


@dataclass(frozen=True, slots=True)
class GroupCompletion:
    """The end of an action of a group's nested stack.

    Attributes:
        data: what is recorded of the group.
        count_members: returns the number of members.
        converged: the group itself was created or updated, and no batch follows.
    """

    data: Mapping[str, Any]
    properties: Mapping[str, Any]
    count_members: Callable[[], int]
    converged: bool
    now: datetime
