"""Random scenarios: from a seed to the environment, the requests and the faults.

Used by the campaign.  Everything is drawn from the seed, and stays as it was when the
shrinker takes a part away.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from heat_convergence.convergence.ports.settings import ConvergenceSettings
from heat_convergence.testing.simulation.fault_injector import FaultProbabilities
from heat_convergence.testing.simulation.simulation_context import (
    UNLIMITED_TAKEOVERS,
    EnvironmentConfig,
)
from heat_convergence.testing.simulation.workload.request_generator import (
    TimedRequest,
    generate_requests,
)
from heat_convergence.testing.simulation.workload.template_generator import RESOURCE_NAMES
from heat_convergence.testing.simulation.workload.template_notation import (
    NESTED_STACK_ALIASES,
    TemplateSpec,
    format_template,
    parse_template,
)
from heat_convergence.testing.simulation.workload.tree_builder import TreeBuilder
from heat_convergence.testing.simulation.workload.user_requests import (
    QUARANTINE_OPERATIONS,
    UserRequest,
)

_CRASHES: FaultProbabilities = {
    "commit": {"crash-before": 0.02, "crash-after": 0.03},
    "read": {"crash-after": 0.03},
    "call": {"crash-before": 0.03, "crash-after": 0.05},
}
_MESSAGES: FaultProbabilities = {"send": {"lose": 0.15, "duplicate": 0.1, "late": 0.1}}
_DATABASE: FaultProbabilities = {
    "commit": {"deadlock": 0.08, "unavailable": 0.02},
    "read": {"slow": 0.2, "unavailable": 0.02},
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
    "observe": {"temporary": 0.05, "throttled": 0.03},
    "answer": {"late": 0.05},
    "provision": {"slow": 0.05},
}
_FAILURES: FaultProbabilities = {
    "call": {"permanent": 0.04},
    "provision": {"error": 0.2, "never": 0.02},
}

_LARGE_TREE = 24  # jobs of a large tree, with those that are repeated


DEGRADE = "degrade"  # an object loses its health for a while, by itself


@dataclass(frozen=True, slots=True)
class ExternalChange:
    """A change or deletion of an object by a third party, or an object made by hand.

    ``selector``, from 0 to 1, chooses one of the existing objects, or the properties.
    """

    at_s: float
    operation: str  # "delete", "change", ``DEGRADE`` or ``MAKE``
    selector: float


@dataclass(frozen=True, slots=True)
class Scenario:
    """Everything that determines a history.

    Attributes:
        faults_by_point: the faults by their points; None to draw them at random.
        lasting_fault: the context of a call of a verb that always raises, such as
            ``create a``, until the stacks have settled; None for no such fault.
        horizon_s: the time at which requests and faults end.
    """

    config: EnvironmentConfig
    store: str
    requests: tuple[TimedRequest, ...]
    external_changes: tuple[ExternalChange, ...] = ()
    fault_probabilities: FaultProbabilities = field(default_factory=dict)
    faults_by_point: Mapping[str, str] | None = None
    lasting_fault: str | None = None
    horizon_s: float = 100.0


def flat_scenario(seed: int, *, steps: int = 400, store: str = "memory") -> Scenario:
    """Draw requests and faults for ``steps`` / 4 seconds, without nested stacks."""
    rng = random.Random(seed)
    horizon_s = steps / 4
    settings = ConvergenceSettings(
        batch_size=rng.choice((1, 2, 5)),
        jobs_in_flight=rng.choice((1, 2, 4, 50)),
        retry_limit=rng.choice((2, 5)),
        max_job_takeovers=UNLIMITED_TAKEOVERS,
        error_wait_s=60.0,
        action_timeout_s=rng.choice((300.0, 600.0)),
        # The clock stands still while an engine prepares jobs, so that it prepares one job of each
        # message, or all.
        preparation_s=random.Random(f"preparation {seed}").choice((0.0, 0.2)),
    )
    config = EnvironmentConfig(
        seed=seed or 1,
        engines=rng.choice((1, 2, 3)),
        observers=rng.choice((1, 2)),
        group_size=rng.choice((1, 2, 5)),
        max_work_s=rng.choice((0.0, 2.0, 15.0)),
        message_wait_s=draw_message_wait(seed),
        concurrent_polls=seed % 2,
        settings=settings,
    )
    requests: list[TimedRequest] = []
    for name in ("red", "blue")[: rng.choice((1, 1, 2))]:
        requests.extend(generate_requests(rng, name, horizon_s))
    # Generators of their own keep the rest of older seeds' histories as it was.
    converge_rng = random.Random(f"converge {seed}")
    requests = [_perhaps_converging(timed, converge_rng) for timed in requests]
    fault_probabilities = _draw_fault_probabilities(rng)
    return Scenario(
        config=config,
        store=store,
        requests=_in_order(requests),
        external_changes=_draw_external_changes(rng, horizon_s),
        fault_probabilities=fault_probabilities,
        horizon_s=horizon_s,
    )


def draw_message_wait(seed: int) -> float:
    """Draw how long messages wait for a process, with a generator of its own."""
    return random.Random(f"message wait {seed}").choice((0.0, 5.0))


def _perhaps_converging(timed: TimedRequest, rng: random.Random) -> TimedRequest:
    converge = timed.request.operation == "update" and rng.random() < 0.2
    return replace(timed, request=replace(timed.request, converge=True)) if converge else timed


def _in_order(requests: Iterable[TimedRequest]) -> tuple[TimedRequest, ...]:
    return tuple(sorted(requests, key=lambda timed: timed.at_s))


def nested_scenario(seed: int, *, steps: int = 400, store: str = "memory") -> Scenario:
    """Draw the flat scenario of the seed with nested stacks, groups and breakpoints."""
    flat = flat_scenario(seed, steps=steps, store=store)
    rng = random.Random(f"tree {seed}")
    builders = {
        name: TreeBuilder(rng, random.Random(f"groups {seed} {name}")) for name in ("red", "blue")
    }
    requests = [_with_tree(timed, builders[timed.request.stack]) for timed in flat.requests]
    for name, builder in builders.items():
        for path in builder.hooks:
            clear = UserRequest("clear_hook", name, resource=path, step=rng.random() < 0.2)
            requests += _at_random_times(rng, clear, flat.horizon_s)
        for policy in builder.scaling_policies:
            signal = UserRequest("signal", name, resource=policy)
            requests += _at_random_times(rng, signal, flat.horizon_s)
    return replace(flat, requests=_in_order(requests))


def _with_tree(timed: TimedRequest, builder: TreeBuilder) -> TimedRequest:
    request = timed.request
    if not request.template:
        return timed
    text = format_template(builder.build(parse_template(request.template)))
    return replace(timed, request=replace(request, template=text))


def _at_random_times(
    rng: random.Random, request: UserRequest, horizon_s: float, count: int = 3
) -> list[TimedRequest]:
    return [TimedRequest(round(rng.uniform(0, horizon_s), 3), request) for _ in range(count)]


_NESTED_OPERATIONS = (
    "check", "suspend", "resume", "snapshot", "delete_snapshot", "cancel",
    "cancel_without_rollback",
)  # fmt: skip


def nested_request_scenario(seed: int, *, steps: int = 400, store: str = "memory") -> Scenario:
    """Draw the nested scenario of the seed with requests about nested stacks.

    Most of them come while a parent takes a snapshot, a few at any other time.  None
    changes the goal of a nested stack.
    """
    tree = nested_scenario(seed, steps=steps, store=store)
    rng = random.Random(f"below {seed}")
    requests = list(tree.requests)
    texts = [timed.request.template for timed in tree.requests if timed.request.template]
    paths = sorted({path for text in texts for path in _nested_stack_paths(parse_template(text))})
    for timed in tree.requests if paths else ():
        operation = timed.request.operation
        count = {"snapshot": 4, "update": 1}.get(operation, int(rng.random() < 0.05))
        for _ in range(count):
            request = UserRequest(
                rng.choice(_NESTED_OPERATIONS), f"{timed.request.stack}.{rng.choice(paths)}"
            )
            requests.append(TimedRequest(round(timed.at_s + rng.uniform(0.05, 12), 3), request))
    return replace(
        tree, requests=_in_order(timed for timed in requests if timed.at_s < tree.horizon_s)
    )


def quarantine_scenario(seed: int, *, steps: int = 400, store: str = "memory") -> Scenario:
    """Draw the nested scenario of the seed with deletions that fail and quarantine.

    Users ask for other tries, and dismiss some of the resources.
    """
    tree = nested_scenario(seed, steps=steps, store=store)
    rng = random.Random(f"quarantine {seed}")
    requests: list[TimedRequest] = []
    for timed in tree.requests:
        deletes = timed.request.operation == "delete"
        request = replace(timed.request, quarantine=True) if deletes else timed.request
        requests.append(replace(timed, request=request))
    for name in sorted({timed.request.stack for timed in requests}):
        delete = UserRequest("delete", name, quarantine=True)
        requests.append(TimedRequest(round(rng.uniform(0.6, 0.8) * tree.horizon_s, 3), delete))
        for operation in QUARANTINE_OPERATIONS:
            for resource in RESOURCE_NAMES[:4]:
                request = UserRequest(operation, name, resource=resource)
                requests += _at_random_times(rng, request, tree.horizon_s, 2)
    call = {**tree.fault_probabilities.get("call", {}), "permanent": rng.choice((0.05, 0.3))}
    longest_s = _LARGE_TREE * tree.config.max_work_s / tree.config.settings.jobs_in_flight
    settings = replace(
        tree.config.settings,
        retry_limit=rng.choice((0, 1)),
        action_timeout_s=max(120.0, longest_s),
    )
    return replace(
        tree,
        config=replace(tree.config, settings=settings),
        requests=_in_order(requests),
        fault_probabilities={**tree.fault_probabilities, "call": call},
    )


def _nested_stack_paths(template: TemplateSpec, prefix: str = "") -> Iterator[str]:
    for name, spec in template.items():
        if spec.type_alias in NESTED_STACK_ALIASES:
            yield f"{prefix}{name}"
            yield from _nested_stack_paths(spec.nested_template, f"{prefix}{name}.")


def _draw_fault_probabilities(rng: random.Random) -> FaultProbabilities:
    """Draw which families of faults occur, and how often."""
    chosen: dict[str, dict[str, float]] = {}
    strength = rng.choice((0.3, 1.0, 2.0))
    for family in (_CRASHES, _MESSAGES, _DATABASE, _STALLS, _CLOUD, _FAILURES):
        if rng.random() < 0.45:
            for point_type, faults in family.items():
                for fault, probability in faults.items():
                    chosen.setdefault(point_type, {})[fault] = probability * strength
    return chosen


def _draw_external_changes(rng: random.Random, horizon_s: float) -> tuple[ExternalChange, ...]:
    if rng.random() < 0.75:
        return ()
    return tuple(
        ExternalChange(
            round(rng.uniform(5, horizon_s), 3), rng.choice(("delete", "change")), rng.random()
        )
        for _ in range(rng.randint(1, 3))
    )
