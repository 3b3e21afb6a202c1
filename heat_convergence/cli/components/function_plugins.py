"""Template functions of installed plug-ins.

Called by ``assembly`` when a process starts. A plug-in that cannot be loaded, or is no
``Function``, is logged and left out; templates then treat its name as data.
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
    """Return the plug-in functions by the name that templates use."""
    manager: ExtensionManager[Any] = ExtensionManager(
        ENTRY_POINT_GROUP, on_load_failure_callback=_log_failure
    )
    return valid_functions(manager)


def valid_functions(extensions: Iterable[Any]) -> dict[str, Function]:
    """Return the extensions that are functions, by name."""
    found = {}
    for extension in extensions:
        if isinstance(extension.plugin, Function):
            found[extension.name] = extension.plugin
        else:
            LOG.error(
                "template function is not a Function, ignored: name=%(name)s type=%(type)s",
                {"name": extension.name, "type": type(extension.plugin).__name__},
            )
    return found


def _log_failure(
    manager: ExtensionManager[Any], entry_point: EntryPoint, error: BaseException
) -> None:
    LOG.error(
        "template function cannot be loaded: entry_point=%(entry_point)s error=%(error)s",
        {"entry_point": entry_point.value, "error": error},
    )
