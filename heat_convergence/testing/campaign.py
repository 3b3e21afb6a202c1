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

from heat_convergence.testing import transcript
from heat_convergence.testing.generate import below_case, case, tree_case
from heat_convergence.testing.shrink import shrunk
from heat_convergence.testing.simulator import Result, run

_LOGGER = logging.getLogger("heat_convergence")
CHUNK = 5  # seeds handed to a process at once
HISTORIES = {"flat": case, "trees": tree_case, "below": below_case}


@dataclass(frozen=True, slots=True)
class Kind:
    """What every seed of a campaign has in common.  ``steps`` is how long users and
    faults go on, four to a second of simulated time; ``templates`` what stacks are
    made of, see ``HISTORIES``."""

    steps: int = 400
    store: str = "memory"
    shrink_runs: int = 300
    templates: str = "flat"


@dataclass(frozen=True, slots=True)
class Verdict:
    """``broken`` is the rule that was broken, if any, and ``scenario`` the shrunk
    history that breaks it; ``happened`` counts faults and other troubles by kind."""

    seed: int
    broken: str | None
    scenario: str
    events: int
    virtual_s: float
    happened: Counter[str]


@dataclass(slots=True)
class Tally:
    """The sum of many verdicts."""

    seeds: int = 0
    events: int = 0
    virtual_s: float = 0.0
    happened: Counter[str] = field(default_factory=Counter)
    broken: list[Verdict] = field(default_factory=list)

    def add(self, verdict: Verdict) -> None:
        self.seeds += 1
        self.events += verdict.events
        self.virtual_s += verdict.virtual_s
        self.happened += verdict.happened
        if verdict.broken is not None:
            self.broken.append(verdict)


def judge(seed: int, kind: Kind) -> Verdict:
    """The history of the seed, shrunk if it breaks a rule."""
    whole = HISTORIES[kind.templates](seed, steps=kind.steps, store=kind.store)
    result = run(whole)
    scenario = ""
    if result.violation is not None:
        small, small_result = shrunk(whole, result, runs=kind.shrink_runs)
        scenario = _scenario(seed, kind, transcript.written(small, small_result.fired))
    return Verdict(
        seed,
        None if result.violation is None else str(result.violation),
        scenario,
        result.steps,
        result.virtual_s,
        _happened(result),
    )


def verdicts(seeds: Iterable[int], kind: Kind, *, processes: int = 1) -> Iterator[Verdict]:
    """In the order of the seeds, each as soon as it is there."""
    if processes == 1:
        with _quiet():
            yield from map(partial(judge, kind=kind), seeds)
        return
    context = multiprocessing.get_context("spawn")
    with context.Pool(processes, initializer=_be_quiet) as pool:
        yield from pool.imap(partial(judge, kind=kind), seeds, chunksize=CHUNK)


def command(seed: int, kind: Kind) -> str:
    """What to type to see the same history again."""
    words = f"heat-convergence simulate --seed {seed} --steps {kind.steps} --store {kind.store}"
    return words if kind.templates == "flat" else f"{words} --templates {kind.templates}"


def _happened(result: Result) -> Counter[str]:
    counts = Counter(result.happened)
    counts.update(f"{point.split('/')[1]} {fault}" for point, fault in result.fired.items())
    return counts


def _scenario(seed: int, kind: Kind, text: str) -> str:
    return f"# Found by: {command(seed, kind)}\n{text}"


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
