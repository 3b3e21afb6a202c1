"""Write the man pages of all programs from their help.

``tox -e man`` runs it as ``python -m tools.man_pages FOLDER``; packages install the files in
``share/man/man1``.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from argparse_manpage.manpage import Manpage

from heat_convergence.cli import config
from heat_convergence.cli.command_lines import daemon_parser
from heat_convergence.cli.manage.main import create_parser

DAEMONS = {
    "heat-convergence-api": "the API of Heat Convergence",
    "heat-convergence-api-cfn": "the CloudFormation API of Heat Convergence",
    "heat-convergence-engine": "the engine of Heat Convergence, which runs jobs",
    "heat-convergence-observer": "the observer of Heat Convergence, which waits for resources",
}
MANAGE = "heat-convergence-manage"


def main(arguments: list[str]) -> int:
    """Write the pages, and print their paths."""
    parser = argparse.ArgumentParser(description="Write the man pages of all programs.")
    parser.add_argument("folder", type=Path, help="folder of the pages")
    folder: Path = parser.parse_args(arguments).folder
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in man_pages():
        path = folder / f"{name}.1"
        path.write_text(text)
        print(path)
    return 0


def man_pages() -> Iterator[tuple[str, str]]:
    """Yield the name of each program and its page."""
    for name, description in DAEMONS.items():
        yield name, _page(daemon_parser(config.create_options(), name), name, description)
    yield MANAGE, _page(create_parser(), MANAGE, "manage the database of Heat Convergence")


def _page(parser: argparse.ArgumentParser, name: str, description: str) -> str:
    values = {
        "project_name": "heat-convergence",
        "version": config.package_version(),
        "description": description,
        "prog": name,
    }
    return str(Manpage(parser, _data=values))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
