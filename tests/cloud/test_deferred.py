"""As whom the service acts, tried on a real Keystone: trusts and the other ways.

What each needs of Keystone is told in ``docs/testing.rst``.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from heat_convergence.testing.daemons import wait_until
from tests.cloud.bed import Bed, Keystone, Ours, by_token, short_lived
from tests.cloud.conftest import Deploy

Json = Any
TOKEN_LIFE_S = 15


def network(**more: Json) -> Json:
    """A template that needs a service, and so the right to act for the user."""
    net = {"type": "OS::Neutron::Net", "properties": {"name": "hc-deferred", **more}}
    return {"heat_template_version": "2016-10-14", "resources": {"net": net}}


def slow(seconds: float) -> Json:
    """A network before, and one after, so long a pause."""
    template = network()
    pause = {"type": "OS::Heat::TestResource", "depends_on": "net",
             "properties": {"action_wait_secs": {"create": seconds}}}
    after = {"type": "OS::Neutron::Net", "depends_on": "pause"}
    template["resources"] |= {"pause": pause, "after": after}
    return template


def gone(look: Any, what: str) -> None:
    """By the observer's housekeeping."""
    wait_until(lambda: not look(), what, within_s=60)


class TestTrusts:
    @pytest.fixture(scope="class")
    def ours(self, deploy: Deploy) -> Ours:
        return deploy()

    @pytest.fixture(scope="class")
    def service(self, bed: Bed) -> Keystone:
        return bed.keystone("heat", "service")

    @pytest.fixture(scope="class")
    def user(self, bed: Bed) -> Keystone:
        return bed.keystone("demo")

    def held(self, user: Keystone, service: Keystone, stack_id: str) -> list[Json]:
        return [each for each in user.trusts_to(service)
                if each.get("description") == f"heat-{stack_id}"]

    def test_given_used_and_given_back(
        self, ours: Ours, user: Keystone, service: Keystone
    ) -> None:
        stack_id = ours.create(user.session, "plain", network())
        (trust,) = self.held(user, service, stack_id)
        assert trust["impersonation"] is True
        assert trust["redelegation_count"] == 0
        assert ours.wait(user.session, "plain")[0] == "CREATE_COMPLETE"
        ours.delete(user.session, "plain")
        gone(lambda: self.held(user, service, stack_id), "the trust is given back")

    def test_a_refused_template_leaves_none(
        self, ours: Ours, user: Keystone, service: Keystone
    ) -> None:
        before = {each["id"] for each in user.trusts_to(service)}
        body = {"stack_name": "bad", "template": network(colour="blue")}
        assert ours.call(user.session, "POST", "/stacks", body).status_code == 400
        assert {each["id"] for each in user.trusts_to(service)} <= before

    def test_a_revoked_trust_is_told_and_mended_by_an_update(
        self, ours: Ours, user: Keystone, service: Keystone
    ) -> None:
        stack_id = ours.create(user.session, "revoked", slow(8))
        (trust,) = self.held(user, service, stack_id)
        user.delete(f"/OS-TRUST/trusts/{trust['id']}")
        status, reason = ours.wait(user.session, "revoked")
        assert status == "CREATE_FAILED"
        assert "trust was revoked" in reason, reason
        assert "Repeat the action" in reason, reason
        answer = ours.call(user.session, "PATCH", f"/stacks/revoked/{stack_id}")
        assert answer.status_code == 202, answer.text
        assert ours.wait(user.session, "revoked")[0] == "UPDATE_COMPLETE"
        (anew,) = self.held(user, service, stack_id)
        assert anew["id"] != trust["id"]
        ours.delete(user.session, "revoked")
        gone(lambda: self.held(user, service, stack_id), "the new trust is given back")

    def test_a_revoked_trust_does_not_keep_a_stack_from_being_deleted(
        self, ours: Ours, user: Keystone, service: Keystone
    ) -> None:
        stack_id = ours.create(user.session, "lost", network())
        assert ours.wait(user.session, "lost")[0] == "CREATE_COMPLETE"
        (trust,) = self.held(user, service, stack_id)
        user.delete(f"/OS-TRUST/trusts/{trust['id']}")
        ours.delete(user.session, "lost")
        gone(lambda: self.held(user, service, stack_id), "nothing is held")

    def test_a_token_of_a_trust_is_delegated_on_where_that_is_allowed(
        self, deploy: Deploy, bed: Bed, user: Keystone, service: Keystone
    ) -> None:
        """Somebody who acts for demo by a trust, with demo's leave to pass it on."""
        ours = deploy(allow_trusts_redelegation=True)
        other = bed.keystone("alt_demo")
        trust = user.post("/OS-TRUST/trusts", {"trust": {
            "trustor_user_id": user.user_id, "trustee_user_id": other.user_id,
            "project_id": bed.project("demo"), "impersonation": True,
            "allow_redelegation": True, "redelegation_count": 2,
            "roles": [{"name": "member"}, {"name": "reader"}],
        }})["trust"]
        acting = by_token(bed, other.session, trust_id=trust["id"])
        stack_id = ours.create(acting, "passed-on", network())
        (mine,) = self.held(user, service, stack_id)
        assert mine["redelegated_trust_id"] == trust["id"]
        assert ours.wait(acting, "passed-on")[0] == "CREATE_COMPLETE"
        ours.delete(user.session, "passed-on")
        gone(lambda: self.held(user, service, stack_id), "the trust is given back")
        user.delete(f"/OS-TRUST/trusts/{trust['id']}")


class TestApplicationCredentials:
    @pytest.fixture(scope="class")
    def ours(self, deploy: Deploy) -> Ours:
        return deploy(deferred_auth_method="application_credential")

    def test_given_used_and_given_back(self, ours: Ours, bed: Bed) -> None:
        user = bed.keystone("demo")
        stack_id = ours.create(user.session, "by-credential", network())

        def held() -> list[Json]:
            return [each for each in user.application_credentials()
                    if each["name"].startswith(f"heat-{stack_id}-")]

        assert len(held()) == 1
        assert ours.wait(user.session, "by-credential")[0] == "CREATE_COMPLETE"
        user.delete(f"/users/{user.user_id}/application_credentials/{held()[0]['id']}")
        answer = ours.call(user.session, "PUT", f"/stacks/by-credential/{stack_id}",
                           {"template": network(admin_state_up=False)})
        assert answer.status_code == 202, answer.text
        assert ours.wait(user.session, "by-credential")[0] == "UPDATE_COMPLETE"
        assert len(held()) == 1
        ours.delete(user.session, "by-credential")
        gone(held, "the application credential is given back")


class TestPasswords:
    @pytest.fixture(scope="class")
    def ours(self, deploy: Deploy) -> Ours:
        return deploy(deferred_auth_method="password")

    def test_given_and_used(self, ours: Ours, bed: Bed) -> None:
        user = bed.session("demo")
        body = {"stack_name": "by-password", "template": network()}
        refused = ours.call(user, "POST", "/stacks", body)
        assert refused.status_code == 400
        assert refused.json()["error"]["type"] == "MissingCredentialError"
        given = {"X-Auth-User": "demo", "X-Auth-Key": bed.facts["password"]}
        ours.create(user, "by-password", network(), **given)
        assert ours.wait(user, "by-password")[0] == "CREATE_COMPLETE"
        ours.delete(user, "by-password")


class TestShortTokens:
    @pytest.fixture(scope="class")
    def ours(self, deploy: Deploy, bed: Bed, folder: Path) -> Iterator[Ours]:
        try:
            with short_lived(bed, folder, TOKEN_LIFE_S) as keystone:
                yield deploy(keystone)
        except FileNotFoundError as error:
            pytest.skip(str(error))

    @pytest.mark.parametrize("method", ["trusts", "application_credential"])
    def test_a_traversal_outlives_the_token_it_began_with(
        self, ours: Ours, bed: Bed, method: str, deploy: Deploy
    ) -> None:
        if method != "trusts":
            ours = deploy(ours.bed, deferred_auth_method=method)
        project_id = bed.project("demo")
        begun = by_token(ours.bed, ours.bed.session("demo"), project_id=project_id)
        name = f"long-{method.replace('_', '-')}"
        ours.create(begun, name, slow(TOKEN_LIFE_S * 2))
        user = bed.session("demo")  # whose tokens live on
        assert ours.wait(user, name, within_s=180)[0] == "CREATE_COMPLETE"
        assert ours.call(begun, "GET", "/stacks").status_code == 401
        ours.delete(user, name)
