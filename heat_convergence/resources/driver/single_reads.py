"""The watch's reads of objects that no list shows, and the turns that resources take.

Decides how many objects one read of a group reads alone, and which. Called by ``drift_detection``
and by associations. It must not change a physical resource.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence

from heat_convergence.common.errors import (
    EntityNotFound,
    Error,
    PhysicalResourceNameAmbiguity,
    Retry,
)
from heat_convergence.convergence.model.job import ObservedState
from heat_convergence.resources.protocol.verb_values import ResourceContext, VerbResult

MAX_SINGLE_READS = 20  # in one read of a group, so that one call a second is not much exceeded
_NOT_READ = VerbResult(ObservedState.BUSY)  # the last observation stays


def read_alone(
    observe: Callable[[ResourceContext], VerbResult], contexts: Sequence[ResourceContext]
) -> dict[str, VerbResult]:
    """Read objects one by one: so many that others are not held up, in turns.

    Args:
        observe: Reads one object.
        contexts: The resources of a group.

    Returns:
        Resource id → result; BUSY where nothing new is known.

    Raises:
        Error: The service does not answer, or refuses all reads.
    """
    results = {context.resource_id: _NOT_READ for context in contexts}
    refused: Error | None = None
    is_any_read = False
    for context in in_turns(contexts)[:MAX_SINGLE_READS]:
        try:
            results[context.resource_id] = observe(context)
            is_any_read = True
        except EntityNotFound:  # what its properties name is gone
            results[context.resource_id] = VerbResult(ObservedState.ABSENT, context.physical_id)
            is_any_read = True
        except PhysicalResourceNameAmbiguity:
            continue  # nobody knows which object it is
        except Error as error:
            if error.retry is not Retry.NEVER:
                raise
            refused = refused or error
    if refused is not None and not is_any_read:
        raise refused
    return results


def in_turns(contexts: Sequence[ResourceContext]) -> list[ResourceContext]:
    """Return the resources in an order that is another one at each time, fair to all."""

    def turn(context: ResourceContext) -> int:
        return zlib.crc32(f"{context.now.timestamp()} {context.resource_id}".encode())

    return sorted(contexts, key=turn)
