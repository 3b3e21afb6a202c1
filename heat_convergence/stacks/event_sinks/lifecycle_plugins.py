"""Plug-ins that are called before and after operations on stacks.

Decides their order, and what their failures mean: one that fails before an operation refuses it,
and one that fails afterwards is logged. Loaded from the entry point group
``heat_convergence.stack_lifecycle``. The API calls them before it stores a new goal or action, and
a thread of the process that has recorded the end calls them afterwards.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, partial

from stevedore import ExtensionManager

from heat_convergence.common.error_boundary import BoundaryName, ErrorBoundary
from heat_convergence.common.error_log import ErrorLog
from heat_convergence.common.errors import Error
from heat_convergence.convergence.model.stack import Stack

LOG = logging.getLogger(__name__)
ENTRY_POINT_GROUP = "heat_convergence.stack_lifecycle"
DEFAULT_ORDINAL = 100


@dataclass(frozen=True, slots=True)
class StackOperation:
    """An operation on a stack.

    Attributes:
        stack: the stack, before the operation with the state that it still has.
        action: CREATE, UPDATE, DELETE and so on.
        status: COMPLETE or FAILED; empty before the operation.
    """

    stack: Stack
    action: str
    status: str = ""


class LifecyclePlugin:
    """The base of plug-ins; those of a lower ordinal are called first."""

    ordinal: int = DEFAULT_ORDINAL

    def before_operation(self, operation: StackOperation) -> None:
        """Prepare for an operation that a user has requested on a root stack.

        Raises:
            Error: The operation is refused with this error.
        """

    def after_operation(self, operation: StackOperation) -> None:
        """Take note of the end of an operation on any stack, nested ones included."""


class LifecyclePlugins:
    """The plug-ins of one process, in their order."""

    def __init__(self, plugins: Sequence[LifecyclePlugin], errors: ErrorLog | None = None) -> None:
        self._plugins = sorted(plugins, key=lambda each: each.ordinal)
        self._boundary = ErrorBoundary(BoundaryName.NOTIFICATION, errors or ErrorLog())

    def __bool__(self) -> bool:
        """Return whether there are any."""
        return bool(self._plugins)

    def before_operation(self, stack: Stack, action: str) -> None:
        """Call all plug-ins before an operation.

        Raises:
            Error: One of them refuses it; the later ones are not called.
        """
        for plugin in self._plugins:
            plugin.before_operation(StackOperation(stack, action))

    def after_operation(self, operation: StackOperation) -> None:
        """Call all plug-ins after an operation, in the reverse order."""
        for plugin in reversed(self._plugins):
            self._boundary.contain(partial(self._after, plugin, operation))

    def _after(self, plugin: LifecyclePlugin, operation: StackOperation) -> None:
        try:
            plugin.after_operation(operation)
        except Error as error:
            LOG.warning(
                "lifecycle plug-in failed: stack=%(stack)s action=%(action)s error=%(error)s",
                {"stack": operation.stack.id, "action": operation.action, "error": error},
            )


@cache
def load_lifecycle_plugins() -> LifecyclePlugins:
    """Return the installed plug-ins."""
    manager: ExtensionManager[LifecyclePlugin] = ExtensionManager(
        ENTRY_POINT_GROUP, invoke_on_load=True
    )
    return LifecyclePlugins([each.obj for each in manager if each.obj is not None])
