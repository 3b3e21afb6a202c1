"""The components of an API under a WSGI server such as uwsgi or mod_wsgi.

They decide about processes and threads. Options come from the files that
OS_HEAT_CONVERGENCE_CONFIG names (separated by colons), or from /etc/heat-convergence.
"""

from __future__ import annotations

import os

from oslo_config import cfg

from heat_convergence.cli import config
from heat_convergence.cli.components.assembly import ProcessComponents, assemble_components
from heat_convergence.cli.startup.checks import check_configuration
from heat_convergence.cli.startup.process_memory import settle_memory
from heat_convergence.cli.startup.required_modules import API_MODULES, DAEMON_MODULES
from heat_convergence.cli.startup.startup_state import StartupProblem
from heat_convergence.cli.startup.token_options import register_token_options
from heat_convergence.cli.tracing.setup import start_tracing

CONFIG_ENV_VARIABLE = "OS_HEAT_CONVERGENCE_CONFIG"


def load_wsgi_components(prog: str) -> ProcessComponents:
    """Return the components of this process.

    Args:
        prog: Name of the program whose options these are.

    Raises:
        SystemExit: The configuration cannot be used.
    """
    files = [name for name in os.environ.get(CONFIG_ENV_VARIABLE, "").split(os.pathsep) if name]
    try:
        conf = config.load_config([], prog=prog, files=files or None)
        register_token_options(conf)
        check_configuration(conf, (*DAEMON_MODULES, *API_MODULES))
        start_tracing(conf)
    except (cfg.Error, StartupProblem) as problem:
        raise SystemExit(f"not started: {problem}") from problem
    components = assemble_components(conf)
    settle_memory()
    return components
