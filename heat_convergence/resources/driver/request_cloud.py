"""The cloud of the user whose request is being answered.

Set around a request by the api; read by constraints, by types that check whether their service
is available, and by attributes that are requested anew for every reader. Without it nothing is
requested, and whatever only a service can know passes.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from heat_convergence.clients.rest_client import CloudClient

_CLOUD: ContextVar[CloudClient | None] = ContextVar("heat_convergence_cloud", default=None)


@contextmanager
def use_request_cloud(cloud: CloudClient | None) -> Iterator[None]:
    """Use this cloud for the request within the block."""
    token = _CLOUD.set(cloud)
    try:
        yield
    finally:
        _CLOUD.reset(token)


def current_cloud() -> CloudClient | None:
    """Return the cloud of the current request, or None."""
    return _CLOUD.get()
