"""Console scripts: choose the concurrency backend, then load the command.

The only module that imports by name at run time, since patching must come before every other
import. Decides nothing else.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module

from heat_convergence.cli import concurrency

USAGE = """usage: heat-convergence COMMAND [--help]

commands:
  demo        create, update and delete an example stack and show its progress
  simulate    run engine and observer in a simulation with faults and check their invariants
  standalone  run the whole service in one process, on SQLite, for this machine only
"""


def api() -> int:
    """Run the API daemon."""
    return _daemon("heat-convergence-api", "daemons.api_daemon", "run_api")


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


def heat_convergence() -> int:
    """Run ``heat-convergence COMMAND``."""
    commands: dict[str, Callable[[list[str]], int]] = {
        "demo": _demo,
        "simulate": _simulate,
        "standalone": _standalone,
    }
    name, arguments = (sys.argv[1:2] or [""])[0], sys.argv[2:]
    if name in commands:
        return commands[name](arguments)
    shows_help = name in ("-h", "--help", "help")
    print(USAGE, file=sys.stdout if shows_help else sys.stderr)
    return 0 if shows_help else 2


def _daemon(prog: str, module: str, name: str) -> int:
    arguments = sys.argv[1:]
    concurrency.set_up_backend(concurrency.configured_backend(arguments, prog=prog))
    return int(getattr(import_module(f"heat_convergence.cli.{module}"), name)(arguments))


def _standalone(arguments: list[str]) -> int:
    concurrency.set_up_backend(
        concurrency.configured_backend(arguments, prog="heat-convergence-standalone")
    )
    return int(import_module("heat_convergence.cli.daemons.standalone").main(arguments))


def _demo(arguments: list[str]) -> int:
    # An ordinary client: no patching, and the service runs in a process of its own.
    return int(import_module("heat_convergence.cli.demo.main").main(arguments))


def _simulate(arguments: list[str]) -> int:
    # Single-threaded, in simulated time: no patching.
    return int(import_module("heat_convergence.cli.simulate").main(arguments))


if __name__ == "__main__":
    sys.exit(heat_convergence())
