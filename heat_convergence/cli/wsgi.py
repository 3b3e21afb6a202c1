"""The API as a WSGI ``application`` for uwsgi, mod_wsgi and the like.

They decide about processes and threads; this module decides nothing. Options come from the
files that OS_HEAT_CONVERGENCE_CONFIG names (separated by colons), or from
/etc/heat-convergence.
"""

from __future__ import annotations

import os

from oslo_config import cfg

from heat_convergence.cli import config
from heat_convergence.cli.components.assembly import assemble_components
from heat_convergence.cli.daemons.api_daemon import create_application as build
from heat_convergence.cli.startup.checks import check_configuration
from heat_convergence.cli.startup.required_modules import API_MODULES, DAEMON_MODULES
from heat_convergence.cli.startup.startup_state import StartupProblem
from heat_convergence.cli.startup.token_options import register_token_options

CONFIG_ENV_VARIABLE = "OS_HEAT_CONVERGENCE_CONFIG"

_files = [name for name in os.environ.get(CONFIG_ENV_VARIABLE, "").split(os.pathsep) if name]

try:
    _conf = config.load_config([], prog="heat-convergence-api", files=_files or None)
    register_token_options(_conf)
    check_configuration(_conf, (*DAEMON_MODULES, *API_MODULES))
except (cfg.Error, StartupProblem) as problem:
    raise SystemExit(f"not started: {problem}") from problem

application = build(assemble_components(_conf))
