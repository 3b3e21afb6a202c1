"""Observations of resources, and the rows of a pass sorted by what follows from them.

Made by the observer and by nested stacks' readers; sorted by ``progress``.  Must not
write anything.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from heat_convergence.convergence.model.action import Action
from heat_convergence.convergence.model.job import DesiredState, JobState, ObservedState
from heat_convergence.convergence.model.json_value import Json
from heat_convergence.convergence.model.resource import Resource
from heat_convergence.convergence.model.resource_columns import with_values
from heat_convergence.convergence.timeline.marks import MarkType, append_marks, format_mark
from heat_convergence.template.environment.readiness import ReadinessLevel

JobKey = tuple[int, Action, JobState | None, datetime | None]


def job_key(row: Resource) -> JobKey:
    """Return the key that distinguishes one try of a job from the next."""
    return (row.job.version, row.state.action, row.job.state, row.job.posted_at)


@dataclass(frozen=True, slots=True)
class Observation:
    """One observation of a resource.

    Attributes:
        recheck_after_s: when to observe it again; None if its nested stack says when.
        recheck_grid_s: the grid of times at which it is observed again; None for any time.
        attributes: the attributes, where they were read.
        data: the data, where they have changed.
        retry_with_new_incarnation: another incarnation may succeed where this one failed.
        has_next_step: the job takes another step.
        is_permanent: not even a deletion is to be tried again.
        made_at: when it was made; None for one in the recording transaction.
        level: the level that the resource has reached, where the type says so.
        job: the key of the observed job: by the time the observation is recorded, the
            resource may have another job, of which it says nothing.  None for an
            observation in the recording transaction itself.
        postponed_to: the ``observe_at`` that kept other observers away while it was made;
            None for an observation in the recording transaction.
    """

    observed: ObservedState
    reason: str = ""
    recheck_after_s: float | None = 1.0
    attributes: Mapping[str, Json] | None = None
    data: Mapping[str, Json] | None = None
    retry_with_new_incarnation: bool = False
    has_next_step: bool = False
    is_permanent: bool = False
    level: ReadinessLevel | None = None
    job: JobKey | None = None
    made_at: datetime | None = None
    recheck_grid_s: float | None = None
    postponed_to: datetime | None = None


Observations = Mapping[str, Observation]
"""Resource id → its observation."""


def with_observation_mark(row: Resource, observation: Observation | None) -> Resource:
    """Return the row with the time of its last observation in its timeline."""
    if observation is None or observation.made_at is None or not row.job.timeline:
        return row
    mark = format_mark(MarkType.OBSERVED, observation.made_at)
    return with_values(row, {"timeline": append_marks(row.job.timeline, mark)})


def goal_state(row: Resource) -> ObservedState:
    """Return the observed state in which the row's job is done."""
    return (
        ObservedState.READY if row.desired.state is DesiredState.PRESENT else ObservedState.ABSENT
    )


@dataclass(frozen=True, slots=True)
class ClassifiedRows:
    """The rows of a pass by what is to be done with them.

    Attributes:
        done: the job is done.
        failed: the job has failed.
        replaced: the resource takes a new incarnation.
        repeated: the job is posted again: a retry or its next step.
        resumed: the resource was resumed; the job's next step follows.
        waiting: the job is still under way.
        paused: the job's next step follows after a pause.
        later: the job is under way, and was not observed.
        poll_times: when rows that were passed over are due again.
    """

    done: tuple[Resource, ...] = ()
    failed: tuple[Resource, ...] = ()
    replaced: tuple[Resource, ...] = ()
    repeated: tuple[Resource, ...] = ()
    resumed: tuple[Resource, ...] = ()
    waiting: tuple[Resource, ...] = ()
    paused: tuple[Resource, ...] = ()
    later: tuple[Resource, ...] = ()
    poll_times: tuple[datetime, ...] = ()


def classify_rows(rows: Sequence[Resource], observations: Observations) -> ClassifiedRows:
    """Sort rows with jobs by what is to be done with them.

    Rows without an observation are sorted by what an engine has recorded.
    """
    groups: dict[str, list[Resource]] = {}
    poll_times = []
    for row in rows:
        group = _group_of(row, observations.get(row.id))
        groups.setdefault(group, []).append(row)
        if group == "later" and row.observation.observe_at is not None:
            poll_times.append(row.observation.observe_at)
    sorted_groups = {name: tuple(members) for name, members in groups.items()}
    sorted_groups.pop("skipped", None)
    return ClassifiedRows(**sorted_groups, poll_times=tuple(poll_times))


def _group_of(row: Resource, observation: Observation | None) -> str:
    if row.job.state is JobState.REPLACE:
        return "replaced"
    if observation is not None and observation.has_next_step:
        return "paused" if observation.recheck_after_s else "repeated"
    if row.job.state is JobState.RETRY:
        return "later" if observation is None else "repeated"
    if row.job.state is not JobState.AWAITING_OBSERVATION or not _is_observed(row):
        return "skipped"
    return _group_of_observed(row, observation)


def _group_of_observed(row: Resource, observation: Observation | None) -> str:
    observed = row.observation.state if observation is None else observation.observed
    if observed is goal_state(row):
        return "resumed" if row.resuming else "done"
    if observed in (ObservedState.FAILED, ObservedState.ABSENT, ObservedState.SKIPPED):
        return "failed"
    return "later" if observation is None else "waiting"


def _is_observed(row: Resource) -> bool:
    return row.observation.observe_at is not None or row.awaits_nested_stack
