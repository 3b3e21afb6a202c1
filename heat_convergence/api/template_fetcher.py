"""Templates of nested stacks that did not come with the request.

Called, one per request, by whoever looks into a tree before it is made; what it finds
is kept with the goal, so that no engine has to find it again.  Decides what may be
read: ``http(s)`` URLs as ``template_url`` may, files of this host only where the
operator's environment names them.  All of a request together may be as large as a
request, and take as long as one fetch.
"""

from __future__ import annotations

import time
from collections.abc import Collection
from pathlib import Path
from urllib.parse import unquote, urlsplit

from heat_convergence.api.services import ApiServices
from heat_convergence.common.errors import Error, HTTPBadRequest, RequestLimitExceeded
from heat_convergence.stacks.source.urlfetch import FetchLimits, fetch_url


class RemoteTemplateFetcher:
    """Gives the text for a name, None where it is not to be had; raises
    ``HTTPBadRequest`` and ``RequestLimitExceeded``, for a name that has failed again
    without another try."""

    def __init__(self, services: ApiServices) -> None:
        base, options = services.global_environment, services.options
        self._operators: Collection[str] = base.registry.template_names() if base else ()
        self._most_bytes = services.limits.max_template_size
        self._bytes_left = options.max_json_body_bytes
        self._private = options.fetch_private_addresses
        self._ends_at = time.monotonic() + options.template_fetch_timeout_s
        self._failed: dict[str, Error] = {}

    def __call__(self, name: str) -> str | None:
        if name in self._failed:
            raise self._failed[name]
        try:
            return self._text(name)
        except Error as error:
            self._failed[name] = error
            raise

    def _text(self, name: str) -> str | None:
        try:
            parts = urlsplit(name)
        except ValueError:
            return None
        if parts.scheme in ("http", "https"):
            text = fetch_url(name, self._limits())
        elif name in self._operators and parts.scheme in ("", "file"):
            text = self._read(name, Path(unquote(parts.path)))
        else:
            return None
        self._bytes_left -= len(text.encode())
        return text

    def _limits(self) -> FetchLimits:
        return FetchLimits(
            max_bytes=max(0, min(self._most_bytes, self._bytes_left)),
            timeout_s=self._ends_at - time.monotonic(),
            allow_private_addresses=self._private,
        )

    def _read(self, name: str, path: Path) -> str:
        try:
            with path.open("rb") as file:
                text = file.read(self._most_bytes + 1)
            if len(text) > self._most_bytes:
                raise RequestLimitExceeded(f"{name} is larger than {self._most_bytes} bytes.")
            return text.decode()
        except (OSError, ValueError) as error:
            raise HTTPBadRequest(f"Could not read template {name}: {error}.") from error
