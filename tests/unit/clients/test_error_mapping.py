"""Errors of this service for the errors of other services."""

from __future__ import annotations

import json

import pytest
import requests
from keystoneauth1 import exceptions as ks_exc
from openstack import exceptions as sdk_exc

from heat_convergence.clients.error_mapping import (
    MAX_RETRY_AFTER_S,
    ErrorResponse,
    error_from_response,
    error_from_status,
    parse_retry_after,
    translate_sdk_errors,
)
from heat_convergence.common import errors
from heat_convergence.common.failures import (
    Conflict,
    OverQuota,
    ResourceFailure,
    ResourceGone,
    ServiceRejection,
    TemporaryFailure,
    Throttled,
)

R = errors.Retry


@pytest.mark.parametrize(
    ("status", "error_class", "retry"),
    [
        (400, ServiceRejection, R.NEVER),
        (401, ResourceFailure, R.NEVER),
        (403, ResourceFailure, R.NEVER),
        (404, ResourceGone, R.NEVER),
        (409, Conflict, R.BACKOFF),
        (413, OverQuota, R.BACKOFF),
        (429, Throttled, R.BACKOFF),
        (500, TemporaryFailure, R.BACKOFF),
        (503, TemporaryFailure, R.BACKOFF),
        (None, ResourceFailure, R.NEVER),
    ],
)
def test_error_from_status(
    status: int | None, error_class: type[errors.Error], retry: errors.Retry
) -> None:
    found = error_from_status(status, "why")
    assert type(found) is error_class
    assert found.retry is retry
    assert "why" in str(found)


@pytest.mark.parametrize(
    ("raised", "error_class"),
    [
        (sdk_exc.NotFoundException("no server", http_status=404), ResourceGone),
        (sdk_exc.ConflictException("busy", http_status=409), Conflict),
        (sdk_exc.SDKException("odd"), ResourceFailure),
        (ks_exc.EndpointNotFound("compute"), errors.ResourceTypeUnavailable),
        (ks_exc.NotFound("nothing"), ResourceGone),
        (ks_exc.ConnectFailure("down"), TemporaryFailure),
        (errors.AuthorizationFailure("revoked"), errors.AuthorizationFailure),
    ],
)
def test_translation_of_exceptions(raised: Exception, error_class: type[errors.Error]) -> None:
    with pytest.raises(error_class) as caught, translate_sdk_errors():
        raise raised
    assert type(caught.value) is error_class


SENT_AT = "Sun, 22 Nov 2026 10:00:00 GMT"


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry-After": "7"}, 7.0),
        ({"Retry-After": "Sun, 22 Nov 2026 10:00:30 GMT", "Date": SENT_AT}, 30.0),
        ({"Retry-After": "Sun, 22 Nov 2026 09:00:00 GMT", "Date": SENT_AT}, 0.0),
        ({"Retry-After": "Sun, 22 Nov 2999 10:00:30 GMT"}, MAX_RETRY_AFTER_S),
        ({"Retry-After": "86400"}, MAX_RETRY_AFTER_S),
        ({"Retry-After": "inf"}, MAX_RETRY_AFTER_S),
        ({"Retry-After": "nan"}, None),
        ({"Retry-After": "-3"}, 0.0),
        ({"Retry-After": "soon"}, None),
        ({"Retry-After": ""}, None),
        ({}, None),
    ],
)
def test_retry_after_is_seconds_or_a_date(headers: dict[str, str], seconds: float | None) -> None:
    assert parse_retry_after(headers) == seconds


def test_retry_after_is_read_from_the_header() -> None:
    response = requests.Response()
    response.headers["Retry-After"] = "7"
    error = sdk_exc.HttpException("slow", http_status=429)
    error.response = response
    with pytest.raises(Throttled) as caught, translate_sdk_errors():
        raise error
    assert caught.value.retry_after_s == 7


@pytest.mark.parametrize(
    ("status", "error_type", "name"),
    [
        (400, "InvalidIpForSubnet", "InvalidIpForSubnetClient"),
        (400, "InvalidInput", "BadRequest"),
        (409, "IpAddressInUse", "IpAddressInUseClient"),
        (409, "FlavorExists", "Conflict"),
        (418, "Teapot", ""),
    ],
)
def test_final_failures_keep_the_class_of_the_service(
    status: int, error_type: str, name: str
) -> None:
    text = json.dumps({"NeutronError": {"type": error_type, "message": "no", "detail": ""}})
    error = error_from_response(ErrorResponse("POST", "/v2.0/ports", status, {}, text))
    assert isinstance(error, ResourceFailure)
    assert getattr(error, "wire_type", "") == name
    assert error.message == f"no (HTTP {status})"
