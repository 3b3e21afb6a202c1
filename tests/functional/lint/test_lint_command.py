"""``heat-convergence lint`` and ``schema`` as users run them."""

from __future__ import annotations

import io
import json
import logging
import signal
from pathlib import Path
from xml.etree import ElementTree

import jsonschema_rs
import pytest
import yaml

from heat_convergence.cli import lint, template_schema
from heat_convergence.lint.rules import RULES

VALID = "heat_template_version: 2018-08-31\nresources:\n  a: {type: OS::Heat::RandomString}\n"
UNUSED = VALID + "parameters: {size: {type: number}}\n"
INVALID = VALID.replace("}", ", properties: {lenght: 3}}")
EXAMPLES = Path(__file__).parents[3] / "examples"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in {
        "valid.yaml": VALID,
        "unused.yaml": UNUSED,
        "invalid.yaml": INVALID,
        "playbook.yaml": "hosts: all\n",
        "picture.json": "x" * 600_000,
        "notes.txt": "no template",
    }.items():
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["valid.yaml"], 0),
        (["unused.yaml"], 0),
        (["unused.yaml", "--strict"], 1),
        (["unused.yaml", "--strict", "--disable", "W201"], 0),
        (["invalid.yaml"], 1),
        (["playbook.yaml"], 1),
        (["missing.yaml"], 1),
    ],
)
def test_exit_code_shows_whether_there_are_errors(
    folder: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], code: int
) -> None:
    monkeypatch.chdir(folder)
    assert lint.main(arguments) == code


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["a.yaml", "--disable", "W999"],
        ["--explain", "W999"],
        ["a.yaml", "-e", "missing.yaml"],
        ["a.yaml", "-P", "size"],
        ["a.yaml", "--format", "pdf"],
    ],
)
def test_wrong_arguments_are_refused(arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as refused:
        lint.main(arguments)
    assert refused.value.code == lint.EXIT_USAGE


def test_folders_are_searched_for_templates(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert lint.main([str(folder), str(folder / "valid.yaml")]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(": ")[1][:4] for line in lines[:-1]] == ["E108", "W201"]
    assert lines[0].startswith(f"{folder / 'invalid.yaml'}:3:")
    assert lines[-1] == "1 error, 1 warning, 0 info findings in 5 files"


def test_standard_input_is_a_template(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(INVALID))
    assert lint.main(["-"]) == 1
    assert capsys.readouterr().out.startswith("-:3:")


def test_formats_have_the_same_findings(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def run(output_format: str) -> str:
        lint.main([str(folder), "--format", output_format])
        return capsys.readouterr().out

    found = json.loads(run("json"))["findings"]
    assert [(each["rule"], each["severity"]) for each in found] == [
        ("E108", "error"),
        ("W201", "warning"),
    ]
    (run_of_tool,) = json.loads(run("sarif"))["runs"]
    assert [each["ruleId"] for each in run_of_tool["results"]] == ["E108", "W201"]
    assert len(run_of_tool["tool"]["driver"]["rules"]) == len(RULES)
    suite = ElementTree.fromstring(run("junit"))
    assert (suite.get("tests"), suite.get("failures")) == ("5", "1")


def test_rules_are_listed_and_explained(capsys: pytest.CaptureFixture[str]) -> None:
    assert lint.main(["--list-rules"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == len(RULES)
    assert lint.main(["--explain", "W201"]) == 0
    assert "Remove the parameter" in capsys.readouterr().out


def test_schema_accepts_templates_and_refuses_mistakes(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert template_schema.main([]) == 0
    validator = jsonschema_rs.validator_for(json.loads(capsys.readouterr().out))
    example = yaml.safe_load((EXAMPLES / "shop.yaml").read_text())
    example["heat_template_version"] = str(example["heat_template_version"])
    assert validator.is_valid(example)
    version = {"heat_template_version": "2018-08-31"}
    for resource, valid in (
        ({"type": "OS::Heat::RandomString", "properties": {"length": 3}}, True),
        ({"type": "OS::Heat::RandomString", "properties": {"length": {"get_param": "n"}}}, True),
        ({"type": "OS::Heat::RandomString", "properties": {"lenght": 3}}, False),
        ({"type": "OS::Heat::RandomString", "properties": {"length": [3]}}, False),
        ({"type": "My::Type", "properties": {"anything": 3}}, True),
        ({"typ": "OS::Heat::RandomString"}, False),
    ):
        assert validator.is_valid({**version, "resources": {"a": resource}}) is valid, resource


def test_schema_of_environments(capsys: pytest.CaptureFixture[str]) -> None:
    assert template_schema.main(["environment"]) == 0
    validator = jsonschema_rs.validator_for(json.loads(capsys.readouterr().out))
    assert validator.is_valid({"parameters": {"a": 1}, "event_sinks": []})
    assert not validator.is_valid({"parameter": {}})


CUSTOM = "heat_template_version: 2018-08-31\nresources:\n  a: {type: My::Agent::Config}\n"


@pytest.mark.parametrize(
    ("environment", "code"),
    [
        ("resource_registry: {'My::Agent::Config': 'OS::Heat::None'}", 0),
        ("resource_registry: {'My::*': 'OS::Heat::None'}", 1),
        ("resource_registry: {'My::Other': 'OS::Heat::None'}", 1),
        ("parameters: {size: 1}", 1),
        ("resource_registry: [", 1),
    ],
)
def test_types_that_an_environment_of_the_run_declares_are_known(
    tmp_path: Path, environment: str, code: int
) -> None:
    (tmp_path / "custom.yaml").write_text(CUSTOM)
    (tmp_path / "custom_env.yaml").write_text(environment)
    assert lint.main([str(tmp_path / "custom.yaml")]) == 1
    assert lint.main([str(tmp_path)]) == code


def test_installed_types_stay_as_they_are_beside_environments(tmp_path: Path) -> None:
    (tmp_path / "invalid.yaml").write_text(INVALID)
    environment = "resource_registry: {'OS::Heat::RandomString': 'OS::Heat::None'}"
    (tmp_path / "other_env.yaml").write_text(environment)
    assert lint.main([str(tmp_path)]) == 1
    assert lint.main([str(tmp_path), "-e", str(tmp_path / "other_env.yaml")]) == 0


def test_command_leaves_the_settings_of_its_process(folder: Path) -> None:
    """Programs that call the command keep their handler of broken pipes and their log."""
    handler = signal.getsignal(signal.SIGPIPE)
    assert lint.main([str(folder / "valid.yaml")]) == 0
    assert signal.getsignal(signal.SIGPIPE) is handler
    assert logging.root.manager.disable == logging.NOTSET
