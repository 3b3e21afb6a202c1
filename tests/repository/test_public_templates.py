"""The command that tries the templates of a clone of heat-templates."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

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
    assert "2 templates, 1 valid, 1 created and deleted" in printed
    text = page.read_text()
    assert "bad.yaml" in text
    assert "The Resource Type (OS::No::Type) could not be found." in text
    assert "good.yaml" not in text
