"""Random scenarios with resources that reach their readiness levels, and may lose their health.

Used by the campaign.  The rest of a history is that of the flat scenario of the seed.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from heat_convergence.testing.simulation.scenarios.scenario_generator import (
    DEGRADE,
    ExternalChange,
    Scenario,
    flat_scenario,
)
from heat_convergence.testing.simulation.workload.request_generator import TimedRequest
from heat_convergence.testing.simulation.workload.template_notation import (
    ResourceSpec,
    format_template,
    parse_template,
)

_STAGED_SHARE, _DEMANDING_SHARE, _REFERENCE_SHARE = 0.8, 0.15, 0.8
_STABILIZING_SHARE, _WINDOW_SHARE, _WINDOWS_S = 0.5, 0.5, (3, 12, 40)
_MOST_DEGRADATIONS = 10


def level_scenario(seed: int, *, steps: int = 400, store: str = "memory") -> Scenario:
    """Draw the flat scenario of the seed with staged resources and demanded levels."""
    flat = flat_scenario(seed, steps=steps, store=store)
    rng = random.Random(f"levels {seed}")
    config = replace(flat.config, max_work_s=rng.choice((2.0, 15.0)))
    requests = tuple(_with_levels(timed, rng) for timed in flat.requests)
    return _with_windows(replace(flat, config=config, requests=requests), seed)


def _with_windows(scenario: Scenario, seed: int) -> Scenario:
    """Return the scenario, perhaps with stabilization windows and objects that lose health.

    A generator of its own keeps the rest of the history as it was.
    """
    rng = random.Random(f"windows {seed}")
    if rng.random() >= _STABILIZING_SHARE:
        return scenario
    requests = tuple(_stabilizing(timed, rng) for timed in scenario.requests)
    degradations = [
        ExternalChange(round(rng.uniform(1, scenario.horizon_s), 3), DEGRADE, rng.random())
        for _ in range(rng.randint(0, _MOST_DEGRADATIONS))
    ]
    changes = (*scenario.external_changes, *degradations)
    return replace(scenario, requests=requests, external_changes=changes)


def _stabilizing(timed: TimedRequest, rng: random.Random) -> TimedRequest:
    return _with_specs(
        timed,
        lambda spec: (
            replace(spec, stabilization=rng.choice(_WINDOWS_S))
            if rng.random() < _WINDOW_SHARE
            else spec
        ),
    )


def _with_specs(
    timed: TimedRequest, change: Callable[[ResourceSpec], ResourceSpec]
) -> TimedRequest:
    """Return a request with changed resources in its template, if it has one."""
    request = timed.request
    if not request.template:
        return timed
    template = {name: change(each) for name, each in parse_template(request.template).items()}
    return replace(timed, request=replace(request, template=format_template(template)))


def _with_levels(timed: TimedRequest, rng: random.Random) -> TimedRequest:
    return _with_specs(timed, partial(_staged, rng=rng))


def _staged(spec: ResourceSpec, rng: random.Random) -> ResourceSpec:
    """Return the resource, perhaps as a staged one, with references in place of other needs."""
    if rng.random() < _REFERENCE_SHARE:
        names = dict.fromkeys((*spec.references, *spec.attributes, *spec.depends_on))
        spec = replace(spec, references=tuple(names), attributes=(), depends_on=())
    if spec.type_alias == "Resource" and rng.random() < _STAGED_SHARE:
        spec = replace(spec, type_alias="Staged", snapshot=False)
    if rng.random() < _DEMANDING_SHARE:
        spec = replace(spec, readiness=rng.choice(("configured", "active", "healthy")))
    return spec
