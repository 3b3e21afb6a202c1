"""Users and URLs with which resources are signalled, against a fake Keystone."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

from heat_convergence.api.middleware import ec2_signature
from heat_convergence.clients.auth import ServiceAuth
from heat_convergence.clients.clouds import StackCloud, StackCloudCache
from heat_convergence.clients.credentials import Credential
from heat_convergence.clients.endpoints import NoAuthCloud
from heat_convergence.clients.settings import ClientSettings, DeferredAuthMethod
from heat_convergence.clients.signed_urls import Ec2SignatureVerifier
from heat_convergence.clients.stack_users import StackUser
from heat_convergence.common import errors
from heat_convergence.common.failures import ResourceFailure
from heat_convergence.convergence.model.action import Action
from heat_convergence.convergence.model.job import ObservedState
from heat_convergence.resources.builtin.signals.scaling_policy import ScalingPolicy
from heat_convergence.resources.builtin.signals.signal_responder import (
    SignalResponder,
    SignalUser,
    verified_signal_user,
)
from heat_convergence.resources.builtin.signals.wait_condition_handles import (
    CfnWaitConditionHandle,
    WaitConditionHandle,
)
from tests.functional.clients.fake_keystone import FakeKeystone
from tests.functional.clients.test_stack_users import SETTINGS, signed_request
from tests.unit.resources.conftest import make_context

NOW = datetime(2026, 1, 1, tzinfo=UTC)
NATIVE = (
    "http://heat.example:8004/v1/{}/stacks/web/1b4e28ba-2fa1-11d2-883f-0016d3cca427"
    "/resources/r/signal"
)
OS, CFN = WaitConditionHandle(), CfnWaitConditionHandle()
POLICY = ScalingPolicy()


@pytest.fixture
def cloud(service: ServiceAuth) -> StackCloud:
    return cloud_with(service)


def cloud_with(service: ServiceAuth, **more: Any) -> StackCloud:
    settings = {"heat_url": "http://heat.example:8004/v1/%(tenant_id)s", "region": "R", **more}
    found = Credential(DeferredAuthMethod.TRUSTS, "demo-id", "p", {"trust_id": "t"})
    return StackCloudCache(replace(SETTINGS, **settings), service, lambda _tree: found).get("tree")


def create(resource_type: SignalResponder, cloud: Any, **properties: Any) -> Any:
    return resource_type.create(make_context(resource_type, properties, cloud=cloud))


def test_token_signal_has_token_and_url(cloud: StackCloud, fake: FakeKeystone) -> None:
    result = create(OS, cloud)
    user_id = result.physical_id
    project_id = result.data["project_id"]
    found = result.attributes
    assert fake.tokens[found["token"]] == {"user_id": user_id, "project_id": project_id}
    assert found["endpoint"] == NATIVE.format(project_id)
    assert found["curl_cli"] == (
        f"curl -i -X POST -H 'X-Auth-Token: {found['token']}' -H 'Content-Type:"
        f" application/json' -H 'Accept: application/json' {found['endpoint']}"
    )
    signal = json.loads(found["signal"])
    assert signal == {"alarm_url": found["endpoint"], "auth_token": found["token"]}
    assert (project_id, user_id, "role-heat_stack_user") in fake.grants
    view = make_context(OS, {}, Action.UPDATE, physical_id=user_id, data=result.data)
    assert OS.reference_id(view) == user_id


def test_curl_command_is_insecure_when_the_service_does_not_verify(service: ServiceAuth) -> None:
    found = create(OS, cloud_with(service, verify=False)).attributes
    assert found["curl_cli"].startswith("curl --insecure -i -X POST ")


def test_heat_signal_has_password_and_auth_url(cloud: StackCloud, fake: FakeKeystone) -> None:
    result = create(OS, cloud, signal_transport="HEAT_SIGNAL")
    signal = json.loads(result.attributes["signal"])
    assert signal == {
        "alarm_url": NATIVE.format(result.data["project_id"]),
        "auth_url": fake.url,
        "username": "web-r-0123456789ab",
        "user_id": result.physical_id,
        "password": fake.users[result.physical_id]["password"],
        "project_id": result.data["project_id"],
        "domain_id": "heat-domain",
        "region_name": "R",
    }
    assert OS.attribute(make_context(OS, {}, attributes=result.attributes), "token") is None


def test_signal_url_of_a_policy_names_the_stack_s_own_project(cloud: StackCloud) -> None:
    properties = {"auto_scaling_group_id": "g", "adjustment_type": "change_in_capacity",
                  "scaling_adjustment": 1}  # fmt: skip
    context = make_context(POLICY, properties, cloud=cloud)
    result = POLICY.create(context)
    assert result.data["project_id"] != context.project_id
    assert result.attributes["signal_url"] == NATIVE.format(context.project_id)


def test_signed_url_identifies_resource_and_user(
    cloud: StackCloud, fake: FakeKeystone, service: ServiceAuth
) -> None:
    for resource_type, properties in ((OS, {"signal_transport": "CFN_SIGNAL"}), (CFN, {})):
        result = create(resource_type, cloud, **properties)
        view = make_context(
            resource_type, properties, Action.UPDATE, physical_id="u", data=result.data
        )
        url = (
            resource_type.reference_id(view)
            if resource_type is CFN
            else json.loads(result.attributes["signal"])["alarm_url"]
        )
        signer = Ec2SignatureVerifier(SETTINGS, service).identify_signer(
            signed_request(url, "PUT")
        )
        assert (signer.user_id, signer.project_name) == (result.physical_id, "tree")
        called = ec2_signature._PATH.fullmatch(unquote(urlsplit(url).path))
        assert called is not None
        arn = ec2_signature._ARN.fullmatch(called["arn"])
        assert arn is not None
        assert (arn["stack"], arn["resource"]) == (f"web/{view.stack_id}", "r")
        OS.delete(replace(view, action=Action.DELETE, cloud=cloud))


def test_waitcondition_url_is_configurable(service: ServiceAuth) -> None:
    where = "http://cfn.example:8000/v1/waitcondition"
    result = create(CFN, cloud_with(service, waitcondition_url=where))
    assert result.data["url"].startswith(f"{where}/arn%3Aopenstack%3Aheat%3A%3Ap%3Astacks/web/")


def test_no_signal_creates_no_user(cloud: StackCloud, fake: FakeKeystone) -> None:
    before = set(fake.users)
    result = create(OS, cloud, signal_transport="NO_SIGNAL")
    assert set(fake.users) == before
    assert json.loads(result.attributes["signal"]) == {}


def test_user_of_a_lost_call_is_adopted_and_deleted(cloud: StackCloud, fake: FakeKeystone) -> None:
    lost = create(OS, cloud)
    view = make_context(OS, {}, cloud=cloud)
    found = OS.find(view)
    assert found == lost.physical_id
    again = OS.resume_create(replace(view, physical_id=found))
    assert again.physical_id == found
    assert again.data is not None
    assert fake.users[found or ""]["password"] == again.data["password"]
    assert again.data["password"] != lost.data["password"]
    context = make_context(OS, {}, Action.DELETE, physical_id=found, cloud=cloud)
    for _twice in range(2):
        assert OS.delete(context).observed is ObservedState.ABSENT
    assert OS.find(view) is None


def test_suspended_stack_disables_its_users(cloud: StackCloud, fake: FakeKeystone) -> None:
    result = create(OS, cloud)
    settings = {"physical_id": result.physical_id, "data": result.data, "cloud": cloud}
    OS.suspend(make_context(OS, {}, Action.SUSPEND, **settings))
    assert fake.users[result.physical_id]["enabled"] is False
    OS.resume(make_context(OS, {}, Action.RESUME, **settings))
    assert fake.users[result.physical_id]["enabled"] is True


Victim = tuple[StackUser, dict[str, Any]]


@pytest.fixture
def victim(service: ServiceAuth) -> Victim:
    """A user of another tree, and the data that a stranger's document claims for it."""
    users = cloud_with(service).users
    user = users.ensure_user("other-handle", users.ensure_project("another-tree"))
    return user, {"user_id": user.id, "project_id": user.project_id, "password": "guessed"}


@pytest.mark.parametrize("claimed_project", ["theirs", "own"])
def test_adopted_document_cannot_name_the_user_of_another_stack(
    cloud: StackCloud, fake: FakeKeystone, victim: Victim, claimed_project: str
) -> None:
    user, data = victim
    if claimed_project == "own":
        data = {**data, "project_id": cloud.users.ensure_project("tree")}
    adopted = make_context(OS, {}, Action.SUSPEND, physical_id=user.id, cloud=cloud, data=data)
    OS.suspend(adopted)
    assert "enabled" not in fake.users[user.id]
    OS.delete(replace(adopted, action=Action.DELETE))
    assert user.id in fake.users
    OS.delete(replace(adopted, action=Action.DELETE, data={}))
    assert user.id in fake.users
    assert verified_signal_user(adopted) == SignalUser("p")


@pytest.mark.parametrize(
    "data",
    [
        {"user_id": "u"},
        {"user_id": 5, "password": ["p"], "project_id": {}},
        {"user_id": "", "password": None},
        {"user_id": "../projects/x", "password": "p", "access": "a"},
    ],
)
def test_adopted_document_with_invalid_data_of_a_user_names_nobody(
    cloud: StackCloud, data: dict[str, Any]
) -> None:
    adopted = make_context(OS, {}, Action.DELETE, physical_id="u", cloud=cloud, data=data)
    assert verified_signal_user(adopted) == SignalUser("p")
    assert OS.delete(adopted).observed is ObservedState.ABSENT


def test_adopted_document_that_knows_the_password_may_act_on_the_user(
    cloud: StackCloud, fake: FakeKeystone, victim: Victim
) -> None:
    user, data = victim
    data["password"] = user.password
    adopted = make_context(OS, {}, Action.SUSPEND, physical_id=user.id, cloud=cloud, data=data)
    OS.suspend(adopted)
    assert fake.users[user.id]["enabled"] is False
    fake.users[user.id]["enabled"] = True
    OS.delete(replace(adopted, action=Action.DELETE))
    assert user.id not in fake.users


def test_error_without_an_endpoint_names_the_option(
    service: ServiceAuth, fake: FakeKeystone
) -> None:
    fake.trusts["t"] = {"id": "t", "trustor_user_id": "demo-id", "project_id": "p"}
    with pytest.raises(ResourceFailure, match="clients_heat"):
        create(OS, cloud_with(service, heat_url=None))


def test_error_without_a_domain_names_the_option(service: ServiceAuth) -> None:
    with pytest.raises(errors.MissingCredentialError, match="stack_user_domain_id"):
        create(OS, StackCloudCache(ClientSettings(), service, lambda _tree: None).get("tree"))


def test_without_keystone_signals_need_no_token() -> None:
    cloud = NoAuthCloud("http://127.0.0.1:8004/v1/%(tenant_id)s")
    found = create(OS, cloud).attributes
    assert found["token"] is None
    assert found["endpoint"].startswith("http://127.0.0.1:8004/v1/p/stacks/web/")
    assert "X-Auth-Token" not in found["curl_cli"]
    result = create(CFN, cloud)
    view = make_context(CFN, {}, Action.UPDATE, physical_id=result.physical_id, data=result.data)
    assert CFN.reference_id(view) == result.physical_id
