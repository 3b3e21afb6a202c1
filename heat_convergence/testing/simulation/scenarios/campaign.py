"""A campaign: the histories of many seeds, on one or several processes.

Called by the command ``simulate`` and by tests.  Decides nothing about a history.  A
history that violates a rule is shrunk by the process that ran it, while others continue.
"""

from __future__ import annotations

import logging
import multiprocessing
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial

from heat_convergence.testing.simulation.drift.drift_runs import run_drift_seed
from heat_convergence.testing.simulation.scenarios.handover_scenarios import handover_scenario
from heat_convergence.testing.simulation.scenarios.level_scenarios import level_scenario
from heat_convergence.testing.simulation.scenarios.scenario_generator import (
    flat_scenario,
    nested_request_scenario,
    nested_scenario,
    quarantine_scenario,
)
from heat_convergence.testing.simulation.scenarios.scenario_language import format_scenario
from heat_convergence.testing.simulation.scenarios.scenario_runner import (
    SimulationResult,
    open_store,
    run_scenario,
)
from heat_convergence.testing.simulation.scenarios.shrinker import shrink_scenario

_LOGGER = logging.getLogger("heat_convergence")
SEEDS_PER_CHUNK = 5  # seeds sent to a process at once
SCENARIO_GENERATORS = {
    "flat": flat_scenario,
    "trees": nested_scenario,
    "below": nested_request_scenario,
    "quarantine": quarantine_scenario,
    "levels": level_scenario,
    "handover": handover_scenario,
}
DRIFT = "drift"
FAMILIES = (*sorted(SCENARIO_GENERATORS), DRIFT)
"""Families of generated histories; those of drift are no scenarios and cannot be shrunk."""


@dataclass(frozen=True, slots=True)
class CampaignOptions:
    """The options common to all seeds of a campaign.

    Attributes:
        steps: the time during which users make requests and faults occur, in quarters
            of a simulated second.
        store: ``memory`` or ``sqlite``.
        shrink_runs: the highest number of runs to shrink a history.
        scenario_family: one of ``FAMILIES``.
    """

    steps: int = 400
    store: str = "memory"
    shrink_runs: int = 300
    scenario_family: str = "flat"


@dataclass(frozen=True, slots=True)
class SeedResult:
    """The result of one seed.

    Attributes:
        violation: the violated rule, if any.
        scenario_text: the shrunk scenario that violates it, for drift the history; else "".
        occurrences: the number of faults and their consequences, by name.
    """

    seed: int
    violation: str | None
    scenario_text: str
    event_count: int
    simulated_s: float
    occurrences: Counter[str]


@dataclass(slots=True)
class CampaignSummary:
    """The sums over many seeds."""

    seed_count: int = 0
    event_count: int = 0
    simulated_s: float = 0.0
    occurrences: Counter[str] = field(default_factory=Counter)
    failures: list[SeedResult] = field(default_factory=list)

    def add(self, result: SeedResult) -> None:
        """Add the result of one seed."""
        self.seed_count += 1
        self.event_count += result.event_count
        self.simulated_s += result.simulated_s
        self.occurrences += result.occurrences
        if result.violation is not None:
            self.failures.append(result)


def run_seed(seed: int, options: CampaignOptions) -> SeedResult:
    """Run the history of a seed, and shrink it if it violates a rule."""
    if options.scenario_family == DRIFT:
        return _run_drift(seed, options)
    scenario = SCENARIO_GENERATORS[options.scenario_family](
        seed, steps=options.steps, store=options.store
    )
    result = run_scenario(scenario)
    text = ""
    if result.violation is not None:
        small, small_result = shrink_scenario(scenario, result, max_runs=options.shrink_runs)
        shrunk = format_scenario(small, small_result.injected_faults)
        text = f"# Found by: {replay_command(seed, options)}\n{shrunk}"
    return SeedResult(
        seed,
        None if result.violation is None else str(result.violation),
        text,
        result.step_count,
        result.simulated_s,
        _count_occurrences(result),
    )


def _run_drift(seed: int, options: CampaignOptions) -> SeedResult:
    with open_store(options.store) as store:
        run = run_drift_seed(seed, store)
    log = "".join(f"{line}\n" for line in run.log)
    return SeedResult(
        seed,
        None if run.violation is None else str(run.violation),
        "" if run.violation is None else f"# Found by: {replay_command(seed, options)}\n{log}",
        run.event_count,
        run.simulated_s,
        run.occurrences,
    )


def run_seeds(
    seeds: Iterable[int], options: CampaignOptions, *, processes: int = 1
) -> Iterator[SeedResult]:
    """Yield the results in the order of the seeds, each as soon as it is known."""
    if processes == 1:
        with _silenced_logs():
            yield from map(partial(run_seed, options=options), seeds)
        return
    context = multiprocessing.get_context("spawn")
    with context.Pool(processes, initializer=_silence_logs) as pool:
        yield from pool.imap(partial(run_seed, options=options), seeds, chunksize=SEEDS_PER_CHUNK)


def replay_command(seed: int, options: CampaignOptions) -> str:
    """Return the command that runs the history of a seed again."""
    command = (
        f"heat-convergence simulate --seed {seed} --steps {options.steps} --store {options.store}"
    )
    family = options.scenario_family
    return command if family == "flat" else f"{command} --templates {family}"


def _count_occurrences(result: SimulationResult) -> Counter[str]:
    counts = Counter(result.occurrences)
    counts.update(
        f"{point.split('/')[1]} {fault}" for point, fault in result.injected_faults.items()
    )
    return counts


def _silence_logs() -> None:
    """Suppress the log lines about faults, which are injected on purpose."""
    _LOGGER.setLevel(logging.CRITICAL)


@contextmanager
def _silenced_logs() -> Iterator[None]:
    level = _LOGGER.level
    _silence_logs()
    try:
        yield
    finally:
        _LOGGER.setLevel(level)
