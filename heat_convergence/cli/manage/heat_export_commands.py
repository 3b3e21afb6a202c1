"""``heat-convergence-manage export-heat-documents``: a document of each stack for Heat.

Called by ``main``. Changes nothing in the database. The documents have the values of hidden
parameters, since an adoption needs them: only the owner of the process may read the files.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from heat_convergence.cli.components.assembly import assemble_components, create_stack_services
from heat_convergence.common.errors import Error, Invalid
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.db.connection.database import Database
from heat_convergence.db.reads import stacks
from heat_convergence.db.store import SqlTransaction
from heat_convergence.stacks.export_document import evaluate_metadata, read_document
from heat_convergence.stacks.services import StackServices

Json = Any
OK, INCOMPLETE = 0, 1
_FOLDER_MODE, _FILE_MODE = 0o700, 0o600


def export_heat_documents(database: Database, parsed: argparse.Namespace) -> int:
    """Write a document of each stack; exit code 1 if one of them cannot be written."""
    folder = _new_folder(Path(parsed.output))
    components = assemble_components(parsed.conf)
    try:
        services = create_stack_services(components)
        with database.read() as conn:
            roots = _select(stacks.list_page(conn, stacks.StackFilter(None)), parsed)
        failures = [_export(database, services, root, folder) for root in roots].count(False)
    finally:
        components.close()
    print(f"Documents written to {folder}: {len(roots) - failures}. Not written: {failures}.")
    return INCOMPLETE if failures else OK


def _new_folder(folder: Path) -> Path:
    """Make the folder; one that holds files is refused, for they may be of another time."""
    try:
        folder.mkdir(mode=_FOLDER_MODE, parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise Invalid(f"the folder {folder} is not empty: name a new one with --output")
    except OSError as error:
        raise Invalid(f"the folder {folder} cannot be used: {error.strerror}") from error
    return folder


def _select(roots: Sequence[Stack], parsed: argparse.Namespace) -> list[Stack]:
    """Return the stacks that the arguments name.

    Raises:
        Invalid: There is no stack of a name or id.
    """
    if parsed.project:
        roots = [root for root in roots if root.project_id in parsed.project]
    if not parsed.stack:
        return list(roots)
    chosen = [root for root in roots if {root.id, root.name} & set(parsed.stack)]
    unknown = set(parsed.stack) - {key for root in chosen for key in (root.id, root.name)}
    if unknown:
        raise Invalid(f"there is no stack {', '.join(sorted(unknown))}")
    return chosen


def _export(database: Database, services: StackServices, root: Stack, folder: Path) -> bool:
    """Write the document of a stack; return whether that succeeded."""
    name = f"{root.project_id}/{root.name} ({root.id})"
    try:
        with database.read() as conn:
            reader = SqlTransaction(conn)
            shown = read_document(reader, root, reader.tree.list_descendants(root.id))
        path = _write(folder, root, evaluate_metadata(services, shown))
    except (Error, OSError) as error:
        print(f"{name}: {error}")
        return False
    at_work = ", in progress: export it again when its action has ended"
    print(f"{name}: {path}{at_work if root.in_progress else ''}")
    return True


def _write(folder: Path, root: Stack, document: Json) -> Path:
    path = folder / root.project_id / f"{root.name}-{root.id}.json"
    path.parent.mkdir(mode=_FOLDER_MODE, exist_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _FILE_MODE)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        json.dump(document, file, indent=2)
    return path


def add_commands(nouns: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the parser of nouns."""
    command = nouns.add_parser(
        "export-heat-documents",
        help="write a document of each stack, with which Heat adopts it",
    )
    command.add_argument(
        "--output", metavar="FOLDER", required=True, help="new or empty folder for the documents"
    )
    command.add_argument(
        "--project", action="append", default=[], help="only the stacks of this project"
    )
    command.add_argument(
        "--stack", action="append", default=[], help="only this stack, by id or name"
    )
    command.set_defaults(run=export_heat_documents)
