"""The service itself: its build and its worker processes.

Called by the root controller.  Must not ask the processes: the database has what they
last reported.
"""

from __future__ import annotations

import webob

from heat_convergence.api.controllers.base import Controller
from heat_convergence.api.http import ApiRequest, json_response
from heat_convergence.api.views.services import format_service
from heat_convergence.db.reads import services


class BuildInfoController(Controller):
    """The handlers of ``/build_info`` and ``/services``."""

    def build_info(self, _request: ApiRequest) -> webob.Response:
        """Show the revision of the service."""
        revision = {"revision": self.options.revision}
        return json_response({"api": revision, "engine": revision})

    def service_list(self, _request: ApiRequest) -> webob.Response:
        """List the worker processes."""
        with self.database.read() as conn:
            found = services.list_services(conn)
        now = self.services.clock()
        return json_response({"services": [format_service(service, now) for service in found]})
