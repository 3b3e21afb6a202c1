"""Files of a request that lie in a container of the user's object store.

Called when a request is read, with the cloud as its user sees it.  Reads each object
once, within bounds; the goal stores what is read, and the container is not read again.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from heat_convergence.clients.rest_client import CloudClient, CloudRequest
from heat_convergence.common import errors
from heat_convergence.common.failures import ResourceGone

Json = Any
MAX_FILES = 256
_STORE = "object_store"


def read_files_container(
    container: str, cloud: CloudClient | None, *, max_bytes: int
) -> dict[str, str]:
    """Return the texts of a container's objects by name.

    Args:
        container: its name.
        cloud: the user's, None without a cloud.
        max_bytes: of all objects together.

    Raises:
        NotSupported: there is no object store.
        HTTPBadRequest: the container is missing, or an object is no text.
        RequestLimitExceeded: there are more than ``max_bytes`` or ``MAX_FILES``.
    """
    if cloud is None or not cloud.has_service(_STORE):
        raise errors.NotSupported(
            "files_container is not supported: there is no object store in the catalog."
        )
    found: dict[str, str] = {}
    bytes_left = max_bytes
    for each in _list_objects(container, cloud, max_bytes):
        content = _get(container, f"/{quote(each['name'])}", cloud).content
        bytes_left -= len(content)
        if bytes_left < 0:
            raise _too_much(container, f"{max_bytes} bytes")
        found[each["name"]] = _text(container, each["name"], content)
    return found


def _list_objects(container: str, cloud: CloudClient, max_bytes: int) -> list[dict[str, Json]]:
    query = {"format": "json", "limit": str(MAX_FILES + 1)}
    listed: list[dict[str, Json]] = _get(container, "", cloud, query).body or []
    if len(listed) > MAX_FILES:
        raise _too_much(container, f"{MAX_FILES} objects")
    if sum(int(each.get("bytes") or 0) for each in listed) > max_bytes:
        raise _too_much(container, f"{max_bytes} bytes")
    # An object that stands for a folder has no content.
    return [each for each in listed if not each["name"].endswith("/")]


def _get(
    container: str, object_path: str, cloud: CloudClient, query: dict[str, str] | None = None
) -> Any:
    path = f"/{quote(container, safe='')}{object_path}"
    try:
        return cloud.send(CloudRequest(_STORE, "GET", path, query=query or {}))
    except ResourceGone as error:
        raise errors.HTTPBadRequest(
            f'files_container: "{container}{object_path}" is not there.'
        ) from (error)


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
