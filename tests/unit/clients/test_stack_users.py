"""Users of stacks, their keys, and URLs signed with them."""

from __future__ import annotations

from urllib.parse import parse_qsl, unquote, urlsplit

import pytest

from heat_convergence.clients import signed_urls
from heat_convergence.clients.settings import ClientSettings
from heat_convergence.clients.signed_urls import Ec2SignatureVerifier
from heat_convergence.clients.stack_users import Ec2Keys, StackUsers
from heat_convergence.common import errors

URL = "http://Heat.Example:8004/v1/signal/arn%3Aopenstack%3Aheat%3A%3Ap%3Astacks/s/1/resources/h"
HOW = ClientSettings(
    stack_user_domain_id="heat-domain",
    stack_domain_admin="domain_admin",
    stack_domain_admin_password="admin-password",
)


@pytest.fixture
def users(service):
    return StackUsers(HOW, service)


def sent(url, verb="POST"):
    """What a server makes of a request for the URL."""
    parts = urlsplit(url)
    query = dict(parse_qsl(parts.query))
    return signed_urls.ec2_credentials(verb, parts.netloc.lower(), unquote(parts.path), query)


def test_a_stack_has_one_project(users, fake):
    made = users.ensure_project("tree")
    assert users.ensure_project("tree") == made
    assert users.ensure_project("other") != made
    assert fake.projects[made]["domain_id"] == "heat-domain"
    users.delete_project(made)
    users.delete_project(made)
    assert made not in fake.projects


def test_a_user_has_one_role_in_it(users, fake):
    project_id = users.ensure_project("tree")
    made = users.ensure_user("tree-handle", project_id)
    assert fake.users[made.id]["password"] == made.password
    assert made.password not in repr(made)
    assert fake.grants == {(project_id, made.id, "role-heat_stack_user")}
    users.delete_user(made.id)
    users.delete_user(made.id)
    assert made.id not in fake.users


def test_a_user_of_a_lost_call_is_taken_on_with_a_new_password(users, fake):
    project_id = users.ensure_project("tree")
    lost = users.ensure_user("tree-handle", project_id)
    found = users.ensure_user("tree-handle", project_id)
    assert found.id == lost.id
    assert fake.users[found.id]["password"] == found.password != lost.password


def test_a_signed_url_is_its_users(users, fake, service):
    user = users.ensure_user("tree-handle", users.ensure_project("tree"))
    keys = users.create_ec2_keys(user)
    assert keys.secret not in repr(keys)
    url = signed_urls.sign_url(URL, keys)
    assert keys.secret not in url
    signer = Ec2SignatureVerifier(HOW, service).identify_signer(sent(url))
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
def test_a_changed_request_is_refused(users, service, changed):
    user = users.ensure_user("tree-handle", users.ensure_project("tree"))
    url = signed_urls.sign_url(URL, users.create_ec2_keys(user))
    with pytest.raises(errors.AuthorizationFailure, match="signature"):
        Ec2SignatureVerifier(HOW, service).identify_signer({**sent(url), **changed})


def test_the_signature_is_that_of_the_specification():
    """Amazon's own example of version 2."""
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


def test_an_unsigned_request_has_no_credentials():
    assert signed_urls.ec2_credentials("POST", "h", "/", {"a": "b"}) is None
    assert signed_urls.ec2_credentials("POST", "h", "/", {"Signature": "b"}) is None


def test_without_a_domain_stacks_have_no_users(service):
    with pytest.raises(errors.MissingCredentialError, match="stack_user_domain_id"):
        StackUsers(ClientSettings(), service).ensure_project("tree")


def test_a_domain_by_its_name(service, fake):
    by_name = ClientSettings(
        stack_user_domain_name="heat",
        stack_domain_admin="domain_admin",
        stack_domain_admin_password="admin-password",
    )
    made = StackUsers(by_name, service).ensure_project("tree")
    assert fake.projects[made]["domain_id"] == "heat-domain"


def test_keys_show_no_secret():
    assert "hidden-one" not in repr(Ec2Keys("a", "hidden-one"))


def test_a_user_is_found_by_its_name(users):
    assert users.find_user("tree-handle") is None
    made = users.ensure_user("tree-handle", users.ensure_project("tree"))
    assert users.find_user("tree-handle") == made.id


def test_a_user_may_be_kept_out_and_let_in(users, fake):
    made = users.ensure_user("tree-handle", users.ensure_project("tree"))
    users.set_user_enabled(made.id, enabled=False)
    assert fake.users[made.id]["enabled"] is False
    users.set_user_enabled(made.id, enabled=True)
    assert fake.users[made.id]["enabled"] is True


def test_a_users_token_is_of_its_project(users, fake):
    made = users.ensure_user("tree-handle", users.ensure_project("tree"))
    token = users.issue_token(made)
    assert fake.tokens[token] == {"user_id": made.id, "project_id": made.project_id}
