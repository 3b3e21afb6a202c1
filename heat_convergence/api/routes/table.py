"""The routes table: every method and path of the service, in order of matching.

Decides which handler and which policy rule a request meets.  Read by the root
controller, the OpenAPI document and the tests.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from heat_convergence.api.routes.plans import PLAN_ROUTES, STACK_PLAN_ROUTES
from heat_convergence.api.routes.quarantine import QUARANTINE_ROUTES
from heat_convergence.api.routes.resources import RESOURCE_ROUTES
from heat_convergence.api.routes.route import Route
from heat_convergence.api.routes.service import BUILD_AND_SERVICE_ROUTES, TEMPLATE_AND_TYPE_ROUTES
from heat_convergence.api.routes.software import SOFTWARE_ROUTES
from heat_convergence.api.routes.stack_parts import STACK_PART_ROUTES
from heat_convergence.api.routes.stacks import (
    STACK_COLLECTION_ROUTES,
    STACK_LOOKUP_ROUTES,
    STACK_ROUTES,
)

_PLACEHOLDER = re.compile(r"\{(\w+)(?::([^}]+))?\}")

ROUTES: tuple[Route, ...] = (
    *TEMPLATE_AND_TYPE_ROUTES,
    *STACK_COLLECTION_ROUTES,
    *STACK_LOOKUP_ROUTES,
    *STACK_ROUTES,
    *STACK_PART_ROUTES,
    *STACK_PLAN_ROUTES,
    *RESOURCE_ROUTES,
    *SOFTWARE_ROUTES,
    *QUARANTINE_ROUTES,
    *PLAN_ROUTES,
    *BUILD_AND_SERVICE_ROUTES,
)


@dataclass(frozen=True, slots=True)
class RouteMatch:
    """A known path; ``route`` is None when its method is not known."""

    route: Route | None
    arguments: Mapping[str, str] = field(default_factory=dict)
    allowed_methods: tuple[str, ...] = ()


# Paths on which a wrong method is an unknown path, not a wrong method.
_NO_METHOD_ANSWERS = frozenset({"/services"})


class RouteTable:
    """The routes by path, first match first."""

    def __init__(self, routes: Sequence[Route] = ROUTES) -> None:
        by_path: dict[str, dict[str, Route]] = {}
        for route in routes:
            by_path.setdefault(route.path, {})[route.method] = route
        self._paths = [(_compile(path), path, methods) for path, methods in by_path.items()]

    def match(self, method: str, path: str) -> RouteMatch | None:
        """Return the first route whose pattern fits.

        Args:
            method: of the request.
            path: begins after the project.

        Returns:
            The match, None when no pattern fits.
        """
        for pattern, known, methods in self._paths:
            found = pattern.fullmatch(path)
            if found is None:
                continue
            route = methods.get(method)
            if route is None and known in _NO_METHOD_ANSWERS:
                return None
            return RouteMatch(route, found.groupdict(), tuple(sorted(methods)))
        return None


def path_parameters(path: str) -> tuple[str, ...]:
    """Return the names of the variable parts of a route's path, in order."""
    return tuple(match.group(1) for match in _PLACEHOLDER.finditer(path))


def openapi_path(path: str) -> str:
    """Return the path with ``{name}`` for every variable part, as OpenAPI writes it."""
    return _PLACEHOLDER.sub(r"{\1}", path)


def _compile(path: str) -> re.Pattern[str]:
    pattern, at = "", 0
    for part in _PLACEHOLDER.finditer(path):
        pattern += re.escape(path[at : part.start()])
        pattern += f"(?P<{part.group(1)}>{part.group(2) or '[^/]+'})"
        at = part.end()
    return re.compile(pattern + re.escape(path[at:]), re.DOTALL)
