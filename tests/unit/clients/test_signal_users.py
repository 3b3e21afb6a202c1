"""Who is let in to signal a resource, and what is handed to them, by a fake Keystone."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

from heat_convergence.api.middleware import ec2_signature
from heat_convergence.clients.clouds import StackCloudCache
from heat_convergence.clients.credentials import Credential
from heat_convergence.clients.endpoints import NoAuthCloud
from heat_convergence.clients.settings import ClientSettings, DeferredAuthMethod
from heat_convergence.clients.signed_urls import Ec2SignatureVerifier
from heat_convergence.common import errors
from heat_convergence.convergence.model.action import Action
from heat_convergence.convergence.model.job import ObservedState
from heat_convergence.resources.builtin.signals.wait_condition_handles import (
    CfnWaitConditionHandle,
    WaitConditionHandle,
)
from tests.unit.clients.test_stack_users import HOW, sent
from tests.unit.resources.conftest import make_context

NOW = datetime(2026, 1, 1, tzinfo=UTC)
NATIVE = (
    "http://heat.example:8004/v1/{}/stacks/web/1b4e28ba-2fa1-11d2-883f-0016d3cca427"
    "/resources/r/signal"
)
OS, CFN = WaitConditionHandle(), CfnWaitConditionHandle()


@pytest.fixture
def cloud(service):
    return cloud_with(service)


def cloud_with(service, **more: Any):
    given = {"heat_url": "http://heat.example:8004/v1/%(tenant_id)s", "region": "R", **more}
    found = Credential(DeferredAuthMethod.TRUSTS, "demo-id", "p", {"trust_id": "t"})
    return StackCloudCache(replace(HOW, **given), service, lambda _tree: found).get("tree")


def make(kind, cloud, **properties):
    return kind.create(make_context(kind, properties, cloud=cloud))


def test_a_token_and_where_to_use_it(cloud, fake):
    look = make(OS, cloud)
    user_id = look.physical_id
    project_id = look.data["project_id"]
    found = look.attributes
    assert fake.tokens[found["token"]] == {"user_id": user_id, "project_id": project_id}
    assert found["endpoint"] == NATIVE.format(project_id)
    assert found["curl_cli"] == (
        f"curl -i -X POST -H 'X-Auth-Token: {found['token']}' -H 'Content-Type:"
        f" application/json' -H 'Accept: application/json' {found['endpoint']}"
    )
    told = json.loads(found["signal"])
    assert told == {"alarm_url": found["endpoint"], "auth_token": found["token"]}
    assert (project_id, user_id, "role-heat_stack_user") in fake.grants
    view = make_context(OS, {}, Action.UPDATE, physical_id=user_id, data=look.data)
    assert OS.reference_id(view) == user_id


def test_curl_is_told_not_to_verify_where_the_service_does_not(service):
    found = make(OS, cloud_with(service, verify=False)).attributes
    assert found["curl_cli"].startswith("curl --insecure -i -X POST ")


def test_a_password_and_where_to_log_in(cloud, fake):
    look = make(OS, cloud, signal_transport="HEAT_SIGNAL")
    told = json.loads(look.attributes["signal"])
    assert told == {
        "alarm_url": NATIVE.format(look.data["project_id"]),
        "auth_url": fake.url,
        "username": "web-r-0123456789ab",
        "user_id": look.physical_id,
        "password": fake.users[look.physical_id]["password"],
        "project_id": look.data["project_id"],
        "domain_id": "heat-domain",
        "region_name": "R",
    }
    assert OS.attribute(make_context(OS, {}, attributes=look.attributes), "token") is None


def test_a_signed_url_reaches_the_resource_as_the_user(cloud, fake, service):
    for kind, properties in ((OS, {"signal_transport": "CFN_SIGNAL"}), (CFN, {})):
        look = make(kind, cloud, **properties)
        view = make_context(kind, properties, Action.UPDATE, physical_id="u", data=look.data)
        url = (
            kind.reference_id(view)
            if kind is CFN
            else json.loads(look.attributes["signal"])["alarm_url"]
        )
        signer = Ec2SignatureVerifier(HOW, service).identify_signer(sent(url, "PUT"))
        assert (signer.user_id, signer.project_name) == (look.physical_id, "tree")
        called = ec2_signature._PATH.fullmatch(unquote(urlsplit(url).path))
        arn = ec2_signature._ARN.fullmatch(called["arn"])
        assert (arn["stack"], arn["resource"]) == (f"web/{view.stack_id}", "r")
        OS.delete(replace(view, action=Action.DELETE, cloud=cloud))


def test_signed_urls_may_have_an_address_of_their_own(service):
    where = "http://cfn.example:8000/v1/waitcondition"
    look = make(CFN, cloud_with(service, waitcondition_url=where))
    assert look.data["url"].startswith(f"{where}/arn%3Aopenstack%3Aheat%3A%3Ap%3Astacks/web/")


def test_nobody_is_let_in_where_nobody_signals(cloud, fake):
    before = set(fake.users)
    look = make(OS, cloud, signal_transport="NO_SIGNAL")
    assert set(fake.users) == before
    assert json.loads(look.attributes["signal"]) == {}


def test_the_user_of_a_lost_call_is_taken_on_and_deleted(cloud, fake):
    lost = make(OS, cloud)
    view = make_context(OS, {}, cloud=cloud)
    found = OS.find(view)
    assert found == lost.physical_id
    again = OS.resume_create(replace(view, physical_id=found))
    assert again.physical_id == found
    assert fake.users[found]["password"] == again.data["password"] != lost.data["password"]
    gone = make_context(OS, {}, Action.DELETE, physical_id=found, cloud=cloud)
    for _twice in range(2):
        assert OS.delete(gone).observed is ObservedState.ABSENT
    assert OS.find(view) is None


def test_a_stack_that_sleeps_lets_nobody_in(cloud, fake):
    look = make(OS, cloud)
    given = {"physical_id": look.physical_id, "data": look.data, "cloud": cloud}
    OS.suspend(make_context(OS, {}, Action.SUSPEND, **given))
    assert fake.users[look.physical_id]["enabled"] is False
    OS.resume(make_context(OS, {}, Action.RESUME, **given))
    assert fake.users[look.physical_id]["enabled"] is True


def test_without_an_address_it_says_what_to_set(service, fake):
    fake.trusts["t"] = {"id": "t", "trustor_user_id": "demo-id", "project_id": "p"}
    with pytest.raises(errors.ResourceFailure, match="clients_heat"):
        make(OS, cloud_with(service, heat_url=None))


def test_without_a_domain_it_says_what_to_set(service):
    with pytest.raises(errors.MissingCredentialError, match="stack_user_domain_id"):
        make(OS, StackCloudCache(ClientSettings(), service, lambda _tree: None).get("tree"))


def test_without_keystone_a_signal_is_a_request_like_any_other():
    cloud = NoAuthCloud("http://127.0.0.1:8004/v1/%(tenant_id)s")
    found = make(OS, cloud).attributes
    assert found["token"] is None
    assert found["endpoint"].startswith("http://127.0.0.1:8004/v1/p/stacks/web/")
    assert "X-Auth-Token" not in found["curl_cli"]
    look = make(CFN, cloud)
    view = make_context(CFN, {}, Action.UPDATE, physical_id=look.physical_id, data=look.data)
    assert CFN.reference_id(view) == look.physical_id
