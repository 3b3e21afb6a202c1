"""The pecan application, without what pecan derives anew with every request.

Called by the assembly of the API. The root controller finds the handler of every path, and all
handlers make responses: pecan's search for a controller below the root, and for the arguments
that it takes, have the same result each time. They took a quarter of the time of a short request.
"""

from __future__ import annotations

from typing import Any

from pecan.core import ExplicitPecan

from heat_convergence.api.controllers.root import Handler, RootController
from heat_convergence.api.http import ApiRequest


class RootApplication(ExplicitPecan):  # type: ignore[misc]  # untyped library
    """An application whose root controller routes every request."""

    def route(self, req: ApiRequest, node: RootController, path: str) -> tuple[Handler, list[str]]:
        """Return the root controller's method for a path; it takes no further parts of that."""
        return node.route(path.removeprefix("/"), req), []

    def invoke_controller(self, controller: Handler, args: Any, kwargs: Any, state: Any) -> None:
        """Keep the response that the controller makes; it reads no parameters from pecan."""
        state.response = controller(*args)
