"""The body that has a template checked.

Called by the controller of linting. Decides which parts of a stack's body count: nothing is
fetched to check a template.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from heat_convergence.api.requests.stack_body import BodyPurpose, StackBody, parse_stack_body
from heat_convergence.common import errors
from heat_convergence.common.strict_json import encode_json
from heat_convergence.lint.environments import EnvironmentFiles
from heat_convergence.lint.referenced_files import RequestFiles

Json = Any
_ENVIRONMENT = Path("environment")


@dataclass(frozen=True, slots=True)
class LintBody:
    """A template to check, with what it is used with.

    Attributes:
        template: The text.
        has_lines: Whether the lines of the text are those of the request.
        environment: The environment and the parameters.
        files: The files that both may name.
    """

    template: str
    has_lines: bool
    environment: EnvironmentFiles
    files: RequestFiles


def parse_lint_body(fields: Mapping[str, Json] | None) -> LintBody:
    """Return the parsed body.

    Raises:
        HTTPBadRequest: It has no template, or names a template or files that are elsewhere.
    """
    body = parse_stack_body(fields, BodyPurpose.VALIDATE)
    if body.template is None or body.files_container is not None:
        raise errors.HTTPBadRequest(
            'A template is checked with "template" and "files" alone: "template_url" and'
            ' "files_container" are not fetched.'
        )
    return LintBody(
        template=_to_text(body.template),
        has_lines=isinstance(body.template, str),
        environment=EnvironmentFiles(_environment_texts(body), body.parameters),
        files=RequestFiles(body.files),
    )


def _environment_texts(body: StackBody) -> dict[Path, str]:
    if body.environment_files:
        missing = [name for name in body.environment_files if name not in body.files]
        if missing:
            raise errors.MissingRequestKey(
                f'environment_files: "{missing[0]}" is not among the files.'
            )
        return {Path(name): body.files[name] for name in body.environment_files}
    return {} if body.environment is None else {_ENVIRONMENT: _to_text(body.environment)}


def _to_text(document: str | Mapping[str, Json]) -> str:
    return document if isinstance(document, str) else encode_json(document).decode()
