"""The request for which a thread works, and the last one about each stack.

Called by ``clients``, which name the request in calls to other services, and by observers, whose
timer works on stacks without a message. Serves logs alone: nothing is granted or decided by it.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any

from oslo_context.context import RequestContext, get_current

MAX_STACKS = 8_192  # whose last request a process remembers
LOGGED_FIELDS = ("request_id", "global_request_id", "project_id", "user_id")
"""The fields of a request's context with which its log lines are found."""


def current_request() -> RequestContext | None:
    """Return the context of the request for which this thread works, if any."""
    context = get_current()
    return context if context is not None and context.request_id else None


def logged_ids(context: RequestContext) -> dict[str, str]:
    """Return the ids of a request that log lines name."""
    return {name: value for name in LOGGED_FIELDS if (value := getattr(context, name, None))}


def current_request_id() -> str | None:
    """Return the id by which services log the request for which this thread works, if any."""
    context = current_request()
    return None if context is None else context.global_id


class StackRequests:
    """The last request about each stack that reached this process. Thread-safe.

    Only its ids are kept: a whole context is several times as large, and may hold a token.

    Args:
        limit: Number of stacks; those that were heard of the longest time ago are forgotten.
    """

    def __init__(self, limit: int = MAX_STACKS) -> None:
        self._limit = limit
        self._by_stack: OrderedDict[str, tuple[str | None, ...]] = OrderedDict()
        self._lock = threading.Lock()

    def remember(self, stack_id: str) -> None:
        """Keep the request for which this thread works as the last one about the stack."""
        context = current_request()
        if context is None:
            return
        ids = tuple(getattr(context, name, None) for name in LOGGED_FIELDS)
        with self._lock:
            self._by_stack[stack_id] = ids
            self._by_stack.move_to_end(stack_id)
            while len(self._by_stack) > self._limit:
                self._by_stack.popitem(last=False)

    @contextmanager
    def resumed(self, *stack_ids: str) -> Iterator[None]:
        """Work for the last request about the stacks, or for none if they have not the same.

        Nothing is changed without stacks.
        """
        if not stack_ids:
            yield
            return
        before = get_current() or _no_request()
        context = self._find_common(stack_ids) or _no_request()
        context.update_store()
        try:
            yield
        finally:
            before.update_store()

    def _find_common(self, stack_ids: Collection[str]) -> RequestContext | None:
        with self._lock:
            found = [self._by_stack.get(each) for each in set(stack_ids)]
        contexts = [None if each is None else _context_of(each) for each in found]
        request_ids = {None if each is None else each.global_id for each in contexts}
        return contexts[0] if len(request_ids) == 1 else None


def _context_of(ids: tuple[str | None, ...]) -> RequestContext:
    fields: dict[str, Any] = dict(zip(LOGGED_FIELDS, ids, strict=True))
    return RequestContext(overwrite=False, **fields)


NO_STACK_REQUESTS = StackRequests(0)


def _no_request() -> RequestContext:
    """Return a context of no request; the library has none, and cannot remove the current one."""
    context = RequestContext(overwrite=False)
    context.request_id = ""
    return context
