"""How many members a group is to have when a policy asks for more or fewer: arithmetic.

Called by scaling policies, which say what they want, and by ``nesting.scaling_notification``,
which
does it.  Source: heat-facts ``resource_groups.md``, "OS::Heat::ScalingPolicy".
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum


class AdjustmentType(StrEnum):
    """What the number of an adjustment means."""

    CHANGE = "change_in_capacity"
    EXACT = "exact_capacity"
    PERCENT = "percent_change_in_capacity"


@dataclass(frozen=True, slots=True)
class ScalingBounds:
    """Of a group: its sizes, and how long it cools down where nobody says otherwise."""

    min_size: int
    max_size: int
    cooldown_s: float = 0.0


@dataclass(frozen=True, slots=True)
class ScalingAdjustment:
    """What a policy wants of a group; ``min_adjustment_step`` counts for percents alone,
    ``cooldown_s`` None is the group's."""

    adjustment_type: AdjustmentType
    amount: float
    min_adjustment_step: int | None = None
    cooldown_s: float | None = None

    def new_size(self, current: int, bounds: ScalingBounds) -> int:
        """How many members there are to be."""
        if self.adjustment_type is AdjustmentType.EXACT:
            wanted = int(self.amount)
        elif self.adjustment_type is AdjustmentType.CHANGE:
            wanted = current + int(self.amount)
        else:
            wanted = current + self._share(current)
        return min(max(wanted, bounds.min_size), bounds.max_size)

    def _share(self, current: int) -> int:
        """Towards zero, but never less than one or the least step."""
        part = abs(self.amount) * current / 100.0
        step = math.ceil(part) if part < 1.0 else math.floor(part)
        if self.amount and self.min_adjustment_step is not None:
            step = max(step, self.min_adjustment_step)
        return step if self.amount > 0 else -step
