"""``heat-convergence try`` as users run it."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from heat_convergence.cli.offline import main as try_command
from heat_convergence.cli.offline.emulated_cloud import emulation_service
from heat_convergence.cli.offline.trial import Trial
from heat_convergence.cli.offline.trial_check import find_obstacles
from heat_convergence.cli.offline.trial_cloud import TrialCloud, TrialService
from heat_convergence.resources.builtin.random_string import RandomString

Json = Any
NETWORK: dict[str, Json] = {
    "net": {"type": "OS::Neutron::Net"},
    "subnet": {
        "type": "OS::Neutron::Subnet",
        "properties": {"network": {"get_resource": "net"}, "cidr": "10.0.0.0/24"},
    },
}
SERVER: dict[str, Json] = {
    "web": {
        "type": "OS::Nova::Server",
        "depends_on": "subnet",
        "properties": {
            "image": {"get_param": "image"},
            "flavor": "m1.nano",
            "networks": [{"network": {"get_resource": "net"}}],
        },
    },
}


class StrangeType(RandomString):
    """A type of a service that the emulation lacks."""

    name = "My::Service::Thing"
    service = "quantum_computing"


@pytest.fixture(autouse=True)
def enabled_log() -> Iterator[None]:
    """Enable logging again, which the command disables."""
    yield
    logging.disable(logging.NOTSET)


@pytest.fixture
def template(tmp_path: Path) -> str:
    """Return the path of a template; ``update.yaml`` beside it has another flavor."""
    content = {
        "heat_template_version": "2018-08-31",
        "parameters": {"image": {"type": "string", "default": "cirros"}},
        "resources": {**NETWORK, **SERVER},
        "outputs": {"ip": {"value": {"get_attr": ["web", "first_address"]}}},
    }
    text = json.dumps(content)
    (tmp_path / "stack.yaml").write_text(text)
    (tmp_path / "update.yaml").write_text(text.replace("m1.nano", "m1.tiny"))
    return str(tmp_path / "stack.yaml")


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, list[Json]]:
    code = try_command.main([*arguments, "--format", "json"])
    return code, json.loads(capsys.readouterr().out)["steps"]


def resources(step: Json) -> dict[str, Json]:
    return {each["name"]: each for each in step["resources"]}


def test_stack_is_created_updated_and_deleted(
    template: str, capsys: pytest.CaptureFixture[str]
) -> None:
    second = template.replace("stack.yaml", "update.yaml")
    code, (created, updated, deleted) = run(capsys, template, "--update", second)
    assert code == try_command.EXIT_OK
    assert [each["status"] for each in (created, updated, deleted)] == [
        "CREATE_COMPLETE",
        "UPDATE_COMPLETE",
        "DELETE_COMPLETE",
    ]
    assert created["outputs"] == {"ip": "10.0.0.2"}
    assert resources(created)["web"]["waits_for"] == ["net", "subnet"]
    assert resources(created)["web"]["seconds"] > 0
    assert created["requests"] > 0
    assert updated["changes"]["updated"] == ["web"]
    assert resources(updated)["net"]["tries"] == 0


@pytest.mark.parametrize(
    ("fault", "status", "reason", "tries"),
    [
        ("web=error:2", "CREATE_COMPLETE", "completed", 3),
        ("web=error", "CREATE_FAILED", "The fault that was asked for", 6),
        ("net=quota", "CREATE_FAILED", "Quota exceeded", 1),
        ("web=slow", "CREATE_COMPLETE", "completed", 1),
        ("web=never", "CREATE_FAILED", "Timed out", 1),
    ],
)
def test_resources_fail_as_requested(
    template: str,
    capsys: pytest.CaptureFixture[str],
    fault: str,
    status: str,
    reason: str,
    tries: int,
) -> None:
    code, (created, deleted) = run(capsys, template, "--fail", fault)
    assert code == (status != "CREATE_COMPLETE")
    assert (created["status"], deleted["status"]) == (status, "DELETE_COMPLETE")
    assert reason in created["reason"]
    assert resources(created)[fault.partition("=")[0]]["tries"] == tries


def test_lost_resource_is_shown_and_repaired(
    template: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, (_created, repaired, _deleted) = run(capsys, template, "--lose", "web")
    assert code == try_command.EXIT_OK
    assert repaired["drift"] == ["web: DELETED"]
    assert resources(repaired)["web"]["status"] == "CREATE_COMPLETE"


def test_cloud_has_the_objects_that_users_name(
    template: str, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = (template, "-P", "image=fedora")
    code, (failed, _deleted) = run(capsys, *arguments)
    assert code == try_command.EXIT_FAILED
    assert "The image (fedora) could not be found" in failed["reason"]
    code, steps = run(capsys, *arguments, "--have", "image=fedora")
    assert (code, len(steps)) == (try_command.EXIT_OK, 2)


def test_text_and_junit_show_the_same(template: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert try_command.main([template]) == try_command.EXIT_OK
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("CREATE: CREATE_COMPLETE (")
    assert lines[1].split()[:3] == ["net", "OS::Neutron::Net", "CREATE_COMPLETE"]
    assert '  ip = "10.0.0.2"' in lines
    assert try_command.main([template, "--fail", "net=quota", "--format", "junit"]) == 1
    suite = ElementTree.fromstring(capsys.readouterr().out)
    assert (suite.get("tests"), suite.get("failures")) == ("2", "1")


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["missing.yaml"],
        ["{template}", "--fail", "web=broken"],
        ["{template}", "--fail", "web=error:often"],
        ["{template}", "--have", "image"],
        ["{template}", "--have", "planet=earth"],
        ["{template}", "-P", "image"],
        ["{template}", "-e", "missing.yaml"],
        ["{template}", "--fail", "nobody=error"],
        ["{template}", "--lose", "nobody"],
    ],
)
def test_wrong_arguments_are_refused(template: str, arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as refused:
        try_command.main([each.format(template=template) for each in arguments])
    assert refused.value.code == try_command.EXIT_USAGE


def other_types(tmp_path: Path, **resources: Json) -> str:
    path = tmp_path / "other.yaml"
    path.write_text(json.dumps({"heat_template_version": "2018-08-31", "resources": resources}))
    return str(path)


def test_types_without_an_emulation_are_named_before_anything_starts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Trial, "run", lambda *_args: pytest.fail("the trial has started"))
    context = {"region_name": "north"}
    remote = {"context": context, "template": "heat_template_version: 2018-08-31"}
    group = {
        "count": 1,
        "resource_def": {"type": "OS::Heat::Stack", "properties": remote},
    }
    path = other_types(
        tmp_path,
        **NETWORK,
        far={"type": "OS::Heat::Stack", "properties": remote},
        nested={"type": "OS::Heat::ResourceGroup", "properties": group},
    )
    with pytest.raises(SystemExit) as refused:
        try_command.main([path])
    assert refused.value.code == try_command.EXIT_USAGE
    shown = capsys.readouterr().err
    for name in ("far", "0"):
        assert f'"{name}" of type OS::Heat::Stack cannot be tried' in shown


def test_services_without_an_emulation_are_named(tmp_path: Path) -> None:
    service = emulation_service(TrialCloud(), tmp_path, TrialService, types=[StrangeType()])
    shown = [{"resource_name": "thing", "resource_type": StrangeType.name, "parent_resource": ""}]
    try:
        (found,) = find_obstacles(service, shown, ())
    finally:
        service.close()
    assert found.endswith("its service quantum_computing is not emulated")


def test_resources_that_wait_for_signals_are_named_before_the_trial(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = other_types(
        tmp_path,
        handle={"type": "OS::Heat::WaitConditionHandle"},
        condition={
            "type": "OS::Heat::WaitCondition",
            "properties": {"handle": {"get_resource": "handle"}, "timeout": 10},
        },
    )
    try_command.main([path])
    assert "condition" in capsys.readouterr().err
