"""The command that tries the templates of a clone of heat-templates."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tools import lint_findings, tried_templates
from tools.public_templates import main

TEMPLATES: dict[str, dict[str, Any]] = {
    "good.yaml": {
        "heat_template_version": "2018-08-31",
        "parameters": {"key_name": {"type": "string"}},
        "resources": {"net": {"type": "OS::Neutron::Net"}},
    },
    "bad.yaml": {
        "heat_template_version": "2018-08-31",
        "resources": {"a": {"type": "OS::No::Type"}},
    },
    "remote.yaml": {
        "heat_template_version": "2018-08-31",
        "resources": {
            "a": {
                "type": "AWS::CloudFormation::Stack",
                "properties": {"TemplateURL": "http://host.invalid/a.yaml"},
            }
        },
    },
    "playbook.yaml": {"hosts": "all"},
}


@pytest.fixture
def disabled_log() -> Iterator[None]:
    """Enable logging again, which the command disables."""
    yield
    logging.disable(logging.NOTSET)


@pytest.mark.usefixtures("disabled_log")
def test_page_lists_templates_that_are_not_created(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, template in TEMPLATES.items():
        (tmp_path / name).write_text(json.dumps(template))
    page = tmp_path / "page.rst"
    assert main([str(tmp_path), "--rst", str(page)]) == 0
    printed = capsys.readouterr().out
    assert "good.yaml: valid: created and deleted" in printed
    assert "3 templates, 1 valid, 1 created and deleted" in printed
    text = page.read_text()
    assert "bad.yaml" in text
    assert "The Resource Type (OS::No::Type) could not be found." in text
    assert "Failed to retrieve template from http://host.invalid/a.yaml``" in text
    assert "good.yaml" not in text


@pytest.mark.usefixtures("disabled_log")
def test_page_of_findings_has_rules_with_verdicts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, template in TEMPLATES.items():
        (tmp_path / name).write_text(json.dumps(template))
    page = tmp_path / "page.rst"
    assert lint_findings.main([str(tmp_path), "--rst", str(page)]) == 0
    assert "2 findings in 4 files" in capsys.readouterr().out
    text = page.read_text()
    assert "``bad.yaml:1:" in text
    assert "   * - W201\n     - 1\n     - 1\n     - right: " in text
    assert "not checked" not in text


@pytest.mark.usefixtures("disabled_log")
def test_page_of_tried_templates_lists_those_that_succeed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    checkout = tmp_path / "checkout"
    checkout.mkdir()
    for name, template in TEMPLATES.items():
        (checkout / name).write_text(json.dumps(template))
    page = tmp_path / "page.rst"
    assert tried_templates.main([str(checkout), "--rst", str(page)]) == 0
    printed = capsys.readouterr().out
    assert "good.yaml: created, updated and deleted" in printed
    assert "bad.yaml: StackValidationFailed: The Resource Type (OS::No::Type)" in printed
    text = page.read_text()
    assert "Of 3 templates these 1 came" in text
    assert "   * - ``good.yaml``\n     - 1\n     - 1\n" in text
    assert "bad.yaml" not in text
