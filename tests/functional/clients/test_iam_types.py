"""Users and keys that templates declare, against a fake Keystone."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from heat_convergence.clients.auth import ServiceAuth
from heat_convergence.clients.clouds import StackCloud
from heat_convergence.common import errors
from heat_convergence.convergence.model.action import Action
from heat_convergence.convergence.model.job import ObservedState
from heat_convergence.resources.aws.iam.access_keys import AccessKey
from heat_convergence.resources.aws.iam.users import AccessPolicy, IamUser
from heat_convergence.resources.protocol.verb_values import VerbResult
from tests.functional.clients.fake_keystone import FakeKeystone
from tests.functional.clients.test_signal_users import cloud_with
from tests.unit.resources.conftest import make_context

USER, KEY = IamUser(), AccessKey()


@pytest.fixture
def cloud(service: ServiceAuth) -> StackCloud:
    return cloud_with(service)


def create_user(cloud: Any, **properties: Any) -> VerbResult:
    return USER.create(make_context(USER, properties, cloud=cloud))


def create_key(cloud: Any, name: str = "web-r-0123456789ab") -> VerbResult:
    return KEY.create(make_context(KEY, {"UserName": name}, cloud=cloud))


def test_user_has_the_password_of_the_template(cloud: StackCloud, fake: FakeKeystone) -> None:
    result = create_user(cloud, LoginProfile={"Password": "from-template"}, Policies=[{"a": 1}])
    assert fake.users[str(result.physical_id)]["password"] == "from-template"
    context = make_context(USER, {}, Action.UPDATE, physical_id=result.physical_id)
    assert USER.reference_id(context) == context.physical_name
    policy = make_context(AccessPolicy(), {"AllowedResources": ["x"]})
    assert AccessPolicy().reference_id(policy) == "r"


def test_policy_that_is_none_is_refused(cloud: StackCloud) -> None:
    other = make_context(USER, {})
    properties = {"Policies": ["other", "p"]}
    policy = make_context(AccessPolicy(), {"AllowedResources": []})
    allowed = replace(
        make_context(USER, properties, cloud=cloud),
        dependencies={"p": replace(policy, type="OS::Heat::AccessPolicy")},
    )
    assert USER.create(allowed).observed is ObservedState.READY
    refused = replace(allowed, dependencies={"other": other})
    with pytest.raises(errors.InvalidTemplateAttribute):
        USER.create(refused)


def test_key_belongs_to_the_user_and_is_found_again(cloud: StackCloud, fake: FakeKeystone) -> None:
    user_id = create_user(cloud).physical_id
    result = create_key(cloud)
    access = str(result.physical_id)
    assert fake.ec2[access]["user_id"] == user_id
    context = make_context(
        KEY,
        {"UserName": "u"},
        Action.UPDATE,
        physical_id=access,
        data=result.data,
        cloud=cloud,
    )
    assert KEY.attribute(context, "SecretAccessKey") == fake.ec2[access]["secret"]
    assert KEY.find(make_context(KEY, {"UserName": "u"}, cloud=cloud)) == access
    again = KEY.resume_create(
        make_context(KEY, {"UserName": "u"}, physical_id=access, cloud=cloud)
    )
    assert again.data == result.data
    assert KEY.delete(replace(context, action=Action.DELETE)).observed is ObservedState.ABSENT
    assert access not in fake.ec2
    KEY.delete(replace(context, action=Action.DELETE))


def test_user_may_have_several_keys(cloud: StackCloud, fake: FakeKeystone) -> None:
    """Heat refuses the second key of a user."""
    user_id = create_user(cloud).physical_id
    context = make_context(KEY, {"UserName": "web-r-0123456789ab"}, cloud=cloud)
    first, second = (
        str(KEY.create(replace(context, resource_id=name)).physical_id)
        for name in ("key-1", "key-2")
    )
    assert first != second
    assert {fake.ec2[each]["user_id"] for each in (first, second)} == {user_id}


def test_key_of_another_tree_is_neither_created_read_nor_deleted(
    cloud: StackCloud, service: ServiceAuth, fake: FakeKeystone
) -> None:
    create_user(cloud)
    access = str(create_key(cloud).physical_id)
    other = replace_tree(cloud, "other-tree")
    foreign = make_context(
        KEY, {"UserName": "web-r-0123456789ab"}, physical_id=access, cloud=other
    )
    assert KEY.find(foreign) is None
    with pytest.raises(errors.AuthorizationFailure):
        KEY.create(foreign)
    KEY.delete(replace(foreign, action=Action.DELETE))
    assert access in fake.ec2


def test_key_of_nobody_is_refused(cloud: StackCloud) -> None:
    with pytest.raises(errors.AuthorizationFailure):
        create_key(cloud, "nobody")


def test_without_keystone_there_is_a_key_without_secret() -> None:
    result = create_key(None)
    context = make_context(KEY, {"UserName": "u"}, Action.UPDATE, data=result.data)
    assert KEY.attribute(context, "SecretAccessKey") == "000-000-000"
    assert KEY.attribute(context, "UserName") == "u"


class _OtherTree:
    def __init__(self, cloud: StackCloud, tree_id: str) -> None:
        self.users, self.tree_id = cloud.users, tree_id


def replace_tree(cloud: StackCloud, tree_id: str) -> Any:
    return _OtherTree(cloud, tree_id)
