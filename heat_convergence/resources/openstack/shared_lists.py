"""Lists that several projects share in one round of the watch, by the operator's credential.

Decides when one list call serves all projects of the round, and which objects each of them gets.
Used by ``project_lists``; made by the watch for each round, after it has read the rows of all
resources of the round: a list that was requested before could show what stacks have changed since.
It must not change anything. RULE 12: a project gets the objects that the service says are its own.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from heat_convergence.clients.rest_client import CloudRequest, CloudResponse
from heat_convergence.common import time_limit
from heat_convergence.common.errors import Error
from heat_convergence.common.failures import ResourceFailure, ResourceGone
from heat_convergence.resources.protocol.watchable import ProjectList

Json = Any
Send = Callable[[CloudRequest], CloudResponse]
MAX_PAGES = 10
"""Pages of a shared list: they are in memory together, unlike the lists of single projects."""
PAGE_SIZE = 1000
PROJECTS_PER_QUERY = 50  # keeps a URL below the 4 KiB that proxies take
PAUSE_S = 3600.0  # until a list that was too large is tried again
_ID_FILTER = "id"


@dataclass(frozen=True, slots=True)
class ProjectColumn:
    """The way in which lists of a service show the projects of objects.

    Attributes:
        key: The name of the project's id in an object.
        is_repeatable: Whether the list can be filtered by several projects.
    """

    key: str
    is_repeatable: bool = False


class _Unshareable(Exception):
    """A shared list would cost more than one for each project, or does not show projects."""


@dataclass(slots=True)
class _Slot:
    """A list that the first project to need it requests, and the others wait for."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    is_done: bool = False
    by_project: Mapping[str, Sequence[Json]] | None = None
    error: Exception | None = None


class UnshareableLists:
    """The lists that were too large to be shared, for some time."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._until: dict[tuple[str, ProjectList], float] = {}

    def add(self, region: str, listed: ProjectList) -> None:
        """Remember that a list could not be shared."""
        self._until[region, listed] = self._clock() + PAUSE_S

    def __contains__(self, key: tuple[str, ProjectList]) -> bool:
        """Return whether a list of a region is not to be tried now."""
        return self._clock() < self._until.get(key, 0.0)


class ListRound:
    """The lists of one round of the watch.

    Args:
        unshareable: What earlier rounds have learned.
    """

    def __init__(self, unshareable: UnshareableLists | None = None) -> None:
        self._unshareable = UnshareableLists() if unshareable is None else unshareable
        self._projects: dict[ProjectList, set[str]] = {}
        self._slots: dict[tuple[str, ProjectList], _Slot] = {}
        self._lock = threading.Lock()

    def expect(self, listed: ProjectList, project_id: str) -> None:
        """Add a project whose resources the list shows. Called before any list is requested."""
        self._projects.setdefault(listed, set()).add(project_id)

    def read(
        self,
        request: CloudRequest,
        region: str,
        project_id: str,
        column: ProjectColumn,
        send: Send,
    ) -> CloudResponse | None:
        """Return a project's part of a list that others need, too.

        Args:
            request: The list, as it is requested for all projects.
            region: The region; "" for the only one.
            project_id: The project.
            column: The way in which the service's lists show projects.
            send: Sends a request with the operator's credential.

        Returns:
            The response with the project's objects, all on one page; None if the project must
                request a list of its own.

        Raises:
            Error: The service does not answer.
        """
        listed = _list_of(request)
        projects = self._projects.get(listed, set())
        key = (region, listed)
        if len(projects) < 2 or project_id not in projects or key in self._unshareable:
            return None
        with self._lock:
            slot = self._slots.setdefault(key, _Slot())
        left_s = time_limit.remaining_s()
        if not slot.lock.acquire(timeout=-1 if left_s is None else max(0.0, left_s)):
            return None
        try:
            if not slot.is_done:
                self._fill(slot, key, _Fetch(request, sorted(projects), column, send))
        finally:
            slot.lock.release()
        if slot.error is not None:
            raise slot.error
        if slot.by_project is None:
            return None
        return CloudResponse(200, {}, {listed.name: list(slot.by_project.get(project_id, ()))})

    def _fill(self, slot: _Slot, key: tuple[str, ProjectList], fetch: _Fetch) -> None:
        """Request the list; whatever comes of it is what all projects of the round get."""
        slot.is_done = True
        try:
            slot.by_project = fetch.by_project(key[1].name)
        except _Unshareable:
            self._unshareable.add(*key)
        except (ResourceFailure, ResourceGone):
            return  # such as a marker that was deleted: each project requests its own list
        except Error as error:
            slot.error = error


@dataclass(frozen=True, slots=True)
class _Fetch:
    """The requests of one shared list."""

    request: CloudRequest
    projects: Sequence[str]
    column: ProjectColumn
    send: Send

    def by_project(self, name: str) -> dict[str, list[Json]]:
        """Return the objects of each project.

        Raises:
            _Unshareable: There are more pages than projects, or objects without a project.
        """
        found: dict[str, list[Json]] = {project_id: [] for project_id in self.projects}
        for item in self._items(name):
            owner = item.get(self.column.key)
            if not owner:
                raise _Unshareable
            if owner in found:
                found[owner].append(item)
        return found

    def _items(self, name: str) -> Iterator[Mapping[str, Json]]:
        most = min(len(self.projects), MAX_PAGES)
        pages = 0
        for query in self._queries():
            page: Mapping[str, str] | None = {}
            while page is not None:
                if pages == most:
                    raise _Unshareable
                pages += 1
                body = self.send(replace(self.request, query={**query, **page})).body
                items = body.get(name) or []
                yield from items
                page = _next_page(body, name, items)

    def _queries(self) -> Iterator[dict[str, Json]]:
        own = {key: value for key, value in self.request.query.items() if key != _ID_FILTER}
        own["limit"] = str(PAGE_SIZE)
        if not self.column.is_repeatable:
            yield own
            return
        for start in range(0, len(self.projects), PROJECTS_PER_QUERY):
            yield {**own, "project_id": list(self.projects[start : start + PROJECTS_PER_QUERY])}


def _next_page(body: Json, name: str, items: Sequence[Json]) -> Mapping[str, str] | None:
    links = body.get(f"{name}_links") or ()
    has_next = bool(items) and any(link.get("rel") == "next" for link in links)
    return {"marker": str(items[-1]["id"])} if has_next else None


def _list_of(request: CloudRequest) -> ProjectList:
    """Return the list that a request is about, whichever ids it asks for."""
    query = {key: str(value) for key, value in request.query.items() if key != _ID_FILTER}
    return ProjectList(request.service, request.path, tuple(sorted(query.items())))
