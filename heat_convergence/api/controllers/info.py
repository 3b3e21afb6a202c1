"""About the service itself: its build and its worker processes.

Called by the root controller.  Must not ask the processes: what they last
reported stands in the database.
"""

from __future__ import annotations

import webob

from heat_convergence.api.controllers.base import Controller
from heat_convergence.api.views.services import item
from heat_convergence.api.wire import ApiRequest, json_answer
from heat_convergence.db.reads import services


class InfoController(Controller):
    def build_info(self, _request: ApiRequest) -> webob.Response:
        revision = {"revision": self.options.revision}
        return json_answer({"api": revision, "engine": revision})

    def services(self, _request: ApiRequest) -> webob.Response:
        with self.database.read() as conn:
            found = services.listing(conn)
        now = self.given.clock()
        return json_answer({"services": [item(service, now) for service in found]})
