"""GET requests to one of the two services, and the paged lists of their APIs.

Used by ``stack_views`` and ``verifier``. Must not change anything, nor interpret what it reads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode

Json = Any
PAGE_SIZE = 100
SERVICE_WORD = "<service>"


@dataclass(frozen=True, slots=True)
class ViewResponse:
    """The status and the JSON of a response; a text if it is not JSON."""

    status: int
    body: Json

    @property
    def is_found(self) -> bool:
        """Success of the request."""
        return self.status == 200


@dataclass(frozen=True, slots=True)
class ViewClient:
    """A client of one service for one project.

    Attributes:
        url: The endpoint with version and project, without a slash at the end.
        fetch: Function that sends a GET to a URL.
    """

    url: str
    fetch: Callable[[str], ViewResponse]

    def get(self, path: str) -> ViewResponse:
        """Return the response, with the endpoint replaced by a word."""
        found = self.fetch(self.url + path)
        return ViewResponse(found.status, self._normalise(found.body))

    def list_pages(self, path: str, key: str, **query: str) -> Iterator[list[Json]]:
        """Yield the pages of a list, until one is empty or repeats the last item.

        Raises:
            ViewError: The service has refused the list.
        """
        marker = ""
        while True:
            more = {"marker": marker} if marker else {}
            found = self.get(f"{path}?{urlencode({**query, **more, 'limit': PAGE_SIZE})}")
            if not found.is_found:
                raise ViewError(found)
            page = found.body[key]
            if not page or page[-1]["id"] == marker:
                return
            yield page
            if len(page) < PAGE_SIZE:
                return
            marker = page[-1]["id"]

    def _normalise(self, value: Json) -> Json:
        if isinstance(value, str):
            return value.replace(self.url, SERVICE_WORD) if self.url in value else value
        if isinstance(value, Mapping):
            return {name: self._normalise(item) for name, item in value.items()}
        if isinstance(value, list):
            return [self._normalise(item) for item in value]
        return value


class ViewError(Exception):
    """An unsuccessful response.

    Attributes:
        response: The response.
    """

    def __init__(self, response: ViewResponse) -> None:
        super().__init__(f"status {response.status}: {response.body}")
        self.response = response


def quoted(*parts: str) -> str:
    """Return a path of these parts, which may have any character."""
    return "".join(f"/{quote(part, safe='')}" for part in parts)
