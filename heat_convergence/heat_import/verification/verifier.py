"""The comparison of all stacks of a project, several at once.

Called by the command. Decides which stacks are compared; reads them through ``stack_views``.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

from heat_convergence.heat_import.verification.differences import ABSENT, Difference
from heat_convergence.heat_import.verification.known_differences import find_reason
from heat_convergence.heat_import.verification.stack_views import (
    StackComparison,
    StackLocation,
)
from heat_convergence.heat_import.verification.view_client import ViewClient, ViewError

STACKS_AT_ONCE = 4


@dataclass(frozen=True, slots=True)
class VerifiedStack:
    """The result of one stack.

    Attributes:
        stack: The stack.
        differences: Differences apart from the known ones.
        known: Reasons of the known differences, one for each of them.
    """

    stack: StackLocation
    differences: Sequence[Difference]
    known: Sequence[str] = ()


def verify_stacks(
    heat: ViewClient, own: ViewClient, selected: Sequence[str] = ()
) -> Iterator[VerifiedStack]:
    """Yield the result of each stack of either service, with its nested stacks.

    Args:
        heat: Client of Heat.
        own: Client of this service.
        selected: Names or ids of root stacks; empty for all stacks.

    Raises:
        ViewError: A service has refused the list of stacks.
    """
    own_stacks = {each.id: each for each in list_stacks(own, selected)}
    shared: list[StackLocation] = []
    for each in list_stacks(heat, selected):
        if own_stacks.pop(each.id, None) is None:
            yield VerifiedStack(each, [Difference("stack", f"stack {each.id}", ABSENT)])
        else:
            shared.append(each)
    for each in own_stacks.values():
        yield VerifiedStack(each, [Difference("stack", ABSENT, f"stack {each.id}")])
    yield from _verify_all(heat, own, shared)


def list_stacks(client: ViewClient, selected: Sequence[str]) -> list[StackLocation]:
    """Return the stacks of a service at every depth, hidden ones too."""
    found = [
        StackLocation(each["id"], each["stack_name"], each.get("parent"))
        for page in client.list_pages("/stacks", "stacks", show_nested="true", show_hidden="true")
        for each in page
    ]
    if not selected:
        return found
    parents = {each.id: each.parent for each in found}
    roots = {each.id for each in found if {each.id, each.name} & set(selected)}
    return [each for each in found if _is_descendant(each.id, roots, parents)]


def _is_descendant(stack_id: str | None, roots: set[str], parents: dict[str, str | None]) -> bool:
    for _ in range(len(parents) + 1):
        if stack_id is None or stack_id in roots:
            break
        stack_id = parents.get(stack_id)
    return stack_id in roots


def _verify_all(
    heat: ViewClient, own: ViewClient, stacks: Sequence[StackLocation]
) -> Iterator[VerifiedStack]:
    """Yield the results in order; no more stacks are started than twice those at work."""
    pending: deque[Future[VerifiedStack]] = deque()
    with ThreadPoolExecutor(STACKS_AT_ONCE) as executor:
        for each in stacks:
            pending.append(executor.submit(_verify, heat, own, each))
            if len(pending) >= 2 * STACKS_AT_ONCE:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()


def _verify(heat: ViewClient, own: ViewClient, stack: StackLocation) -> VerifiedStack:
    differences: list[Difference] = []
    known: list[str] = []
    try:
        for each in StackComparison(heat, own, stack).find_differences():
            reason = find_reason(each)
            if reason is None:
                differences.append(each)
            else:
                known.append(reason)
    except ViewError as error:
        differences.append(Difference("events", ABSENT, str(error)))
    return VerifiedStack(stack, differences, known)
