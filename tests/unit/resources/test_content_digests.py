"""The inputs on which the digest of a nested stack depends."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from heat_convergence.resources.aws.autoscaling.instance_group import InstanceGroup
from heat_convergence.resources.builtin.nested.resource_chain import ResourceChain
from heat_convergence.resources.builtin.nested.resource_group import ResourceGroup
from heat_convergence.resources.builtin.software.deployment_groups import SoftwareDeploymentGroup
from heat_convergence.resources.builtin.test_resource import TestResource
from heat_convergence.resources.nested.template_cache import TemplateCache, TemplateFiles
from heat_convergence.resources.openstack.heat.remote_stack import RemoteStack
from heat_convergence.resources.registry import ResourceTypeRegistry
from heat_convergence.stacks.goal.content_digests import ContentDigests
from heat_convergence.template.environment.environment import Environment
from heat_convergence.template.evaluation.resource_definition import ResourceDefinition
from heat_convergence.template.expression import Expression

Json = Any
REGISTRY = ResourceTypeRegistry.from_types(
    ResourceGroup, ResourceChain, SoftwareDeploymentGroup, InstanceGroup, TestResource, RemoteStack
)
PARAMETER = Expression("get_attr", "attr_optional_name", ["a", "output"])


def template(*types: Json, parameters: tuple[str, ...] = (), **properties: Json) -> str:
    resources = {
        f"r{at}": {"type": each, "properties": properties} for at, each in enumerate(types)
    }
    declared = {name: {"type": "string"} for name in parameters}
    return json.dumps(
        {
            "heat_template_version": "2021-04-16",
            "parameters": declared,
            "resources": resources,
        }
    )


class DigestInputs:
    """The inputs of a digest, in which one thing after the other is changed."""

    def __init__(
        self,
        files: Mapping[str, str],
        registry: Mapping[str, Json] | None = None,
        base: Mapping[str, Json] | None = None,
        implementation: str = "top.yaml",
        **properties: Json,
    ) -> None:
        self.files = dict(files)
        self.registry = dict(registry or {})
        self.base = dict(base or {})
        self.defaults: dict[str, Json] = {}
        self.implementation = implementation
        self.definition = ResourceDefinition(name="n", type="My::Type", properties=properties)

    def digest(self) -> str:
        base = Environment.parse({"resource_registry": self.base})
        environment = Environment.parse(
            {"resource_registry": self.registry, "parameter_defaults": self.defaults}, base=base
        )
        files = TemplateFiles.from_texts(self.files, TemplateCache())
        digests = ContentDigests(environment, files, REGISTRY)
        found = digests.content(self.definition, self.implementation)
        assert found == digests.content(self.definition, self.implementation)
        return found

    def depends_on(self, section: str, name: str, value: Json) -> bool:
        """Return whether the digest depends on an entry, which keeps its new value."""
        before = self.digest()
        getattr(self, section)[name] = value
        return self.digest() != before


def test_files_are_followed() -> None:
    source = DigestInputs({
        "top.yaml": template("middle.yaml"),
        "middle.yaml": template("top.yaml", value={"get_file": "script.sh"}),
        "script.sh": "echo",
        "other.yaml": template("OS::Heat::TestResource"),
    })  # fmt: skip
    assert source.depends_on("files", "script.sh", "echo again")
    assert source.depends_on("files", "middle.yaml", template("top.yaml"))
    assert not source.depends_on("files", "script.sh", "echo")
    assert not source.depends_on("files", "other.yaml", template())
    assert not source.depends_on("files", "new.yaml", template())


def test_entries_are_followed_through_all_levels() -> None:
    source = DigestInputs(
        {"top.yaml": template("A::B::C"), "leaf.yaml": template(), "unused.yaml": template()},
        registry={"A::B::*": "X::*", "Unused": "unused.yaml"},
        base={"X::C": "Y"},
    )
    assert not source.depends_on("files", "leaf.yaml", template("T"))
    assert source.depends_on("registry", "Y", "leaf.yaml")
    assert source.depends_on("files", "leaf.yaml", template("U"))
    assert source.depends_on("registry", "A::*", None)
    assert not source.depends_on("registry", "Other::*", "top.yaml")
    assert not source.depends_on("registry", "Unused", "leaf.yaml")
    assert not source.depends_on("files", "unused.yaml", template("T"))


def test_entries_for_resources_inside_are_followed() -> None:
    inner = {"n": {"r0": {"A": "leaf.yaml"}}}
    source = DigestInputs(
        {"top.yaml": template("A"), "leaf.yaml": template()}, registry={"resources": inner}
    )
    assert source.depends_on("files", "leaf.yaml", template("T"))
    assert source.depends_on("registry", "resources", {"n": {"r0": {"A": "top.yaml"}}})
    assert not source.depends_on("registry", "resources", {"n": {"r0": {"A": "top.yaml"}},
                                                           "m": {"A": "leaf.yaml"}})  # fmt: skip


def test_defaults_of_declared_parameters_are_followed() -> None:
    source = DigestInputs({
        "top.yaml": template("leaf.yaml", parameters=("a",)),
        "leaf.yaml": template(parameters=("b", "kinds")),
        "mapped.yaml": template(parameters=("c",)),
    }, registry={"M": "mapped.yaml"})  # fmt: skip
    assert not source.depends_on("defaults", "c", "new")
    assert source.depends_on("defaults", "a", "new")
    assert source.depends_on("defaults", "b", "new")
    assert source.depends_on("defaults", "kinds", [{"role": "M"}])
    assert source.depends_on("defaults", "c", "newer")
    assert source.depends_on("files", "mapped.yaml", template())


COMPUTED = {"get_param": "kind"}


@pytest.mark.parametrize(
    "top",
    [
        template(COMPUTED),
        template("OS::Heat::ResourceGroup", resource_def={"type": COMPUTED}),
        template("OS::Heat::ResourceGroup", resource_def=COMPUTED),
        template("OS::Heat::AutoScalingGroup", resource=COMPUTED),
        template("OS::Heat::ResourceChain", resources=COMPUTED),
        template("OS::Heat::ResourceChain", resources=["A", COMPUTED]),
        template("OS::Heat::InstanceGroup"),
    ],
    ids=["type", "member", "definition", "scaled", "chain", "part of chain", "any type"],
)
def test_all_entries_count_where_types_are_computed(top: str) -> None:
    source = DigestInputs(
        {"top.yaml": top, "mapped.yaml": template()}, registry={"M": "mapped.yaml"}
    )
    assert source.depends_on("files", "mapped.yaml", template(parameters=("d",)))
    assert source.depends_on("registry", "N", "M")
    assert source.depends_on("defaults", "d", "new")
    assert not source.depends_on("defaults", "e", "new")
    assert not source.depends_on("files", "other.yaml", template())


@pytest.mark.parametrize(
    "properties",
    [{"resource_def": {"type": PARAMETER}}, {"resource_def": PARAMETER}, {"resources": PARAMETER}],
    ids=["member", "definition", "chain"],
)
def test_all_entries_count_where_properties_compute_types(properties: Json) -> None:
    source = DigestInputs({}, implementation="OS::Heat::ResourceGroup", **properties)
    assert source.depends_on("registry", "N", "M")
    named = DigestInputs({}, implementation="OS::Heat::ResourceGroup", resource_def={"type": "A"})
    assert not named.depends_on("registry", "N", "M")
    assert named.depends_on("registry", "A", "M")


def test_types_that_a_group_generates_are_followed() -> None:
    source = DigestInputs({}, implementation="OS::Heat::SoftwareDeploymentGroup")
    assert source.depends_on("registry", "OS::Heat::SoftwareDeployment", "M")
    assert not source.depends_on("registry", "OS::Heat::StructuredDeployment", "M")


def test_all_counts_where_it_is_sent_to_another_service() -> None:
    source = DigestInputs({"top.yaml": template("OS::Heat::Stack")})
    assert source.depends_on("files", "other.yaml", template())
    assert source.depends_on("defaults", "d", "new")
    assert source.depends_on("registry", "N", "M")
