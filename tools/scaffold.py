"""Generation of the files that every new resource type repeats.

    python -m tools.scaffold resource-type OS::Heat::Greeting --property text:string:required

Writes the module of a built-in type, its unit test and a release note, and adds the entry
point to setup.cfg.  The generated type stores its properties and reaches no service; the
places to fill in are marked ``TODO``.  Existing files are never overwritten.
"""

from __future__ import annotations

import argparse
import re
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ENTRY_POINTS = "heat_convergence.resource_types ="
VALUE_TYPES = ("string", "number", "integer", "boolean", "map", "list", "any")
_SAMPLES = {
    "string": '"text"', "number": "1.5", "integer": "1", "boolean": "True", "map": "{}",
    "list": "[]", "any": "None",
}  # fmt: skip
_TYPE_NAME = re.compile(r"[A-Z][A-Za-z0-9]*(::[A-Z][A-Za-z0-9]*){2}")
_FIELD = re.compile(
    rf"(?P<name>[a-z]\w*):(?P<type>{'|'.join(VALUE_TYPES)})(?P<required>:required)?"
)

_MODULE = '''"""``{type_name}``: TODO: the purpose of the type in one sentence.

Found by its entry point.  Decides TODO.  Must not do I/O.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from heat_convergence.resources.builtin.local_type import LocalType
from heat_convergence.resources.protocol.type_schema import (
    AttributeSchema,
    PropertySchema,
    PropertyType,
    TypeSchema,
)

Json = Any


class {class_name}(LocalType):
    """TODO: the state that the type keeps."""

    name = "{type_name}"
    schema = TypeSchema(
        description="TODO: a sentence for the API.",
        properties={{
{properties}        }},
        attributes={{
{attributes}        }},
    )

    def compute_attributes(self, properties: Mapping[str, Json]) -> Mapping[str, Json]:
        """Return the attributes that follow from the properties."""
        return {{
{values}        }}
'''
_PROPERTY = """            "{name}": PropertySchema(
                type=PropertyType.{type},
                description="TODO: a sentence for the API.",
                {flag}=True,
            ),
"""
_ATTRIBUTE = """            "{name}": AttributeSchema(
                PropertyType.{type}, "TODO: a sentence for the API."
            ),
"""
_VALUE = """            "{name}": properties.get("{name}"),  # TODO: compute the attribute
"""
_TEST = '''"""``{type_name}``: its schema and its actions."""

from __future__ import annotations

from collections.abc import Callable

from heat_convergence.convergence.model.job import ObservedState
from heat_convergence.resources.builtin.{module} import {class_name}
from heat_convergence.resources.protocol.verb_values import ResourceContext

PROPERTIES = {{{samples}}}


def test_created_resource_is_ready(build_context: Callable[..., ResourceContext]) -> None:
    resource_type = {class_name}()
    result = resource_type.create(build_context(resource_type, PROPERTIES))
    assert result.observed is ObservedState.READY
    assert set(result.attributes or {{}}) == set(resource_type.schema.attributes)
'''
_NOTE = """---
features:
  - |
    The resource type ``{type_name}``. TODO: the use of it, with an example.
"""


@dataclass(frozen=True, slots=True)
class Field:
    """A property or attribute of the type to generate."""

    name: str
    value_type: str
    is_required: bool = False

    @classmethod
    def parse(cls, text: str) -> Field:
        """Parse ``name:type`` or ``name:type:required``."""
        match = _FIELD.fullmatch(text)
        if match is None:
            raise argparse.ArgumentTypeError(
                f"{text!r} is not NAME:TYPE[:required] with a type of {', '.join(VALUE_TYPES)}"
            )
        return cls(match["name"], match["type"], match["required"] is not None)


@dataclass(frozen=True, slots=True)
class TypeDraft:
    """The resource type to generate."""

    type_name: str
    properties: tuple[Field, ...] = ()
    attributes: tuple[Field, ...] = ()

    @property
    def class_name(self) -> str:
        """The last part of the type's name."""
        return self.type_name.rpartition("::")[2]

    @property
    def module(self) -> str:
        """The class name in snake case."""
        return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", self.class_name).lower()

    @property
    def entry_point(self) -> str:
        """The line for setup.cfg."""
        target = f"heat_convergence.resources.builtin.{self.module}:{self.class_name}"
        return f"    {self.type_name} = {target}\n"

    def files(self) -> dict[str, str]:
        """Return the contents of the files by their paths in the repository."""
        names = {
            "type_name": self.type_name,
            "class_name": self.class_name,
            "module": self.module,
        }
        module = _MODULE.format(
            **names,
            properties="".join(map(_property, self.properties)),
            attributes="".join(map(_attribute, self.attributes)),
            values="".join(_VALUE.format(name=each.name) for each in self.attributes),
        )
        required = (each for each in self.properties if each.is_required)
        samples = ", ".join(f'"{each.name}": {_SAMPLES[each.value_type]}' for each in required)
        note = f"{self.module.replace('_', '-')}-{uuid.uuid4().hex[:16]}.yaml"
        return {
            f"heat_convergence/resources/builtin/{self.module}.py": _without_empty_maps(module),
            f"tests/unit/resources/builtin/test_{self.module}.py": _TEST.format(
                **names, samples=samples
            ),
            f"releasenotes/notes/{note}": _NOTE.format(**names),
        }


def _property(field: Field) -> str:
    flag = "required" if field.is_required else "update_allowed"
    return _PROPERTY.format(name=field.name, type=field.value_type.upper(), flag=flag)


def _attribute(field: Field) -> str:
    return _ATTRIBUTE.format(name=field.name, type=field.value_type.upper())


def _without_empty_maps(module: str) -> str:
    """Write empty maps on one line and drop the imports that are then unused."""
    module = re.sub(r"\{\n +\}", "{}", module)
    for name in ("AttributeSchema", "PropertySchema", "PropertyType"):
        if not re.search(rf"\b{name}[(.]", module):
            module = module.replace(f"    {name},\n", "")
    single = "from heat_convergence.resources.protocol.type_schema import (\n    TypeSchema,\n)\n"
    return module.replace(single, single.replace("(\n    ", "").replace(",\n)", ""))


def write_resource_type(draft: TypeDraft, root: Path) -> list[Path]:
    """Write the files of a resource type below the root of a repository.

    Returns:
        The paths of the files, those changed included.

    Raises:
        FileExistsError: One of the new files exists already.
    """
    files = {root / path: text for path, text in draft.files().items()}
    for path in files:
        if path.exists():
            raise FileExistsError(path)
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    setup_cfg = root / "setup.cfg"
    setup_cfg.write_text(_with_entry_point(setup_cfg.read_text(), draft.entry_point))
    return [*files, setup_cfg]


def _with_entry_point(setup_cfg: str, line: str) -> str:
    """Return setup.cfg with a line added at the end of the resource types."""
    before, found, after = setup_cfg.partition(ENTRY_POINTS + "\n")
    if not found:
        raise ValueError(f"setup.cfg has no section {ENTRY_POINTS!r}")
    lines = after.splitlines(keepends=True)
    count = next(
        (index for index, each in enumerate(lines) if not each.startswith("    ")), len(lines)
    )
    return "".join([before, found, *lines[:count], line, *lines[count:]])


def _type_name(text: str) -> str:
    if not _TYPE_NAME.fullmatch(text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a name such as OS::Heat::Greeting")
    return text


def main(arguments: Sequence[str] | None = None) -> int:
    """Generate the files that the command line asks for and print their paths."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(required=True)
    command = commands.add_parser("resource-type", help="a built-in resource type")
    command.add_argument("name", type=_type_name, help="such as OS::Heat::Greeting")
    command.add_argument(
        "--property", action="append", default=[], type=Field.parse, metavar="NAME:TYPE[:required]"
    )
    command.add_argument(
        "--attribute", action="append", default=[], type=Field.parse, metavar="NAME:TYPE"
    )
    command.add_argument(
        "--root", type=Path, default=Path(__file__).parents[1], help="the repository"
    )
    options = parser.parse_args(arguments)
    draft = TypeDraft(options.name, tuple(options.property), tuple(options.attribute))
    for path in write_resource_type(draft, options.root):
        print(path.relative_to(options.root))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
