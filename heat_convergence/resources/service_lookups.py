"""The questions that a validation asks services: does an object of that name exist?

Decides whether a question is asked at once or collected, by resource of the root stack, for the
caller to ask those that matter. Called by the validation of templates; must not know what is
asked.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from heat_convergence.template.parameters.constraints import CustomConstraintFunction

Json = Any
Lookup = Callable[[], bool | str | None]
"""A question; False or a text is a violation, as a constraint's function returns it."""
LookupMap = Mapping[Hashable, Lookup]


class ServiceConstraint(ABC):
    """A constraint's function that asks a service."""

    __slots__ = ()

    @abstractmethod
    def __call__(self, value: Json) -> str | None:
        """Return the violation, None without one."""


class ServiceLookups:
    """Questions that are asked at once."""

    def ask(self, key: Hashable, lookup: Lookup) -> bool | str | None:
        """Return the answer.

        Args:
            key: What is asked; questions with the same key are the same.
            lookup: The question.
        """
        del key
        return lookup()

    def constraints(
        self, functions: Mapping[str, CustomConstraintFunction] | None
    ) -> Mapping[str, CustomConstraintFunction] | None:
        """Return the constraints' functions, which ask as these lookups do."""
        return functions

    @contextmanager
    def of_resource(self, name: str) -> Iterator[None]:
        """Assign the questions of the block to a resource, unless an outer block has done so."""
        del name
        yield

    @contextmanager
    def collect(self) -> Iterator[LookupMap]:
        """Yield what holds the questions of the block, collected but not asked."""
        yield {}

    def add(self, lookups: LookupMap) -> None:
        """Add questions that were collected before."""


class DeferredLookups(ServiceLookups):
    """Questions that are collected, and count as passed."""

    def __init__(self) -> None:
        """Start without questions."""
        self._constraints: Mapping[str, CustomConstraintFunction] | None = None
        self._blocks: list[dict[Hashable, Lookup]] = [{}]
        self._by_resource: dict[str, dict[Hashable, Lookup]] = {}

    def ask(self, key: Hashable, lookup: Lookup) -> None:
        """Collect a question."""
        self._blocks[-1].setdefault(key, lookup)

    def constraints(
        self, functions: Mapping[str, CustomConstraintFunction] | None
    ) -> Mapping[str, CustomConstraintFunction] | None:
        """Return the constraints' functions, of which those that ask a service are collected.

        They are the same for all templates of a validation.
        """
        if functions is not None and self._constraints is None:
            self._constraints = {
                name: self._deferred(name, function)
                if isinstance(function, ServiceConstraint)
                else function
                for name, function in functions.items()
            }
        return self._constraints

    def _deferred(self, name: str, function: ServiceConstraint) -> CustomConstraintFunction:
        def defer(value: Json) -> None:
            self.ask((name, str(value)), lambda: function(value))

        return defer

    @contextmanager
    def of_resource(self, name: str) -> Iterator[None]:
        """Assign the questions of the block to a resource, unless an outer block has done so."""
        is_outermost = len(self._blocks) == 1
        with self.collect() as found:
            yield
        if is_outermost:
            self._by_resource.setdefault(name, {}).update(found)

    @contextmanager
    def collect(self) -> Iterator[LookupMap]:
        """Yield what holds the questions of the block; an outer block gets them, too."""
        found: dict[Hashable, Lookup] = {}
        self._blocks.append(found)
        try:
            yield found
        finally:
            self._blocks.pop()
            if len(self._blocks) > 1:
                self.add(found)

    def add(self, lookups: LookupMap) -> None:
        """Add questions that were collected before."""
        self._blocks[-1].update(lookups)

    def __bool__(self) -> bool:
        return bool(self._blocks[0]) or any(self._by_resource.values())

    def of_parameters(self) -> LookupMap:
        """Return the questions about the root stack's parameters."""
        return self._blocks[0]

    def of_resources(self, left_out: Collection[str]) -> LookupMap:
        """Return the questions about the root stack's resources apart from some."""
        return {
            key: lookup
            for name, found in self._by_resource.items()
            if name not in left_out
            for key, lookup in found.items()
        }
