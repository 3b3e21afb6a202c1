"""The drift policy that counts for a resource, and what it lets a traversal restore."""

from __future__ import annotations

import pytest

from heat_convergence.conf import drift as options
from heat_convergence.convergence.drift.policy import (
    AUTOMATIC_REPAIR,
    OperatorPolicies,
    ResourcePolicy,
    is_restored,
    resolve_policy,
    select_restorable,
)
from heat_convergence.template.environment.drift_policies import DriftPolicy

IGNORE, REPORT, REPAIR, OBSERVE_ONLY = DriftPolicy
SERVER = "OS::Nova::Server"
OPERATOR = OperatorPolicies(REPORT, (("OS::*", OBSERVE_ONLY), ("OS::Nova::*", REPAIR)))


def test_options_know_the_same_words():
    assert tuple(DriftPolicy) == options.POLICIES


@pytest.mark.parametrize(
    ("type_name", "policy"),
    [(SERVER, REPAIR), ("OS::Neutron::Port", OBSERVE_ONLY), ("AWS::EC2::Instance", REPORT)],
)
def test_longest_pattern_of_the_operator_counts(type_name, policy):
    assert OPERATOR.of_type(type_name) is policy


def test_exact_type_of_the_operator_counts_before_patterns():
    policies = OperatorPolicies(REPORT, ((SERVER, IGNORE), (f"{SERVER}*", REPAIR)))
    assert policies.of_type(SERVER) is IGNORE


@pytest.mark.parametrize(
    ("words", "of_stack", "policy"),
    [
        ((), None, REPAIR),
        ((), REPORT, REPORT),
        (("drift=ignore",), REPORT, IGNORE),
        (("pre-create", "drift=later-word"), OBSERVE_ONLY, OBSERVE_ONLY),
    ],
)
def test_environment_counts_before_stack_and_stack_before_operator(words, of_stack, policy):
    assert resolve_policy(words, of_stack, SERVER, OPERATOR).of_resource is policy


def test_policy_of_a_property_counts_before_that_of_the_resource():
    found = resolve_policy(["drift=repair", "drift.metadata=ignore"], None, SERVER, OPERATOR)
    assert found.of_property("metadata") is IGNORE
    assert found.of_property("name") is REPAIR


@pytest.mark.parametrize(
    ("names", "policy"),
    [
        ([], REPORT),
        (["name"], REPORT),
        (["tags"], REPAIR),
        (["metadata", "tags"], REPAIR),
        (["metadata"], OBSERVE_ONLY),
        (["metadata", "name"], REPORT),
    ],
)
def test_strongest_policy_of_the_properties_that_differ_counts(names, policy):
    policies = ResourcePolicy(REPORT, {"tags": REPAIR, "metadata": OBSERVE_ONLY})
    assert policies.of_difference(names) is policy


def test_property_of_an_observed_resource_is_ignored_or_observed():
    policies = ResourcePolicy(OBSERVE_ONLY, {"tags": REPAIR, "metadata": IGNORE})
    assert policies.of_property("tags") is OBSERVE_ONLY
    assert policies.of_property("metadata") is IGNORE


@pytest.mark.parametrize(
    ("words", "restored"),
    [
        ((), {"name", "tags"}),
        (("drift=repair", "drift.tags=ignore"), {"name"}),
        (("drift.name=observe-only", "drift.tags=report"), {"tags"}),
        (("drift=observe-only",), set()),
        (("drift=observe-only", "drift.tags=repair"), set()),
        ((f"{AUTOMATIC_REPAIR}repair", "drift.tags=report"), {"name"}),
        ((f"{AUTOMATIC_REPAIR}report", "drift.tags=repair"), {"tags"}),
    ],
)
def test_policies_decide_which_properties_are_restored(words, restored):
    assert select_restorable(words, ["name", "tags"]) == restored


@pytest.mark.parametrize(
    ("words", "restored"),
    [
        ((), True),
        (("drift=report",), True),
        (("drift=ignore",), False),
        (("drift=observe-only",), False),
        (("drift=observe-only", "drift.tags=repair"), False),
    ],
)
def test_nothing_is_restored_of_a_resource_that_is_only_observed(words, restored):
    assert is_restored(words) is restored
