"""Deferred authentication with a real Keystone: trusts, application credentials, passwords.

``docs/contribute/testing.rst`` says what each of them needs of Keystone.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from heat_convergence.testing.daemon_processes import wait_until
from tests.cloud.conftest import DeployService
from tests.cloud.testbed import (
    CloudTestbed,
    DeployedService,
    UserIdentityClient,
    short_token_keystone,
    token_session,
)

Json = Any
TOKEN_LIFETIME_S = 15


def network_template(**properties: Json) -> Json:
    """Return a template that needs a service, and so credentials for the user."""
    net = {"type": "OS::Neutron::Net", "properties": {"name": "hc-deferred", **properties}}
    return {"heat_template_version": "2016-10-14", "resources": {"net": net}}


def slow_template(seconds: float) -> Json:
    """Return a template with a network, a pause and another network."""
    template = network_template()
    pause = {
        "type": "OS::Heat::TestResource",
        "depends_on": "net",
        "properties": {"action_wait_secs": {"create": seconds}},
    }
    after = {"type": "OS::Neutron::Net", "depends_on": "pause"}
    template["resources"] |= {"pause": pause, "after": after}
    return template


def wait_until_empty(list_items: Any, description: str) -> None:
    """Wait until the observer's housekeeping has deleted all items."""
    wait_until(lambda: not list_items(), description, timeout_s=60)


class TestTrusts:
    @pytest.fixture(scope="class")
    def deployed_service(self, deploy: DeployService) -> DeployedService:
        return deploy()

    @pytest.fixture(scope="class")
    def service(self, cloud_testbed: CloudTestbed) -> UserIdentityClient:
        return cloud_testbed.identity_client("heat", "service")

    @pytest.fixture(scope="class")
    def user(self, cloud_testbed: CloudTestbed) -> UserIdentityClient:
        return cloud_testbed.identity_client("demo")

    def list_stack_trusts(
        self, user: UserIdentityClient, service: UserIdentityClient, stack_id: str
    ) -> list[Json]:
        return [
            each
            for each in user.list_trusts_to(service)
            if each.get("description") == f"heat-{stack_id}"
        ]

    def test_trust_created_used_and_deleted(
        self,
        deployed_service: DeployedService,
        user: UserIdentityClient,
        service: UserIdentityClient,
    ) -> None:
        stack_id = deployed_service.create_stack(user.session, "plain", network_template())
        (trust,) = self.list_stack_trusts(user, service, stack_id)
        assert trust["impersonation"] is True
        assert trust["redelegation_count"] == 0
        assert deployed_service.wait_until_done(user.session, "plain")[0] == "CREATE_COMPLETE"
        deployed_service.delete_stack(user.session, "plain")
        wait_until_empty(
            lambda: self.list_stack_trusts(user, service, stack_id), "the trust is deleted"
        )

    def test_rejected_template_leaves_no_trust(
        self,
        deployed_service: DeployedService,
        user: UserIdentityClient,
        service: UserIdentityClient,
    ) -> None:
        before = {each["id"] for each in user.list_trusts_to(service)}
        body = {"stack_name": "bad", "template": network_template(colour="blue")}
        assert deployed_service.request(user.session, "POST", "/stacks", body).status_code == 400
        assert {each["id"] for each in user.list_trusts_to(service)} <= before

    def test_revoked_trust_is_reported_and_replaced_by_update(
        self,
        deployed_service: DeployedService,
        user: UserIdentityClient,
        service: UserIdentityClient,
    ) -> None:
        stack_id = deployed_service.create_stack(user.session, "revoked", slow_template(8))
        (trust,) = self.list_stack_trusts(user, service, stack_id)
        user.delete(f"/OS-TRUST/trusts/{trust['id']}")
        status, reason = deployed_service.wait_until_done(user.session, "revoked")
        assert status == "CREATE_FAILED"
        assert "trust was revoked" in reason, reason
        assert "Repeat the action" in reason, reason
        response = deployed_service.request(user.session, "PATCH", f"/stacks/revoked/{stack_id}")
        assert response.status_code == 202, response.text
        assert deployed_service.wait_until_done(user.session, "revoked")[0] == "UPDATE_COMPLETE"
        (new_trust,) = self.list_stack_trusts(user, service, stack_id)
        assert new_trust["id"] != trust["id"]
        deployed_service.delete_stack(user.session, "revoked")
        wait_until_empty(
            lambda: self.list_stack_trusts(user, service, stack_id), "the new trust is deleted"
        )

    def test_stack_with_revoked_trust_can_be_deleted(
        self,
        deployed_service: DeployedService,
        user: UserIdentityClient,
        service: UserIdentityClient,
    ) -> None:
        stack_id = deployed_service.create_stack(user.session, "lost", network_template())
        assert deployed_service.wait_until_done(user.session, "lost")[0] == "CREATE_COMPLETE"
        (trust,) = self.list_stack_trusts(user, service, stack_id)
        user.delete(f"/OS-TRUST/trusts/{trust['id']}")
        deployed_service.delete_stack(user.session, "lost")
        wait_until_empty(
            lambda: self.list_stack_trusts(user, service, stack_id), "no trust is left"
        )

    def test_trust_scoped_token_is_redelegated(
        self,
        deploy: DeployService,
        cloud_testbed: CloudTestbed,
        user: UserIdentityClient,
        service: UserIdentityClient,
    ) -> None:
        """A user acts by a trust that may be redelegated."""
        deployed_service = deploy(allow_trusts_redelegation=True)
        other = cloud_testbed.identity_client("alt_demo")
        trust = user.post(
            "/OS-TRUST/trusts",
            {
                "trust": {
                    "trustor_user_id": user.user_id,
                    "trustee_user_id": other.user_id,
                    "project_id": cloud_testbed.project_id("demo"),
                    "impersonation": True,
                    "allow_redelegation": True,
                    "redelegation_count": 2,
                    "roles": [{"name": "member"}, {"name": "reader"}],
                }
            },
        )["trust"]
        acting_session = token_session(cloud_testbed, other.session, trust_id=trust["id"])
        stack_id = deployed_service.create_stack(acting_session, "passed-on", network_template())
        (redelegated,) = self.list_stack_trusts(user, service, stack_id)
        assert redelegated["redelegated_trust_id"] == trust["id"]
        assert (
            deployed_service.wait_until_done(acting_session, "passed-on")[0] == "CREATE_COMPLETE"
        )
        deployed_service.delete_stack(user.session, "passed-on")
        wait_until_empty(
            lambda: self.list_stack_trusts(user, service, stack_id), "the trust is deleted"
        )
        user.delete(f"/OS-TRUST/trusts/{trust['id']}")


class TestApplicationCredentials:
    @pytest.fixture(scope="class")
    def deployed_service(self, deploy: DeployService) -> DeployedService:
        return deploy(deferred_auth_method="application_credential")

    def test_application_credential_created_used_and_deleted(
        self, deployed_service: DeployedService, cloud_testbed: CloudTestbed
    ) -> None:
        user = cloud_testbed.identity_client("demo")
        stack_id = deployed_service.create_stack(user.session, "by-credential", network_template())

        def credentials() -> list[Json]:
            return [
                each
                for each in user.list_application_credentials()
                if each["name"].startswith(f"heat-{stack_id}-")
            ]

        assert len(credentials()) == 1
        assert (
            deployed_service.wait_until_done(user.session, "by-credential")[0] == "CREATE_COMPLETE"
        )
        user.delete(f"/users/{user.user_id}/application_credentials/{credentials()[0]['id']}")
        response = deployed_service.request(
            user.session,
            "PUT",
            f"/stacks/by-credential/{stack_id}",
            {"template": network_template(admin_state_up=False)},
        )
        assert response.status_code == 202, response.text
        assert (
            deployed_service.wait_until_done(user.session, "by-credential")[0] == "UPDATE_COMPLETE"
        )
        assert len(credentials()) == 1
        deployed_service.delete_stack(user.session, "by-credential")
        wait_until_empty(credentials, "the application credential is deleted")


class TestPasswords:
    @pytest.fixture(scope="class")
    def deployed_service(self, deploy: DeployService) -> DeployedService:
        return deploy(deferred_auth_method="password")

    def test_password_required_and_used(
        self, deployed_service: DeployedService, cloud_testbed: CloudTestbed
    ) -> None:
        user = cloud_testbed.session("demo")
        body = {"stack_name": "by-password", "template": network_template()}
        rejected = deployed_service.request(user, "POST", "/stacks", body)
        assert rejected.status_code == 400
        assert rejected.json()["error"]["type"] == "MissingCredentialError"
        credentials = {"X-Auth-User": "demo", "X-Auth-Key": cloud_testbed.facts["password"]}
        deployed_service.create_stack(user, "by-password", network_template(), **credentials)
        assert deployed_service.wait_until_done(user, "by-password")[0] == "CREATE_COMPLETE"
        deployed_service.delete_stack(user, "by-password")


class TestExpiringTokens:
    @pytest.fixture(scope="class")
    def deployed_service(
        self, deploy: DeployService, cloud_testbed: CloudTestbed, keystone_folder: Path
    ) -> Iterator[DeployedService]:
        try:
            with short_token_keystone(
                cloud_testbed, keystone_folder, TOKEN_LIFETIME_S
            ) as keystone:
                yield deploy(keystone)
        except FileNotFoundError as error:
            pytest.skip(str(error))

    @pytest.mark.parametrize("method", ["trusts", "application_credential"])
    def test_traversal_outlives_request_token(
        self,
        deployed_service: DeployedService,
        cloud_testbed: CloudTestbed,
        method: str,
        deploy: DeployService,
    ) -> None:
        if method != "trusts":
            deployed_service = deploy(deployed_service.cloud_testbed, deferred_auth_method=method)
        project_id = cloud_testbed.project_id("demo")
        request_session = token_session(
            deployed_service.cloud_testbed,
            deployed_service.cloud_testbed.session("demo"),
            project_id=project_id,
        )
        name = f"long-{method.replace('_', '-')}"
        deployed_service.create_stack(request_session, name, slow_template(TOKEN_LIFETIME_S * 2))
        user = cloud_testbed.session("demo")  # with tokens of the usual lifetime
        assert deployed_service.wait_until_done(user, name, within_s=180)[0] == "CREATE_COMPLETE"
        assert deployed_service.request(request_session, "GET", "/stacks").status_code == 401
        deployed_service.delete_stack(user, name)
