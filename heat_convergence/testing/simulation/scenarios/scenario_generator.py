"""From a seed to a history: the size of the world, what users want, what goes wrong.

Used by the simulator.  Everything is drawn from the seed, and stays as it was when a
part of it is taken away again (see ``testing.shrink``).
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from heat_convergence.convergence.ports.settings import ConvergenceSettings
from heat_convergence.testing.simulation.environment import EnvironmentConfig
from heat_convergence.testing.simulation.fault_injector import FaultProbabilities
from heat_convergence.testing.simulation.workload.nested_templates import TreeBuilder
from heat_convergence.testing.simulation.workload.request_generator import (
    TimedRequest,
    generate_requests,
)
from heat_convergence.testing.simulation.workload.template_notation import (
    NESTED_STACK_ALIASES,
    TemplateSpec,
    format_template,
    parse_template,
)
from heat_convergence.testing.simulation.workload.user_requests import UserRequest

_CRASHES: FaultProbabilities = {
    "commit": {"crash-before": 0.02, "crash-after": 0.03},
    "call": {"crash-before": 0.03, "crash-after": 0.05},
}
_MESSAGES: FaultProbabilities = {"send": {"lose": 0.15, "double": 0.1, "late": 0.1}}
_DATABASE: FaultProbabilities = {
    "commit": {"deadlock": 0.08, "unavailable": 0.02},
    "claim": {"skip": 0.1},
}
_STALLS: FaultProbabilities = {"task": {"stall": 0.08}}
_CLOUD: FaultProbabilities = {
    "call": {
        "throttled": 0.04,
        "conflict": 0.03,
        "over-quota": 0.02,
        "temporary": 0.04,
        "timeout-after": 0.05,
        "lost-reply": 0.03,
    },
    "look": {"temporary": 0.05, "throttled": 0.03},
    "birth": {"slow": 0.05},
}
_FAILURES: FaultProbabilities = {
    "call": {"permanent": 0.04},
    "birth": {"error": 0.05, "never": 0.02},
}


@dataclass(frozen=True, slots=True)
class ExternalChange:
    """Somebody else changes or deletes a thing: the ``share``-th of those alive."""

    at_s: float
    operation: str  # "vanish" or "change"
    selector: float


@dataclass(frozen=True, slots=True)
class Scenario:
    """All that a history follows from.  ``given`` None: faults by chance."""

    config: EnvironmentConfig
    store: str
    requests: tuple[TimedRequest, ...]
    external_changes: tuple[ExternalChange, ...] = ()
    fault_probabilities: FaultProbabilities = field(default_factory=dict)
    faults_by_point: Mapping[str, str] | None = None
    horizon_s: float = 100.0


def flat_scenario(seed: int, *, steps: int = 400, store: str = "memory") -> Scenario:
    """The history of the seed: faults and users for ``steps`` / 4 seconds."""
    rng = random.Random(seed)
    horizon_s = steps / 4
    settings = ConvergenceSettings(
        batch_size=rng.choice((1, 2, 5)),
        jobs_in_flight=rng.choice((1, 2, 4, 50)),
        retry_limit=rng.choice((2, 5)),
        error_wait_s=60.0,
        action_timeout_s=rng.choice((300.0, 600.0)),
    )
    shape = EnvironmentConfig(
        seed=seed or 1,
        engines=rng.choice((1, 2, 3)),
        observers=rng.choice((1, 2)),
        group_size=rng.choice((1, 2, 5)),
        max_work_s=rng.choice((0.0, 2.0, 15.0)),
        settings=settings,
    )
    acts: list[TimedRequest] = []
    for name in ("red", "blue")[: rng.choice((1, 1, 2))]:
        acts.extend(generate_requests(rng, name, horizon_s))
    looking = random.Random(f"converge {seed}")  # of its own: seeds keep their histories
    acts = [_perhaps_converging(timed, looking) for timed in acts]
    odds = _odds(rng)
    return Scenario(
        config=shape,
        store=store,
        requests=tuple(sorted(acts, key=lambda timed: timed.at_s)),
        external_changes=_disturbances(rng, horizon_s),
        fault_probabilities=odds,
        horizon_s=horizon_s,
    )


def _perhaps_converging(timed: TimedRequest, rng: random.Random) -> TimedRequest:
    converge = timed.request.operation == "update" and rng.random() < 0.2
    return replace(timed, request=replace(timed.request, converge=True)) if converge else timed


def nested_scenario(seed: int, *, steps: int = 400, store: str = "memory") -> Scenario:
    """The history of the seed with nests, groups and breakpoints in its templates."""
    flat = flat_scenario(seed, steps=steps, store=store)
    rng = random.Random(f"tree {seed}")
    gardeners = {
        name: TreeBuilder(rng, random.Random(f"groups {seed} {name}")) for name in ("red", "blue")
    }
    acts: list[TimedRequest] = []
    for timed in flat.requests:
        act = timed.request
        text = (
            format_template(gardeners[act.stack].build(parse_template(act.template)))
            if act.template
            else ""
        )
        acts.append(replace(timed, request=replace(act, template=text)))
    for name, gardener in gardeners.items():
        for path in gardener.hooks:
            clear = UserRequest("clear", name, resource=path, step=rng.random() < 0.2)
            acts += [
                TimedRequest(round(rng.uniform(0, flat.horizon_s), 3), clear) for _ in range(3)
            ]
        for lever in gardener.scaling_policies:
            pull = UserRequest("signal", name, resource=lever)
            acts += [
                TimedRequest(round(rng.uniform(0, flat.horizon_s), 3), pull) for _ in range(3)
            ]
    return replace(flat, requests=tuple(sorted(acts, key=lambda timed: timed.at_s)))


_BELOW = ("check", "suspend", "resume", "snapshot", "discard", "cancel", "stop")


def nested_request_scenario(seed: int, *, steps: int = 400, store: str = "memory") -> Scenario:
    """The tree's history of the seed, in which users make requests about nested stacks, too:
    mostly while those above them take snapshots, and now and then at any time.  Such as do
    not change what the tree's template has there."""
    tree = nested_scenario(seed, steps=steps, store=store)
    rng = random.Random(f"below {seed}")
    acts = list(tree.requests)
    texts = [timed.request.template for timed in tree.requests if timed.request.template]
    nests = sorted({path for text in texts for path in _nests(parse_template(text))})
    for timed in tree.requests if nests else ():
        often = {"snapshot": 4, "update": 1}.get(timed.request.operation, int(rng.random() < 0.05))
        for _ in range(often):
            act = UserRequest(rng.choice(_BELOW), f"{timed.request.stack}.{rng.choice(nests)}")
            acts.append(TimedRequest(round(timed.at_s + rng.uniform(0.05, 12), 3), act))
    acts = [timed for timed in acts if timed.at_s < tree.horizon_s]
    return replace(tree, requests=tuple(sorted(acts, key=lambda timed: timed.at_s)))


def _nests(template: TemplateSpec, above: str = "") -> Iterator[str]:
    """The paths of all that a stack is behind."""
    for name, spec in template.items():
        if spec.type_alias in NESTED_STACK_ALIASES:
            yield f"{above}{name}"
            yield from _nests(spec.nested_template, f"{above}{name}.")


def _odds(rng: random.Random) -> FaultProbabilities:
    """Each kind of trouble is there or not, mild or wild."""
    chosen: dict[str, dict[str, float]] = {}
    strength = rng.choice((0.3, 1.0, 2.0))
    for family in (_CRASHES, _MESSAGES, _DATABASE, _STALLS, _CLOUD, _FAILURES):
        if rng.random() < 0.45:
            for kind, faults in family.items():
                for fault, probability in faults.items():
                    chosen.setdefault(kind, {})[fault] = probability * strength
    return chosen


def _disturbances(rng: random.Random, horizon_s: float) -> tuple[ExternalChange, ...]:
    if rng.random() < 0.75:
        return ()
    return tuple(
        ExternalChange(
            round(rng.uniform(5, horizon_s), 3), rng.choice(("vanish", "change")), rng.random()
        )
        for _ in range(rng.randint(1, 3))
    )
