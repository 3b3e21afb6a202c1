"""The settings of drift, the same for all daemons.

The daemons fill them from their options; tests and the simulator choose their own.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from heat_convergence.convergence.drift.policy import OperatorPolicies
from heat_convergence.convergence.drift.repair_budget import RepairLimits


@dataclass(frozen=True, slots=True)
class MassLossLimits:
    """The numbers of missing resources of one type, project and region that are suspect.

    Attributes:
        count: so many at least …
        share: … if they are this part of all at least.
    """

    count: int = 10
    share: float = 0.2

    def exceeded_by(self, lost: int, total: int) -> bool:
        """Return whether so many missing resources are too many to be believed."""
        return lost >= self.count and lost >= self.share * total


@dataclass(frozen=True, slots=True)
class DriftSettings:
    """The operator's policies and limits.

    Attributes:
        policies: the operator's drift policies.
        repairs: limits of the repairs that no user has requested.
        mass_loss: the losses that are not believed until a user confirms them.
    """

    policies: OperatorPolicies = field(default_factory=OperatorPolicies)
    repairs: RepairLimits = field(default_factory=RepairLimits)
    mass_loss: MassLossLimits = field(default_factory=MassLossLimits)
