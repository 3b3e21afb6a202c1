"""``files_container``: the files of a request that lie in the user's object store.

Called when a body is made a source, with the cloud as the request's user sees it.  Reads
each object once, within bounds; what is read is stored with the goal, and the container
is not asked again.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from heat_convergence.clients.rest_client import CloudClient, CloudRequest
from heat_convergence.common import errors

Json = Any
MAX_FILES = 256
_STORE = "object_store"


def read_files_container(
    container: str, cloud: CloudClient | None, *, max_bytes: int
) -> dict[str, str]:
    """Object name → its text.

    Raises ``NotSupported`` where there is no object store, ``HTTPBadRequest`` for a
    container that is not there or an object that is no text, ``RequestLimitExceeded`` for
    more than ``max_bytes`` or ``MAX_FILES``.
    """
    if cloud is None or not cloud.has_service(_STORE):
        raise errors.NotSupported(
            "files_container is not supported: there is no object store in the catalogue."
        )
    found: dict[str, str] = {}
    left = max_bytes
    for each in _listed(container, cloud, max_bytes):
        content = _get(container, f"/{quote(each['name'])}", cloud).content
        left -= len(content)
        if left < 0:
            raise _too_much(container, f"{max_bytes} bytes")
        found[each["name"]] = _text(container, each["name"], content)
    return found


def _listed(container: str, cloud: CloudClient, most_bytes: int) -> list[dict[str, Json]]:
    query = {"format": "json", "limit": str(MAX_FILES + 1)}
    listed: list[dict[str, Json]] = _get(container, "", cloud, query).body or []
    if len(listed) > MAX_FILES:
        raise _too_much(container, f"{MAX_FILES} objects")
    if sum(int(each.get("bytes") or 0) for each in listed) > most_bytes:
        raise _too_much(container, f"{most_bytes} bytes")
    # What stands for a folder has no content of its own.
    return [each for each in listed if not each["name"].endswith("/")]


def _get(
    container: str, below: str, cloud: CloudClient, query: dict[str, str] | None = None
) -> Any:
    path = f"/{quote(container, safe='')}{below}"
    try:
        return cloud.send(CloudRequest(_STORE, "GET", path, query=query or {}))
    except errors.ResourceGone as error:
        raise errors.HTTPBadRequest(f'files_container: "{container}{below}" is not there.') from (
            error
        )


def _text(container: str, name: str, content: bytes) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise errors.HTTPBadRequest(
            f'files_container: "{container}/{name}" is not UTF-8 text.'
        ) from error


def _too_much(container: str, what: str) -> errors.Error:
    return errors.RequestLimitExceeded(
        f'Request limit exceeded: files_container "{container}" has more than {what}.'
    )
