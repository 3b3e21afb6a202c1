"""Configuration files that cannot be read, named for operators.

oslo.config raises errors of its own for files that are missing or protected, and lets those of
folders, broken disks and binary data through. Called before anything else is loaded.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from oslo_config import cfg

from heat_convergence.cli.startup.startup_state import StartupProblem

PROJECT_NAME = "heat-convergence"


def parse_file_arguments(arguments: Sequence[str]) -> argparse.Namespace:
    """Return the files and folders that a command line names, as ``config_file`` and so on."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--config-file", action="append")
    parser.add_argument("--config-dir", action="append")
    return parser.parse_known_args(arguments)[0]


@contextmanager
def unreadable_files_named(arguments: Sequence[str], prog: str) -> Iterator[None]:
    """Name the file that cannot be read in the block.

    Args:
        arguments: The arguments of the command line.
        prog: Name of the program.

    Raises:
        StartupProblem: A file cannot be read.
    """
    try:
        yield
    except OSError as error:
        raise StartupProblem(
            f"{error.filename} cannot be read: {error.strerror}: name a file with --config-file,"
            " and a folder with --config-dir"
        ) from error
    except UnicodeDecodeError as error:
        names = [name for name in _file_names(arguments, prog) if not _is_text(name)]
        raise StartupProblem(
            f"{', '.join(names)} cannot be read: it is no text in UTF-8"
        ) from error


def _file_names(arguments: Sequence[str], prog: str) -> Iterator[str]:
    named = parse_file_arguments(arguments)
    yield from named.config_file or cfg.find_config_files(project=PROJECT_NAME, prog=prog)
    for folder in named.config_dir or ():
        yield from map(str, sorted(Path(folder).glob("*.conf")))


def _is_text(name: str) -> bool:
    try:
        Path(name).read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return False
    except OSError:
        return True
    return True
