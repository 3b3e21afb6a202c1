"""Many seeds, one after the other or on several processes, and what came of them.

Called by the command ``simulate`` and by tests.  Decides nothing about a history; a
failing one is shrunk where it was found, so that others go on meanwhile.
"""

from __future__ import annotations

import logging
import multiprocessing
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial

from heat_convergence.testing.simulation.scenarios import transcript
from heat_convergence.testing.simulation.scenarios.scenario_generator import (
    flat_scenario,
    nested_request_scenario,
    nested_scenario,
)
from heat_convergence.testing.simulation.scenarios.scenario_runner import (
    SimulationResult,
    run_scenario,
)
from heat_convergence.testing.simulation.scenarios.shrinker import shrink_scenario

_LOGGER = logging.getLogger("heat_convergence")
SEEDS_PER_CHUNK = 5  # seeds handed to a process at once
SCENARIO_GENERATORS = {
    "flat": flat_scenario,
    "trees": nested_scenario,
    "below": nested_request_scenario,
}


@dataclass(frozen=True, slots=True)
class CampaignOptions:
    """What every seed of a campaign has in common.  ``steps`` is how long users and
    faults go on, four to a second of simulated time; ``scenario_family`` what stacks are
    made of, see ``SCENARIO_GENERATORS``."""

    steps: int = 400
    store: str = "memory"
    shrink_runs: int = 300
    scenario_family: str = "flat"


@dataclass(frozen=True, slots=True)
class SeedResult:
    """``broken`` is the rule that was broken, if any, and ``scenario_text`` the shrunk
    history that breaks it; ``occurrences`` counts faults and other troubles by kind."""

    seed: int
    violation: str | None
    scenario_text: str
    event_count: int
    simulated_s: float
    occurrences: Counter[str]


@dataclass(slots=True)
class CampaignSummary:
    """The sum of many verdicts."""

    seed_count: int = 0
    event_count: int = 0
    simulated_s: float = 0.0
    occurrences: Counter[str] = field(default_factory=Counter)
    failures: list[SeedResult] = field(default_factory=list)

    def add(self, verdict: SeedResult) -> None:
        self.seed_count += 1
        self.event_count += verdict.event_count
        self.simulated_s += verdict.simulated_s
        self.occurrences += verdict.occurrences
        if verdict.violation is not None:
            self.failures.append(verdict)


def run_seed(seed: int, options: CampaignOptions) -> SeedResult:
    """The history of the seed, shrunk if it breaks a rule."""
    whole = SCENARIO_GENERATORS[options.scenario_family](
        seed, steps=options.steps, store=options.store
    )
    result = run_scenario(whole)
    scenario = ""
    if result.violation is not None:
        small, small_result = shrink_scenario(whole, result, max_runs=options.shrink_runs)
        scenario = _scenario(
            seed, options, transcript.format_scenario(small, small_result.injected_faults)
        )
    return SeedResult(
        seed,
        None if result.violation is None else str(result.violation),
        scenario,
        result.step_count,
        result.simulated_s,
        _happened(result),
    )


def run_seeds(
    seeds: Iterable[int], options: CampaignOptions, *, processes: int = 1
) -> Iterator[SeedResult]:
    """In the order of the seeds, each as soon as it is there."""
    if processes == 1:
        with _quiet():
            yield from map(partial(run_seed, options=options), seeds)
        return
    context = multiprocessing.get_context("spawn")
    with context.Pool(processes, initializer=_be_quiet) as pool:
        yield from pool.imap(partial(run_seed, options=options), seeds, chunksize=SEEDS_PER_CHUNK)


def replay_command(seed: int, options: CampaignOptions) -> str:
    """What to type to see the same history again."""
    words = (
        f"heat-convergence simulate --seed {seed} --steps {options.steps} --store {options.store}"
    )
    return (
        words
        if options.scenario_family == "flat"
        else f"{words} --templates {options.scenario_family}"
    )


def _happened(result: SimulationResult) -> Counter[str]:
    counts = Counter(result.occurrences)
    counts.update(
        f"{point.split('/')[1]} {fault}" for point, fault in result.injected_faults.items()
    )
    return counts


def _scenario(seed: int, kind: CampaignOptions, text: str) -> str:
    return f"# Found by: {replay_command(seed, kind)}\n{text}"


def _be_quiet() -> None:
    """The code under test reports every fault, as it should; here they are made."""
    _LOGGER.setLevel(logging.CRITICAL)


@contextmanager
def _quiet() -> Iterator[None]:
    before = _LOGGER.level
    _be_quiet()
    try:
        yield
    finally:
        _LOGGER.setLevel(before)
