"""``import-heat --verify`` prints each difference between the views of two services.

Both services are in this process and have imported the same database; one stands for Heat.
"""

from __future__ import annotations

import argparse
import json
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import requests

from heat_convergence.cli.manage import heat_verify_commands, main
from heat_convergence.cli.manage.heat_verify_commands import verify_heat, verify_project
from heat_convergence.common.errors import Invalid
from heat_convergence.heat_import.heat_values import INTERRUPTED
from heat_convergence.heat_import.verification import view_client
from heat_convergence.heat_import.verification.differences import (
    ABSENT,
    Difference,
    find_differences,
)
from heat_convergence.heat_import.verification.known_differences import find_reason
from heat_convergence.heat_import.verification.verifier import VerifiedStack, verify_stacks
from heat_convergence.heat_import.verification.view_client import (
    ViewClient,
    ViewError,
    ViewResponse,
)
from tests.functional.harness import LocalService
from tests.functional.heat_import.heat_source import PROJECT, import_all, write_heat_database

URLS = ("http://heat:8004/v1", "http://own:8005/v1")
ResponseEdit = Callable[[str, Any], Any]


def create_client(
    service: LocalService, address: str, change: ResponseEdit = lambda path, body: body
) -> ViewClient:
    """Return a client of a service, whose responses a function may change."""
    url = f"{address}/{PROJECT}"

    def fetch(target: str) -> ViewResponse:
        path = target.removeprefix(url)
        answer = service.send("GET", path, project=PROJECT)
        text = answer.text.replace(f"http://localhost/v1/{PROJECT}", url)
        return ViewResponse(answer.status_int, change(path, json.loads(text)))

    return ViewClient(url, fetch)


@pytest.fixture(scope="module")
def services(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[LocalService]]:
    folder = tmp_path_factory.mktemp("verify")
    source = write_heat_database(folder / "heat.sqlite")
    found = [
        LocalService(f"sqlite:///{folder}/{name}.sqlite", custom_constraints=None)
        for name in ("first", "second")
    ]
    import_all(found[0], source)
    import_all(found[1], source, max_events=3)
    yield found
    for service in found:
        service.close()


@pytest.fixture
def verify(services: list[LocalService]) -> Callable[..., list[VerifiedStack]]:
    def run(change: ResponseEdit = lambda path, body: body, *selected: str) -> list[VerifiedStack]:
        heat, own = services
        clients = create_client(heat, URLS[0]), create_client(own, URLS[1], change)
        return list(verify_stacks(*clients, selected))

    return run


def changed(part: str, place: str, **values: Any) -> ResponseEdit:
    """Return a change of a view whose path ends in a text."""

    def change(path: str, body: Any) -> Any:
        if path.endswith(part):
            body[place].update(values)
        return body

    return change


def test_equal_stacks_have_no_difference_at_any_depth(verify: Any) -> None:
    found = verify()
    assert [each for stack in found for each in stack.differences] == []
    assert len(found) > len({"nested", "asg", "failed", "signalled", "snap", "base"})


def test_changed_attribute_is_named_with_stack_and_path(verify: Any) -> None:
    [found] = verify(changed("/resources/ok", "resource", resource_status="X"), "failed")
    [difference] = found.differences
    assert (found.stack.name, difference.path) == ("failed", "resources/ok/show/resource_status")
    assert difference.own == "X"


@pytest.mark.parametrize("view", ["template", "environment"])
def test_changed_document_is_found(verify: Any, view: str) -> None:
    def change(path: str, body: Any) -> Any:
        return {**body, "added": 1} if path.endswith(f"/{view}") else body

    [found] = verify(change, "failed")
    assert [(each.path, each.heat) for each in found.differences] == [(f"{view}/added", ABSENT)]


def test_refused_view_is_a_difference(services: list[LocalService]) -> None:
    heat, own = (create_client(each, url) for each, url in zip(services, URLS, strict=True))

    def fetch(url: str) -> ViewResponse:
        return ViewResponse(500, "broken") if url.endswith("/files") else own.fetch(url)

    [found] = verify_stacks(heat, ViewClient(own.url, fetch), ["failed"])
    assert [str(each) for each in found.differences] == [
        'files: Heat has "status 200", this service "status 500"'
    ]


def test_stack_of_one_service_alone_is_a_difference(
    verify: Any, services: list[LocalService]
) -> None:
    def hide(path: str, body: Any) -> Any:
        if path.startswith("/stacks?"):
            body["stacks"] = [s for s in body["stacks"] if s["stack_name"] != "snap"]
        return body

    missing = [each for each in verify(hide) if each.differences]
    assert [(each.stack.name, each.differences[0].own) for each in missing] == [("snap", ABSENT)]
    heat, own = services
    clients = create_client(heat, URLS[0], hide), create_client(own, URLS[1])
    added = [each for each in verify_stacks(*clients) if each.differences]
    assert [(each.stack.name, each.differences[0].heat) for each in added] == [("snap", ABSENT)]


def test_more_events_than_in_heat_are_a_difference(services: list[LocalService]) -> None:
    heat, own = services
    clients = create_client(own, URLS[0]), create_client(heat, URLS[1])
    [found] = verify_stacks(*clients, ["failed"])
    assert found.differences
    assert {each.heat for each in found.differences} == {ABSENT}
    assert found.differences[0].path == "events/3"


def test_lists_are_read_in_pages(
    services: list[LocalService], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(view_client, "PAGE_SIZE", 2)
    client = create_client(services[0], URLS[0])
    pages = list(client.list_pages("/stacks", "stacks", show_nested="true"))
    ids = [each["id"] for page in pages for each in page]
    assert len(pages) > 2
    assert len(ids) == len(set(ids))


def test_refused_list_ends_the_comparison(services: list[LocalService]) -> None:
    refused = ViewClient("http://heat/v1/p", lambda url: ViewResponse(403, "no"))
    own = create_client(services[1], URLS[1])
    with pytest.raises(ViewError, match="403"):
        list(verify_stacks(refused, own))


def test_known_differences_are_counted_with_their_reason(
    services: list[LocalService], capsys: pytest.CaptureFixture[str]
) -> None:
    heat, own = services

    def change(path: str, body: Any) -> Any:
        if "stack" in body:
            body["stack"]["stack_user_project_id"] = "p1"
        return body

    clients = create_client(heat, URLS[0], change), create_client(own, URLS[1])
    assert verify_project(*clients, PROJECT, ["failed"]) == 0
    printed = capsys.readouterr().out
    assert "1 stacks compared, 0 differences" in printed
    assert "1 known differences: stack_user_project_id is null" in printed


def test_values_of_other_json_types_differ() -> None:
    assert list(find_differences("a", 1, True)) == [Difference("a", 1, True)]
    assert list(find_differences("a", [1], [1, 2])) == [Difference("a", [1], [1, 2])]
    assert list(find_differences("a", {"b": None}, {})) == [Difference("a/b", None, ABSENT)]


@pytest.mark.parametrize(
    ("path", "heat", "own", "known"),
    [
        ("stack/drift_status", ABSENT, "NOT_CHECKED", True),
        ("resources/a/show/waiting", ABSENT, None, True),
        ("resources/a/observed_at", ABSENT, None, True),
        ("stack/waiting", ABSENT, None, False),
        ("resources/a/show/attributes/waiting", ABSENT, None, False),
        ("resources/a/physical_resource_id", "", "s-a-1b2c3d4e5f60", True),
        ("resources/a/physical_resource_id", "id", "s-a-1b2c3d4e5f60", False),
        ("resources/a/physical_resource_id", "", str(uuid.UUID(int=5)), False),
        ("events/0/physical_resource_id", None, "s-a-1b2c3d4e5f60", False),
        ("stack/stack_user_project_id", "p", "q", False),
        ("outputs/show/output_value/locked_reason", None, ABSENT, True),
        ("outputs/show/output_value/flavor/id", ABSENT, "f", True),
        ("resources/s/show/attributes/name", "a", ABSENT, False),
        ("resources/s/show/attributes/networks", None, {}, True),
        ("resources/s/show/attributes/networks", {"a": []}, {}, False),
        ("resources/s/show/attributes/data", "{}", None, True),
        ("resources/s/show/attributes/data", "{}", "a", False),
        ("resources/s/show/metadata", {}, None, False),
        ("outputs/url/output_value", "http://h/p?a=1&b=2", "http://h/p?b=2&a=1", True),
        ("outputs/url/output_value", "http://h/p?a=1&b=2", "http://h/p?b=2&a=3", False),
        ("outputs/url/output_value", "http://h/p?a=1", "http://i/p?a=1", False),
        ("resources/a/required_by/b", "OS::Nova::Server", ABSENT, True),
        ("resources/a/required_by/b", "OS::Neutron::Port", ABSENT, False),
        ("resources/a/required_by/b", ABSENT, "OS::Nova::Server", False),
        ("environment/resource_registry/a.yaml", "a.yaml", ABSENT, True),
        ("environment/resource_registry/a.yaml", "b.yaml", ABSENT, False),
        ("snapshots/1/data/resources/v/resource_data/volume_type", "t", ABSENT, True),
        ("snapshots/1/data/resources/v/resource_data/volume_type", ABSENT, "t", False),
        ("snapshots/1/data/in_flight", ABSENT, [], True),
        ("snapshots/1/data/stack_user_project_id", "p", None, False),
        ("environment/encrypted_param_names", ["p"], [], False),
        ("snapshots/1/data/template/resources/v", "t", ABSENT, False),
        ("stack/stack_status", "CREATE_IN_PROGRESS", "CREATE_FAILED", True),
        ("stack/stack_status", "CREATE_IN_PROGRESS", "UPDATE_FAILED", False),
        ("stack/stack_status", "CREATE_COMPLETE", "CREATE_FAILED", False),
        ("stack/stack_status_reason", "Stack CREATE started", f"CREATE {INTERRUPTED}", True),
        ("stack/stack_status_reason", "Stack CREATE started", "other", False),
    ],
)
def test_difference_of_every_import_needs_its_path_and_values(
    path: str, heat: Any, own: Any, known: bool
) -> None:
    assert (find_reason(Difference(path, heat, own)) is not None) is known


@pytest.mark.parametrize(
    ("resource_type", "key", "values", "known"),
    [
        ("OS::Heat::SoftwareDeployment", "key", (None, "b"), True),
        ("OS::Heat::SoftwareDeployment", "key", ("a", "b"), False),
        ("OS::Heat::SoftwareDeployment", "key/inner", (None, "b"), False),
        ("OS::Cinder::VolumeAttachment", "device", (ABSENT, "b"), True),
        ("OS::Cinder::VolumeAttachment", "show", (ABSENT, "b"), False),
        ("OS::Neutron::RouterInterface", "fixed_ips", (ABSENT, []), True),
        ("OS::Neutron::RouterInterface", "fixed_ips", ([], [1]), False),
        ("OS::Cinder::Volume", "key", (ABSENT, "b"), False),
        ("OS::Heat::ResourceGroup", "refs_map", (None, {"0": "a"}), True),
        ("OS::Heat::ResourceGroup", "refs", (["b"], ["a"]), False),
        ("OS::Heat::Value", "refs", (None, ["a"]), False),
        ("OS::Nova::Server", "flavor/vcpus", (1, ABSENT), True),
        ("OS::Nova::Server", "show/flavor/vcpus", (1, ABSENT), True),
        ("OS::Nova::Server", "flavor/id", (ABSENT, "f"), True),
        ("OS::Nova::Server", "volume_type_id", (1, ABSENT), False),
        ("OS::Cinder::Volume", "volume_type_id", (1, ABSENT), True),
        ("OS::Cinder::Volume", "locked_reason", (1, ABSENT), False),
    ],
)
def test_differences_of_attributes_depend_on_the_type(
    resource_type: str, key: str, values: tuple[Any, Any], known: bool
) -> None:
    found = Difference(f"resources/a/show/attributes/{key}", *values, resource_type)
    assert (find_reason(found) is not None) is known


def test_difference_has_the_type_of_its_resource(verify: Any) -> None:
    [found] = verify(changed("/resources/ok", "resource", resource_status="X"), "failed")
    assert found.differences[0].resource_type == "OS::Heat::RandomString"


def test_long_values_are_shortened() -> None:
    assert "characters)" in str(Difference("a", "x" * 1000, None))


def test_both_addresses_are_required(tmp_path: Path) -> None:
    with pytest.raises(Invalid, match="--heat-url"):
        verify_heat(argparse.Namespace(heat_url=None, url="http://own/v1"))


def test_comparison_needs_neither_configuration_nor_database(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_arguments: Any) -> None:
        raise AssertionError("the configuration was read")

    monkeypatch.setattr(main, "_load_config", fail)
    monkeypatch.setattr(heat_verify_commands, "log_in", lambda cloud, project: FakeSession())
    urls = ["--heat-url", "http://heat/v1", "--url", "http://own/v1"]
    assert main.main(["import-heat", "--verify", *urls]) == 0
    assert "Project p: 0 stacks compared, 0 differences." in capsys.readouterr().out
    assert main.main(["import-heat", "--verify"]) == 3
    assert "--heat-url" in capsys.readouterr().err


class FakeSession:
    """A session whose services have no stacks."""

    def get_project_id(self) -> str:
        return "p"

    def get(self, url: str, **_options: Any) -> Any:
        response = requests.Response()
        response.status_code = 200
        response._content = b'{"stacks": []}'
        return response
