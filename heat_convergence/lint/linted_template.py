"""A template that the linter looks at, and the walks over it that several rules share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from heat_convergence.common.errors import Error
from heat_convergence.lint.rules import LintRule
from heat_convergence.resources.protocol.type_schema import PropertySchema
from heat_convergence.resources.registry import ResourceTypeRegistry
from heat_convergence.template.diagnostics import SourcePath
from heat_convergence.template.evaluation.evaluated_template import EvaluatedTemplate
from heat_convergence.template.parsing.template_versions import Dialect
from heat_convergence.template.template import Template

Json = Any
_PARAMETER_FUNCTIONS = frozenset({"get_param", "Ref"})


@dataclass(frozen=True, slots=True)
class Advice:
    """A rule that a valid template breaks, and where."""

    rule: LintRule
    path: SourcePath
    message: str


def path_of(error: Error) -> SourcePath:
    """Return the place in a document that an error names."""
    return tuple(error.path.split(".")) if error.path else ()


@dataclass(frozen=True, slots=True)
class LintedTemplate:
    """A parsed template.

    Attributes:
        template: The template, with the names of files replaced by URLs.
        registry: The resource types.
        implementations: Resource name to the type that its type resolves to.
        evaluated: The template evaluated as far as it is valid; None if nothing is.
    """

    template: Template
    registry: ResourceTypeRegistry
    implementations: Mapping[str, str]
    evaluated: EvaluatedTemplate | None

    @property
    def dialect(self) -> Dialect:
        """The spelling of the template's keys."""
        return self.template.version.dialect

    def named_items(self, section: str) -> Iterator[tuple[str, dict[str, Json]]]:
        """Yield the names and bodies of a section, those that are maps."""
        content = self.template.section(section)
        if isinstance(content, Mapping):
            yield from ((name, body) for name, body in content.items() if isinstance(body, dict))

    def typed_properties(self) -> Iterator[tuple[SourcePath, str, PropertySchema, Json]]:
        """Yield path, name, schema and value of every property, at every depth."""
        dialect = self.dialect
        for name, body in self.named_items(dialect.resources):
            found = self.registry.find(self.implementations.get(name, ""))
            properties = body.get(dialect.properties)
            if found is not None and isinstance(properties, dict):
                path = (dialect.resources, name, dialect.properties)
                yield from _typed(found.schema.properties, properties, path)


def _typed(
    schemas: Mapping[str, PropertySchema], values: dict[str, Json], path: SourcePath
) -> Iterator[tuple[SourcePath, str, PropertySchema, Json]]:
    for name, value in values.items():
        schema = schemas.get(name)
        if schema is not None:
            yield from _typed_value(name, schema, value, (*path, name))


def _typed_value(
    name: str, schema: PropertySchema, value: Json, path: SourcePath
) -> Iterator[tuple[SourcePath, str, PropertySchema, Json]]:
    yield path, name, schema, value
    if schema.schema is not None and isinstance(value, dict):
        yield from _typed(schema.schema, value, path)
    elif schema.item is not None and isinstance(value, list):
        for index, item in enumerate(value):
            yield from _typed_value(name, schema.item, item, (*path, index))


def iterate_calls(node: Json, is_function: Callable[[str], bool]) -> Iterator[tuple[str, Json]]:
    """Yield name and arguments of every map of one key that may be such a function."""
    if isinstance(node, Mapping):
        for key, value in node.items():
            if len(node) == 1 and is_function(key):
                yield key, value
            yield from iterate_calls(value, is_function)
    elif isinstance(node, list):
        for item in node:
            yield from iterate_calls(item, is_function)


def read_parameters(node: Json) -> set[str] | None:
    """Return the parameters that a part of a template reads; None if only values tell them."""
    found = set()
    for _name, arguments in iterate_calls(node, _PARAMETER_FUNCTIONS.__contains__):
        first = arguments[0] if isinstance(arguments, list) and arguments else arguments
        if not isinstance(first, str):
            return None
        found.add(first)
    return found
