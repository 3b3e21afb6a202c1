"""``application`` for uwsgi, mod_wsgi and their like.

They choose processes and threads; this chooses nothing.  Options come from the
files that OS_HEAT_CONVERGENCE_CONFIG names (separated by colons), or from
/etc/heat-convergence.
"""

from __future__ import annotations

import os

from heat_convergence.cli import config
from heat_convergence.cli.serving import application as build
from heat_convergence.cli.wiring import assemble

ENVIRONMENT = "OS_HEAT_CONVERGENCE_CONFIG"

_files = [name for name in os.environ.get(ENVIRONMENT, "").split(os.pathsep) if name]

application = build(assemble(config.load([], prog="heat-convergence-api", files=_files or None)))
