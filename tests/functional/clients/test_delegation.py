"""Credentials of stacks: granting, acting with them, renewing and revoking them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import NoReturn

import pytest
from keystoneauth1.exceptions import ConnectTimeout

from heat_convergence.clients.credentials import Credential
from heat_convergence.clients.delegation import CREDENTIAL_ORPHAN_AGE
from heat_convergence.clients.keystone import Requester
from heat_convergence.clients.settings import DeferredAuthMethod
from heat_convergence.common import errors
from heat_convergence.common.failures import StorageRefused, TemporaryFailure
from heat_convergence.common.time_limit import time_limit
from tests.functional.clients.conftest import (
    Build,
    InMemoryCredentialStore,
    acting_token,
    requester_of,
)
from tests.functional.clients.fake_keystone import FakeKeystone

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def test_trust_lets_the_service_act_as_the_user(
    build: Build, fake: FakeKeystone, requester: Requester
) -> None:
    clouds, delegation = build()
    delegation.grant("s", requester, NOW)
    (trust,) = fake.trusts.values()
    assert trust["trustor_user_id"] == "demo-id"
    assert trust["trustee_user_id"] == "heat-id"
    assert trust["impersonation"] is True
    assert trust["allow_redelegation"] is False
    assert [role["name"] for role in trust["roles"]] == ["member", "reader"]
    assert acting_token(clouds, fake) == {
        "user_id": "demo-id",
        "project_id": "p",
        "trust_id": trust["id"],
    }


def test_only_configured_roles_are_delegated(
    build: Build, fake: FakeKeystone, requester: Requester
) -> None:
    _clouds, delegation = build(delegated_roles=("member",), allow_redelegation=True)
    delegation.grant("s", requester, NOW)
    (trust,) = fake.trusts.values()
    assert [role["name"] for role in trust["roles"]] == ["member"]
    assert trust["allow_redelegation"] is True


def test_error_names_a_missing_role(
    build: Build, fake: FakeKeystone, requester: Requester
) -> None:
    _clouds, delegation = build(delegated_roles=("member", "heat_stack_owner"))
    with pytest.raises(errors.MissingCredentialError, match='"heat_stack_owner"'):
        delegation.grant("s", requester, NOW)
    assert not fake.trusts


def test_application_credential_lets_the_service_act_as_the_user(
    build: Build, fake: FakeKeystone, requester: Requester
) -> None:
    clouds, delegation = build(deferred_auth_method=DeferredAuthMethod.APPLICATION_CREDENTIAL)
    delegation.grant("s", requester, NOW)
    assert acting_token(clouds, fake)["user_id"] == "demo-id"
    delegation.revoke("s")
    assert not fake.application_credentials


def test_password_lets_the_service_act_as_the_user(build: Build, fake: FakeKeystone) -> None:
    clouds, delegation = build(deferred_auth_method=DeferredAuthMethod.PASSWORD)
    with pytest.raises(errors.MissingCredentialError, match="X-Auth-Key"):
        delegation.grant("s", requester_of(fake), NOW)
    delegation.grant("s", requester_of(fake, password="demo-password"), NOW)
    assert acting_token(clouds, fake) == {"user_id": "demo-id", "project_id": "p"}
    delegation.revoke("s")


def test_repr_shows_no_secret(fake: FakeKeystone) -> None:
    requester = requester_of(fake, password="demo-password")
    credential = Credential(DeferredAuthMethod.PASSWORD, "u", "p", {"password": "demo-password"})
    assert "demo-password" not in repr(requester) + repr(credential)
    assert Credential.load(credential.dump()) == credential


def test_expired_token_is_replaced(build: Build, fake: FakeKeystone, requester: Requester) -> None:
    clouds, delegation = build()
    fake.expires_at = "2026-01-01T00:00:10.000000Z"  # in the past
    delegation.grant("s", requester, NOW)
    first = clouds.get("s").session.get_token()
    assert clouds.get("s").session.get_token() != first


def test_error_for_a_revoked_trust_names_the_remedy(
    build: Build, fake: FakeKeystone, requester: Requester
) -> None:
    clouds, delegation = build()
    delegation.grant("s", requester, NOW)
    fake.trusts.clear()
    with pytest.raises(errors.AuthorizationFailure, match=r"trust was revoked.*Repeat the action"):
        clouds.get("s").session.get_token()


def test_error_for_a_missing_credential_names_the_remedy(build: Build) -> None:
    clouds, _delegation = build()
    with pytest.raises(errors.AuthorizationFailure, match="Update the stack as a user"):
        _ = clouds.get("s").session


def test_only_a_revoked_credential_is_replaced(
    build: Build, fake: FakeKeystone, store: InMemoryCredentialStore, requester: Requester
) -> None:
    clouds, delegation = build()
    delegation.grant("s", requester, NOW)
    assert delegation.renew_if_revoked("s", requester_of(fake), NOW) is False
    (old,) = fake.trusts
    fake.trusts.clear()
    assert delegation.renew_if_revoked("s", requester_of(fake), NOW) is True
    (new,) = fake.trusts
    assert new != old
    assert acting_token(clouds, fake)["trust_id"] == new


def test_other_process_reads_the_new_credential_after_a_refusal(
    build: Build, fake: FakeKeystone, requester: Requester
) -> None:
    _clouds, delegation = build()
    other_process, _delegation = build()
    delegation.grant("s", requester, NOW)
    acting_token(other_process, fake)
    fake.trusts.clear()
    delegation.renew_if_revoked("s", requester_of(fake), NOW)
    with pytest.raises(errors.AuthorizationFailure):
        other_process.get("s").reauthenticate()
    assert acting_token(other_process, fake)["trust_id"] in fake.trusts


def test_credentials_without_a_stack_are_revoked(
    build: Build, fake: FakeKeystone, store: InMemoryCredentialStore, requester: Requester
) -> None:
    _clouds, delegation = build()
    for tree_id in ("live", "deleted", "never stored", "being stored"):
        delegation.grant(tree_id, requester, NOW)
    store.put("being stored", store.rows["being stored"][0], NOW + CREDENTIAL_ORPHAN_AGE)
    store.stacks, store.deleted = {"live", "deleted"}, {"deleted"}
    assert delegation.revoke_orphaned(NOW + CREDENTIAL_ORPHAN_AGE + timedelta(seconds=1), 10) == 2
    assert set(store.rows) == {"live", "being stored"}
    assert len(fake.trusts) == 2


def test_revocations_end_with_their_time_limit(
    build: Build, fake: FakeKeystone, store: InMemoryCredentialStore, requester: Requester
) -> None:
    """A Keystone that answers slowly does not keep one run for hours."""
    _clouds, delegation = build()
    delegation.grant("s", requester, NOW)
    store.deleted = {"s"}
    with time_limit(0.0):
        assert delegation.revoke_orphaned(NOW, 10) == 0
    assert delegation.revoke_orphaned(NOW, 10) == 1


def test_revoking_a_revoked_trust_is_no_error(
    build: Build, fake: FakeKeystone, store: InMemoryCredentialStore, requester: Requester
) -> None:
    _clouds, delegation = build()
    delegation.grant("s", requester, NOW)
    fake.trusts.clear()
    delegation.revoke("s")
    assert not store.rows


def test_credentials_are_kept_while_keystone_is_unreachable(
    build: Build, fake: FakeKeystone, store: InMemoryCredentialStore, requester: Requester
) -> None:
    _clouds, delegation = build()
    delegation.grant("s", requester, NOW)
    store.deleted = {"s"}
    fake.close()
    assert delegation.revoke_orphaned(NOW, 10) == 0
    assert set(store.rows) == {"s"}
    with pytest.raises(TemporaryFailure):
        delegation.grant("t", requester, NOW)


def test_credential_that_cannot_be_stored_is_revoked(
    build: Build,
    fake: FakeKeystone,
    store: InMemoryCredentialStore,
    requester: Requester,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _clouds, delegation = build()

    def refuse(*_args: object) -> NoReturn:
        raise StorageRefused("no")

    monkeypatch.setattr(store, "put", refuse)
    with pytest.raises(StorageRefused):
        delegation.grant("s", requester, NOW)
    assert not fake.trusts


def test_most_recently_used_sessions_are_cached(
    build: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("heat_convergence.clients.clouds.MAX_CACHED_CLOUDS", 2)
    clouds, _delegation = build()
    first = clouds.get("a")
    clouds.get("b")
    assert clouds.get("a") is first
    clouds.get("c")
    assert clouds.get("a") is first


class ProcessCrash(BaseException):
    """The end of the process at this line."""


def crash(*_arguments: object, **_keywords: object) -> NoReturn:
    raise ProcessCrash


def crash_when_credentials_are_recorded(
    monkeypatch: pytest.MonkeyPatch, store: InMemoryCredentialStore
) -> None:
    """Let the process end after the intent is recorded, before the credential is."""
    put = store.put

    def put_intent_only(tree_id: str, credential: Credential, now: datetime) -> None:
        if credential.intent_name is None:
            crash()
        put(tree_id, credential, now)

    monkeypatch.setattr(store, "put", put_intent_only)


@pytest.mark.parametrize(
    "method", [DeferredAuthMethod.TRUSTS, DeferredAuthMethod.APPLICATION_CREDENTIAL]
)
@pytest.mark.parametrize("crash_point", ["before Keystone is called", "before it is stored"])
def test_credential_of_a_crashed_grant_is_revoked(
    build: Build,
    fake: FakeKeystone,
    store: InMemoryCredentialStore,
    monkeypatch: pytest.MonkeyPatch,
    method: DeferredAuthMethod,
    crash_point: str,
) -> None:
    _clouds, delegation = build(deferred_auth_method=method)
    requester = requester_of(fake)
    records = {DeferredAuthMethod.TRUSTS: fake.trusts}.get(method, fake.application_credentials)
    delegation.grant("another", requester, NOW)
    store.stacks.add("another")
    intact = dict(records)
    if crash_point == "before Keystone is called":
        monkeypatch.setattr(delegation._keystone, "issue", crash)
    else:
        crash_when_credentials_are_recorded(monkeypatch, store)
    with pytest.raises(ProcessCrash):
        delegation.grant("s", requester, NOW)
    assert store.rows["s"][0].intent_name == "s"
    assert delegation.revoke_orphaned(NOW, 10) == 0  # the request may still be in progress
    assert delegation.revoke_orphaned(NOW + CREDENTIAL_ORPHAN_AGE * 2, 10) == 1
    assert (store.get("s"), records) == (None, intact)


def test_next_action_completes_a_crashed_renewal(
    build: Build,
    fake: FakeKeystone,
    store: InMemoryCredentialStore,
    requester: Requester,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clouds, delegation = build()
    delegation.grant("s", requester, NOW)
    store.stacks.add("s")
    fake.trusts.clear()
    with monkeypatch.context() as dying:
        crash_when_credentials_are_recorded(dying, store)
        with pytest.raises(ProcessCrash):
            delegation.renew_if_revoked("s", requester, NOW)
    (orphan,) = fake.trusts
    clouds.evict("s")
    with pytest.raises(errors.AuthorizationFailure, match="Update the stack"):
        _ = clouds.get("s").session
    assert delegation.renew_if_revoked("s", requester, NOW) is True
    (mine,) = fake.trusts
    assert mine != orphan
    assert acting_token(clouds, fake)["trust_id"] == mine


def test_renewal_that_keystone_refuses_changes_nothing(
    build: Build, fake: FakeKeystone, store: InMemoryCredentialStore, requester: Requester
) -> None:
    _clouds, delegation = build(delegated_roles=("member",))
    delegation.grant("s", requester, NOW)
    before = store.get("s")
    fake.trusts.clear()
    poor = requester_of(fake, "reader")
    with pytest.raises(errors.MissingCredentialError):
        delegation.renew_if_revoked("s", poor, NOW)
    assert store.get("s") == before


def test_renewal_without_an_answer_of_keystone_is_a_temporary_failure(
    build: Build,
    fake: FakeKeystone,
    store: InMemoryCredentialStore,
    requester: Requester,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clouds, delegation = build()
    delegation.grant("s", requester, NOW)
    before = store.get("s")

    def time_out() -> NoReturn:
        raise ConnectTimeout("no answer")

    monkeypatch.setattr(clouds.get("s").session, "get_token", time_out)
    with pytest.raises(TemporaryFailure):
        delegation.renew_if_revoked("s", requester, NOW)
    assert store.get("s") == before


def test_replaced_credential_is_revoked(
    build: Build, fake: FakeKeystone, requester: Requester, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Replace a trust that exists but is unusable, since the user lost a role."""
    clouds, delegation = build()
    delegation.grant("s", requester, NOW)

    def refuse() -> NoReturn:
        raise errors.AuthorizationFailure("no")

    monkeypatch.setattr(clouds.get("s"), "reauthenticate", refuse)
    (old,) = fake.trusts
    assert delegation.renew_if_revoked("s", requester, NOW) is True
    assert old not in fake.trusts
    assert len(fake.trusts) == 1


def test_users_of_a_deleted_stack_are_deleted(
    build: Build, fake: FakeKeystone, store: InMemoryCredentialStore, requester: Requester
) -> None:
    """Delete also users that were never recorded because the process died."""
    clouds, delegation = build(
        stack_user_domain_id="heat-domain",
        stack_domain_admin="domain_admin",
        stack_domain_admin_password="admin-password",
    )
    delegation.grant("s", requester, NOW)
    project = clouds.users.ensure_project("s")
    user = clouds.users.ensure_user("s-signal", project)
    other = clouds.users.ensure_user("t-signal", clouds.users.ensure_project("t"))
    store.deleted.add("s")
    assert delegation.revoke_orphaned(NOW, 10) == 1
    assert user.id not in fake.users
    assert project not in fake.projects
    assert other.id in fake.users
