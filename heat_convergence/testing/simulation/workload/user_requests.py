"""The requests that users of the simulation make.

Decides what a request consists of, how it is written in a scenario and which errors it
may meet.  Used by the generators, the environment and the scenario language; performs
nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

TRAVERSAL_OPERATIONS = ("update", "suspend", "resume", "check")
QUARANTINE_OPERATIONS = ("retry_quarantined", "dismiss_quarantined")
PLACE_OPERATIONS = ("move", "rename", "import")
HANDOVER_OPERATIONS = (*PLACE_OPERATIONS, "execute")
RESOURCE_OPERATIONS = (
    "signal", "mark_unhealthy", "mark_healthy", "clear_hook", *QUARANTINE_OPERATIONS,
    *PLACE_OPERATIONS,
)  # fmt: skip
OPERATIONS = (
    "create", *TRAVERSAL_OPERATIONS, "delete", "cancel",
    "cancel_without_rollback", "snapshot", "restore", "delete_snapshot", "abandon", "adopt",
    *RESOURCE_OPERATIONS, "execute",
)  # fmt: skip
CREATING_OPERATIONS = frozenset({"create", "adopt"})
_MISSING = frozenset({"EntityNotFound"})
_REFUSED_HANDOVERS = frozenset(
    {"ActionInProgress", "HandoverConflict", "HTTPBadRequest", "PlanNotReady", "PlanOutdated",
     "ResourceNotFound"}
)  # fmt: skip
_EXPECTED_ERRORS: Mapping[str, frozenset[str]] = {
    "create": frozenset({"StackExists"}),
    "adopt": frozenset({"StackExists"}),
    "delete": frozenset({"ResourceNotFound"}),  # a resource to be excluded
    "snapshot": frozenset({"ActionInProgress"}),
    "restore": frozenset({"SnapshotNotFound"}),
    "delete_snapshot": frozenset({"SnapshotNotFound"}),
    "signal": frozenset(
        {"ResourceNotFound", "ResourceNotAvailable", "ResourceActionNotSupported"}
    ),
    "clear_hook": frozenset({"ResourceNotFound", "InvalidBreakPointHook"}),
    "mark_unhealthy": frozenset({"ResourceNotFound", "ActionInProgress"}),
    "mark_healthy": frozenset({"ResourceNotFound", "ActionInProgress"}),
    **dict.fromkeys(HANDOVER_OPERATIONS, _REFUSED_HANDOVERS),
    "import": _REFUSED_HANDOVERS | {"NotFound"},
}


@dataclass(frozen=True, slots=True)
class UserRequest:
    """One request of a user.

    Attributes:
        operation: one of ``OPERATIONS``.  ``cancel`` rolls back to the goal
            before; ``restore`` and ``delete_snapshot`` use the newest snapshot, ``adopt``
            the export of the abandoned stack of that name, ``execute`` the newest plan of
            an import, move or rename.
        template: for ``create`` and ``update``, in the notation of
            ``template_notation``.
        resource: the resource that the operation concerns; ``n.b`` inside a nested stack.
            A ``move`` takes with it all that it needs and that needs it; an ``import`` makes it
            of the oldest object made by hand.
        target: the stack that a ``move`` moves the resource to.
        new_name: the name that a ``rename`` gives it; a resource of that name gets the old one.
        exclude: the resources that a ``delete`` leaves alone.
        quarantine: whether a ``delete`` quarantines what cannot be deleted.
        step: whether ``clear_hook`` continues to the next breakpoint only.
        converge: whether an ``update`` first observes everything that exists.
    """

    operation: str
    stack: str
    template: str = ""
    rollback: bool = False
    timeout_mins: int | None = None
    resource: str = ""
    exclude: tuple[str, ...] = ()
    quarantine: bool = False
    step: bool = False
    converge: bool = False
    target: str = ""
    new_name: str = ""

    def __str__(self) -> str:
        """Return the request as a command of the scenario language."""
        words = [self.operation, self.stack]
        if self.resource:
            words.append(self.resource)
        if self.target:
            words.append(f"to={self.target}")
        if self.new_name:
            words.append(f"as={self.new_name}")
        if self.exclude:
            words.append(f"exclude={','.join(self.exclude)}")
        if self.quarantine:
            words.append("quarantine")
        if self.step:
            words.append("step")
        if self.converge:
            words.append("converge")
        if self.rollback:
            words.append("rollback")
        if self.timeout_mins is not None:
            words.append(f"timeout_mins={self.timeout_mins}")
        lines = [" ".join(words), *(f"  {line}" for line in self.template.splitlines())]
        return "\n".join(lines)


def expected_errors(request: UserRequest) -> frozenset[str]:
    """Return the errors, beside ``NotSupported``, that the request may meet.

    These occur if its subject does not exist or is in a state that forbids the request.
    """
    return _MISSING | _EXPECTED_ERRORS.get(request.operation, frozenset())
