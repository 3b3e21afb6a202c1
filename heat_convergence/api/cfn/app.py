"""The CloudFormation API as a WSGI application: routes, pipeline and the table of actions.

Called by ``cli`` and by tests. Decides which middlewares surround the actions; reads no global
option and starts nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any

import webob
from keystonemiddleware.auth_token import AuthProtocol
from oslo_config import cfg
from oslo_middleware.healthcheck import Healthcheck
from oslo_middleware.http_proxy_to_wsgi import HTTPProxyToWSGI
from oslo_middleware.request_id import RequestId

from heat_convergence.api.app import build_handlers, default_options
from heat_convergence.api.cfn import resource_actions, stack_actions
from heat_convergence.api.cfn.cfn_errors import CfnError, from_error, internal_failure
from heat_convergence.api.cfn.parameters import RequestParameters
from heat_convergence.api.cfn.project_rows import ProjectRows
from heat_convergence.api.cfn.responses import render
from heat_convergence.api.cfn.signatures import PARAMETERS_KEY, NoAuth, SignatureAuth
from heat_convergence.api.cfn.stack_api import StackApi
from heat_convergence.api.context import AuthStrategy
from heat_convergence.api.http import ApiRequest, json_response
from heat_convergence.api.middleware.ec2_signature import Ec2SignatureAuth
from heat_convergence.api.middleware.faults import FaultWrapper, RouteNotFound, WsgiApplication
from heat_convergence.api.middleware.identity import KeystoneIdentity
from heat_convergence.api.middleware.overload import HEALTHCHECK_PATH, OverloadRefusal
from heat_convergence.api.middleware.public_endpoint import PublicEndpoint
from heat_convergence.api.middleware.readiness import ReadinessGate
from heat_convergence.api.policies.enforcer import PolicyEnforcer
from heat_convergence.api.services import ApiServices
from heat_convergence.common import errors
from heat_convergence.common.error_boundary import BoundaryName, ErrorBoundary
from heat_convergence.common.error_log import ErrorLog

LOG = logging.getLogger(__name__)
Json = Any
Handler = Callable[[StackApi, RequestParameters], Mapping[str, Json] | None]
ACTIONS: Mapping[str, Handler] = MappingProxyType(
    {
        "CancelUpdateStack": stack_actions.cancel_update_stack,
        "CreateStack": stack_actions.create_stack,
        "DeleteStack": stack_actions.delete_stack,
        "DescribeStackEvents": resource_actions.describe_stack_events,
        "DescribeStackResource": resource_actions.describe_stack_resource,
        "DescribeStackResources": resource_actions.describe_stack_resources,
        "DescribeStacks": stack_actions.describe_stacks,
        "EstimateTemplateCost": stack_actions.estimate_template_cost,
        "GetTemplate": stack_actions.get_template,
        "ListStackResources": resource_actions.list_stack_resources,
        "ListStacks": stack_actions.list_stacks,
        "UpdateStack": stack_actions.update_stack,
        "ValidateTemplate": stack_actions.validate_template,
    }
)
# Rules of the Orchestration API, for actions that do not always send it a request.
_FURTHER_RULES: Mapping[str, str] = {
    "DescribeStackEvents": "events:index",
    "DescribeStackResources": "resource:index",
}
_PATHS = frozenset({"/v1", "/v1/", "/v1.0", "/v1.0/"})
_VERSION_PATHS = frozenset({"", "/", "/versions"})


def build_cfn_app(
    services: ApiServices,
    *,
    auth: AuthStrategy = AuthStrategy.NOAUTH,
    conf: cfg.ConfigOpts | None = None,
    check_ready: Callable[[], None] = lambda: None,
) -> WsgiApplication:
    """Return the CloudFormation API as a WSGI application.

    Args:
        services: everything that handlers use.
        auth: how callers are authenticated.
        conf: the options of oslo.middleware, oslo.policy and keystonemiddleware; their defaults
            without it.
        check_ready: raises ``Unavailable`` while the database cannot be used.
    """
    conf = conf or default_options()
    handlers = build_handlers(services, conf)
    limit, users = services.options.max_json_body_bytes, services.stack_user_domain
    rows = ProjectRows(services.database, services.options.hidden_stack_tags)
    app: Any = CfnActions(handlers, PolicyEnforcer(conf), rows)
    if auth is AuthStrategy.KEYSTONE:
        app = AuthProtocol(KeystoneIdentity(app, users), {"oslo_config_config": conf})
        app = SignatureAuth(app, _require(services.issue_token), limit)
    else:
        app = NoAuth(app, limit)
    app = CfnFaults(CfnRoutes(app), services.errors)
    if services.find_signer is not None:
        app = Ec2SignatureAuth(app, handlers, services.find_signer, users)
    app = OverloadRefusal(PublicEndpoint(app, services.options.public_endpoint))
    app = ReadinessGate(_with_healthcheck(app, Healthcheck(None, conf)), check_ready)
    return RequestId(HTTPProxyToWSGI(FaultWrapper(app, services.errors), conf), conf)


class CfnRoutes:
    """WSGI middleware that knows the paths of this API."""

    def __init__(self, application: WsgiApplication) -> None:
        """Keep the application behind."""
        self._application = application

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        """Answer the list of versions, and pass on what has an action."""
        path = environ.get("PATH_INFO", "")
        if path in _VERSION_PATHS:
            body: Iterable[bytes] = _versions(environ)(environ, start_response)
            return body
        if path not in _PATHS:
            raise RouteNotFound(path)
        return self._application(environ, start_response)


class CfnActions:
    """The WSGI application that runs actions."""

    def __init__(
        self, handlers: WsgiApplication, enforcer: PolicyEnforcer, rows: ProjectRows
    ) -> None:
        """Keep the handlers of the Orchestration API, the rules of the actions, and reads."""
        self._handlers = handlers
        self._enforcer = enforcer
        self._rows = rows

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        """Run the action that the request names.

        Raises:
            CfnError: There is no such action, or it is refused.
        """
        parameters: RequestParameters = environ[PARAMETERS_KEY]
        name = parameters.get("Action") or ""
        action = ACTIONS.get(name)
        if action is None:
            message = f"The action {name[:60]!r} is not valid for this service."
            raise CfnError("InvalidAction", message)
        api = StackApi(self._handlers, environ, self._rows)
        request = ApiRequest(environ)
        request.project_id = api.project_id
        self._enforcer.enforce(request, f"cloudformation:{name}")
        if name in _FURTHER_RULES:
            self._enforcer.enforce(request, _FURTHER_RULES[name])
        result = action(api, parameters)
        document = {f"{name}Response": {f"{name}Result": {} if result is None else result}}
        response = render(document, as_json=_is_json_requested(parameters))
        body: Iterable[bytes] = response(environ, start_response)
        return body


class CfnFaults:
    """WSGI middleware that gives errors of this API their envelope."""

    def __init__(self, application: WsgiApplication, log: ErrorLog) -> None:
        """Keep the application behind."""
        self._application = application
        self._boundary = ErrorBoundary(BoundaryName.REQUEST, log, (RouteNotFound,))

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        """Handle the request; the log has the cause of an internal failure."""

        def failed(error: Exception, _error_id: str) -> Iterable[bytes]:
            return self._refuse(environ, start_response, internal_failure())

        return self._boundary.run(lambda: self._respond(environ, start_response), failed)

    def _respond(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        try:
            return self._application(environ, start_response)
        except CfnError as error:
            found = error
        except errors.Error as error:
            found = from_error(error)
            if found.status >= 500:
                LOG.warning("request failed: error=%(error)s", {"error": error.log_text})
        return self._refuse(environ, start_response, found)

    @staticmethod
    def _refuse(environ: dict[str, Any], start_response: Any, found: CfnError) -> Iterable[bytes]:
        parameters = environ.get(PARAMETERS_KEY)
        as_json = parameters is not None and _is_json_requested(parameters)
        body: Iterable[bytes] = render(found.envelope(), as_json=as_json, status=found.status)(
            environ, start_response
        )
        return body


def _is_json_requested(parameters: RequestParameters) -> bool:
    return parameters.get("ContentType") == "JSON"


def _require(issue_token: Any) -> Any:
    if issue_token is None:
        raise ValueError("Keystone authentication requires services.issue_token")
    return issue_token


def _with_healthcheck(app: WsgiApplication, healthcheck: WsgiApplication) -> WsgiApplication:
    def dispatch(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        chosen = healthcheck if environ.get("PATH_INFO") == HEALTHCHECK_PATH else app
        return chosen(environ, start_response)

    return dispatch


def _versions(environ: dict[str, Any]) -> webob.Response:
    base = webob.Request(environ).application_url
    links = [{"rel": "self", "href": f"{base}/v1/"}]
    return json_response({"versions": [{"id": "v1.0", "status": "CURRENT", "links": links}]}, 300)
