"""The enumeration of faults: an unexpected exception at each call, one run for each.

A reference run of every shape records the calls that the daemons and the API make; then each
call raises once.  After each run the stacks have settled, other stacks are untouched, nothing
is orphaned and all rules hold.  Called by ``heat-convergence simulate --faults`` and by tests.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from heat_convergence.convergence.ports.settings import ConvergenceSettings
from heat_convergence.testing.simulation.exception_points import POINT_TYPES, RAISE
from heat_convergence.testing.simulation.scenarios.scenario_generator import Scenario
from heat_convergence.testing.simulation.scenarios.scenario_runner import (
    fault_points,
    passed_contexts,
    run_scenario,
)
from heat_convergence.testing.simulation.simulation_context import EnvironmentConfig
from heat_convergence.testing.simulation.workload.request_generator import TimedRequest
from heat_convergence.testing.simulation.workload.user_requests import UserRequest

_FLAT = "a: Resource\nb: Immutable attributes=a\nc: Resource depends_on=b"
_FLAT_CHANGED = "a: Resource size=2\nb: Immutable attributes=a\nd: Resource references=b"
_TREE = "n: NestedStack\nn.x: Resource\nn.y: Resource attributes=x\nb: Resource attributes=n"
_TREE_CHANGED = (
    "n: NestedStack\nn.x: Resource size=2\nn.y: Resource attributes=x\nb: Resource attributes=n"
)
_GROUP = "g: ResourceGroup size=2"
_GROUP_CHANGED = "g: ResourceGroup size=3 flavor=sweet batch=2"
_BYSTANDER = "z: Resource"


@dataclass(frozen=True, slots=True)
class FaultPoint:
    """A call of the reference run of a shape: one, or a resource's verb at every call."""

    shape: str
    point: str
    lasts: bool = False


@dataclass(frozen=True, slots=True)
class FaultResult:
    """The result of the run in which a call raised; ``violation`` None if all rules hold."""

    fault: FaultPoint
    violation: str | None
    raised: bool
    stack_statuses: Mapping[str, str]


def _requests(*later: UserRequest, template: str) -> tuple[TimedRequest, ...]:
    requests = (UserRequest("create", "red", template), *later)
    bystander = TimedRequest(0.7, UserRequest("create", "blue", _BYSTANDER))
    timed = [TimedRequest(0.5 + 15.0 * n, each) for n, each in enumerate(requests)]
    return (*timed[:1], bystander, *timed[1:])


_UPDATE, _DELETE = partial(UserRequest, "update", "red"), UserRequest("delete", "red")
_SHAPES: Mapping[str, tuple[TimedRequest, ...]] = {
    "flat": _requests(_UPDATE(_FLAT_CHANGED), _DELETE, template=_FLAT),
    "rollback": _requests(_UPDATE(_FLAT_CHANGED, rollback=True), template=_FLAT),
    "verbs": _requests(
        UserRequest("snapshot", "red"),
        UserRequest("suspend", "red"),
        UserRequest("resume", "red"),
        UserRequest("check", "red"),
        template=_FLAT,
    ),
    "tree": _requests(_UPDATE(_TREE_CHANGED), _DELETE, template=_TREE),
    "group": _requests(_UPDATE(_GROUP_CHANGED), template=_GROUP),
}
SHAPES = tuple(_SHAPES)


def shape_scenario(shape: str, store: str = "memory") -> Scenario:
    """Return the reference scenario of a shape."""
    requests = _SHAPES[shape]
    return Scenario(
        EnvironmentConfig(
            seed=7,
            engines=1,
            observers=1,
            max_work_s=1.0,
            concurrent_polls=1,
            exception_points=True,
            settings=ConvergenceSettings(action_timeout_s=600.0),
        ),
        store,
        requests,
        faults_by_point={},
        horizon_s=requests[-1].at_s + 20.0,
    )


def list_points(shape: str, store: str = "memory") -> list[FaultPoint]:
    """Return the calls of the reference run of a shape."""
    scenario = shape_scenario(shape, store)
    once = [FaultPoint(shape, point) for point in fault_points(scenario, *POINT_TYPES)]
    verbs = sorted(passed_contexts(scenario, "verb"))
    return once + [FaultPoint(shape, f"{verb}/verb", lasts=True) for verb in verbs if " " in verb]


def run_fault(fault: FaultPoint, store: str = "memory") -> FaultResult:
    """Run a shape with an exception at one of its calls."""
    scenario = shape_scenario(fault.shape, store)
    if fault.lasts:
        scenario = replace(scenario, lasting_fault=fault.point.removesuffix("/verb"))
    else:
        scenario = replace(scenario, faults_by_point={fault.point: RAISE})
    result = run_scenario(scenario)
    return FaultResult(
        fault,
        None if result.violation is None else str(result.violation),
        bool(result.injected_faults),
        result.stack_statuses,
    )


def run_faults(
    faults: Sequence[FaultPoint], store: str = "memory", *, processes: int = 1
) -> Iterator[FaultResult]:
    """Yield the results in the order of the faults."""
    run = partial(run_fault, store=store)
    if processes == 1:
        yield from map(run, faults)
        return
    with multiprocessing.get_context("spawn").Pool(processes) as pool:
        yield from pool.imap(run, faults, chunksize=20)


def every_nth(faults: Sequence[FaultPoint], count: int) -> list[FaultPoint]:
    """Return about ``count`` of the faults, spread over all types of points."""
    by_type = sorted(faults, key=lambda each: (each.lasts, each.point.split("/")[1], each.shape))
    return by_type[:: max(1, len(by_type) // count)]
