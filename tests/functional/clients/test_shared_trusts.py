"""The trust of a stack, used by the remote stacks that it creates."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from heat_convergence.clients.keystone import Requester
from heat_convergence.common import errors
from tests.functional.clients.conftest import Build, FakeTokenAuth, acting_token
from tests.functional.clients.fake_keystone import FakeKeystone

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def request_with_trust_of(
    fake: FakeKeystone, requester: Requester, trust: dict[str, Any]
) -> Requester:
    """Return the requester of a remote stack: the service acting with a stack's trust."""
    return replace(requester, auth=FakeTokenAuth(fake, "demo-id", trust_id=trust["id"]))


def test_remote_stack_shares_the_trust_of_the_stack_that_creates_it(
    build: Build, fake: FakeKeystone, requester: Requester
) -> None:
    clouds, delegation = build()
    delegation.grant("s", requester, NOW)
    (trust,) = fake.trusts.values()
    delegation.grant("remote", request_with_trust_of(fake, requester, trust), NOW)
    assert list(fake.trusts) == [trust["id"]]
    assert acting_token(clouds, fake, "remote")["trust_id"] == trust["id"]
    delegation.revoke("remote")
    assert list(fake.trusts) == [trust["id"]]
    delegation.revoke("s")
    assert not fake.trusts


def test_trust_for_another_user_is_not_shared(
    build: Build, fake: FakeKeystone, requester: Requester
) -> None:
    _clouds, delegation = build()
    fake.trusts["foreign"] = {
        "id": "foreign",
        "trustor_user_id": "demo-id",
        "trustee_user_id": "somebody",
    }
    other = request_with_trust_of(fake, requester, fake.trusts["foreign"])
    with pytest.raises(errors.AuthorizationFailure, match="did not let the service act"):
        delegation.grant("s", other, NOW)


def test_remote_stack_gets_its_own_trust_if_redelegation_is_allowed(
    build: Build, fake: FakeKeystone, requester: Requester
) -> None:
    _clouds, delegation = build(allow_redelegation=True)
    delegation.grant("s", requester, NOW)
    (trust,) = fake.trusts.values()
    delegation.grant("remote", request_with_trust_of(fake, requester, trust), NOW)
    assert len(fake.trusts) == 2
