"""The work of the whole service, for administrators of the cloud.

Called by the root controller. Reads the database alone: no worker is asked, so that it answers
while workers do not.
"""

from __future__ import annotations

import webob

from heat_convergence.api.controllers.base import Controller
from heat_convergence.api.http import ApiRequest, json_response
from heat_convergence.api.views.service import overview as view
from heat_convergence.convergence.model.job import JobState
from heat_convergence.db.reads import overview, services, workload
from heat_convergence.db.reads.workload import JobFilter

_LIMIT = 100  # of each list
_AT_WORK = JobFilter((JobState.RUNNING,))
_QUEUED = JobFilter((JobState.SCHEDULABLE, JobState.POSTED))


class OverviewController(Controller):
    """The handler of ``/overview``."""

    def show(self, _request: ApiRequest) -> webob.Response:
        """Show projects, the queue, what workers do, and what needs attention."""
        with self.database.read() as conn:
            workers = services.list_services(conn)
            running = workload.list_jobs(conn, _AT_WORK, _LIMIT)
            queued = workload.list_jobs(conn, _QUEUED, _LIMIT)
            names = overview.stack_names(conn, {each.stack_id for each in (*running, *queued)})
            shown = {
                **view.format_summary(workload.summarize(conn)),
                "projects": view.format_projects(overview.count_by_project(conn)[:_LIMIT]),
                "running": view.format_jobs(running, names),
                "queued": view.format_jobs(queued, names),
                "failed_stacks": view.format_failed_stacks(
                    overview.list_failed_stacks(conn, _LIMIT)
                ),
                "unread": view.format_unread_groups(overview.list_unread_groups(conn, _LIMIT)),
                "endpoints": view.format_endpoints(workers, self.services.clock())[:_LIMIT],
                "breakers": view.format_breakers(overview.list_open_breakers(conn, _LIMIT)),
            }
        return json_response({"overview": shown})
