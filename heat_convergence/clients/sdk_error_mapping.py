"""What other services' errors mean here.

Called around every call of a client: ``with translated(): …``.  Decides what is
gone, what may be tried again and what is final; looks at no message's text.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from keystoneauth1 import exceptions as ks_exc
from openstack import exceptions as sdk_exc

from heat_convergence.common import errors

_LATER = frozenset({408, 425, 500, 502, 503, 504})
_QUOTA = frozenset({413})


@contextmanager
def translate_sdk_errors() -> Iterator[None]:
    """Raises errors of ``common.errors`` for those of keystoneauth and openstacksdk."""
    try:
        yield
    except sdk_exc.HttpException as error:
        raise error_from_status(error.status_code, _text(error), _after_s(error)) from error
    except ks_exc.CatalogException as error:
        raise errors.ResourceTypeUnavailable(
            f"HEAT-E99001 Service is not available: {error}"
        ) from error
    except ks_exc.HttpError as error:
        after_s = float(getattr(error, "retry_after", 0) or 0)
        raise error_from_status(error.http_status, str(error), after_s or None) from error
    except (ks_exc.ConnectionError, ks_exc.DiscoveryFailure) as error:
        raise errors.TemporaryFailure(str(error)) from error
    except (ks_exc.ClientException, sdk_exc.SDKException) as error:
        raise errors.ResourceFailure(f"{type(error).__name__}: {error}") from error


def error_from_status(
    status: int | None, text: str, retry_after_s: float | None = None
) -> errors.Error:
    """The error that an HTTP status of another service stands for."""
    if status == 404:
        return errors.ResourceGone(text)
    if status == 409:
        return errors.Conflict(text, retry_after_s=retry_after_s)
    if status == 429:
        return errors.Throttled(text, retry_after_s=retry_after_s)
    if status in _QUOTA:
        return errors.OverQuota(text)
    if status in _LATER:
        return errors.TemporaryFailure(text, retry_after_s=retry_after_s)
    if status in (401, 403):
        return errors.ResourceFailure(f"the service refused the stack's user: {text}")
    return errors.ResourceFailure(text)


def _text(error: sdk_exc.HttpException) -> str:
    details = error.details or error.message
    return str(details or error)


def _after_s(error: sdk_exc.HttpException) -> float | None:
    headers = getattr(error.response, "headers", None) or {}
    try:
        return float(headers["Retry-After"])
    except (KeyError, ValueError):
        return None
