"""Templates of nested stacks that did not come with the request.

Called, one per request, by the validation of a tree before it is created; the goal keeps
what it fetches, so that no engine fetches it again.  Decides what may be read:
``http(s)`` URLs as ``template_url`` may, files of this host only where the operator's
environment names them.  All templates of a request together may be as large as a
request, and take as long as one fetch.
"""

from __future__ import annotations

import time
from collections.abc import Collection
from pathlib import Path
from urllib.parse import unquote, urlsplit

from heat_convergence.common.errors import Error, HTTPBadRequest, RequestLimitExceeded
from heat_convergence.stacks.services import StackServices
from heat_convergence.stacks.source.urlfetch import FetchLimits, fetch_url


class RemoteTemplateFetcher:
    """A callable from a template's name to its text, within the bounds of one request."""

    def __init__(self, services: StackServices) -> None:
        base, options = services.global_environment, services.options
        self._operator_names: Collection[str] = base.registry.template_names() if base else ()
        self._max_bytes = services.limits.max_template_size
        self._bytes_left = options.max_json_body_bytes
        self._allow_private = options.fetch_private_addresses
        self._ends_at = time.monotonic() + options.template_fetch_timeout_s
        self._failed: dict[str, Error] = {}

    def __call__(self, name: str) -> str | None:
        """Return the text of the template, None where the name is nothing to fetch.

        Raises:
            HTTPBadRequest: it cannot be read; also for a name that failed before,
                without another try.
            RequestLimitExceeded: it is too large, or the request's time is over.
        """
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
        elif name in self._operator_names and parts.scheme in ("", "file"):
            text = read_template_file(name, self._max_bytes)
        else:
            return None
        self._bytes_left -= len(text.encode())
        return text

    def _limits(self) -> FetchLimits:
        return FetchLimits(
            max_bytes=max(0, min(self._max_bytes, self._bytes_left)),
            timeout_s=self._ends_at - time.monotonic(),
            allow_private_addresses=self._allow_private,
        )


def read_template_file(name: str, max_bytes: int) -> str:
    """Return the text of a template on this host.

    Args:
        name: its path or ``file`` URL, which must be the operator's.
        max_bytes: the size that it may have.

    Raises:
        HTTPBadRequest: it cannot be read.
        RequestLimitExceeded: it is too large.
    """
    try:
        with Path(unquote(urlsplit(name).path)).open("rb") as file:
            text = file.read(max_bytes + 1)
        if len(text) > max_bytes:
            raise RequestLimitExceeded(f"{name} is larger than {max_bytes} bytes.")
        return text.decode()
    except (OSError, ValueError) as error:
        raise HTTPBadRequest(f"Could not read template {name}: {error}.") from error
