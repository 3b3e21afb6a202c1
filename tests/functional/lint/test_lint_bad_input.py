"""The linter and odd files: none stops the run, and every one is named."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from heat_convergence.cli import lint

Json = Any
VERSION = "heat_template_version: 2018-08-31\n"
VALID = VERSION + "resources:\n  a: {type: OS::Heat::RandomString}\n"
NETWORK = """\
parameters: {{number: {{type: number, default: {number}}}}}
resources:
  net: {{type: OS::Neutron::Net, properties: {{name: {{get_param: number}}}}}}
  port:
    type: OS::Neutron::Port
    properties: {{network: {{get_resource: net}}}}
  server:
    type: OS::Nova::Server
    properties: {{image: cirros, flavor: m1.tiny, networks: [{{port: {{get_resource: port}}}}]}}
"""
FILES = 1000
LEAST_FILES_A_SECOND = 50


def aliases() -> str:
    """Return a template whose aliases would grow to billions of values."""
    lines = [f"  a0: &a0 [{', '.join('x' * 10)}]"]
    lines += [f"  a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    return f"{VERSION}parameters:\n" + "\n".join(lines)


TEXTS: dict[str, str | bytes] = {
    "not YAML": "a: [b\nheat_template_version",
    "endless aliases": aliases(),
    "alias to itself": VERSION + "resources: &a {b: *a}\n",
    "deep nesting": VERSION + "resources: " + "[" * 50_000,
    "many documents": VALID + "---\n" + VALID,
    "no text": b"\x00\xff\xfe" * 100,
    "a tag of Python": VERSION + "resources: !!python/object/apply:os.system [id]\n",
    "a list": "- heat_template_version\n",
    "a text": "heat_template_version",
    "an unknown word": VERSION + "resources: 7\n",
    "a number as a type": VERSION + "resources: {a: {type: 7}}\n",
}


@pytest.mark.parametrize("name", sorted(TEXTS))
def test_odd_file_is_an_error_and_the_others_are_checked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    text = TEXTS[name]
    odd, valid = tmp_path / "odd.yaml", tmp_path / "unused.yaml"
    odd.write_bytes(text if isinstance(text, bytes) else text.encode())
    valid.write_text(VALID + "parameters: {size: {type: number}}\n")
    began_s = time.process_time()
    assert lint.main([str(odd), str(valid), "--format", "json"]) == 1
    assert time.process_time() - began_s < 10.0
    found = json.loads(capsys.readouterr().out)["findings"]
    assert {each["file"] for each in found} == {str(odd), str(valid)}
    errors = [each for each in found if each["severity"] == "error"]
    assert errors
    assert all(each["file"] == str(odd) for each in errors)
    assert all(each["line"] >= 1 and each["column"] >= 1 for each in errors)
    assert all(each["remedy"] for each in errors)


def test_folder_with_odd_entries_is_searched(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "folder.yaml").mkdir()
    (tmp_path / "loop.yaml").symlink_to(tmp_path / "loop.yaml")
    (tmp_path / "dead.yaml").symlink_to(tmp_path / "nothing.yaml")
    os.mkfifo(tmp_path / "pipe.yaml")
    (tmp_path / "valid.yaml").write_text(VALID)
    assert lint.main([str(tmp_path)]) == 0
    assert capsys.readouterr().out.splitlines()[-1].endswith("in 1 files")


def test_folder_without_templates_has_no_findings(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert lint.main([str(tmp_path)]) == 0
    assert capsys.readouterr().out.splitlines()[-1].endswith("in 0 files")


def test_a_thousand_files_are_checked_at_the_promised_speed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in range(FILES):
        (tmp_path / f"t{number}.yaml").write_text(VERSION + NETWORK.format(number=number))
    began_s = time.process_time()
    assert lint.main([str(tmp_path)]) == 0
    seconds = time.process_time() - began_s
    assert capsys.readouterr().out.splitlines()[-1].endswith(f"in {FILES} files")
    assert FILES / seconds > LEAST_FILES_A_SECOND
