"""The API as a WSGI ``application`` for uwsgi, mod_wsgi and the like.

They decide about processes and threads; this module decides nothing. Options come from the
files that OS_HEAT_CONVERGENCE_CONFIG names (separated by colons), or from
/etc/heat-convergence.
"""

from __future__ import annotations

import os

from heat_convergence.cli import config
from heat_convergence.cli.components.assembly import assemble_components
from heat_convergence.cli.components.required_modules import (
    API_MODULES,
    DAEMON_MODULES,
    describe_missing,
    find_missing,
)
from heat_convergence.cli.daemons.api_daemon import create_application as build
from heat_convergence.cli.daemons.api_daemon import register_token_options

CONFIG_ENV_VARIABLE = "OS_HEAT_CONVERGENCE_CONFIG"

_files = [name for name in os.environ.get(CONFIG_ENV_VARIABLE, "").split(os.pathsep) if name]

_conf = config.load_config([], prog="heat-convergence-api", files=_files or None)
register_token_options(_conf)
_missing = find_missing(_conf, (*DAEMON_MODULES, *API_MODULES))
if _missing:
    raise SystemExit(describe_missing(_missing))

application = build(assemble_components(_conf))
