"""Signatures of libraries' functions that are derived once, and not with every request.

Called by the assembly of the API. oslo.policy looks at the signature of each check of a rule
before it calls it, and oslo.middleware at those of its responses: together they took a third of
the time of a short request. Python takes a signature that a function has without deriving it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

from oslo_middleware import cors
from oslo_middleware.base import ConfigurableMiddleware
from oslo_policy import _checks as checks


def keep_signatures() -> None:
    """Attach their signatures to the functions whose callers look at them."""
    for function in _functions():
        if not hasattr(function, "__signature__"):
            function.__signature__ = inspect.signature(function)  # type: ignore[attr-defined]


def _functions() -> Iterator[Callable[..., Any]]:
    yield cors.CORS.process_response
    yield ConfigurableMiddleware.process_response
    pending: list[Any] = [checks.BaseCheck]
    while pending:
        check = pending.pop()
        yield check.__call__
        pending.extend(check.__subclasses__())
