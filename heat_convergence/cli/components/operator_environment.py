"""The operator's environment, merged from every file in ``environment_dir``.

Called by ``assembly`` when a process starts. An invalid file is logged and left out, so that
the service starts without it.
"""

from __future__ import annotations

import logging
from pathlib import Path

from heat_convergence.common import errors
from heat_convergence.template.environment.environment import Environment
from heat_convergence.template.environment.stabilization import STABILIZATION
from heat_convergence.template.limits import TemplateLimits

LOG = logging.getLogger(__name__)


def load_operator_environment(
    directory: str, *, limits: TemplateLimits, stabilization_s: int = 0
) -> Environment | None:
    """Return the files merged in the order of their names; None when there are none.

    Later files override earlier ones, and all of them the window.

    Args:
        directory: the directory of the files.
        limits: limits of their sizes.
        stabilization_s: the stabilization window of the resources of root stacks.
    """
    found, invalid = _merge_files(directory, limits, _window_environment(stabilization_s))
    for path, error in invalid:
        LOG.error(
            "environment file is invalid, ignored: path=%(path)s error=%(error)s",
            {"path": path, "error": " ".join(str(error).split())},
        )
    return found


def find_invalid_files(directory: str, *, limits: TemplateLimits) -> list[tuple[Path, Exception]]:
    """Return the files that the service ignores, with their errors."""
    return _merge_files(directory, limits)[1]


def _window_environment(window_s: int) -> Environment | None:
    """Return an environment with a stabilization window; None for none."""
    if not window_s:
        return None
    resources = {"*": {STABILIZATION: window_s}}
    return Environment.parse({"resource_registry": {"resources": resources}})


def _merge_files(
    directory: str, limits: TemplateLimits, found: Environment | None = None
) -> tuple[Environment | None, list[tuple[Path, Exception]]]:
    invalid: list[tuple[Path, Exception]] = []
    folder = Path(directory)
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        if not path.is_file() or path.name.startswith("."):
            continue
        try:
            found = Environment.parse(path.read_bytes(), base=found, limits=limits)
        except (OSError, errors.Error) as error:
            invalid.append((path, error))
    return found, invalid
