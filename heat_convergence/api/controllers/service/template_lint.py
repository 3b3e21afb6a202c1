"""Findings of the linter for editors of templates, and the schema that completes them.

Called by the root controller. Asks no other service and fetches nothing; the rules are those of
``heat-convergence lint``, the schema is that of ``heat-convergence schema``.
"""

from __future__ import annotations

import json
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import webob

from heat_convergence.api.controllers.base import Controller
from heat_convergence.api.http import ApiRequest, json_response
from heat_convergence.api.policies.enforcer import PolicyEnforcer
from heat_convergence.api.requests.lint import parse_lint_body
from heat_convergence.api.requests.params import QueryParams
from heat_convergence.api.services import ApiServices
from heat_convergence.api.views.service.lint import format_findings
from heat_convergence.common import errors
from heat_convergence.lint.json_schema import environment_schema, template_schema
from heat_convergence.lint.linter import Linter

_FILE = "template"
_SCHEMA_CACHE = 4  # callers differ in the resource types that policy keeps from them


class TemplateLintController(Controller):
    """The handlers of ``/lint`` and ``/template_schema``."""

    def __init__(self, services: ApiServices, enforcer: PolicyEnforcer) -> None:
        super().__init__(services)
        self._enforcer = enforcer
        # Constraints of plug-ins are not checked, since they would ask the cloud.
        self._lint_services = replace(services, custom_constraints=None)
        self._template_schema = lru_cache(_SCHEMA_CACHE)(self._build_template_schema)

    def lint(self, request: ApiRequest) -> webob.Response:
        """Find mistakes in a template, and give advice."""
        body = parse_lint_body(request.json_object)
        linter = Linter(self._lint_services, body.environment, source=body.files)
        found = linter.lint(_FILE, body.template, Path())
        return json_response(format_findings(found, has_lines=body.has_lines))

    def schema(self, request: ApiRequest) -> webob.Response:
        """Show the JSON Schema of templates or of environments."""
        document = QueryParams(request.GET).last("document") or _FILE
        if document == "environment":
            return json_response(environment_schema())
        if document != _FILE:
            raise errors.HTTPBadRequest('"document" is either template or environment.')
        names = (each.name for each in self.services.registry)
        allowed = frozenset(name for name in names if self._enforcer.allows_type(request, name))
        return webob.Response(
            body=self._template_schema(allowed), content_type="application/json", charset="UTF-8"
        )

    def _build_template_schema(self, names: frozenset[str]) -> bytes:
        types = (each for each in self.services.registry if each.name in names)
        return json.dumps(template_schema(types)).encode()
