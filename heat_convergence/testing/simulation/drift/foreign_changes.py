"""Foreign changes of a simulated cloud, and the views that reads have of it meanwhile.

Used by the runs of drift. Draws foreign changes, objects that no read shows, lists with holes
and with old values, a controller that changes a value back, and notifications of some of this.
Must not read a row of the store.
"""

from __future__ import annotations

import random
from functools import partial
from typing import Any

from heat_convergence.convergence.drift.settings import MassLossLimits
from heat_convergence.testing.simulation.cloud import CloudObject
from heat_convergence.testing.simulation.environment import SimulatedEnvironment
from heat_convergence.testing.simulation.processes import SimulatedObserver

Json = Any
_FOREIGN_SIZE = 99
_CONTROLLER_PAUSE_S = 5.0
_MAX_COPIES = 20
_EVENT_TYPE = "compute.instance.update"  # a hint by id counts for every resource type


class ForeignChanges:
    """The changes by others in one simulation.

    Args:
        environment: The simulation.
        rng: The source of what is drawn while it runs.
        mass_loss: The losses that are a mass loss.
    """

    def __init__(
        self, environment: SimulatedEnvironment, rng: random.Random, mass_loss: MassLossLimits
    ) -> None:
        self._environment = environment
        self._rng = rng
        self._mass_loss = mass_loss
        self.notifies = False

    def change_one(self, operation: str, selector: float) -> None:
        """Delete or change one object of a stack."""
        chosen = self._choose(selector)
        if chosen is not None:
            self._change(chosen, operation)

    def control_value(self, selector: float) -> None:
        """Let another controller change a value, and change it back whenever it is restored."""
        chosen = self._choose(selector)
        if chosen is not None:
            self._keep_changed(chosen)

    def show_old_values(self, *, is_old: bool) -> None:
        """Let lists show the present state from now on, or no old one any more."""
        owned = self._owned() if is_old else []
        self._environment.cloud_view.old_properties = {
            each.id: dict(each.properties) for each in owned
        }

    def leave_holes(self, share: float) -> None:
        """Let each list leave out this share of its objects, others each time."""
        view = self._environment.cloud_view
        view.hole_share, view.hole_random = share, self._rng

    def hide_part(self, share: float) -> None:
        """Let no read show this share of the objects."""
        environment, owned = self._environment, self._owned()
        view = environment.cloud_view
        hidden = owned[: int(share * len(owned))]
        for each in hidden:
            environment.expect_failure(each.stack_id, f"{each.id} was unreachable")
        view.hide(each.id for each in hidden)
        is_mass_loss = self._mass_loss.exceeded_by(len(hidden), len(owned))
        view.unreachable_since = environment.event_queue.now() if is_mass_loss else None
        environment.log_event(f"unreachable: {sorted(view.unreachable_ids)}")

    def notify(self, object_id: str) -> None:
        """Send a notification about an object: it may be lost, late, repeated or malformed."""
        if not self.notifies or self._rng.random() < 0.3:
            return
        copies = self._rng.choice((1, 1, 1, 2, _MAX_COPIES))
        for _ in range(copies):
            delay_s = self._rng.uniform(0.0, self._rng.choice((0.5, 60.0)))
            payload: Json = {"instance_id": object_id} if self._rng.random() < 0.9 else {"x": [1]}
            deliver = partial(self._deliver, payload)
            self._environment.event_queue.schedule_after(round(delay_s, 3), deliver)

    def _deliver(self, payload: Json) -> None:
        """Deliver a notification to one of the observers, which share a pool."""
        alive = [
            each
            for each in self._environment.processes
            if isinstance(each, SimulatedObserver) and each.alive
        ]
        if alive:
            self._environment.occurrences["notification"] += 1
            self._rng.choice(alive).receive_notification(_EVENT_TYPE, payload)

    def _owned(self) -> list[CloudObject]:
        return [each for each in self._environment.cloud.active_objects() if each.stack_id]

    def _choose(self, selector: float) -> CloudObject | None:
        owned = self._owned()
        return owned[int(selector * len(owned)) % len(owned)] if owned else None

    def _change(self, chosen: CloudObject, operation: str) -> None:
        environment = self._environment
        environment.occurrences[f"external {operation}"] += 1
        environment.log_event(f"external {operation}: {chosen.id} {chosen.name}")
        environment.expect_failure(chosen.stack_id, f"{chosen.id} was changed externally")
        if operation == "delete":
            environment.cloud.delete_externally(chosen)
        else:
            environment.cloud.change_externally(chosen, {"size": _FOREIGN_SIZE})
        self.notify(chosen.id)

    def _keep_changed(self, chosen: CloudObject) -> None:
        environment = self._environment
        if environment.cloud.get(chosen.id) is None:
            return
        if chosen.properties.get("size") != _FOREIGN_SIZE:
            self._change(chosen, "change")
        again = partial(self._keep_changed, chosen)
        environment.event_queue.schedule_after(_CONTROLLER_PAUSE_S, again)
