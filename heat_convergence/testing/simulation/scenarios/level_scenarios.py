"""Random scenarios with resources that reach their readiness levels one after the other.

Used by the campaign.  The rest of a history is that of the flat scenario of the seed.
"""

from __future__ import annotations

import random
from dataclasses import replace

from heat_convergence.testing.simulation.scenarios.scenario_generator import (
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


def level_scenario(seed: int, *, steps: int = 400, store: str = "memory") -> Scenario:
    """Draw the flat scenario of the seed with staged resources and demanded levels."""
    flat = flat_scenario(seed, steps=steps, store=store)
    rng = random.Random(f"levels {seed}")
    config = replace(flat.config, max_work_s=rng.choice((2.0, 15.0)))
    requests = tuple(_with_levels(timed, rng) for timed in flat.requests)
    return replace(flat, config=config, requests=requests)


def _with_levels(timed: TimedRequest, rng: random.Random) -> TimedRequest:
    request = timed.request
    if not request.template:
        return timed
    template = parse_template(request.template)
    staged = {name: _staged(spec, rng) for name, spec in template.items()}
    return replace(timed, request=replace(request, template=format_template(staged)))


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
