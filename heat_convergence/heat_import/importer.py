"""The import of stack trees: each in one transaction, so that nothing is half imported.

Called by ``heat-convergence-manage import-heat``. A tree whose root exists already is left
alone, so that the command can be repeated after an interruption.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import partial

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heat_convergence.common.error_boundary import BoundaryName, ErrorBoundary
from heat_convergence.common.error_log import ErrorSubject
from heat_convergence.common.errors import AuthorizationFailure, Error, Retry, StackExists
from heat_convergence.common.ids import IdFactory
from heat_convergence.common.transactions import retry_transaction
from heat_convergence.db.connection.database import Database
from heat_convergence.db.tables import stack as stack_table
from heat_convergence.heat_import.cloud_access import CloudAccess, observe_nothing
from heat_convergence.heat_import.heat_rows import HeatRow, HeatTree, load_trees
from heat_convergence.heat_import.heat_values import HeatCipher, HeatValueUnreadable
from heat_convergence.heat_import.imported_attributes import ServiceAddress
from heat_convergence.heat_import.rejections import Rejection, find_rejection
from heat_convergence.heat_import.tree_builder import ImportedTreeBuilder
from heat_convergence.heat_import.tree_writer import (
    ImportedTree,
    assemble_tree,
    find_existing_ids,
    read_credential,
    write_tree,
)
from heat_convergence.stacks.services import StackServices

_PAGE = 20  # trees that are read at once


class ImportStatus(Enum):
    """The status of a tree after the import."""

    IMPORTED = "imported"
    PRESENT = "present"  # imported by an earlier run
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class ImportResult:
    """The result for one tree.

    Attributes:
        root: Heat's row.
        notes: what the operator should know of an imported tree.
    """

    root: HeatRow
    status: ImportStatus
    stack_count: int = 0
    resource_count: int = 0
    rejection: Rejection | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportRequest:
    """The options of an import.

    Attributes:
        max_events: how many of the last events of each stack are imported.
        dry_run: whether each transaction is rolled back at its end.
        cloud: logs in with the trusts and reads attributes; None without Keystone.
        engines_alive: whether an engine of Heat may go on with work in progress.
    """

    cipher: HeatCipher
    address: ServiceAddress = field(default_factory=ServiceAddress)
    max_events: int = 100
    dry_run: bool = False
    cloud: CloudAccess | None = None
    engines_alive: bool = False


@dataclass(frozen=True, slots=True)
class HeatImporter:
    """The import into one database."""

    database: Database
    services: StackServices
    ids: IdFactory
    request: ImportRequest

    def run(self, heat: Connection, roots: Sequence[HeatRow]) -> Iterator[ImportResult]:
        """Import trees, a page at a time, and yield the result of each.

        Args:
            heat: the snapshot of Heat's database.
            roots: rows of root stacks.
        """
        for at in range(0, len(roots), _PAGE):
            page = roots[at : at + _PAGE]
            known = self._find_known(page)
            for root in page:
                if root.id in known:
                    yield ImportResult(root, ImportStatus.PRESENT)
            missing = [root for root in page if root.id not in known]
            if missing:
                for tree in load_trees(heat, missing, self.request.max_events):
                    yield self._import_tree(tree)

    def _find_known(self, roots: Sequence[HeatRow]) -> set[str]:
        query = sa.select(stack_table.c.id).where(
            stack_table.c.id.in_([root.id for root in roots]),
            stack_table.c.deleted_at.is_(None),
        )
        with self.database.read() as conn:
            return set(conn.scalars(query))

    def _import_tree(self, tree: HeatTree) -> ImportResult:
        # RULE 11: whatever the rows of one tree make the code raise refuses that tree alone.
        boundary = ErrorBoundary(BoundaryName.STACK, self.services.errors, (Error,))

        def refuse(error: Exception, error_id: str) -> ImportResult:
            reason = f"{type(error).__name__} (error id {error_id})"
            return _refused(tree, Rejection(reason, _REMEDY_UNEXPECTED))

        subject = ErrorSubject(tree.root.id)
        return boundary.run(partial(self._import_or_refuse, tree), refuse, subject)

    def _import_or_refuse(self, tree: HeatTree) -> ImportResult:
        rejection = find_rejection(tree, engines_alive=self.request.engines_alive)
        if rejection is not None:
            return _refused(tree, rejection)
        try:
            found = self._build(tree)
            self._write(found)
        except HeatValueUnreadable as error:
            return _refused(tree, Rejection(str(error), _REMEDY_UNREADABLE))
        except StackExists:
            return _refused(tree, Rejection("a stack of the project has the name", _REMEDY_EXISTS))
        except AuthorizationFailure as error:
            return _refused(tree, Rejection(f"the owner's trust: {error}", _REMEDY_TRUST))
        except Error as error:
            if error.retry is not Retry.NEVER:
                raise  # a service does not answer: the command is repeated
            return _refused(tree, Rejection(f"{type(error).__name__}: {error}", _REMEDY_TEMPLATE))
        return ImportResult(
            tree.root,
            ImportStatus.IMPORTED,
            len(found.stacks),
            sum(len(each.resources) for each in found.stacks),
            notes=found.notes,
        )

    def _build(self, tree: HeatTree) -> ImportedTree:
        request, root_id = self.request, tree.root.id
        credential = read_credential(tree.credential, request.cipher)
        observe, address = observe_nothing, request.address
        if request.cloud is not None and credential is not None:
            request.cloud.log_in(root_id, credential)
            observe = request.cloud.observe
            address = replace(
                address,
                heat_url=request.cloud.heat_url(root_id),
                waitcondition_url=address.waitcondition_url
                or request.cloud.waitcondition_url(root_id),
            )
        builder = ImportedTreeBuilder(
            self.services, self.ids, tree, request.cipher, address, observe
        )
        found = assemble_tree(tree, builder.build(), credential)
        with self.database.read() as conn:
            existing = find_existing_ids(conn, found)
        if existing:
            raise HeatValueUnreadable(f"the ids {', '.join(existing)} exist already")
        return found

    def _write(self, tree: ImportedTree) -> None:
        """Write the tree; a dry run takes it back, so that it meets what the database refuses."""

        def attempt() -> None:
            with self.database.write() as conn:
                write_tree(conn, tree, self.services.clock())
                if self.request.dry_run:
                    conn.rollback()

        retry_transaction(attempt, wait=time.sleep)


_REMEDY_UNREADABLE = (
    "check the encryption key; repair the row in Heat's database, or delete the stack in Heat"
)
_REMEDY_TRUST = (
    "check that the service has the user of Heat's [trustee] section; an update of the stack in"
    " Heat by its owner makes a new trust; delete the stack there if its project is gone"
)
_REMEDY_EXISTS = "delete or rename that stack, or purge it if it is deleted"
_REMEDY_UNEXPECTED = (
    "the log has the place in the code under this id; report it, or delete the stack in Heat"
)
_REMEDY_TEMPLATE = "update the stack in Heat with a template that this service accepts"


def _refused(tree: HeatTree, rejection: Rejection) -> ImportResult:
    return ImportResult(tree.root, ImportStatus.REFUSED, rejection=rejection)
