"""What the service is given to act with, how it acts, and how it gives it back."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from heat_convergence.clients.clouds import StackCloudCache
from heat_convergence.clients.credentials import Credential
from heat_convergence.clients.delegation import CREDENTIAL_ORPHAN_AGE, Delegation
from heat_convergence.clients.settings import ClientSettings, DeferredAuthMethod
from heat_convergence.common import errors
from tests.unit.clients.conftest import create_issuer, requester_of

NOW = datetime(2026, 1, 1, tzinfo=UTC)


class InMemoryCredentialStore:
    """``CredentialStore`` in memory; ``stacks`` are those that live."""

    def __init__(self):
        self.rows: dict[str, tuple[Credential, datetime]] = {}
        self.stacks: set[str] = set()
        self.deleted: set[str] = set()

    def get(self, tree_id):
        return self.rows[tree_id][0] if tree_id in self.rows else None

    def put(self, tree_id, credential, now):
        self.rows[tree_id] = (credential, now)

    def delete(self, tree_id):
        del self.rows[tree_id]

    def list_orphaned(self, before, limit):
        return [
            (tree_id, credential)
            for tree_id, (credential, at) in self.rows.items()
            if tree_id in self.deleted or (tree_id not in self.stacks and at < before)
        ][:limit]


@pytest.fixture
def kept():
    return InMemoryCredentialStore()


@pytest.fixture
def build(service, kept):
    def made(**settings):
        clouds = StackCloudCache(ClientSettings(**settings), service, kept.get)
        return clouds, Delegation(create_issuer(service, **settings), clouds, kept)

    return made


def acting(clouds, fake, tree_id="s"):
    """Whom Keystone takes the stack's session for."""
    token = clouds.get(tree_id).session.get_token()
    return fake.tokens[token]


def test_a_trust_lets_the_service_act_as_the_user(build, fake, requester):
    clouds, delegation = build()
    delegation.grant("s", requester, NOW)
    (trust,) = fake.trusts.values()
    assert trust["trustor_user_id"] == "demo-id"
    assert trust["trustee_user_id"] == "heat-id"
    assert trust["impersonation"] is True
    assert trust["allow_redelegation"] is False
    assert [role["name"] for role in trust["roles"]] == ["member", "reader"]
    assert acting(clouds, fake) == {
        "user_id": "demo-id",
        "project_id": "p",
        "trust_id": trust["id"],
    }


def test_only_the_roles_that_the_operator_names_are_delegated(build, fake, requester):
    _clouds, delegation = build(delegated_roles=("member",), allow_redelegation=True)
    delegation.grant("s", requester, NOW)
    (trust,) = fake.trusts.values()
    assert [role["name"] for role in trust["roles"]] == ["member"]
    assert trust["allow_redelegation"] is True


def test_a_role_that_the_user_lacks_is_named(build, fake, requester):
    _clouds, delegation = build(delegated_roles=("member", "heat_stack_owner"))
    with pytest.raises(errors.MissingCredentialError, match='"heat_stack_owner"'):
        delegation.grant("s", requester, NOW)
    assert not fake.trusts


def test_an_application_credential_lets_the_service_act(build, fake, requester):
    clouds, delegation = build(deferred_auth_method=DeferredAuthMethod.APPLICATION_CREDENTIAL)
    delegation.grant("s", requester, NOW)
    assert acting(clouds, fake)["user_id"] == "demo-id"
    delegation.revoke("s")
    assert not fake.application_credentials


def test_the_users_password_where_the_operator_wants_it(build, fake):
    clouds, delegation = build(deferred_auth_method=DeferredAuthMethod.PASSWORD)
    with pytest.raises(errors.MissingCredentialError, match="X-Auth-Key"):
        delegation.grant("s", requester_of(fake), NOW)
    delegation.grant("s", requester_of(fake, password="demo-password"), NOW)
    assert acting(clouds, fake) == {"user_id": "demo-id", "project_id": "p"}
    delegation.revoke("s")


def test_no_secret_shows_in_a_representation(fake):
    given = requester_of(fake, password="demo-password")
    credential = Credential(DeferredAuthMethod.PASSWORD, "u", "p", {"password": "demo-password"})
    assert "demo-password" not in repr(given) + repr(credential)
    assert Credential.load(credential.dump()) == credential


def test_a_token_that_ran_out_is_renewed(build, fake, requester):
    clouds, delegation = build()
    fake.expires_at = "2026-01-01T00:00:10.000000Z"  # long ago
    delegation.grant("s", requester, NOW)
    first = clouds.get("s").session.get_token()
    assert clouds.get("s").session.get_token() != first


def test_a_revoked_trust_is_told_with_what_to_do(build, fake, requester):
    clouds, delegation = build()
    delegation.grant("s", requester, NOW)
    fake.trusts.clear()
    with pytest.raises(errors.AuthorizationFailure, match=r"trust was revoked.*Repeat the action"):
        clouds.get("s").session.get_token()


def test_a_stack_without_a_credential_is_told_what_to_do(build):
    clouds, _delegation = build()
    with pytest.raises(errors.AuthorizationFailure, match="Update the stack as a user"):
        _ = clouds.get("s").session


def test_an_intact_grant_is_kept_and_a_revoked_one_replaced(build, fake, kept, requester):
    clouds, delegation = build()
    delegation.grant("s", requester, NOW)
    assert delegation.renew_if_revoked("s", requester_of(fake), NOW) is False
    (old,) = fake.trusts
    fake.trusts.clear()
    assert delegation.renew_if_revoked("s", requester_of(fake), NOW) is True
    (new,) = fake.trusts
    assert new != old
    assert acting(clouds, fake)["trust_id"] == new


def test_another_process_reads_the_new_grant_after_the_old_one_is_refused(build, fake, requester):
    _clouds, delegation = build()
    elsewhere, _delegation = build()
    delegation.grant("s", requester, NOW)
    acting(elsewhere, fake)
    fake.trusts.clear()
    delegation.renew_if_revoked("s", requester_of(fake), NOW)
    with pytest.raises(errors.AuthorizationFailure):
        elsewhere.get("s").reauthenticate()
    assert acting(elsewhere, fake)["trust_id"] in fake.trusts


def test_what_no_stack_needs_is_revoked(build, fake, kept, requester):
    _clouds, delegation = build()
    for tree_id in ("lives", "deleted", "never stored", "being stored"):
        delegation.grant(tree_id, requester, NOW)
    kept.put("being stored", kept.get("being stored"), NOW + CREDENTIAL_ORPHAN_AGE)
    kept.stacks, kept.deleted = {"lives", "deleted"}, {"deleted"}
    assert delegation.revoke_orphaned(NOW + CREDENTIAL_ORPHAN_AGE + timedelta(seconds=1), 10) == 2
    assert set(kept.rows) == {"lives", "being stored"}
    assert len(fake.trusts) == 2


def test_a_trust_that_somebody_revoked_already_is_no_error(build, fake, kept, requester):
    _clouds, delegation = build()
    delegation.grant("s", requester, NOW)
    fake.trusts.clear()
    delegation.revoke("s")
    assert not kept.rows


def test_without_keystone_nothing_is_forgotten(build, fake, kept, requester):
    _clouds, delegation = build()
    delegation.grant("s", requester, NOW)
    kept.deleted = {"s"}
    fake.close()
    assert delegation.revoke_orphaned(NOW, 10) == 0
    assert set(kept.rows) == {"s"}
    with pytest.raises(errors.TemporaryFailure):
        delegation.grant("t", requester, NOW)


def test_what_cannot_be_stored_is_given_back(build, fake, kept, requester):
    _clouds, delegation = build()

    def refuse(*_args):
        raise errors.StorageRefused("no")

    kept.put = refuse
    with pytest.raises(errors.StorageRefused):
        delegation.grant("s", requester, NOW)
    assert not fake.trusts


def test_the_last_used_sessions_are_kept(build, monkeypatch):
    monkeypatch.setattr("heat_convergence.clients.clouds.MAX_CACHED_CLOUDS", 2)
    clouds, _delegation = build()
    first = clouds.get("a")
    clouds.get("b")
    assert clouds.get("a") is first
    clouds.get("c")
    assert clouds.get("a") is first


class ProcessCrash(BaseException):
    """The process, at this line."""


def dies(*_arguments, **_keywords):
    raise ProcessCrash


@pytest.mark.parametrize(
    "method", [DeferredAuthMethod.TRUSTS, DeferredAuthMethod.APPLICATION_CREDENTIAL]
)
@pytest.mark.parametrize("place", ["before Keystone is asked", "before it is written down"])
def test_a_crash_while_it_is_made_leaves_nothing(
    build, fake, kept, requester, monkeypatch, method, place
):
    _clouds, delegation = build(deferred_auth_method=method)
    made = {DeferredAuthMethod.TRUSTS: fake.trusts}.get(method, fake.application_credentials)
    delegation.grant("another", requester, NOW)
    kept.stacks.add("another")
    intact = dict(made)
    if place == "before Keystone is asked":
        monkeypatch.setattr(delegation._keystone, "issue", dies)
    else:
        put = kept.put
        monkeypatch.setattr(
            kept,
            "put",
            lambda tree_id, credential, now: (
                dies() if credential.intent_name is None else put(tree_id, credential, now)
            ),
        )
    with pytest.raises(ProcessCrash):
        delegation.grant("s", requester, NOW)
    assert kept.get("s").intent_name == "s"
    assert delegation.revoke_orphaned(NOW, 10) == 0  # the request may be under way still
    assert delegation.revoke_orphaned(NOW + CREDENTIAL_ORPHAN_AGE * 2, 10) == 1
    assert (kept.get("s"), made) == (None, intact)


def test_a_crash_while_it_is_renewed_is_mended_by_the_next_action(
    build, fake, kept, requester, monkeypatch
):
    clouds, delegation = build()
    delegation.grant("s", requester, NOW)
    kept.stacks.add("s")
    fake.trusts.clear()
    put = kept.put
    with monkeypatch.context() as dying:
        dying.setattr(
            kept,
            "put",
            lambda tree_id, credential, now: (
                dies() if credential.intent_name is None else put(tree_id, credential, now)
            ),
        )
        with pytest.raises(ProcessCrash):
            delegation.renew_if_revoked("s", requester, NOW)
    (orphan,) = fake.trusts
    clouds.evict("s")
    with pytest.raises(errors.AuthorizationFailure, match="Update the stack"):
        _ = clouds.get("s").session
    assert delegation.renew_if_revoked("s", requester, NOW) is True
    (mine,) = fake.trusts
    assert mine != orphan
    assert acting(clouds, fake)["trust_id"] == mine


def test_a_renewal_that_keystone_refuses_changes_nothing(build, fake, kept, requester):
    _clouds, delegation = build(delegated_roles=("member",))
    delegation.grant("s", requester, NOW)
    before = kept.get("s")
    fake.trusts.clear()
    poor = requester_of(fake, "reader")
    with pytest.raises(errors.MissingCredentialError):
        delegation.renew_if_revoked("s", poor, NOW)
    assert kept.get("s") == before


def test_what_is_replaced_is_revoked(build, fake, kept, requester):
    """The user lost a role: the trust is there and of no use."""
    clouds, delegation = build()
    delegation.grant("s", requester, NOW)
    clouds.get("s").reauthenticate = lambda: (_ for _ in ()).throw(
        errors.AuthorizationFailure("no")
    )
    (old,) = fake.trusts
    assert delegation.renew_if_revoked("s", requester, NOW) is True
    assert old not in fake.trusts
    assert len(fake.trusts) == 1


def test_users_of_a_stack_that_is_gone_are_deleted(build, fake, kept, requester):
    """What a type could not write down before its process died, too."""
    clouds, delegation = build(
        stack_user_domain_id="heat-domain",
        stack_domain_admin="domain_admin",
        stack_domain_admin_password="admin-password",
    )
    delegation.grant("s", requester, NOW)
    project = clouds.users.ensure_project("s")
    user = clouds.users.ensure_user("s-signal", project)
    other = clouds.users.ensure_user("t-signal", clouds.users.ensure_project("t"))
    kept.deleted.add("s")
    assert delegation.revoke_orphaned(NOW, 10) == 1
    assert user.id not in fake.users
    assert project not in fake.projects
    assert other.id in fake.users
