"""The source of a root stack: template, files and environment, parsed.

Called by the builder and by the controllers that take a stack's body.  Decides where
each part comes from (the body, a URL, files of the request, the stored goal) and what of
a stored goal a PATCH keeps; must not evaluate anything.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from heat_convergence.common import errors
from heat_convergence.common.errors import (
    InvalidRequestType,
    InvalidRequestValue,
    MissingRequestKey,
)
from heat_convergence.common.strict_json import encode_json
from heat_convergence.convergence.model.goal import Goal
from heat_convergence.resources.catalog import availability_zones
from heat_convergence.resources.driver import request_cloud
from heat_convergence.resources.nested.template_cache import TemplateFiles
from heat_convergence.stacks.services import StackServices
from heat_convergence.stacks.source.files_container import read_files_container
from heat_convergence.stacks.source.urlfetch import FetchLimits, fetch_url
from heat_convergence.template.environment.environment import (
    Environment,
    parse_environment_sections,
)
from heat_convergence.template.environment.environment_merge import merge_environment_files
from heat_convergence.template.parameters.parameter_schemas import ParameterSchema
from heat_convergence.template.parsing.document_loader import PACKED_SECTIONS
from heat_convergence.template.parsing.template_versions import VERSION_KEYS
from heat_convergence.template.template import Template

Json = Any
SectionErrorFactory = Callable[[str], errors.Error]
_ZONES_FUNCTION = "Fn::GetAZs"


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceRequest:
    """The fields of a request that say where a stack's source comes from.

    Attributes:
        template: text or a map.
        environment: text or a map.
        environment_files: names among ``files``, the later over the earlier.
        files_container: a container whose objects are files, beneath ``files``.
        clear_parameters: stored parameters that a PATCH drops.
    """

    template: str | Mapping[str, Json] | None = None
    template_url: str | None = None
    environment: str | Mapping[str, Json] | None = None
    environment_files: tuple[str, ...] = ()
    parameters: Mapping[str, Json] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    files_container: str | None = None
    clear_parameters: tuple[str, ...] = ()


RequestT = TypeVar("RequestT", bound=SourceRequest)


@dataclass(frozen=True, slots=True)
class TemplateSource:
    """A stack's parsed source; ``text`` is the template as it is stored."""

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
    """The reader of requests and stored goals; one per process."""

    def __init__(self, services: StackServices) -> None:
        self._services = services
        options = services.options
        self._max_files_bytes = options.max_json_body_bytes
        self._fetch_limits = FetchLimits(
            max_bytes=services.limits.max_template_size,
            timeout_s=options.template_fetch_timeout_s,
            allow_private_addresses=options.fetch_private_addresses,
        )

    def from_request(
        self,
        request: SourceRequest,
        *,
        section_error: SectionErrorFactory | None = errors.StackValidationFailed,
        replaced_goal: StoredGoal | None = None,
    ) -> TemplateSource:
        """Return the source of a request that has a template or its URL.

        Args:
            request: the fields of the body.
            section_error: the error for a wrong section; None leaves sections unchecked.
            replaced_goal: the goal whose availability zones stay.
        """
        request = self._with_container(request)
        content = request.template
        if content is None:
            content = fetch_url(request.template_url or "", self._fetch_limits)
        template = Template.parse(
            content,
            limits=self._services.limits,
            section_error=section_error,
            packed=PACKED_SECTIONS,
        )
        text = content if isinstance(content, str) else encode_json(content).decode()
        environment = self._environment(request, template)
        if replaced_goal is not None:
            stored = self._services.environment_from_stored(replaced_goal.goal.environment)
            environment = replace(environment, availability_zones=stored.availability_zones)
        return with_availability_zones(TemplateSource(template, text, request.files, environment))

    def from_update_request(
        self, request: SourceRequest, replaced_goal: StoredGoal | None = None
    ) -> TemplateSource:
        """Return the source of an update that replaces the whole goal.

        With ``replaced_goal`` its availability zones stay.
        """
        source = self.from_request(
            request,
            section_error=errors.InvalidTemplateSection,
            replaced_goal=replaced_goal,
        )
        reject_resource_list(source)
        return source

    def from_patch_request(
        self, request: SourceRequest, replaced_goal: StoredGoal
    ) -> TemplateSource:
        """Return the source of a PATCH: its fields over those of the stored goal."""
        if request.template is None and request.template_url is None:
            request = replace(request, template=replaced_goal.text)
        files = {**replaced_goal.files, **self._with_container(request).files}
        request = replace(request, files=files, files_container=None)
        source = self.from_update_request(request, replaced_goal)
        stored = self._services.environment_from_stored(replaced_goal.goal.environment)
        kept = replace(stored, parameters=_declared(stored.parameters, source.template))
        environment = kept.merged_with(source.environment, request.clear_parameters)
        return replace(source, environment=environment)

    def from_stored_goal(self, stored: StoredGoal) -> TemplateSource:
        """Return the source that the goal was made from."""
        return self.from_stored_parts(stored.text, stored.goal.environment, stored.files)

    def from_stored_parts(
        self, text: str, sections: Mapping[str, Json], files: Mapping[str, str]
    ) -> TemplateSource:
        """Return the source of a stored template, the sections of its environment and files."""
        template = Template.parse(text, limits=self._services.limits, packed=PACKED_SECTIONS)
        environment = self._services.environment_from_stored(sections)
        return TemplateSource(template, text, files, environment)

    def _with_container(self, request: RequestT) -> RequestT:
        """Return the request with its container's objects beneath its files."""
        if request.files_container is None:
            return request
        objects = read_files_container(
            request.files_container,
            request_cloud.current_cloud(),
            max_bytes=self._max_files_bytes,
        )
        return replace(request, files={**objects, **request.files}, files_container=None)

    def _environment(self, request: SourceRequest, template: Template) -> Environment:
        if request.environment_files:
            return self._merged_environment(request, template)
        limits = self._services.limits
        sections = parse_environment_sections(request.environment, limits=limits)
        parameters = {**sections.get("parameters", {}), **request.parameters}
        return Environment.parse(
            {**sections, "parameters": parameters},
            base=self._services.global_environment,
            limits=limits,
        )

    def _merged_environment(self, request: SourceRequest, template: Template) -> Environment:
        """Merge the environment files in their order; ``request.environment`` is ignored."""
        missing = [name for name in request.environment_files if name not in request.files]
        if missing:
            raise MissingRequestKey(f'environment_files: "{missing[0]}" is not among the files.')
        try:
            return merge_environment_files(
                request.files,
                request.environment_files,
                self._parameter_schemas(template, request.files),
                request={"parameters": request.parameters},
                base=self._services.global_environment,
                limits=self._services.limits,
            )
        except errors.HTTPBadRequest as error:
            raise InvalidRequestValue(str(error)) from error

    def _parameter_schemas(
        self, template: Template, files: Mapping[str, str]
    ) -> dict[str, ParameterSchema]:
        """Return the parameters of the template and, beneath, of templates among the files."""
        found: dict[str, ParameterSchema] = {}
        nested = TemplateFiles.from_texts(files, self._services.template_cache)
        for name, text in files.items():
            if any(key in text for key in VERSION_KEYS):
                with suppress(errors.Error):  # no template, or reported where it is used
                    found |= nested.template(name).parameters
        return found | dict(template.parameters)


def with_availability_zones(source: TemplateSource) -> TemplateSource:
    """Return the source with the cloud's zones in its environment if a template needs them.

    Stored with the goal, they make every later evaluation come to the same.
    """
    texts = (source.text, *source.files.values())
    if source.environment.availability_zones is not None or not any(
        _ZONES_FUNCTION in text for text in texts
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
    """Refuse resources in a list with the error type that clients expect of updates.

    Raises:
        InvalidRequestType: they are a list; a create reports another error.
    """
    name = source.template.version.dialect.resources
    if isinstance(source.template.section(name), list):
        raise InvalidRequestType(f'{name}: "{name}" must be a map, not a list.')


def _declared(values: Mapping[str, Json], template: Template) -> dict[str, Json]:
    """Return the stored values that the new template still declares."""
    names: Collection[str] = template.parameters
    return {name: value for name, value in values.items() if name in names}
