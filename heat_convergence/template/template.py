"""A template: its version and its sections, not evaluated.

Decides whether a document is a template at all.  Called when a request arrives and by
readers of stored templates.  Must not look into resources: ``evaluation`` does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any

from heat_convergence.common.errors import (
    Error,
    HTTPBadRequest,
    InvalidTemplateVersion,
    StackValidationFailed,
)
from heat_convergence.common.values.equal_parts import EqualParts
from heat_convergence.common.values.json_members import PackedPaths
from heat_convergence.template.diagnostics import Diagnostics, ValidationPhase, did_you_mean
from heat_convergence.template.evaluation_budget import evaluation_budget
from heat_convergence.template.limits import DEFAULT_LIMITS, TemplateLimits
from heat_convergence.template.parameters.parameter_schemas import (
    ParameterSchema,
    parse_parameter_schemas,
)
from heat_convergence.template.parsing.document_loader import Document, load_document
from heat_convergence.template.parsing.template_versions import (
    EMPTY_TEMPLATE_VERSION,
    TEMPLATE_VERSIONS,
    TEMPLATE_VERSIONS_BY_NAME,
    VERSION_KEYS,
    TemplateVersion,
)

Json = Any
DEFAULT_TEMPLATE_DESCRIPTION = "No description"


@dataclass(frozen=True, slots=True)
class Template:
    """A parsed template with the language version that its version key names."""

    document: Document
    version: TemplateVersion
    limits: TemplateLimits = DEFAULT_LIMITS

    @classmethod
    def parse(
        cls,
        source: str | bytes | Mapping[str, Json],
        *,
        limits: TemplateLimits = DEFAULT_LIMITS,
        section_error: Callable[[str], Error] | None = StackValidationFailed,
        packed: PackedPaths | None = None,
    ) -> Template:
        """Parse a template from text or a map.

        Args:
            source: The document.
            limits: Limits on size, depth and evaluation.
            section_error: The error class for sections that the version does not have; None
                leaves that check to ``check_sections``.
            packed: The sections that are a ``PackedMap`` if they have very many members; None
                for a template that others than its evaluation read.

        Raises:
            HTTPBadRequest: The document is unreadable, not a map, or has no version key.
            RequestLimitExceeded: A limit is exceeded.
            InvalidTemplateVersion: The version is unknown or ambiguous.
        """
        document = load_document(source, limits=limits, packed=packed)
        if not isinstance(document.data, dict):
            raise HTTPBadRequest(
                "Template not in valid format: The template is not a JSON object or YAML mapping."
                f" It is a {_json_type(document.data)}."
            )
        version = _version(document.data)
        template = cls(document, version, limits)
        if section_error is not None:
            template.check_sections(section_error)
        return template

    @classmethod
    def empty(cls, *, limits: TemplateLimits = DEFAULT_LIMITS) -> Template:
        """Return the template of a stack that has none."""
        raw = {EMPTY_TEMPLATE_VERSION.key: EMPTY_TEMPLATE_VERSION.date}
        return cls(Document(raw), EMPTY_TEMPLATE_VERSION, limits)

    def compact(self) -> Template:
        """Return the same template in less memory, to be kept for long."""
        document = replace(self.document, data=EqualParts().share(self.raw))
        return replace(self, document=document)

    @property
    def raw(self) -> dict[str, Json]:
        """The document as plain JSON."""
        data: dict[str, Json] = self.document.data
        return data

    @property
    def sections(self) -> tuple[str, ...]:
        """The names of the sections that are present, in document order."""
        return tuple(self.raw)

    @property
    def description(self) -> str:
        """The template's description, or the default one."""
        return str(self.raw.get(self.version.dialect.description) or DEFAULT_TEMPLATE_DESCRIPTION)

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """The names of all declared parameters, including invalid declarations."""
        section = self.section(self.version.dialect.parameters)
        return tuple(section) if isinstance(section, dict) else ()

    @property
    def resource_names(self) -> tuple[str, ...]:
        """The names of all resources, including those whose condition is false."""
        section = self.section(self.version.dialect.resources)
        return tuple(section) if isinstance(section, Mapping) else ()

    @property
    def parameters(self) -> Mapping[str, ParameterSchema]:
        """The declared parameters; raises the first error of an invalid declaration."""
        diagnostics = self.new_diagnostics()
        schemas = self.parameter_schemas(diagnostics)
        diagnostics.raise_if_any()
        return schemas

    def section(self, name: str) -> Json:
        """Return a section's content; an absent or null section is an empty map."""
        content = self.raw.get(name)
        return {} if content is None else content

    def parameter_schemas(self, diagnostics: Diagnostics) -> dict[str, ParameterSchema]:
        """Return the valid parameter declarations and add errors to ``diagnostics``."""
        name = self.version.dialect.parameters
        with evaluation_budget(self.limits):
            return parse_parameter_schemas(self.section(name), self.version, diagnostics)

    def new_diagnostics(self) -> Diagnostics:
        """Return an empty collection of errors that can find positions in this text."""
        return Diagnostics(self.document.find_positions, limit=self.limits.max_diagnostics)

    def check_sections(
        self, section_error: Callable[[str], Error] = StackValidationFailed
    ) -> None:
        """Raise ``section_error`` if the template has sections that its version does not."""
        diagnostics = self.new_diagnostics()
        self.add_section_errors(diagnostics, section_error)
        diagnostics.raise_if_any()

    def add_section_errors(
        self,
        diagnostics: Diagnostics,
        section_error: Callable[[str], Error] = StackValidationFailed,
    ) -> None:
        """Add an error for each section that the version does not have."""
        for name in self.raw:
            if name not in self.version.sections:
                hint = did_you_mean(name, self.version.sections)
                message = f"The template section is invalid: {name}{hint}"
                diagnostics.add(ValidationPhase.TEMPLATE, section_error(message), (name,))


def _version(raw: Mapping[str, Json]) -> TemplateVersion:
    present = [key for key in VERSION_KEYS if key in raw]
    if not present:
        raise InvalidTemplateVersion(
            "The template version is invalid: Template version was not provided. One of"
            f" {', '.join(VERSION_KEYS)} is needed{_near_key(raw)}"
        )
    if len(present) > 1:
        raise InvalidTemplateVersion(
            f"The template version is invalid: Ambiguous versions ({', '.join(sorted(present))})"
        )
    (key,) = present
    value = raw[key]
    if not isinstance(value, str):
        raise InvalidTemplateVersion(
            f'The template version is invalid: "{key}: {value}" is a {_json_type(value)},'
            " not a string."
        )
    version = TEMPLATE_VERSIONS_BY_NAME.get((key, value))
    if version is None:
        known = sorted(name for known_key, name in TEMPLATE_VERSIONS_BY_NAME if known_key == key)
        raise InvalidTemplateVersion(
            f'The template version is invalid: "{key}: {value}".'
            f' "{key}" should be one of: {", ".join(known)}{did_you_mean(value, known)}'
        )
    return version


def _near_key(raw: Iterable[str]) -> str:
    for key in raw:
        near = get_close_matches(key, VERSION_KEYS, n=1, cutoff=0.8)
        if near:
            return f' ("{key}" is perhaps "{near[0]}").'
    return "."


def _json_type(value: Json) -> str:
    names = {dict: "map", list: "list", str: "string", bool: "boolean", type(None): "null"}
    return names.get(type(value), "number")


def find_template_version(name: str) -> TemplateVersion | None:
    """Return the version that the API calls ``<key>.<date>``; a date alias is accepted."""
    key, _, date = name.partition(".")
    return TEMPLATE_VERSIONS.get(name) or TEMPLATE_VERSIONS_BY_NAME.get((key, date))
