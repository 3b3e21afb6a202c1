"""The longest interruption of the service, by the events that it has recorded."""

from __future__ import annotations

from datetime import datetime
from itertools import pairwise

import sqlalchemy as sa

from heat_convergence.db.tables import event


def longest_gap_s(url: str, begin: datetime, end: datetime) -> float:
    """Return the longest time between two events of a span."""
    engine = sa.create_engine(url, poolclass=sa.pool.NullPool)
    column = event.c.created_at
    within = sa.select(column).where(column >= begin, column <= end).order_by(column)
    with engine.connect() as connection:
        times = [begin, *connection.scalars(within), end]
    return max((late - early).total_seconds() for early, late in pairwise(times))
