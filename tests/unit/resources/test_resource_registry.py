"""Tests of finding, listing and showing resource types."""

from __future__ import annotations

from importlib.metadata import EntryPoint
from typing import Any

import pytest
from stevedore import ExtensionManager
from stevedore.extension import Extension

from heat_convergence.common.errors import (
    EntityNotFound,
    HTTPBadRequest,
    NotSupported,
    StackValidationFailed,
)
from heat_convergence.resources import registry as registry_module
from heat_convergence.resources.builtin.delay import Delay
from heat_convergence.resources.builtin.none_resource import NoneResource
from heat_convergence.resources.builtin.random_string import RandomString
from heat_convergence.resources.builtin.value import Value
from heat_convergence.resources.protocol.schema import SupportLevel, SupportStatus, TypeSchema
from heat_convergence.resources.registry import (
    CATALOG_ENTRY_POINT_GROUP,
    ENTRY_POINT_GROUP,
    IncompleteInstallation,
    ResourceTypeRegistry,
)


class HiddenType(NoneResource):
    name = "OS::Test::Hidden"
    schema = TypeSchema(support_status=SupportStatus(SupportLevel.HIDDEN, version="1"))


class DeprecatedType(NoneResource):
    name = "OS::Test::Deprecated"
    schema = TypeSchema(support_status=SupportStatus(SupportLevel.DEPRECATED, version="5.0.0"))


REGISTRY = ResourceTypeRegistry.from_types(
    RandomString, HiddenType, DeprecatedType, NoneResource, Delay()
)


def test_types_are_found_by_name() -> None:
    assert isinstance(REGISTRY.get("OS::Heat::Delay"), Delay)
    assert isinstance(REGISTRY.get_for_template("OS::Test::Hidden"), HiddenType)
    assert REGISTRY.find("OS::Heat::Nothing") is None
    assert "OS::Heat::Delay" in REGISTRY
    assert "OS::Heat::Nothing" not in REGISTRY


def test_unknown_type_is_refused() -> None:
    with pytest.raises(EntityNotFound, match=r"Resource Type \(OS::Heat::Dely\)"):
        REGISTRY.get("OS::Heat::Dely")
    with pytest.raises(StackValidationFailed, match=r"Dely.*OS::Heat::Delay"):
        REGISTRY.get_for_template("OS::Heat::Dely")


@pytest.mark.parametrize(
    ("filters", "names"),
    [
        ({}, ["Heat::Delay", "Heat::None", "Heat::RandomString", "Test::Deprecated"]),
        ({"support_status": "hidden"}, ["Test::Hidden"]),
        ({"support_status": "DEPRECATED"}, ["Test::Deprecated"]),
        ({"support_status": "NONSENSE"}, []),
        ({"version": "5.0.0"}, ["Heat::None", "Test::Deprecated"]),
        ({"name": "OS::Heat::[RD]"}, ["Heat::Delay", "Heat::RandomString"]),
        ({"name": "Heat"}, []),
        ({"name": ".*String"}, ["Heat::RandomString"]),
        ({"name": "(("}, []),
        ({"name": "OS", "version": "5.0.0", "support_status": "SUPPORTED"}, ["Heat::None"]),
    ],
)
def test_types_are_filtered(filters: dict[str, Any], names: list[str]) -> None:
    assert REGISTRY.list_view(**filters) == [f"OS::{name}" for name in names]


def test_listing_with_descriptions() -> None:
    (shown,) = REGISTRY.list_view(with_description=True, name="OS::Heat::Delay")
    assert shown == {
        "resource_type": "OS::Heat::Delay",
        "description": Delay.schema.description,
    }


def test_duplicate_type_name_is_refused() -> None:
    class Other(Delay):
        pass

    with pytest.raises(ValueError, match=r"OS::Heat::Delay: .*Delay and .*Other"):
        ResourceTypeRegistry.from_types(Delay, Other)


def test_schema_view() -> None:
    context = REGISTRY.schema_view("OS::Heat::RandomString")
    assert context["resource_type"] == "OS::Heat::RandomString"
    assert set(context["properties"]) == {
        "length",
        "character_classes",
        "character_sequences",
        "salt",
    }  # not the hidden one
    length = dict(context["properties"]["length"])
    assert length.pop("description")
    assert length == {
        "type": "integer",
        "default": 32,
        "required": False,
        "constraints": [{"range": {"min": 1, "max": 512}}],
        "update_allowed": False,
        "immutable": False,
    }
    item = context["properties"]["character_classes"]["schema"]["*"]
    assert set(item["schema"]) == {"class", "min"}
    assert {name: item["type"] for name, item in context["attributes"].items()} == {
        "value": "string",
        "show": "map",
    }
    assert context["support_status"] == {
        "status": "SUPPORTED",
        "message": None,
        "version": "2014.1",
        "previous_status": None,
    }


def test_schema_view_of_a_hidden_type_is_refused() -> None:
    with pytest.raises(NotSupported, match="OS::Test::Hidden"):
        REGISTRY.schema_view("OS::Test::Hidden")
    with pytest.raises(EntityNotFound):
        REGISTRY.schema_view("OS::Test::Nothing")


def test_hot_template() -> None:
    template = REGISTRY.generate_template("OS::Heat::RandomString", "HOT")
    assert template["heat_template_version"] == "2016-10-14"
    assert template["resources"] == {
        "RandomString": {
            "type": "OS::Heat::RandomString",
            "properties": {name: {"get_param": name} for name in template["parameters"]},
        }
    }
    parameters = template["parameters"]
    assert parameters["length"]["type"] == "number"
    assert parameters["length"]["constraints"] == [{"range": {"min": 1, "max": 512}}]
    assert parameters["character_classes"]["type"] == "json"
    assert "sequence" not in parameters
    assert template["outputs"]["value"]["value"] == {"get_attr": ["RandomString", "value"]}


def test_default_generated_template_is_cfn() -> None:
    template = REGISTRY.generate_template("OS::Heat::Delay")
    assert template["HeatTemplateFormatVersion"] == "2012-12-12"
    parameters = template["Parameters"]
    assert (parameters["min_wait"]["Type"], parameters["min_wait"]["MinValue"]) == ("Number", 0)
    assert parameters["actions"]["Default"] == "CREATE"
    properties = template["Resources"]["Delay"]["Properties"]
    assert properties == {name: {"Ref": name} for name in parameters}
    assert template["Outputs"]["show"]["Value"] == {"Fn::GetAtt": ["Delay", "show"]}


def test_unknown_template_type_is_refused() -> None:
    with pytest.raises(HTTPBadRequest, match="tosca"):
        REGISTRY.generate_template("OS::Heat::Delay", "tosca")


def test_types_are_loaded_from_entry_points(monkeypatch: pytest.MonkeyPatch) -> None:
    namespaces = []
    unused: Any = None
    own = EntryPoint("some", "heat_convergence.resources.some:Some", ENTRY_POINT_GROUP)

    def manager(namespace: str, **options: Any) -> ExtensionManager[Any]:
        namespaces.append((namespace, options["invoke_on_load"]))
        if namespace == CATALOG_ENTRY_POINT_GROUP:
            loaded: list[Any] = [Extension("some", own, unused, iter([RandomString()]))]
        else:
            loaded = [
                Extension(resource_type.name, own, resource_type, resource_type())
                for resource_type in (Value, Delay)
            ]
        return ExtensionManager.make_test_instance(loaded, namespace=namespace)

    monkeypatch.setattr(registry_module, "ExtensionManager", manager)
    names = [item.name for item in ResourceTypeRegistry.load()]
    assert names == ["OS::Heat::Delay", "OS::Heat::RandomString", "OS::Heat::Value"]
    assert namespaces == [(ENTRY_POINT_GROUP, True), (CATALOG_ENTRY_POINT_GROUP, True)]


@pytest.mark.parametrize("module", ["heat_convergence.resources.some", "plugin.some"])
def test_only_plugins_may_be_missing(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, module: str
) -> None:
    found = EntryPoint("Some", f"{module}:Some", ENTRY_POINT_GROUP)

    def manager(namespace: str, **options: Any) -> ExtensionManager[Any]:
        options["on_load_failure_callback"](None, found, ImportError("no module"))
        own = EntryPoint("some", "heat_convergence.resources.some:Some", ENTRY_POINT_GROUP)
        loaded: list[Any] = [Extension("some", own, None, NoneResource())]
        if namespace == CATALOG_ENTRY_POINT_GROUP:
            loaded = [Extension("some", own, None, [])]
        return ExtensionManager.make_test_instance(loaded, namespace=namespace)

    monkeypatch.setattr(registry_module, "ExtensionManager", manager)
    if module.startswith("plugin"):
        assert [item.name for item in ResourceTypeRegistry.load()] == ["OS::Heat::None"]
        assert "plug-in cannot be loaded: plugin.some:Some" in caplog.text
    else:
        with pytest.raises(IncompleteInstallation, match="some:Some cannot be loaded"):
            ResourceTypeRegistry.load()


def test_installation_without_own_types_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def manager(namespace: str, **options: Any) -> ExtensionManager[Any]:
        return ExtensionManager.make_test_instance([], namespace=namespace)

    monkeypatch.setattr(registry_module, "ExtensionManager", manager)
    with pytest.raises(IncompleteInstallation, match="install the package again"):
        ResourceTypeRegistry.load()
