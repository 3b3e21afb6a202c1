"""Random scenarios whose users import, move and rename resources of two stacks.

Used by the campaign.  The rest of a history is that of the flat scenario of the seed, with a
second stack if that has one only.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace

from heat_convergence.testing.simulation.handover.object_imports import MAKE
from heat_convergence.testing.simulation.scenarios.scenario_generator import (
    ExternalChange,
    Scenario,
    flat_scenario,
)
from heat_convergence.testing.simulation.workload.request_generator import (
    TimedRequest,
    generate_requests,
)
from heat_convergence.testing.simulation.workload.template_generator import RESOURCE_NAMES
from heat_convergence.testing.simulation.workload.user_requests import UserRequest

_STACKS = ("red", "blue")
_WEIGHTS = {"move": 4, "rename": 2, "import": 2, "execute": 1}
_MOST_REQUESTS, _MOST_OBJECTS = 30, 6


def handover_scenario(seed: int, *, steps: int = 400, store: str = "memory") -> Scenario:
    """Draw the flat scenario of the seed with hand-overs, and with objects made by hand."""
    flat = flat_scenario(seed, steps=steps, store=store)
    rng = random.Random(f"handover {seed}")
    requests = list(flat.requests)
    if not any(timed.request.stack == "blue" for timed in requests):
        requests += generate_requests(rng, "blue", flat.horizon_s)
    requests += _requests(rng, flat.horizon_s)
    made = [
        ExternalChange(round(rng.uniform(0, flat.horizon_s), 3), MAKE, rng.random())
        for _ in range(rng.randint(1, _MOST_OBJECTS))
    ]
    return replace(
        flat,
        requests=tuple(sorted(requests, key=lambda timed: timed.at_s)),
        external_changes=(*flat.external_changes, *made),
    )


def _requests(rng: random.Random, horizon_s: float) -> Iterator[TimedRequest]:
    operations = tuple(_WEIGHTS)
    for _ in range(rng.randint(5, _MOST_REQUESTS)):
        operation = rng.choices(operations, weights=tuple(_WEIGHTS.values()))[0]
        stack, other = rng.sample(_STACKS, 2)
        request = UserRequest(operation, stack)
        if operation != "execute":
            request = replace(request, resource=rng.choice(RESOURCE_NAMES))
        if operation == "move":
            request = replace(request, target=other)
        if operation == "rename":
            request = replace(request, new_name=rng.choice(RESOURCE_NAMES))
        yield TimedRequest(round(rng.uniform(5, horizon_s), 3), request)
