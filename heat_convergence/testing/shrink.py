"""A failing history made small: fewer faults, fewer requests, smaller templates.

Called when a seed fails.  Takes parts away as long as the same rule stays broken;
chance depends on places alone, so that what is left mostly stays as it was.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from heat_convergence.testing.generate import Case, Timed
from heat_convergence.testing.goals import parse, text_of
from heat_convergence.testing.simulator import Result, run

Part = TypeVar("Part")


def shrunk(case: Case, result: Result, *, runs: int = 300) -> tuple[Case, Result]:
    """The smallest case found that breaks the same rule, and its result."""
    if result.violation is None:
        raise ValueError("there is nothing to shrink: no rule is broken")
    search = _Search(dataclasses.replace(case, given=dict(result.fired)), result, runs)
    while search.left > 0 and search.one_round():
        pass
    return search.case, search.result


class _Search:
    def __init__(self, case: Case, result: Result, runs: int) -> None:
        self.case, self.result, self.left = case, result, runs

    def one_round(self) -> bool:
        """Tries every kind of reduction; whether any helped."""
        before = self.case
        self._reduce(
            sorted((self.case.given or {}).items()),
            lambda faults: dataclasses.replace(self.case, given=dict(faults)),
        )
        self._reduce(
            self.case.acts, lambda acts: dataclasses.replace(self.case, acts=tuple(acts))
        )
        self._reduce(
            self.case.disturbances,
            lambda some: dataclasses.replace(self.case, disturbances=tuple(some)),
        )
        for smaller in _simpler_templates(self.case):
            self._try(smaller)
        for smaller in _simpler_worlds(self.case):
            self._try(smaller)
        return self.case != before

    def _reduce(self, parts: Sequence[Part], make: Callable[[list[Part]], Case]) -> None:
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

    def _try(self, case: Case) -> bool:
        if self.left <= 0 or case == self.case:
            return False
        self.left -= 1
        result = run(case)
        same = (
            result.violation is not None
            and self.result.violation is not None
            and result.violation.rule == self.result.violation.rule
        )
        if same:
            self.case = dataclasses.replace(case, given=dict(result.fired))
            self.result = result
        return same


def _simpler_templates(case: Case) -> Iterator[Case]:
    """Each name taken out of all templates, each need and option out of each."""
    names = sorted({name for timed in case.acts for name in parse(timed.act.text)})
    for name in names:
        yield _with_texts(case, lambda text, name=name: _without(text, name))
    for at, timed in enumerate(case.acts):
        for text in _simpler_texts(timed.act.text):
            acts = list(case.acts)
            acts[at] = _with_text(timed, text)
            yield dataclasses.replace(case, acts=tuple(acts))


def _with_texts(case: Case, change: Callable[[str], str]) -> Case:
    acts = tuple(_with_text(timed, change(timed.act.text)) for timed in case.acts)
    return dataclasses.replace(case, acts=acts)


def _with_text(timed: Timed, text: str) -> Timed:
    return dataclasses.replace(timed, act=dataclasses.replace(timed.act, text=text))


def _without(text: str, name: str) -> str:
    template = parse(text)
    template.pop(name, None)
    levers = {other for other, spec in template.items() if spec.of == name}
    template = {other: spec for other, spec in template.items() if other not in levers}
    for other, spec in template.items():
        needs = {
            how: tuple(n for n in getattr(spec, how) if n != name)
            for how in ("refs", "reads", "after")
        }
        template[other] = dataclasses.replace(spec, **needs)
    return text_of(template)


def _simpler_texts(text: str) -> Iterator[str]:
    template = parse(text)
    for name in sorted(template):
        yield _without(text, name)
        spec = template[name]
        for how in ("refs", "reads", "after"):
            if getattr(spec, how):
                yield text_of({**template, name: dataclasses.replace(spec, **{how: ()})})


def _simpler_worlds(case: Case) -> Iterator[Case]:
    for name in ("engines", "observers"):
        if getattr(case.shape, name) > 1:
            yield dataclasses.replace(case, shape=dataclasses.replace(case.shape, **{name: 1}))
