"""The WSGI application: the pipeline and the controllers, wired to their services.

Called by ``cli`` and by tests.  Decides which middlewares surround the application and
in which order; reads no global option and starts nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache, partial
from typing import Any
from urllib.parse import unquote_to_bytes

from keystonemiddleware.auth_token import AuthProtocol
from oslo_config import cfg
from oslo_middleware import cors
from oslo_middleware.healthcheck import Healthcheck
from oslo_middleware.http_proxy_to_wsgi import HTTPProxyToWSGI
from oslo_middleware.request_id import RequestId

from heat_convergence.api.console.console import Console
from heat_convergence.api.console.local_browser import LocalBrowserCheck
from heat_convergence.api.console.login import LoginEndpoint
from heat_convergence.api.context import AuthStrategy
from heat_convergence.api.controllers.application import RootApplication
from heat_convergence.api.controllers.plan.plan_creation import PlanCreationController
from heat_convergence.api.controllers.plan.plan_execution import PlanExecutionController
from heat_convergence.api.controllers.plan.plans import PlansController
from heat_convergence.api.controllers.resource.events import EventsController
from heat_convergence.api.controllers.resource.resource_health import ResourceHealthController
from heat_convergence.api.controllers.resource.resources import ResourcesController
from heat_convergence.api.controllers.resource.signals import SignalsController
from heat_convergence.api.controllers.root import JsonContentTypeHook, ReadRetry, RootController
from heat_convergence.api.controllers.service.build_info import BuildInfoController
from heat_convergence.api.controllers.service.inventory import InventoryController
from heat_convergence.api.controllers.service.overview import OverviewController
from heat_convergence.api.controllers.service.quarantine import QuarantineController
from heat_convergence.api.controllers.service.resource_types import ResourceTypesController
from heat_convergence.api.controllers.service.template_lint import TemplateLintController
from heat_convergence.api.controllers.service.templates import TemplatesController
from heat_convergence.api.controllers.software.software_configs import SoftwareConfigsController
from heat_convergence.api.controllers.software.software_deployments import (
    SoftwareDeploymentsController,
)
from heat_convergence.api.controllers.stack.drift import DriftController
from heat_convergence.api.controllers.stack.export import ExportController
from heat_convergence.api.controllers.stack.outputs import OutputsController
from heat_convergence.api.controllers.stack.previews import PreviewsController
from heat_convergence.api.controllers.stack.progress import ProgressController
from heat_convergence.api.controllers.stack.snapshots import SnapshotsController
from heat_convergence.api.controllers.stack.stack_actions import StackActionsController
from heat_convergence.api.controllers.stack.stack_lookup import StackLookupController
from heat_convergence.api.controllers.stack.stack_reads import StackReadsController
from heat_convergence.api.controllers.stack.stack_writes import StackWritesController
from heat_convergence.api.controllers.stack.timeline import TimelineController
from heat_convergence.api.http import MAX_BODY_BYTES_KEY, ApiRequest
from heat_convergence.api.kept_signatures import keep_signatures
from heat_convergence.api.middleware.access_log import AccessLog, log_project_of_caller
from heat_convergence.api.middleware.ec2_signature import Ec2SignatureAuth
from heat_convergence.api.middleware.faults import FaultWrapper, WsgiApplication
from heat_convergence.api.middleware.identity import KeystoneIdentity, NoAuthIdentity
from heat_convergence.api.middleware.overload import HEALTHCHECK_PATH, OverloadRefusal
from heat_convergence.api.middleware.public_endpoint import PublicEndpoint
from heat_convergence.api.middleware.readiness import ReadinessGate
from heat_convergence.api.middleware.request_metrics import RequestMetrics
from heat_convergence.api.middleware.request_spans import RequestSpans
from heat_convergence.api.middleware.version_negotiation import VersionNegotiation
from heat_convergence.api.openapi import build_openapi_document
from heat_convergence.api.policies.enforcer import PolicyEnforcer
from heat_convergence.api.routes.table import ROUTES
from heat_convergence.api.services import ApiServices
from heat_convergence.api.trust_delegation import cloud_access_as_user
from heat_convergence.common import errors
from heat_convergence.common.transactions import retry_transaction

OPENAPI_PATH = "/openapi.json"
_OUR_HEADERS = ["X-Auth-Token", "X-Auth-User", "X-Auth-Key", "X-Auth-Url", "X-Region-Name"]


def build_app(
    services: ApiServices,
    *,
    auth: AuthStrategy = AuthStrategy.NOAUTH,
    conf: cfg.ConfigOpts | None = None,
    check_ready: Callable[[], None] = lambda: None,
) -> WsgiApplication:
    """Return the API as a WSGI application.

    Args:
        services: everything that handlers use.
        auth: how callers are authenticated.
        conf: the options of oslo.middleware, oslo.policy and keystonemiddleware; their
            defaults without it.
        check_ready: raises ``Unavailable`` while the database cannot be used.
    """
    conf = conf or default_options()
    keep_signatures()
    inner = build_handlers(services, conf)
    users = services.stack_user_domain
    app: Any
    if auth is AuthStrategy.KEYSTONE:
        app = AuthProtocol(KeystoneIdentity(inner, users), {"oslo_config_config": conf})
    else:
        app = NoAuthIdentity(inner)
    app = VersionNegotiation(app, {OPENAPI_PATH: _openapi_document()})
    if services.find_signer is not None:
        app = Ec2SignatureAuth(app, inner, services.find_signer, users)
    app = OverloadRefusal(PublicEndpoint(app, services.options.public_endpoint))
    app = _PathDispatcher(app, {HEALTHCHECK_PATH: Healthcheck(None, conf)})
    app = ReadinessGate(app, check_ready)
    if services.options.console:
        app = _with_console(app, services, auth)
    cors.set_defaults(
        allow_headers=_OUR_HEADERS,
        allow_methods=["GET", "POST", "PUT", "PATCH", "DELETE"],
        expose_headers=["x-openstack-request-id", "Location"],
    )
    app = cors.CORS(FaultWrapper(app, services.errors), conf)
    app = RequestMetrics(RequestSpans(app))
    if services.options.access_log:
        app = AccessLog(app)
    return RequestId(HTTPProxyToWSGI(app, conf), conf)


@cache
def _openapi_document() -> dict[str, Any]:
    """Return the description of all routes, which the applications of a process share."""
    return build_openapi_document(ROUTES)


def _with_console(
    app: WsgiApplication, services: ApiServices, auth: AuthStrategy
) -> WsgiApplication:
    """Return the application with the console, safe from pages of other sites."""
    if auth is AuthStrategy.NOAUTH:
        return Console(LocalBrowserCheck(app), None)
    return Console(app, None if services.log_in is None else LoginEndpoint(services.log_in))


def build_handlers(services: ApiServices, conf: cfg.ConfigOpts) -> WsgiApplication:
    """Return the handlers behind authentication: the environment names the caller.

    Args:
        services: everything that handlers use.
        conf: the options of oslo.policy.
    """
    enforcer = PolicyEnforcer(conf)
    app = RootApplication(
        RootController(
            _controllers(services, enforcer),
            enforcer,
            _read_retry(services),
            ROUTES,
            services.limits,
            partial(cloud_access_as_user, services),
        ),
        hooks=[JsonContentTypeHook()],
        request_cls=ApiRequest,
        force_canonical=False,
        guess_content_type_from_ext=False,
    )
    return _RequestLimits(app, services.options.max_json_body_bytes)


def _read_retry(services: ApiServices) -> ReadRetry:
    tries = services.options.transaction_tries
    return partial(retry_transaction, wait=services.wait, tries=tries)


def _controllers(services: ApiServices, enforcer: PolicyEnforcer) -> dict[str, Any]:
    return {
        "build_info": BuildInfoController(services),
        "drift": DriftController(services, enforcer),
        "events": EventsController(services),
        "export": ExportController(services),
        "inventory": InventoryController(services),
        "outputs": OutputsController(services),
        "overview": OverviewController(services),
        "plan_creation": PlanCreationController(services, enforcer),
        "plan_execution": PlanExecutionController(services, enforcer),
        "plans": PlansController(services, enforcer),
        "previews": PreviewsController(services, enforcer),
        "progress": ProgressController(services),
        "quarantine": QuarantineController(services),
        "resource_health": ResourceHealthController(services),
        "resource_types": ResourceTypesController(services, enforcer),
        "resources": ResourcesController(services, enforcer),
        "signals": SignalsController(services),
        "snapshots": SnapshotsController(services, enforcer),
        "software_configs": SoftwareConfigsController(services, enforcer),
        "software_deployments": SoftwareDeploymentsController(services, enforcer),
        "stack_actions": StackActionsController(services, enforcer),
        "stack_lookup": StackLookupController(services),
        "stack_reads": StackReadsController(services, enforcer),
        "stack_writes": StackWritesController(services, enforcer),
        "template_lint": TemplateLintController(services, enforcer),
        "templates": TemplatesController(services),
        "timeline": TimelineController(services),
    }


def default_options() -> cfg.ConfigOpts:
    """Return the options of libraries with their defaults."""
    conf = cfg.ConfigOpts()
    conf([], default_config_files=[], default_config_dirs=[])
    return conf


class _RequestLimits:
    """WSGI middleware that refuses URLs that are no text and limits the size of bodies."""

    def __init__(self, application: WsgiApplication, max_body_bytes: int) -> None:
        self._application = application
        self._max_body_bytes = max_body_bytes

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        environ[MAX_BODY_BYTES_KEY] = self._max_body_bytes
        log_project_of_caller(environ)
        try:
            query = unquote_to_bytes(environ.get("QUERY_STRING", "")).decode()
            path = environ.get("PATH_INFO", "").encode("latin-1").decode()
        except UnicodeDecodeError as error:
            raise errors.HTTPBadRequest("The URL is not UTF-8 text.") from error
        if "\0" in query or "\0" in path:
            raise errors.HTTPBadRequest("The URL holds the character NUL.")
        return self._application(environ, start_response)


class _PathDispatcher:
    """WSGI middleware that serves other applications at exact paths."""

    def __init__(self, application: WsgiApplication, others: dict[str, WsgiApplication]) -> None:
        self._application = application
        self._others = others

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        chosen = self._others.get(environ.get("PATH_INFO", ""), self._application)
        return chosen(environ, start_response)
