"""The API as a WSGI ``application`` for uwsgi, mod_wsgi and the like.

They decide about processes and threads; this module decides nothing. Options come from the
files that OS_HEAT_CONVERGENCE_CONFIG names (separated by colons), or from
/etc/heat-convergence.
"""

from __future__ import annotations

import os

from heat_convergence.cli import config
from heat_convergence.cli.components.assembly import assemble_components
from heat_convergence.cli.daemons.api_daemon import create_application as build

CONFIG_ENV_VARIABLE = "OS_HEAT_CONVERGENCE_CONFIG"

_files = [name for name in os.environ.get(CONFIG_ENV_VARIABLE, "").split(os.pathsep) if name]

application = build(
    assemble_components(config.load_config([], prog="heat-convergence-api", files=_files or None))
)
