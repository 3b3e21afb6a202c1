"""Users of stacks, their keys, and URLs signed with the keys."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import pytest

from heat_convergence.clients import signed_urls
from heat_convergence.clients.auth import ServiceAuth
from heat_convergence.clients.login.identity_probe import IdentityProbe
from heat_convergence.clients.settings import ClientSettings
from heat_convergence.clients.signed_urls import Ec2SignatureVerifier
from heat_convergence.clients.stack_users import Ec2Keys, StackUser, StackUsers
from heat_convergence.common import errors
from tests.functional.clients.fake_keystone import FakeKeystone

URL = "http://Heat.Example:8004/v1/signal/arn%3Aopenstack%3Aheat%3A%3Ap%3Astacks/s/1/resources/h"
SETTINGS = ClientSettings(
    stack_user_domain_id="heat-domain",
    stack_domain_admin="domain_admin",
    stack_domain_admin_password="admin-password",
)


@pytest.fixture
def users(service: ServiceAuth) -> StackUsers:
    return StackUsers(SETTINGS, service)


def signed_request(url: str, http_method: str = "POST") -> dict[str, Any]:
    """Return the credentials of a request to the URL, as a server derives them."""
    parts = urlsplit(url)
    query = dict(parse_qsl(parts.query))
    credentials = signed_urls.ec2_credentials(
        http_method, parts.netloc.lower(), unquote(parts.path), query
    )
    assert credentials is not None
    return credentials


def test_stack_tree_has_one_project(users: StackUsers, fake: FakeKeystone) -> None:
    created = users.ensure_project("tree")
    assert users.ensure_project("tree") == created
    assert users.ensure_project("other") != created
    assert fake.projects[created]["domain_id"] == "heat-domain"
    users.delete_all("tree")
    users.delete_all("tree")
    assert created not in fake.projects


def test_user_has_one_role_in_the_project(users: StackUsers, fake: FakeKeystone) -> None:
    project_id = users.ensure_project("tree")
    created = users.ensure_user("tree-handle", project_id)
    assert fake.users[created.id]["password"] == created.password
    assert created.password not in repr(created)
    assert fake.grants == {(project_id, created.id, "role-heat_stack_user")}
    users.delete_user(created.id)
    users.delete_user(created.id)
    assert created.id not in fake.users


def test_user_of_a_lost_call_gets_a_new_password(users: StackUsers, fake: FakeKeystone) -> None:
    project_id = users.ensure_project("tree")
    lost = users.ensure_user("tree-handle", project_id)
    found = users.ensure_user("tree-handle", project_id)
    assert found.id == lost.id
    assert fake.users[found.id]["password"] == found.password != lost.password


def test_signed_url_identifies_its_user(
    users: StackUsers, fake: FakeKeystone, service: ServiceAuth
) -> None:
    user = users.ensure_user("tree-handle", users.ensure_project("tree"))
    keys = users.create_ec2_keys(user)
    assert keys.secret not in repr(keys)
    url = signed_urls.sign_url(URL, keys)
    assert keys.secret not in url
    signer = Ec2SignatureVerifier(SETTINGS, service).identify_signer(signed_request(url))
    assert (signer.user_id, signer.project_id) == (user.id, user.project_id)
    assert (signer.project_name, signer.project_domain_id) == ("tree", "heat-domain")
    assert signer.roles == ("heat_stack_user",)


@pytest.mark.parametrize(
    "changed",
    [
        {"verb": "PUT"},
        {"path": "/v1/signal/another"},
        {"access": "nobody"},
        {"signature": "x"},
        {"host": "elsewhere"},
    ],
)
def test_modified_request_is_rejected(
    users: StackUsers, service: ServiceAuth, changed: dict[str, str]
) -> None:
    user = users.ensure_user("tree-handle", users.ensure_project("tree"))
    url = signed_urls.sign_url(URL, users.create_ec2_keys(user))
    with pytest.raises(errors.AuthorizationFailure, match="signature"):
        Ec2SignatureVerifier(SETTINGS, service).identify_signer({**signed_request(url), **changed})


def test_signature_matches_the_specification() -> None:
    """Check Amazon's own example of version 2."""
    query = {
        "AWSAccessKeyId": "AKIAIOSFODNN7EXAMPLE",
        "Action": "DescribeJobFlows",
        "SignatureMethod": "HmacSHA256",
        "SignatureVersion": "2",
        "Timestamp": "2011-10-03T15:19:30",
        "Version": "2009-03-31",
    }
    found = signed_urls.compute_signature(
        "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
        "GET",
        "elasticmapreduce.amazonaws.com",
        "/",
        query,
    )
    assert found == "i91nKc4PWAt0JJIdXwz9HxZCJDdiy6cf/Mj6vPxyYIs="


def test_an_unsigned_request_has_no_credentials() -> None:
    assert signed_urls.ec2_credentials("POST", "h", "/", {"a": "b"}) is None
    assert signed_urls.ec2_credentials("POST", "h", "/", {"Signature": "b"}) is None


@pytest.mark.parametrize("missing", ["SignatureVersion", "SignatureMethod"])
def test_signature_without_its_version_or_method_is_no_signature(missing: str) -> None:
    query = {
        "Signature": "b",
        "AWSAccessKeyId": "a",
        "SignatureVersion": "2",
        "SignatureMethod": "HmacSHA256",
    }
    assert signed_urls.ec2_credentials("POST", "h", "/", query) is not None
    del query[missing]
    assert signed_urls.ec2_credentials("POST", "h", "/", query) is None


def test_users_require_a_configured_domain(service: ServiceAuth) -> None:
    with pytest.raises(errors.MissingCredentialError, match="stack_user_domain_id"):
        StackUsers(ClientSettings(), service).ensure_project("tree")


def test_domain_may_be_configured_by_name(service: ServiceAuth, fake: FakeKeystone) -> None:
    by_name = ClientSettings(
        stack_user_domain_name="heat",
        stack_domain_admin="domain_admin",
        stack_domain_admin_password="admin-password",
    )
    created = StackUsers(by_name, service).ensure_project("tree")
    assert fake.projects[created]["domain_id"] == "heat-domain"


def test_check_of_the_domain_finds_it(service: ServiceAuth) -> None:
    """Keystone refuses an empty name."""
    assert IdentityProbe(SETTINGS, service).check_stack_domain() == "heat-domain"


def test_repr_of_keys_shows_no_secret() -> None:
    assert "hidden-one" not in repr(Ec2Keys("a", "hidden-one"))


def test_find_user_by_name(users: StackUsers) -> None:
    assert users.find_user("tree-handle") is None
    created = users.ensure_user("tree-handle", users.ensure_project("tree"))
    assert users.find_user("tree-handle") == created.id


def test_user_can_be_disabled_and_enabled(users: StackUsers, fake: FakeKeystone) -> None:
    created = users.ensure_user("tree-handle", users.ensure_project("tree"))
    users.set_user_enabled(created.id, enabled=False)
    assert fake.users[created.id]["enabled"] is False
    users.set_user_enabled(created.id, enabled=True)
    assert fake.users[created.id]["enabled"] is True


def test_token_of_a_user_is_scoped_to_its_project(users: StackUsers, fake: FakeKeystone) -> None:
    created = users.ensure_user("tree-handle", users.ensure_project("tree"))
    token = users.issue_token(created)
    assert fake.tokens[token] == {"user_id": created.id, "project_id": created.project_id}


OTHER_DOMAINS_USER = "demo-id"


def test_user_of_another_domain_is_not_changed(users: StackUsers, fake: FakeKeystone) -> None:
    project_id = users.ensure_project("tree")
    fake.grants.add((project_id, OTHER_DOMAINS_USER, "role-member"))  # of an operator
    with pytest.raises(errors.AuthorizationFailure, match="not in the domain"):
        users.set_user_enabled(OTHER_DOMAINS_USER, enabled=False)
    users.delete_user(OTHER_DOMAINS_USER)
    users.delete_all("tree")
    assert "enabled" not in fake.users[OTHER_DOMAINS_USER]
    assert project_id not in fake.projects


def test_own_project_does_not_make_a_user_of_another_domain_the_trees(
    users: StackUsers, fake: FakeKeystone
) -> None:
    project_id = users.ensure_project("tree")
    fake.users[OTHER_DOMAINS_USER]["default_project_id"] = project_id
    claimed = StackUser(OTHER_DOMAINS_USER, project_id, "guessed")
    assert not users.owns("tree", claimed)


@pytest.mark.parametrize("user_id", ["../projects/{}", "x/../../projects/{}", "{}?a=b", ".."])
def test_id_of_a_user_is_one_part_of_a_path(
    users: StackUsers, fake: FakeKeystone, user_id: str
) -> None:
    project_id = users.ensure_project("tree")
    claimed = StackUser(user_id.format(project_id), project_id, "guessed")
    assert not users.owns("tree", claimed)
    users.delete_user(claimed.id)
    assert project_id in fake.projects
