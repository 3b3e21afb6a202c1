"""Configuration files and logging of a process.

Called first by every console script. Decides where files are found and the log levels of
libraries.
"""

from __future__ import annotations

import logging
import syslog
from collections.abc import Sequence
from importlib.metadata import version

from oslo_config import cfg
from oslo_db import options as db_options
from oslo_log import handlers, log

from heat_convergence.cli.command_lines import print_completion
from heat_convergence.cli.log_write_errors import LogWriteErrors
from heat_convergence.cli.startup.config_files import PROJECT_NAME, unreadable_files_named
from heat_convergence.cli.startup.required_modules import (
    LOGGING_MODULES,
    describe_missing,
    find_missing,
)
from heat_convergence.cli.startup.startup_state import StartupProblem
from heat_convergence.conf import opts
from heat_convergence.db.connection import database
from heat_convergence.rpc import transport

LOG = logging.getLogger(__name__)
LOG_FILE_OPTIONS = ("log_dir", "log_file", "use_stderr")
_QUIET = [
    "alembic=WARNING",
    "amqp=WARNING",
    "cotyledon=WARNING",
    "oslo.messaging=WARNING",
    "oslo.service=WARNING",
    "oslo_messaging=WARNING",
    "oslo_service=WARNING",
    "stevedore=WARNING",
    "waitress=ERROR",  # its warnings say that requests or connections wait
]


def load_config(
    arguments: Sequence[str], *, prog: str, files: Sequence[str] | None = None
) -> cfg.ConfigOpts:
    """Read the configuration and set up logging.

    Args:
        arguments: Arguments of the command line.
        prog: Name of the program.
        files: Files to read instead of those in /etc/heat-convergence and the like.

    Raises:
        StartupProblem: A file is no text, or a module that logging needs is not installed.
        cfg.Error: A file cannot be read.
        SystemExit: The arguments ask for a completion script, which was printed.
    """
    conf = create_options()
    if print_completion(conf, arguments, prog):
        raise SystemExit(0)
    with unreadable_files_named(arguments, prog):
        conf(
            list(arguments),
            project=PROJECT_NAME,
            prog=prog,
            version=package_version(),
            usage="%(prog)s [--config-file FILE] [--config-dir FOLDER] [--help] [OPTION]",
            default_config_files=None if files is None else list(files),
        )
    _check_values(conf)
    missing = find_missing(conf, LOGGING_MODULES)
    if missing:
        raise StartupProblem(describe_missing(missing))
    configure_logging(conf)
    return conf


def create_options() -> cfg.ConfigOpts:
    """Return the options of a process, with no values yet."""
    conf = cfg.ConfigOpts()
    opts.register_all_opts(conf)
    set_library_defaults()
    conf.register_opts(db_options.database_opts, group="database")
    log.register_options(conf)
    log.set_defaults(default_log_levels=[*log.get_default_log_levels(), *_QUIET])
    return conf


def _check_values(conf: cfg.ConfigOpts) -> None:
    """Read every option once: values of the wrong type are found only when they are read."""
    for name in conf:
        value = conf[name]
        if isinstance(value, cfg.ConfigOpts.GroupAttr):
            for option in value:
                value[option]


def package_version() -> str:
    """Return the version of the installed package."""
    return version("heat-convergence")


def set_library_defaults() -> None:
    """Change defaults of oslo.db and oslo.messaging, also for the sample configuration."""
    database.set_library_defaults()
    transport.set_library_defaults()


def configure_logging(conf: cfg.ConfigOpts) -> None:
    """Set up the levels, targets and format of ``conf``, in place of earlier ones.

    A log file that cannot be written is replaced by standard error.

    Raises:
        StartupProblem: The file of ``log_config_append`` cannot be used.
    """
    problem = _set_up_log(conf)
    if problem is not None:
        _use_standard_error(conf, problem)
    errors = LogWriteErrors(conf.prog)
    for handler in logging.getLogger().handlers:
        errors.watch(handler)


def _use_standard_error(conf: cfg.ConfigOpts, problem: OSError) -> None:
    for name, value in zip(LOG_FILE_OPTIONS, (None, None, True), strict=True):
        conf.set_override(name, value)
    log.setup(conf, PROJECT_NAME)
    LOG.warning(
        "configuration: the log goes to standard error, since %(path)s cannot be written:"
        " %(error)s; create the directory, owned by the user of the daemons",
        {"path": problem.filename, "error": problem.strerror},
    )


def _set_up_log(conf: cfg.ConfigOpts) -> OSError | None:
    """Set up the log, and return the error of a file that cannot be written."""
    conf.set_default("log_file", f"{conf.prog}.log" if conf.log_dir else None)
    try:
        log.setup(conf, PROJECT_NAME)
        _name_program(conf)
    except log.LogConfigError as error:
        raise StartupProblem(f"[DEFAULT] log_config_append: {error}") from error
    except OSError as error:
        return error
    return None


def _name_program(conf: cfg.ConfigOpts) -> None:
    """Name the program in syslog and journal.

    The library takes the file of the first function on the stack, which in a worker is that of a
    library for threads.
    """
    if conf.use_syslog:
        facility = conf.syslog_log_facility.upper().removeprefix("LOG_")
        syslog.openlog(conf.prog, 0, getattr(syslog, f"LOG_{facility}"))
    for handler in logging.getLogger().handlers:
        if isinstance(handler, handlers.OSJournalHandler):
            handler.binary_name = conf.prog
