"""Template functions that installed packages add.

Called by ``wiring`` at a process's start.  Decides nothing about what they do: a
plug-in that cannot be loaded, or is no ``Function``, is logged and left out, and
templates then take its name for data.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from importlib.metadata import EntryPoint
from typing import Any

from stevedore import ExtensionManager

from heat_convergence.template.functions.function import Function

LOG = logging.getLogger(__name__)
ENTRY_POINT_GROUP = "heat_convergence.template_functions"


def load_functions() -> dict[str, Function]:
    """Function by the name under which templates call it."""
    manager: ExtensionManager[Any] = ExtensionManager(
        ENTRY_POINT_GROUP, on_load_failure_callback=_log_failure
    )
    return valid_functions(manager)


def valid_functions(extensions: Iterable[Any]) -> dict[str, Function]:
    """Those of the extensions that are functions."""
    found = {}
    for extension in extensions:
        if isinstance(extension.plugin, Function):
            found[extension.name] = extension.plugin
        else:
            LOG.error("template function %s is a %r, not a Function: it is left out",
                      extension.name, type(extension.plugin).__name__)  # fmt: skip
    return found


def _log_failure(
    manager: ExtensionManager[Any], entry_point: EntryPoint, error: BaseException
) -> None:
    LOG.error("template function %s cannot be loaded: %s", entry_point.value, error)
