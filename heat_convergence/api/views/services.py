"""Worker processes of the daemons as clients read them."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from heat_convergence.api.views.formats import format_precise_time
from heat_convergence.convergence.model.service_record import ServiceRecord


def format_service(service: ServiceRecord, now: datetime) -> dict[str, Any]:
    """Return a worker process with its status at ``now``."""
    return {
        "id": service.id,
        "host": service.host,
        "hostname": service.hostname,
        "binary": service.binary,
        "topic": service.topic,
        "engine_id": service.id,
        "report_interval": service.report_interval_s,
        "created_at": format_precise_time(service.created_at),
        "updated_at": format_precise_time(service.updated_at),
        "deleted_at": format_precise_time(service.deleted_at),
        "status": "up" if service.is_up(now) else "down",
    }
