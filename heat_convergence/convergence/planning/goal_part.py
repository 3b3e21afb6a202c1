"""The part of a goal that an update changes, where the rest of the stack stays as it is.

Made by ``stacks`` from the texts of both templates; ``traversal`` checks under the stack's lock
that the rest is where the goal wants it.  Decides what that means for a row.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from heat_convergence.convergence.model.action import Action, Status
from heat_convergence.convergence.model.resource import MARKS_ALONE, Resource
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.convergence.planning.incarnations import is_settled

_MOST_CONTENTS_PER_RESOURCE = 4


class GoalPartOutdated(Exception):
    """A traversal cannot start from a part of its goal, and needs all of it."""


@dataclass(frozen=True, slots=True)
class GoalPart:
    """The resources of a goal that an update has to look at.

    Attributes:
        version: the version of the stack whose goal all others have.
        names: the names of the resources, with those that the goal removes.
        changing: those of them that may get a job.
        implementations: type → what implements it, for all types of the goal.
        fewest_others: how many resources the goal has beside these, at least.
        most_others: how many it has at most; conditions decide.
    """

    version: int
    names: frozenset[str]
    changing: frozenset[str]
    implementations: Mapping[str, str]
    fewest_others: int
    most_others: int

    def admits_others(self, count: int) -> bool:
        """Return whether there may be so many rows beside those of the part."""
        return self.fewest_others <= count <= self.most_others

    def admits_contents(self, count: int) -> bool:
        """Return whether a goal may refer to so many contents.

        Those of replaced definitions pile up until all definitions are known again.
        """
        return count <= _MOST_CONTENTS_PER_RESOURCE * (self.most_others + len(self.names))


def has_reached_goal(stack: Stack) -> bool:
    """Return whether the stack is at rest, and its rows were led to its goal by themselves."""
    return (
        stack.action in (Action.CREATE, Action.UPDATE)
        and stack.status is Status.COMPLETE
        and stack.goal_reached
        and not stack.stabilizing
    )


def is_at_rest(row: Resource, implementations: Mapping[str, str]) -> bool:
    """Return whether a goal that has the same definition as the row leaves it as it is.

    No environment may have hooks, restrictions or policies for single resources.
    """
    return (
        is_settled(row)
        and row.state.action is not Action.DELETE
        and row.physical.applied_hash == row.desired.definition_hash
        and row.desired.hooks_and_restrictions in MARKS_ALONE
        and implementations.get(row.identity.type) == row.desired.implementation
    )
