"""What a request says a stack is to be: template, files and environment, parsed.

Called by the controllers that take a stack's body.  Decides where each comes from
(the body, a URL, files of the request, the goal that is stored) and what of a
stored goal a PATCH keeps; evaluates nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from heat_convergence.api.requests.params import (
    InvalidRequestType,
    InvalidRequestValue,
    MissingRequestKey,
)
from heat_convergence.api.requests.stack_body import BodyPurpose, StackBody
from heat_convergence.api.services import ApiServices
from heat_convergence.common import errors
from heat_convergence.convergence.model.goal import Goal
from heat_convergence.resources.catalog import availability_zones
from heat_convergence.resources.driver import request_cloud
from heat_convergence.resources.nested.template_cache import TemplateCache, TemplateFiles
from heat_convergence.stacks.source.files_container import read_files_container
from heat_convergence.stacks.source.urlfetch import FetchLimits, fetch_url
from heat_convergence.template.environment.environment import (
    Environment,
    parse_environment_sections,
)
from heat_convergence.template.environment.environment_merge import merge_environment_files
from heat_convergence.template.parameters.parameter_schemas import ParameterSchema
from heat_convergence.template.parsing.template_versions import VERSION_KEYS
from heat_convergence.template.template import Template

Json = Any
SectionErrorFactory = Callable[[str], errors.Error]
_ZONES = "Fn::GetAZs"


@dataclass(frozen=True, slots=True)
class TemplateSource:
    """``text`` is the template as it is stored."""

    template: Template
    text: str
    files: Mapping[str, str]
    environment: Environment


@dataclass(frozen=True, slots=True)
class StoredGoal:
    """A goal with its texts."""

    goal: Goal
    text: str
    files: Mapping[str, str]


class TemplateSourceReader:
    def __init__(self, services: ApiServices, parsed: TemplateCache) -> None:
        self._parsed = parsed
        self._limits = services.limits
        self._base = services.global_environment
        self._max_files_bytes = services.options.max_json_body_bytes
        self._fetching = FetchLimits(
            max_bytes=services.limits.max_template_size,
            timeout_s=services.options.template_fetch_timeout_s,
            allow_private_addresses=services.options.fetch_private_addresses,
        )

    def from_request(
        self,
        body: StackBody,
        *,
        section_error: SectionErrorFactory | None = errors.StackValidationFailed,
    ) -> TemplateSource:
        """All from the body, which has a template or its URL.  Without a ``section_error``
        the template's sections are not looked at."""
        body = self._with_container(body)
        given = body.template
        if given is None:
            given = fetch_url(body.template_url or "", self._fetching)
        template = Template.parse(given, limits=self._limits, section_error=section_error)
        text = given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)
        environment = self._environment(body, template, body.files)
        return with_availability_zones(TemplateSource(template, text, body.files, environment))

    def from_update_request(
        self, body: StackBody, use: BodyPurpose, before: StoredGoal | None
    ) -> TemplateSource:
        """For an update; a PATCH may be silent about everything, and what it says
        goes over what is stored."""
        section_error = errors.InvalidTemplateSection
        if use is not BodyPurpose.PATCH or before is None:
            source = self.from_request(body, section_error=section_error)
            reject_resource_list(source)
            return source
        if body.template is None and body.template_url is None:
            body = replace(body, template=before.text)
        files = {**before.files, **self._with_container(body).files}
        body = replace(body, files_container=None)
        source = self.from_request(replace(body, files=files), section_error=section_error)
        reject_resource_list(source)
        stored = self._stored(before.goal.environment)
        kept = replace(stored, parameters=_declared(stored.parameters, source.template))
        environment = kept.merged_with(source.environment, body.clear_parameters)
        return replace(source, environment=environment)

    def _with_container(self, body: StackBody) -> StackBody:
        """With the objects of its container beneath the files that it brings."""
        if body.files_container is None:
            return body
        below = read_files_container(
            body.files_container, request_cloud.current_cloud(), max_bytes=self._max_files_bytes
        )
        return replace(body, files={**below, **body.files}, files_container=None)

    def from_stored_goal(self, before: StoredGoal) -> TemplateSource:
        """The goal as it was given at first."""
        template = Template.parse(before.text, limits=self._limits)
        environment = self._stored(before.goal.environment)
        return TemplateSource(template, before.text, before.files, environment)

    def _environment(
        self, body: StackBody, template: Template, files: Mapping[str, str]
    ) -> Environment:
        if body.environment_files:
            return self._merged(body, template, files)
        sections = parse_environment_sections(body.environment, limits=self._limits)
        parameters = {**sections.get("parameters", {}), **body.parameters}
        return self._parse({**sections, "parameters": parameters})

    def _parse(self, sections: Mapping[str, Json]) -> Environment:
        return Environment.parse(sections, base=self._base, limits=self._limits)

    def _stored(self, sections: Mapping[str, Json]) -> Environment:
        return Environment.from_stored(sections, base=self._base, limits=self._limits)

    def _merged(
        self, body: StackBody, template: Template, files: Mapping[str, str]
    ) -> Environment:
        """The files in their order; the body's own environment does not count."""
        missing = [name for name in body.environment_files if name not in files]
        if missing:
            raise MissingRequestKey(f'environment_files: "{missing[0]}" is not among the files.')
        try:
            return merge_environment_files(
                files,
                body.environment_files,
                self._schemas(template, files),
                request={"parameters": body.parameters},
                base=self._base,
                limits=self._limits,
            )
        except errors.HTTPBadRequest as error:
            raise InvalidRequestValue(str(error)) from error

    def _schemas(self, template: Template, files: Mapping[str, str]) -> dict[str, ParameterSchema]:
        """Of the template and of those among the files; it comes first."""
        found: dict[str, ParameterSchema] = {}
        nested = TemplateFiles.from_texts(files, self._parsed)
        for name, text in files.items():
            if any(key in text for key in VERSION_KEYS):
                with suppress(errors.Error):  # no template, or told where it is used
                    found |= nested.template(name).parameters
        return found | dict(template.parameters)


def with_availability_zones(source: TemplateSource) -> TemplateSource:
    """With the cloud's zones in its environment when a template asks for them, so that
    it comes to the same whenever it is evaluated, by whomever."""
    texts = (source.text, *source.files.values())
    if source.environment.availability_zones is not None or not any(
        _ZONES in text for text in texts
    ):
        return source
    environment = replace(
        source.environment,
        availability_zones=availability_zones.list_availability_zones(
            request_cloud.current_cloud()
        ),
    )
    return replace(source, environment=environment)


def reject_resource_list(source: TemplateSource) -> None:
    """Resources in a list: clients know this by another type than where a stack is
    created.  Raises ``AttributeError``'s kin."""
    name = source.template.version.dialect.resources
    if isinstance(source.template.section(name), list):
        raise InvalidRequestType(f'{name}: "{name}" must be a map, not a list.')


def _declared(values: Mapping[str, Json], template: Template) -> dict[str, Json]:
    """Stored values that the new template still asks for."""
    names: Collection[str] = template.parameters
    return {name: value for name, value in values.items() if name in names}
