"""Environment files: their own mistakes, and what they mean for templates."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from heat_convergence.common.errors import Error
from heat_convergence.lint import rules
from heat_convergence.lint.linted_template import Advice, path_of
from heat_convergence.lint.referenced_files import ACCEPTS_EVERYTHING, ReferencedFiles
from heat_convergence.resources.registry import ResourceTypeRegistry
from heat_convergence.template.environment.environment import (
    Environment,
    parse_environment_sections,
)
from heat_convergence.template.environment.environment_merge import merge_environment_files
from heat_convergence.template.parsing.document_loader import Document, load_document
from heat_convergence.template.template import Template

Json = Any
_REGISTRY = "resource_registry"


@dataclass(frozen=True, slots=True)
class EnvironmentFiles:
    """The environment files of a run, merged in their order, and single parameter values.

    Attributes:
        texts: The texts by the path of the file.
        parameters: Values that count before those of the files.
    """

    texts: Mapping[Path, str] = field(default_factory=dict)
    parameters: Mapping[str, Json] = field(default_factory=dict)

    def load(
        self, files: ReferencedFiles, template: Template, base: Environment | None = None
    ) -> Environment:
        """Return the environment of a template; read the templates that it names.

        Args:
            files: Gets the templates that the environment names.
            template: The template whose parameters have values in it.
            base: The operator's environment, beneath the files.

        Raises:
            Error: One of the files is invalid.
        """
        resolved = {
            str(path): json.dumps(_resolve(text, path.parent, files))
            for path, text in self.texts.items()
        }
        schemas = template.parameter_schemas(template.new_diagnostics())
        merged = merge_environment_files(resolved, list(resolved), schemas, base=base)
        return Environment(
            parameters={**merged.parameters, **self.parameters},
            parameter_defaults=merged.parameter_defaults,
            registry=merged.registry,
        )


def accept_declared_types(
    texts: Iterable[str], registry: ResourceTypeRegistry
) -> Environment | None:
    """Return an environment in which the types exist that environments of a run declare.

    A template that is checked without its environment may have such a type, of which nothing else
    is known.  Types that are installed stay as they are.

    Args:
        texts: The texts of the run's files.
        registry: The resource types.
    """
    declared = {
        name: ACCEPTS_EVERYTHING
        for text in texts
        for name in _declared_types(text)
        if "*" not in name and registry.find(name) is None
    }
    return Environment.parse({_REGISTRY: declared}) if declared else None


def _declared_types(text: str) -> Iterator[str]:
    """Yield the types of the resource registry, if the text is an environment."""
    if _REGISTRY not in text:
        return
    try:
        data = load_document(text, document_type="file").data
    except Error:
        return  # it is reported when the file itself is checked
    entries = data.get(_REGISTRY) if isinstance(data, dict) else None
    for name, target in entries.items() if isinstance(entries, dict) else ():
        if isinstance(target, str) and "::" in str(name):
            yield name


def check_environment(
    document: Document, folder: Path, files: ReferencedFiles
) -> Iterator[Advice]:
    """Yield the mistakes of an environment and of the files that it names."""
    try:
        Environment.parse(_resolve(document.text or "", folder, files))
    except Error as error:
        yield Advice(rules.ENVIRONMENT, path_of(error), error.message)
    for each in files.unreadable:
        yield Advice(rules.UNREADABLE_REFERENCE, each.path, each.message)


def _resolve(text: str, folder: Path, files: ReferencedFiles) -> dict[str, Json]:
    """Return the sections of an environment with the names of templates replaced by URLs."""
    sections = dict(parse_environment_sections(text))
    if isinstance(sections.get(_REGISTRY), dict):
        sections[_REGISTRY] = files.resolve_registry(sections[_REGISTRY], folder, (_REGISTRY,))
    return sections
