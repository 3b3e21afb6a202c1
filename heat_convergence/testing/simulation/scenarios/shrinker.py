"""The reduction of a failing scenario: fewer faults, fewer requests, smaller templates.

Called when a seed violates a rule.  Takes parts away while the same rule is violated.
Random choices depend on their points alone, so the rest of the history mostly stays as
it was.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from heat_convergence.testing.simulation.scenarios.scenario_generator import Scenario
from heat_convergence.testing.simulation.scenarios.scenario_runner import (
    SimulationResult,
    run_scenario,
)
from heat_convergence.testing.simulation.workload.request_generator import TimedRequest
from heat_convergence.testing.simulation.workload.template_notation import (
    format_template,
    parse_template,
)

Part = TypeVar("Part")


def shrink_scenario(
    scenario: Scenario, result: SimulationResult, *, max_runs: int = 300
) -> tuple[Scenario, SimulationResult]:
    """Return the smallest scenario found that violates the same rule, and its result."""
    if result.violation is None:
        raise ValueError("there is nothing to shrink: no rule is violated")
    search = _Search(
        dataclasses.replace(scenario, faults_by_point=dict(result.injected_faults)),
        result,
        max_runs,
    )
    while search.runs_left > 0 and search.run_pass():
        pass
    return search.scenario, search.result


class _Search:
    """The smallest scenario so far, and the number of runs left."""

    def __init__(self, scenario: Scenario, result: SimulationResult, runs_left: int) -> None:
        self.scenario, self.result, self.runs_left = scenario, result, runs_left

    def run_pass(self) -> bool:
        """Try every kind of reduction; return whether any succeeded."""
        before = self.scenario
        self._reduce(
            sorted((self.scenario.faults_by_point or {}).items()),
            lambda faults: dataclasses.replace(self.scenario, faults_by_point=dict(faults)),
        )
        self._reduce(
            self.scenario.requests,
            lambda requests: dataclasses.replace(self.scenario, requests=tuple(requests)),
        )
        self._reduce(
            self.scenario.external_changes,
            lambda changes: dataclasses.replace(self.scenario, external_changes=tuple(changes)),
        )
        for smaller in _smaller_templates(self.scenario):
            self._try(smaller)
        for smaller in _smaller_environments(self.scenario):
            self._try(smaller)
        return self.scenario != before

    def _reduce(self, parts: Sequence[Part], make: Callable[[list[Part]], Scenario]) -> None:
        """Leave out ever smaller pieces."""
        kept = list(parts)
        size = len(kept)
        while size > 0:
            start = 0
            while start < len(kept):
                fewer = kept[:start] + kept[start + size :]
                if self._try(make(fewer)):
                    kept = fewer
                else:
                    start += size
            size //= 2

    def _try(self, scenario: Scenario) -> bool:
        if self.runs_left <= 0 or scenario == self.scenario:
            return False
        self.runs_left -= 1
        result = run_scenario(scenario)
        same = (
            result.violation is not None
            and self.result.violation is not None
            and result.violation.rule == self.result.violation.rule
        )
        if same:
            self.scenario = dataclasses.replace(
                scenario, faults_by_point=dict(result.injected_faults)
            )
            self.result = result
        return same


def _smaller_templates(scenario: Scenario) -> Iterator[Scenario]:
    """Take each name out of all templates, then each name or dependency out of each."""
    names = sorted(
        {name for timed in scenario.requests for name in parse_template(timed.request.template)}
    )
    for name in names:
        yield _without_name(scenario, name)
    for index, timed in enumerate(scenario.requests):
        for text in _smaller_texts(timed.request.template):
            requests = list(scenario.requests)
            requests[index] = _with_template(timed, text)
            yield dataclasses.replace(scenario, requests=tuple(requests))


def _without_name(scenario: Scenario, name: str) -> Scenario:
    requests = tuple(
        _with_template(timed, _without(timed.request.template, name))
        for timed in scenario.requests
    )
    return dataclasses.replace(scenario, requests=requests)


def _with_template(timed: TimedRequest, text: str) -> TimedRequest:
    return dataclasses.replace(timed, request=dataclasses.replace(timed.request, template=text))


def _without(text: str, name: str) -> str:
    template = parse_template(text)
    template.pop(name, None)
    remaining = {other: spec for other, spec in template.items() if spec.group != name}
    for other, spec in remaining.items():
        remaining[other] = dataclasses.replace(
            spec,
            references=tuple(each for each in spec.references if each != name),
            attributes=tuple(each for each in spec.attributes if each != name),
            depends_on=tuple(each for each in spec.depends_on if each != name),
        )
    return format_template(remaining)


def _smaller_texts(text: str) -> Iterator[str]:
    template = parse_template(text)
    for name in sorted(template):
        yield _without(text, name)
        spec = template[name]
        for smaller in (
            dataclasses.replace(spec, references=()),
            dataclasses.replace(spec, attributes=()),
            dataclasses.replace(spec, depends_on=()),
        ):
            if smaller != spec:
                yield format_template({**template, name: smaller})


def _smaller_environments(scenario: Scenario) -> Iterator[Scenario]:
    config = scenario.config
    if config.engines > 1:
        yield dataclasses.replace(scenario, config=dataclasses.replace(config, engines=1))
    if config.observers > 1:
        yield dataclasses.replace(scenario, config=dataclasses.replace(config, observers=1))
