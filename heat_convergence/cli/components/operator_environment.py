"""The operator's environment: every file of the ``environment_dir`` option, as one.

Called by ``wiring`` at a process's start.  A file that is no environment is logged
and left out, since the others' users should not be without a service for it.
"""

from __future__ import annotations

import logging
from pathlib import Path

from heat_convergence.common import errors
from heat_convergence.template.environment.environment import Environment
from heat_convergence.template.limits import TemplateLimits

LOG = logging.getLogger(__name__)


def load_operator_environment(directory: str, *, limits: TemplateLimits) -> Environment | None:
    """In order of names, later files upon earlier ones; None without any file."""
    found: Environment | None = None
    where = Path(directory)
    for path in sorted(where.iterdir()) if where.is_dir() else ():
        if not path.is_file() or path.name.startswith("."):
            continue
        try:
            found = Environment.parse(path.read_bytes(), base=found, limits=limits)
        except (OSError, errors.Error) as error:
            LOG.error("the environment %s is left out: %s", path, error)
    return found
