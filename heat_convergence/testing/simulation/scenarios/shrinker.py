"""A failing history made small: fewer faults, fewer requests, smaller templates.

Called when a seed fails.  Takes parts away as long as the same rule stays broken;
chance depends on places alone, so that what is left mostly stays as it was.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from heat_convergence.testing.simulation.scenarios.scenario_generator import Scenario, TimedRequest
from heat_convergence.testing.simulation.scenarios.scenario_runner import (
    SimulationResult,
    run_scenario,
)
from heat_convergence.testing.simulation.workload.template_notation import (
    format_template,
    parse_template,
)

Part = TypeVar("Part")


def shrink_scenario(
    case: Scenario, result: SimulationResult, *, max_runs: int = 300
) -> tuple[Scenario, SimulationResult]:
    """The smallest case found that breaks the same rule, and its result."""
    if result.violation is None:
        raise ValueError("there is nothing to shrink: no rule is broken")
    search = _Search(
        dataclasses.replace(case, faults_by_point=dict(result.injected_faults)), result, max_runs
    )
    while search.left > 0 and search.one_round():
        pass
    return search.case, search.result


class _Search:
    def __init__(self, case: Scenario, result: SimulationResult, runs: int) -> None:
        self.case, self.result, self.left = case, result, runs

    def one_round(self) -> bool:
        """Tries every kind of reduction; whether any helped."""
        before = self.case
        self._reduce(
            sorted((self.case.faults_by_point or {}).items()),
            lambda faults: dataclasses.replace(self.case, faults_by_point=dict(faults)),
        )
        self._reduce(
            self.case.requests, lambda acts: dataclasses.replace(self.case, requests=tuple(acts))
        )
        self._reduce(
            self.case.external_changes,
            lambda some: dataclasses.replace(self.case, external_changes=tuple(some)),
        )
        for smaller in _simpler_templates(self.case):
            self._try(smaller)
        for smaller in _simpler_worlds(self.case):
            self._try(smaller)
        return self.case != before

    def _reduce(self, parts: Sequence[Part], make: Callable[[list[Part]], Scenario]) -> None:
        """Leaves out ever smaller pieces."""
        kept = list(parts)
        size = len(kept)
        while size > 0:
            at = 0
            while at < len(kept):
                fewer = kept[:at] + kept[at + size :]
                if self._try(make(fewer)):
                    kept = fewer
                else:
                    at += size
            size //= 2

    def _try(self, case: Scenario) -> bool:
        if self.left <= 0 or case == self.case:
            return False
        self.left -= 1
        result = run_scenario(case)
        same = (
            result.violation is not None
            and self.result.violation is not None
            and result.violation.rule == self.result.violation.rule
        )
        if same:
            self.case = dataclasses.replace(case, faults_by_point=dict(result.injected_faults))
            self.result = result
        return same


def _simpler_templates(case: Scenario) -> Iterator[Scenario]:
    """Each name taken out of all templates, each need and option out of each."""
    names = sorted(
        {name for timed in case.requests for name in parse_template(timed.request.template)}
    )
    for name in names:
        yield _with_texts(case, lambda text, name=name: _without(text, name))
    for at, timed in enumerate(case.requests):
        for text in _simpler_texts(timed.request.template):
            acts = list(case.requests)
            acts[at] = _with_text(timed, text)
            yield dataclasses.replace(case, requests=tuple(acts))


def _with_texts(case: Scenario, change: Callable[[str], str]) -> Scenario:
    acts = tuple(_with_text(timed, change(timed.request.template)) for timed in case.requests)
    return dataclasses.replace(case, requests=acts)


def _with_text(timed: TimedRequest, text: str) -> TimedRequest:
    return dataclasses.replace(timed, request=dataclasses.replace(timed.request, template=text))


def _without(text: str, name: str) -> str:
    template = parse_template(text)
    template.pop(name, None)
    levers = {other for other, spec in template.items() if spec.of == name}
    template = {other: spec for other, spec in template.items() if other not in levers}
    for other, spec in template.items():
        needs = {
            how: tuple(n for n in getattr(spec, how) if n != name)
            for how in ("refs", "reads", "after")
        }
        template[other] = dataclasses.replace(spec, **needs)
    return format_template(template)


def _simpler_texts(text: str) -> Iterator[str]:
    template = parse_template(text)
    for name in sorted(template):
        yield _without(text, name)
        spec = template[name]
        for how in ("refs", "reads", "after"):
            if getattr(spec, how):
                yield format_template({**template, name: dataclasses.replace(spec, **{how: ()})})


def _simpler_worlds(case: Scenario) -> Iterator[Scenario]:
    for name in ("engines", "observers"):
        if getattr(case.config, name) > 1:
            yield dataclasses.replace(case, config=dataclasses.replace(case.config, **{name: 1}))
