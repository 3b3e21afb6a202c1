"""Points at which an unexpected exception is raised, for the enumeration of faults.

Used by the simulated processes if the environment asks for it.  Every call of a method of
the store, of its transactions, of the bus, of the clock, of the ids and of the resource types'
protocol is a point, before its effect; after it there is a second point for commits and
verbs.  Code under test must contain what is raised there (RULE 11).
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

from heat_convergence.common.error_log import ErrorLog, ErrorSubject
from heat_convergence.convergence.ports.store import Store
from heat_convergence.resources.protocol.resource_type import ResourceType
from heat_convergence.resources.protocol.verb_values import ResourceContext
from heat_convergence.resources.registry import ResourceTypeRegistry

NextFault = Callable[[str, str], str | None]
"""Returns the fault at a point of a type with a context."""

RAISE = "raise"
POINT_TYPES = (
    "store",
    "sweeps",
    "workers",
    "committed",
    "bus",
    "clock",
    "ids",
    "verb",
    "returned",
)


class UnexpectedFault(Exception):
    """An exception that no code expects."""


class ContainedErrorLog(ErrorLog):
    """An error log that ends the simulation with every error that was not planned."""

    def report(self, error: Exception, subject: ErrorSubject, boundary: str) -> str:
        """Report a planned error; raise another one again."""
        if not isinstance(error, UnexpectedFault):
            raise error
        return super().report(error, subject, boundary)


class ExceptionPoints:
    """The points of one process."""

    def __init__(self, next_fault: NextFault) -> None:
        self._next_fault = next_fault

    def pass_point(self, point_type: str, context: str) -> None:
        """Pass a point, or raise there."""
        if self._next_fault(point_type, context) == RAISE:
            self._raise(context)

    def around(self, function: Callable[..., Any], point_type: str) -> Callable[..., Any]:
        """Return the function with a point before it."""

        def call(*args: Any, **others: Any) -> Any:
            self.pass_point(point_type, getattr(function, "__name__", point_type))
            return function(*args, **others)

        return call

    def around_verb(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a verb of a resource type with a point before and one after it."""

        def call(*args: Any, **others: Any) -> Any:
            subject = args[0] if args else None
            named = subject.name if isinstance(subject, ResourceContext) else ""
            context = f"{function.__name__} {named}".rstrip()
            self.pass_point("verb", context)
            result = function(*args, **others)
            self.pass_point("returned", context)
            return result

        return call

    def _raise(self, context: str) -> NoReturn:
        raise UnexpectedFault(context)


class RaisingProxy:
    """An object of which each call of a method is a point; its attributes are proxies, too."""

    def __init__(self, inner: Any, points: ExceptionPoints, point_type: str) -> None:
        self._inner, self._points, self._point_type = inner, points, point_type

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._inner, name)
        if callable(found):
            return self._points.around(found, self._point_type)
        return RaisingProxy(found, self._points, self._point_type)


class RaisingStore:
    """The store of one process, whose methods and commits are points."""

    def __init__(self, inner: Store, points: ExceptionPoints) -> None:
        self._inner, self._points = inner, points
        self.sweeps: Any = RaisingProxy(inner.sweeps, points, "sweeps")
        self.workers: Any = RaisingProxy(inner.workers, points, "workers")

    @contextmanager
    def transaction(self) -> Iterator[Any]:
        """Open a transaction; it may raise at its start, at each call and after its commit."""
        self._points.pass_point("store", "transaction")
        with self._inner.transaction() as tx:
            yield RaisingProxy(tx, self._points, "store")
        self._points.pass_point("committed", "transaction")

    @contextmanager
    def read(self) -> Iterator[Any]:
        """Open a transaction for reading; it may raise at its start and at each call."""
        self._points.pass_point("store", "read")
        with self._inner.read() as tx:
            yield RaisingProxy(tx, self._points, "store")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


class RaisingRegistry(ResourceTypeRegistry):
    """A registry of types whose calls are points."""

    def __init__(self, types: Iterable[ResourceType], points: ExceptionPoints) -> None:
        super().__init__(types)
        self._points = points
        self._copies: dict[str, ResourceType] = {}

    def find(self, name: str) -> ResourceType | None:
        """Return a copy of the type whose calls are points."""
        if name not in self._copies:
            found = super().find(name)
            if found is None:
                return None
            self._copies[name] = self._with_points(found)
        return self._copies[name]

    def _with_points(self, resource_type: ResourceType) -> ResourceType:
        copied = copy.copy(resource_type)
        for name, _function in inspect.getmembers(type(resource_type), inspect.isfunction):
            if not name.startswith("_"):
                setattr(copied, name, self._points.around_verb(getattr(copied, name)))
        return copied
