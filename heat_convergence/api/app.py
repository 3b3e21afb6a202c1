"""The WSGI application: the pipeline and the controllers, wired to their services.

Called by ``cli`` and by tests.  Decides what stands around the application and
in which order; reads no global option and starts nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any
from urllib.parse import unquote_to_bytes

from keystonemiddleware.auth_token import AuthProtocol
from oslo_config import cfg
from oslo_middleware import cors
from oslo_middleware.healthcheck import Healthcheck
from oslo_middleware.http_proxy_to_wsgi import HTTPProxyToWSGI
from oslo_middleware.request_id import RequestId
from pecan import Pecan

from heat_convergence.api.context import Auth
from heat_convergence.api.controllers.actions import ActionsController
from heat_convergence.api.controllers.changes import ChangesController
from heat_convergence.api.controllers.configs import ConfigsController
from heat_convergence.api.controllers.deployments import DeploymentsController
from heat_convergence.api.controllers.events import EventsController
from heat_convergence.api.controllers.handover import HandoverController
from heat_convergence.api.controllers.health import HealthController
from heat_convergence.api.controllers.info import InfoController
from heat_convergence.api.controllers.lookup import LookupController
from heat_convergence.api.controllers.outputs import OutputsController
from heat_convergence.api.controllers.previews import PreviewsController
from heat_convergence.api.controllers.resources import ResourcesController
from heat_convergence.api.controllers.signals import SignalsController
from heat_convergence.api.controllers.snapshots import SnapshotsController
from heat_convergence.api.controllers.stacks import StacksController
from heat_convergence.api.controllers.templates import TemplatesController
from heat_convergence.api.controllers.types import TypesController
from heat_convergence.api.delegating import asked_as_user
from heat_convergence.api.middleware.faults import Faults, Wsgi
from heat_convergence.api.middleware.identity import KeystoneIdentity, NoAuthIdentity
from heat_convergence.api.middleware.signed import SignedCalls
from heat_convergence.api.middleware.versions import Versions
from heat_convergence.api.openapi import document
from heat_convergence.api.policies.enforcer import Enforcer
from heat_convergence.api.root import Again, JsonOnly, Root
from heat_convergence.api.routes import ROUTES
from heat_convergence.api.services import ApiServices
from heat_convergence.api.wire import MAX_BODY_BYTES, ApiRequest
from heat_convergence.common import errors
from heat_convergence.common.retrying import persistently

OPENAPI_PATH = "/openapi.json"
HEALTHCHECK_PATH = "/healthcheck"
_OUR_HEADERS = ["X-Auth-Token", "X-Auth-User", "X-Auth-Key", "X-Auth-Url", "X-Region-Name"]


def build_app(
    services: ApiServices, *, auth: Auth = Auth.NOAUTH, conf: cfg.ConfigOpts | None = None
) -> Wsgi:
    """``conf`` holds the options of the libraries: oslo.middleware, oslo.policy and
    keystonemiddleware; without it they keep their defaults."""
    conf = conf or _defaults()
    enforcer = Enforcer(conf)
    app: Any = Pecan(
        Root(
            _controllers(services, enforcer),
            enforcer,
            _again(services),
            ROUTES,
            partial(asked_as_user, services),
        ),
        hooks=[JsonOnly()],
        request_cls=ApiRequest,
        use_context_locals=False,
        force_canonical=False,
        guess_content_type_from_ext=False,
    )
    inner = _Intake(app, services.options.max_json_body_bytes)
    users = services.users_domain
    if auth is Auth.KEYSTONE:
        app = AuthProtocol(KeystoneIdentity(inner, users), {"oslo_config_config": conf})
    else:
        app = NoAuthIdentity(inner)
    app = Versions(app, {OPENAPI_PATH: document(ROUTES)})
    if services.signer_of is not None:
        app = SignedCalls(app, inner, services.signer_of, users)
    app = _Beside(app, {HEALTHCHECK_PATH: Healthcheck(None, conf)})
    cors.set_defaults(
        allow_headers=_OUR_HEADERS,
        allow_methods=["GET", "POST", "PUT", "PATCH", "DELETE"],
        expose_headers=["x-openstack-request-id", "Location"],
    )
    app = cors.CORS(Faults(app), conf)
    return RequestId(HTTPProxyToWSGI(app, conf), conf)


def _again(services: ApiServices) -> Again:
    tries = services.options.transaction_tries
    return partial(persistently, wait=services.wait, tries=tries)


def _controllers(services: ApiServices, enforcer: Enforcer) -> dict[str, Any]:
    return {
        "actions": ActionsController(services, enforcer),
        "changes": ChangesController(services, enforcer),
        "configs": ConfigsController(services, enforcer),
        "deployments": DeploymentsController(services),
        "events": EventsController(services),
        "handover": HandoverController(services),
        "health": HealthController(services),
        "info": InfoController(services),
        "lookup": LookupController(services),
        "outputs": OutputsController(services),
        "previews": PreviewsController(services, enforcer),
        "resources": ResourcesController(services),
        "signals": SignalsController(services),
        "snapshots": SnapshotsController(services, enforcer),
        "stacks": StacksController(services, enforcer),
        "templates": TemplatesController(services),
        "types": TypesController(services, enforcer),
    }


def _defaults() -> cfg.ConfigOpts:
    conf = cfg.ConfigOpts()
    conf([], default_config_files=[], default_config_dirs=[])
    return conf


class _Intake:
    """Refuses URLs that are no text; tells requests how large a body may be."""

    def __init__(self, application: Wsgi, max_body_bytes: int) -> None:
        self._application = application
        self._max_body_bytes = max_body_bytes

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        environ[MAX_BODY_BYTES] = self._max_body_bytes
        try:
            query = unquote_to_bytes(environ.get("QUERY_STRING", "")).decode()
            path = environ.get("PATH_INFO", "").encode("latin-1").decode()
        except UnicodeDecodeError as error:
            raise errors.HTTPBadRequest("The URL is not UTF-8 text.") from error
        if "\0" in query or "\0" in path:
            raise errors.HTTPBadRequest("The URL holds the character NUL.")
        return self._application(environ, start_response)


class _Beside:
    """Other applications at exact paths."""

    def __init__(self, application: Wsgi, others: dict[str, Wsgi]) -> None:
        self._application = application
        self._others = others

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        chosen = self._others.get(environ.get("PATH_INFO", ""), self._application)
        return chosen(environ, start_response)
