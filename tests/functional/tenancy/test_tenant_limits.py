"""Limits of a tenant: the request that exceeds one is refused, and accepted without the limit.

The second half keeps the first from passing for another reason; a planted hole shows that a
limit that is no longer checked is noticed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
from keystonemiddleware.auth_token import AuthProtocol

from tests.functional.tenancy.two_tenants import (
    ObjectNames,
    TwoTenants,
    stack_body,
    token_document,
)

Json = Any
Request = Callable[[ObjectNames], tuple[str, str, Json]]
NO_LIMIT = -1
EXCEEDED = "RequestLimitExceeded"


def create_stack(_names: ObjectNames) -> tuple[str, str, Json]:
    return "POST", "/stacks", stack_body("p", "new")


def create_snapshot(names: ObjectNames) -> tuple[str, str, Json]:
    return "POST", "/stacks/{stack_name}/{stack_id}/snapshots".format_map(names), {}


def create_config(_names: ObjectNames) -> tuple[str, str, Json]:
    return "POST", "/software_configs", {"name": "new"}


def create_deployment(names: ObjectNames) -> tuple[str, str, Json]:
    body = {"config_id": names["config_id"], "server_id": "server"}
    return "POST", "/software_deployments", body


# Tenant p has a root stack with a nested stack, a snapshot of each, a configuration and a
# deployment.  By option: the value that refuses, one that does not, the request, the error.
LIMITS: Mapping[str, tuple[Any, Any, Request, str]] = {
    "max_stacks_per_tenant": (1, NO_LIMIT, create_stack, EXCEEDED),
    "max_resources_per_stack": (6, NO_LIMIT, create_stack, EXCEEDED),
    "max_nested_stack_depth": (0, 5, create_stack, "StackValidationFailed"),
    "max_json_body_bytes": (100, 10**6, create_stack, EXCEEDED),
    "max_snapshots_per_stack": (1, NO_LIMIT, create_snapshot, EXCEEDED),
    "max_software_configs_per_tenant": (1, NO_LIMIT, create_config, EXCEEDED),
    "max_software_deployments_per_tenant": (1, NO_LIMIT, create_deployment, EXCEEDED),
}


@pytest.fixture(scope="module")
def tenants(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TwoTenants]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(AuthProtocol, "fetch_token", lambda _self, text, **_kw: token_document(text))
        tenants = TwoTenants(tmp_path_factory.mktemp("limits"))
        yield tenants
        tenants.close()


def error_with(tenants: TwoTenants, option: str, value: Any) -> str | None:
    """Return the error to the request of ``LIMITS`` where the option has that value."""
    tenants.restore()
    tenants.use_options(**{option: value})
    method, path, body = LIMITS[option][2](tenants.objects["p"]["own"])
    response = tenants.send(tenants.callers["member"], method, path, body)
    return None if response.status_int < 300 else response.json["error"]["type"]


@pytest.mark.parametrize("option", LIMITS)
def test_request_beyond_the_limit_is_refused(tenants: TwoTenants, option: str) -> None:
    refusing, accepting, _request, error = LIMITS[option]
    assert error_with(tenants, option, refusing) == error
    assert not tenants.was_changed()
    assert error_with(tenants, option, accepting) is None


def test_limit_that_is_not_checked_is_noticed(
    tenants: TwoTenants, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = ("max_software_configs_per_tenant", "max_stacks_per_tenant")
    assert all(error_with(tenants, option, LIMITS[option][0]) for option in options)
    monkeypatch.setattr(
        "heat_convergence.stacks.quotas.check_software_quota", lambda *_args, **_kwargs: None
    )
    errors = [error_with(tenants, option, LIMITS[option][0]) for option in options]
    assert errors == [None, EXCEEDED]
