"""As whom validation asks services: the user of the request that is being handled.

Set around a request by the api, read by constraints and by types that look whether
their service is there.  Without it nothing is asked, and whatever only a service can
know is taken for right.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from heat_convergence.clients.rest_client import CloudClient

_CLOUD: ContextVar[CloudClient | None] = ContextVar("heat_convergence_cloud", default=None)


@contextmanager
def use_request_cloud(cloud: CloudClient | None) -> Iterator[None]:
    """What is validated inside may ask this cloud."""
    token = _CLOUD.set(cloud)
    try:
        yield
    finally:
        _CLOUD.reset(token)


def current_cloud() -> CloudClient | None:
    return _CLOUD.get()
