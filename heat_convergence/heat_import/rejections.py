"""The trees that must not be imported, each with the reason and the remedy.

Called by ``importer`` before anything is built. Pure functions over rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from heat_convergence.heat_import.heat_rows import HeatRow, HeatTree

_WAIT = (
    "wait until the action ends, or cancel it, then import again; with Heat's engines stopped the"
    " stack is imported as failed"
)
_OF_DEPLOYMENTS = ("tenant", "config_id", "server_id")
_REPAIR = "repair the row in Heat's database, or delete the stack in Heat"


@dataclass(frozen=True, slots=True)
class Rejection:
    """The reason why a tree is not imported, and the remedy."""

    reason: str
    remedy: str


def find_rejection(tree: HeatTree, *, engines_alive: bool) -> Rejection | None:
    """Return the first rejection of a tree, or None.

    Args:
        tree: Heat's rows.
        engines_alive: whether an engine of Heat may go on with work in progress.
    """
    return next(_rejections(tree, engines_alive=engines_alive), None)


def _rejections(tree: HeatTree, *, engines_alive: bool) -> Iterator[Rejection]:
    if tree.root.owner_id is not None:
        yield Rejection(
            f"its parent stack {tree.root.owner_id} does not exist",
            "delete this nested stack in Heat",
        )
    for stack in tree.stacks:
        if stack.backup:
            yield Rejection(
                f"the backup stack {stack.id} of a failed update exists",
                "repeat the update in Heat until it is complete",
            )
    if engines_alive:
        yield from _work_in_progress(tree)
    yield from _contradictions(tree)


def _work_in_progress(tree: HeatTree) -> Iterator[Rejection]:
    for stack in tree.stacks:
        if stack.status == "IN_PROGRESS":
            yield Rejection(f"stack {stack.name} is {stack.action}_IN_PROGRESS", _WAIT)
    for row in tree.all_resources:
        if row.status == "IN_PROGRESS" or row.engine_id is not None:
            yield Rejection(f"resource {row.name} ({row.uuid}) is being worked on", _WAIT)
    if tree.locks:
        yield Rejection("an action of the stack is under way or was interrupted", _WAIT)


def _contradictions(tree: HeatTree) -> Iterator[Rejection]:
    for stack in tree.stacks:
        yield from _contradictions_of_stack(stack, tree)
    uuids = Counter(row.uuid for row in tree.all_resources)
    for row in tree.all_resources:
        if not row.name or uuids[row.uuid] > 1:
            yield Rejection(f"resource {row.name} has no name, or another one's id", _REPAIR)
        if row.current_template_id is not None and row.current_template_id not in tree.templates:
            yield Rejection(f"resource {row.name} has no template", _REPAIR)
    yield from _incomplete_rows("software config", tree.configs, ("tenant",))
    yield from _incomplete_rows("software deployment", tree.deployments, _OF_DEPLOYMENTS)


def _contradictions_of_stack(stack: HeatRow, tree: HeatTree) -> Iterator[Rejection]:
    rows = tree.resources.get(stack.id, ())
    if not stack.name or not stack.tenant:
        yield Rejection(f"stack {stack.id} has no name or no project", _REPAIR)
    if stack.tenant != tree.root.tenant:
        yield Rejection(f"nested stack {stack.name} is in project {stack.tenant}", _REPAIR)
    if stack.raw_template_id not in tree.templates:
        yield Rejection(f"stack {stack.name} has no template", _REPAIR)
    counts = Counter(row.name for row in rows if not _is_replacement(row))
    for name in sorted(str(name) for name, count in counts.items() if count > 1):
        yield Rejection(
            f"stack {stack.name} has several resources {name}", "update it in Heat once more"
        )
    if stack.owner_id is not None and not _has_parent(stack, tree):
        yield Rejection(
            f"nested stack {stack.name} ({stack.id}) belongs to no resource of its parent",
            "delete that nested stack in Heat",
        )


def _incomplete_rows(
    name: str, rows: Iterable[HeatRow], columns: Iterable[str]
) -> Iterator[Rejection]:
    for row in rows:
        missing = [column for column in columns if getattr(row, column) is None]
        if missing:
            yield Rejection(f"{name} {row.id} has no {missing[0]}", _REPAIR)


def _is_replacement(row: HeatRow) -> bool:
    return row.replaces is not None or row.replaced_by is not None


def _has_parent(stack: HeatRow, tree: HeatTree) -> bool:
    """Return whether a resource is the stack, or was still creating it."""
    return any(
        row.name == stack.parent_resource_name
        and (row.nova_instance == stack.id or _is_being_created(row))
        for row in tree.resources.get(stack.owner_id, ())
    )


def _is_being_created(row: HeatRow) -> bool:
    return row.nova_instance is None and row.status == "IN_PROGRESS"
