"""The generated files of a resource type compile, load and pass their own test."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
import yaml

from heat_convergence.resources.protocol.type_schema import PropertyType
from tools import scaffold

ROOT = Path(__file__).parents[2]


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A directory with the setup.cfg of this repository."""
    (tmp_path / "setup.cfg").write_text((ROOT / "setup.cfg").read_text())
    return tmp_path


def generate(repository: Path, *options: str) -> None:
    scaffold.main(["resource-type", "OS::Heat::NiceGreeting", "--root", str(repository), *options])


def load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def module_path(repository: Path) -> Path:
    return repository / "heat_convergence" / "resources" / "builtin" / "nice_greeting.py"


def test_generated_type_has_the_requested_schema(repository: Path) -> None:
    generate(repository, "--property", "text:string:required", "--property", "size:integer",
             "--attribute", "greeting:string")  # fmt: skip
    resource_type = load(module_path(repository)).NiceGreeting()
    assert resource_type.name == "OS::Heat::NiceGreeting"
    properties = resource_type.schema.properties
    assert properties["text"].type is PropertyType.STRING
    assert (properties["text"].required, properties["size"].required) == (True, False)
    assert resource_type.compute_attributes({"text": "x"}) == {"greeting": None}


@pytest.mark.parametrize(
    "options",
    [
        (),
        ("--property", "text:string"),
        ("--attribute", "greeting:map"),
        ("--property", "a:list:required", "--attribute", "b:any"),
    ],
)
def test_generated_files_compile(repository: Path, options: tuple[str, ...]) -> None:
    generate(repository, *options)
    files = sorted(repository.rglob("*.py"))
    assert len(files) == 2
    for path in files:
        compile(path.read_text(), str(path), "exec")
    (note,) = (repository / "releasenotes" / "notes").iterdir()
    assert list(yaml.safe_load(note.read_text())) == ["features"]


def test_entry_point_is_added_to_the_resource_types(repository: Path) -> None:
    generate(repository)
    before, after = ((path / "setup.cfg").read_text() for path in (ROOT, repository))
    added = set(after.splitlines()) - set(before.splitlines())
    assert added == {
        "    OS::Heat::NiceGreeting ="
        " heat_convergence.resources.builtin.nice_greeting:NiceGreeting"
    }
    types, _, _rest = after.partition("heat_convergence.resource_catalogs")
    assert added < set(types.splitlines())


def test_existing_files_are_not_overwritten(repository: Path) -> None:
    generate(repository)
    path = module_path(repository)
    path.write_text("mine")
    with pytest.raises(FileExistsError):
        generate(repository)
    assert path.read_text() == "mine"


@pytest.mark.parametrize(
    "arguments",
    [["Greeting"], ["OS::Heat::Greeting", "--property", "text"],
     ["OS::Heat::Greeting", "--property", "Text:string"],
     ["OS::Heat::Greeting", "--attribute", "text:colour"]],
)  # fmt: skip
def test_invalid_names_and_types_are_refused(arguments: list[str]) -> None:
    with pytest.raises(SystemExit):
        scaffold.main(["resource-type", *arguments])


@pytest.mark.processes
def test_command_prints_its_options() -> None:
    command = [sys.executable, "-m", "tools.scaffold", "resource-type", "--help"]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert "--property" in result.stdout
