"""The operator's environment, merged from every file in ``environment_dir``.

Called by ``assembly`` when a process starts. An invalid file is logged and left out, so that
the service starts without it.
"""

from __future__ import annotations

import logging
from pathlib import Path

from heat_convergence.common import errors
from heat_convergence.template.environment.environment import Environment
from heat_convergence.template.limits import TemplateLimits

LOG = logging.getLogger(__name__)


def load_operator_environment(directory: str, *, limits: TemplateLimits) -> Environment | None:
    """Return the files merged in the order of their names; None when there are none.

    Later files override earlier ones.
    """
    found, invalid = _merge_files(directory, limits)
    for path, error in invalid:
        LOG.error(
            "environment file is invalid, ignored: path=%(path)s error=%(error)s",
            {"path": path, "error": " ".join(str(error).split())},
        )
    return found


def find_invalid_files(directory: str, *, limits: TemplateLimits) -> list[tuple[Path, Exception]]:
    """Return the files that the service ignores, with their errors."""
    return _merge_files(directory, limits)[1]


def _merge_files(
    directory: str, limits: TemplateLimits
) -> tuple[Environment | None, list[tuple[Path, Exception]]]:
    found: Environment | None = None
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
