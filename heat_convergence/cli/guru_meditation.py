"""Guru Meditation Reports: the threads and the version of a process, on a signal.

Called by ``daemon_service`` before the workers are started, which inherit the handler.
"""

from __future__ import annotations

from oslo_config import cfg
from oslo_reports import opts
from oslo_reports.guru_meditation_report import TextGuruMeditation

from heat_convergence.cli.config import package_version


class ReportedVersion:
    """The version as oslo.reports asks for it."""

    def vendor_string(self) -> str:
        """Return the name of the project."""
        return "Heat Convergence"

    def product_string(self) -> str:
        """Return the name of the package."""
        return "heat-convergence"

    def version_string_with_package(self) -> str:
        """Return the version of the package."""
        return package_version()


def set_up_reports(conf: cfg.ConfigOpts) -> None:
    """Write a report on SIGUSR2 to ``[oslo_reports] log_dir``, or to standard error."""
    opts.set_defaults(conf)
    TextGuruMeditation.setup_autorun(ReportedVersion(), service_name=conf.prog, conf=conf)
