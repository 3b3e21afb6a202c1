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
    found: Environment | None = None
    folder = Path(directory)
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        if not path.is_file() or path.name.startswith("."):
            continue
        try:
            found = Environment.parse(path.read_bytes(), base=found, limits=limits)
        except (OSError, errors.Error) as error:
            LOG.error(
                "environment file is invalid, ignored: path=%(path)s error=%(error)s",
                {"path": path, "error": error},
            )
    return found
