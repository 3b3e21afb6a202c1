"""Requests to Keystone, version 3: an adapter that logs no secret, and the mapping of errors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from keystoneauth1 import exceptions
from keystoneauth1.adapter import Adapter
from keystoneauth1.session import Session

from heat_convergence.clients.settings import ClientSettings
from heat_convergence.clients.version_documents import DocumentUnreadable
from heat_convergence.common import errors
from heat_convergence.common.failures import TemporaryFailure

_REFUSED = (400, 401, 403, 404)


class _SilentAdapter(Adapter):
    """An adapter that logs nothing, since passwords and keys pass through it."""

    def request(self, url: str, method: str, **kwargs: Any) -> Any:
        """Send a request without logging it; one that is forbidden is sent twice.

        The threads of a Keystone process share the token that a request is checked with, so that
        a request can be refused for the token of another one.
        """
        send = partial(super().request, url, method, **{"log": False, **kwargs})
        try:
            return send()
        except exceptions.Forbidden:
            return send()


def create_identity_adapter(
    session: Session, settings: ClientSettings, region: str | None = None
) -> Adapter:
    """Return an adapter for version 3 of Keystone's API.

    The region is that of the request, else the configured one, else the first of the catalog.
    """
    interface = settings.interfaces.get("identity", settings.interface)
    return _SilentAdapter(
        session,
        service_type="identity",
        region_name=region or settings.region,
        interface=interface.removesuffix("URL"),
        min_version="3",
        max_version="3.latest",
        connect_retries=settings.connect_retries,
    )


@contextmanager
def translate_keystone_errors(failure: str) -> Iterator[None]:
    """Translate errors of Keystone into errors of this service that begin with ``failure``."""
    try:
        yield
    except exceptions.HttpError as error:
        if error.http_status not in _REFUSED:
            raise TemporaryFailure(f"{failure}: {error}") from error
        raise errors.AuthorizationFailure(f"{failure}: {error}") from error
    except (exceptions.ConnectionError, DocumentUnreadable) as error:
        raise TemporaryFailure(f"{failure}: Keystone did not answer") from error
    except exceptions.ClientException as error:
        raise errors.AuthorizationFailure(f"{failure}: {error}") from error
