"""The choice of the tracer: ``[tracing] backend``.

Called by daemons when a worker starts. A tracer is loaded by name, since its library is an extra.
"""

from __future__ import annotations

from importlib import import_module

from oslo_config import cfg

from heat_convergence.cli.startup.startup_state import StartupProblem
from heat_convergence.common.telemetry.tracing import Tracer, Tracing
from heat_convergence.conf.tracing import NO_BACKEND

EXTRAS = {"opentelemetry": "otel", "osprofiler": "osprofiler"}


def start_tracing(conf: cfg.ConfigOpts) -> None:
    """Load the tracer of this process, if the configuration names one.

    Raises:
        StartupProblem: Its library is not installed.
    """
    backend = conf.tracing.backend
    if backend != NO_BACKEND:
        Tracing.tracer = _create_tracer(conf, backend)


def _create_tracer(conf: cfg.ConfigOpts, backend: str) -> Tracer:
    try:
        module = import_module(f"heat_convergence.cli.tracing.{backend}_tracer")
    except ModuleNotFoundError as error:
        raise StartupProblem(
            f"[tracing] backend = {backend} needs the Python module {error.name}:"
            f" pip install 'heat-convergence[{EXTRAS[backend]}]'"
        ) from error
    tracer: Tracer = module.create_tracer(conf)
    return tracer


def stop_tracing() -> None:
    """Send what has been collected, and collect nothing more."""
    tracer, Tracing.tracer = Tracing.tracer, None
    if tracer is not None:
        tracer.close()
