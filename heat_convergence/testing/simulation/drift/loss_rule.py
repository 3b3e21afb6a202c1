"""The rule about mass losses that nobody has confirmed: RULE 10, as far as reads can show them.

A stack that is not COMPLETE is not read, so that nobody can know what it lacks. A loss counts if
enough was shown to be missing at once, or is in stacks that were COMPLETE for so long that they
must have been read. What was replaced before others were shown to be missing is not missing with
them. Called by ``repair_rules``. Must not read what the code under test records of losses.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from heat_convergence.convergence.drift.settings import MassLossLimits
from heat_convergence.convergence.invariants.transition import StackState, Transition, Violation
from heat_convergence.convergence.model.action import Status
from heat_convergence.convergence.model.job import DesiredState
from heat_convergence.testing.simulation.cloud_reads.cloud_view import CloudView

LOSS_RULE = 10


@dataclass(frozen=True, slots=True)
class _CompletePeriod:
    """The last time in which a stack was COMPLETE, up to now without an end."""

    since: datetime
    until: datetime | None = None

    def includes(self, since: datetime, until: datetime) -> bool:
        """Return whether the stack was COMPLETE between two times."""
        return self.since <= since and (self.until is None or self.until >= until)


@dataclass(frozen=True, slots=True)
class MassLossRule:
    """The losses of one simulation, and what can be known of them.

    Attributes:
        view: What reads show of the cloud.
        limits: The losses that are a mass loss.
        delay: The longest time that a read from before a loss may count.
    """

    view: CloudView
    limits: MassLossLimits
    delay: timedelta
    _states: dict[str, StackState] = field(default_factory=dict)
    _periods: dict[str, _CompletePeriod] = field(default_factory=dict)
    _replaced_at: dict[str, datetime] = field(default_factory=dict)

    def note_commit(self, step: Transition) -> Iterator[Violation]:
        """Note whether a stack is COMPLETE, and what serves it no more; violates nothing."""
        stack, now = step.after.stack, step.now
        known = self._periods.get(stack.id)
        is_open = known is not None and known.until is None
        before = self._states.get(stack.id)
        for replaced in () if before is None else _serving(before) - _serving(step.after):
            self._replaced_at.setdefault(replaced, now)
        self._states[stack.id] = step.after
        if stack.status is Status.COMPLETE and not is_open:
            self._periods[stack.id] = _CompletePeriod(now)
        elif stack.status is not Status.COMPLETE and known is not None and is_open:
            self._periods[stack.id] = replace(known, until=now)
        yield from ()

    def is_known(self, time: datetime) -> bool:
        """Return whether a mass loss could be known at a time."""
        lost_at = self.view.unreachable_since
        if lost_at is None or time <= lost_at + self.delay:
            return False
        read = self._read_ids(time)
        shown = {key: at for key, at in self.view.missed_at.items() if at < time}
        if self._is_exceeded(read | self._missing_at(time, shown), read):
            return True
        return any(
            self._is_exceeded(self._missing_at(moment, shown), read) for moment in shown.values()
        )

    def _is_exceeded(self, missing: set[str], read: set[str]) -> bool:
        lost = self.view.unreachable_ids & missing
        return self.limits.exceeded_by(len(lost), len(missing | read))

    def _missing_at(self, moment: datetime, shown: Mapping[str, datetime]) -> set[str]:
        """Return what had been shown to be missing at a time and served its stack still."""
        return {
            key for key, at in shown.items() if at <= moment <= self._replaced_at.get(key, moment)
        }

    def _read_ids(self, time: datetime) -> set[str]:
        """Return the ids of the objects of stacks that must have been read by now."""
        return {
            row.physical.id
            for stack_id, period in self._periods.items()
            if period.includes(time - self.delay, time)
            for row in self._states[stack_id].resources
            if row.physical.id is not None
        }


def _serving(state: StackState) -> set[str]:
    """Return the ids of the objects that serve the goal of a stack."""
    return {
        row.physical.id
        for row in state.resources
        if row.physical.id is not None and row.desired.state is DesiredState.PRESENT
    }
