"""Console scripts: choose the concurrency backend, then load the command.

The only module that imports by name at run time, since patching must come before every other
import. Decides nothing else.
"""

from __future__ import annotations

import logging
import signal
import sys
from collections.abc import Callable
from importlib import import_module

from oslo_config import cfg

from heat_convergence.cli import concurrency
from heat_convergence.cli.metrics.process_files import metrics_folder
from heat_convergence.cli.startup.process_memory import collections_paused
from heat_convergence.cli.startup.startup_state import StartupProblem, report_problem

USAGE = """usage: heat-convergence COMMAND [--help]

commands:
  demo        show an example stack: created, killed amid an update, repaired, deleted
  lint        check templates and environments without a server
  schema      print JSON Schema of templates or environments, for editors
  try         run a template in an emulated cloud, without a server
  simulate    run engine and observer in a simulation with faults and check their invariants
  standalone  run the whole service in one process, on SQLite, for this machine only
"""


def api() -> int:
    """Run the API daemon."""
    return _daemon("heat-convergence-api", "daemons.api_daemon", "run_api")


def api_cfn() -> int:
    """Run the daemon of the CloudFormation API."""
    return _daemon("heat-convergence-api-cfn", "daemons.api_daemon", "run_api_cfn")


def engine() -> int:
    """Run the engine daemon."""
    return _daemon("heat-convergence-engine", "daemons.daemon_service", "run_engine")


def observer() -> int:
    """Run the observer daemon."""
    return _daemon("heat-convergence-observer", "daemons.daemon_service", "run_observer")


def manage() -> int:
    """Run ``heat-convergence-manage``."""
    concurrency.set_up_backend(concurrency.THREADING)  # runs in the foreground
    return int(import_module("heat_convergence.cli.manage.main").main(sys.argv[1:]))


def status() -> int:
    """Run ``heat-convergence-status``, as the status programs of other services."""
    concurrency.set_up_backend(concurrency.THREADING)
    module = import_module("heat_convergence.cli.manage.upgrade_status")
    return int(module.main(sys.argv[1:]))


def heat_convergence() -> int:
    """Run ``heat-convergence COMMAND``."""
    commands: dict[str, Callable[[list[str]], int]] = {
        "demo": _demo,
        "lint": _lint,
        "schema": _schema,
        "simulate": _simulate,
        "standalone": _standalone,
        "try": _try,
    }
    name, arguments = (sys.argv[1:2] or [""])[0], sys.argv[2:]
    if name in commands:
        return commands[name](arguments)
    shows_help = name in ("-h", "--help", "help")
    if name == "--version":
        print(import_module("heat_convergence.cli.config").package_version())
        return 0
    print(USAGE, file=sys.stdout if shows_help else sys.stderr)
    return 0 if shows_help else 2


def _daemon(prog: str, module: str, name: str, arguments: list[str] | None = None) -> int:
    arguments = sys.argv[1:] if arguments is None else arguments
    with metrics_folder():
        return _run_daemon(prog, module, name, arguments)


def _run_daemon(prog: str, module: str, name: str, arguments: list[str]) -> int:
    try:
        with collections_paused():
            concurrency.set_up_backend(concurrency.configured_backend(arguments, prog=prog))
            loaded = import_module(f"heat_convergence.cli.{module}")
        return int(getattr(loaded, name)(arguments))
    except (cfg.Error, StartupProblem) as found:
        problem = found
    return report_problem(prog, problem)  # here, oslo.log does not repeat the exception


def _standalone(arguments: list[str]) -> int:
    return _daemon("heat-convergence-standalone", "daemons.standalone", "main", arguments)


def _demo(arguments: list[str]) -> int:
    # An ordinary client: no patching, and the service runs in a process of its own.
    return int(import_module("heat_convergence.cli.demo.main").main(arguments))


def _end_with_reader() -> None:
    """End silently when the reader of the output has ended, as ``head`` does.

    For commands without sockets alone, whose peers may close them.
    """
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)


def _simulate(arguments: list[str]) -> int:
    # Single-threaded, in simulated time: no patching.
    _end_with_reader()
    return int(import_module("heat_convergence.cli.simulate").main(arguments))


def _lint(arguments: list[str]) -> int:
    # Single-threaded, no service: no patching. These settings are the process's, not the linter's,
    # which others call in theirs.
    _end_with_reader()
    logging.disable(logging.CRITICAL)  # plug-ins that cannot be loaded are no findings
    return int(import_module("heat_convergence.cli.lint").main(arguments))


def _schema(arguments: list[str]) -> int:
    _end_with_reader()
    return int(import_module("heat_convergence.cli.template_schema").main(arguments))


def _try(arguments: list[str]) -> int:
    # Single-threaded, in emulated time: no patching.
    return int(import_module("heat_convergence.cli.offline.main").main(arguments))


if __name__ == "__main__":
    sys.exit(heat_convergence())
