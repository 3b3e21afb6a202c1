"""Parsers of the command lines of all programs, for completion by shells and for man pages.

Called by ``config`` and by ``tools/man_pages``; the programs parse their arguments themselves.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import shtab
from oslo_config import cfg

COMPLETION_OPTIONS = ("--shell-completion", "--shell_completion")
_SHELLS = ("bash", "zsh", "tcsh")


def print_completion(conf: cfg.ConfigOpts, arguments: Sequence[str], prog: str) -> bool:
    """Print a completion script if the arguments ask for one.

    oslo.config has the option, but its package lacks the templates that it needs.

    Args:
        conf: Options of the program, not parsed yet.
        arguments: Arguments of the command line.
        prog: Name of the program.

    Returns:
        Whether the arguments ask for it.
    """
    parser = argparse.ArgumentParser(prog=prog, add_help=False, allow_abbrev=False)
    parser.add_argument(*COMPLETION_OPTIONS, dest="shell", choices=_SHELLS)
    shell = parser.parse_known_args(list(arguments))[0].shell
    if shell is None:
        return False
    print(shtab.complete(daemon_parser(conf, prog), shell))
    return True


def daemon_parser(conf: cfg.ConfigOpts, prog: str) -> argparse.ArgumentParser:
    """Return the parser of a program whose arguments are options of oslo.config.

    Args:
        conf: Options of the program, not parsed yet.
        prog: Name of the program.
    """
    conf([], prog=prog, default_config_files=[], default_config_dirs=[])
    parser = conf._oparser  # oslo.config offers it in no other way
    if not isinstance(parser, argparse.ArgumentParser):
        raise TypeError("oslo.config has no parser of the command line")
    return parser


def add_completion(parser: argparse.ArgumentParser) -> None:
    """Add the option that prints a completion script to a program's own parser."""
    shtab.add_argument_to(parser, list(COMPLETION_OPTIONS), help="print a completion script")
