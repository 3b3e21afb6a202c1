"""``heat-convergence-manage jobs``: what is being done, by which worker, and what waits for what.

Called by ``main``; decides what is printed, and reads through an index on the state of jobs.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from heat_convergence.cli.manage.table import format_table
from heat_convergence.convergence.model.job import JobState
from heat_convergence.db.connection.database import Database
from heat_convergence.db.reads import workload
from heat_convergence.db.reads.workload import JobFilter, ListedJob

OK = 0
_COLUMNS = ("Stack", "Resource", "Type", "Job", "State", "Since", "Worker", "Waits for")
# The states that are listed without --state: others wait for those, or for nothing.
DEFAULT_STATES = tuple(
    state for state in JobState if state not in (JobState.BLOCKED, JobState.CANCELLED)
)
REASONS = {
    JobState.BLOCKED: "resources that it needs",
    JobState.QUEUED: "the limit of the stack's jobs in flight ([engine] jobs_in_flight)",
    JobState.SCHEDULABLE: "its project's turn ([engine] jobs_on_bus, jobs_in_hand)",
    JobState.POSTED: "an engine that takes its message",
    JobState.RUNNING: "the call of its worker",
    JobState.AWAITING_OBSERVATION: "the physical resource",
    JobState.RETRY: "its next try",
    JobState.REPLACE: "an observer that makes a new incarnation",
    JobState.CANCELLED: "nothing: its traversal has ended",
}


def list_jobs(database: Database, parsed: argparse.Namespace) -> int:
    """Print the jobs of stacks in progress, those that have waited longest first."""
    states = [JobState[each] for each in parsed.state or ()] or DEFAULT_STATES
    with database.read() as conn:
        stack_ids = None if parsed.stack is None else [parsed.stack]
        found = workload.list_jobs(conn, JobFilter(states, stack_ids), parsed.limit)
    if parsed.json:
        print(json.dumps([_document(each) for each in found], indent=2))
        return OK
    for line in format_table(_COLUMNS, [_row(each) for each in found]):
        print(line)
    if len(found) == parsed.limit:
        print(f"Only the first {parsed.limit} jobs are printed; see --limit.")
    return OK


def add_commands(nouns: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the commands to the parser of nouns."""
    verbs = nouns.add_parser("jobs", help="show the work in progress").add_subparsers(
        required=True
    )
    verb = verbs.add_parser(
        "list", help="print jobs with their state, their worker and what they wait for"
    )
    verb.add_argument("--stack", help="id of the only stack whose jobs are printed")
    verb.add_argument(
        "--state",
        action="append",
        choices=[state.name for state in JobState],
        help="state of the jobs; may be repeated (default: all but BLOCKED and CANCELLED)",
    )
    verb.add_argument("--limit", type=int, default=100, help="number of jobs (default: 100)")
    verb.add_argument("--json", action="store_true", help="print JSON")
    verb.set_defaults(run=list_jobs)


def _row(job: ListedJob) -> tuple[str, ...]:
    document = _document(job)
    worker = f"{job.worker_host or 'ended worker'} {job.worker_id}" if job.worker_id else ""
    return (
        job.stack_id,
        job.name,
        job.resource_type,
        document["job"] or "",
        document["state"],
        document["since"] or "",
        worker,
        document["waits_for"],
    )


def _document(job: ListedJob) -> Mapping[str, Any]:
    return {
        "stack": job.stack_id,
        "resource": job.name,
        "resource_id": job.resource_id,
        "type": job.resource_type,
        "job": job.verb,
        "state": job.state.name,
        "since": _text(job.since),
        "worker": job.worker_id,
        "worker_host": job.worker_host,
        "lease_expires_at": _text(job.lease_expires_at),
        "waits_for": _reason(job),
    }


def _reason(job: ListedJob) -> str:
    if job.state is JobState.AT_BREAKPOINT:
        return f"a user who clears the hook {job.hook}"
    reason = REASONS[job.state]
    if job.state is JobState.AWAITING_OBSERVATION and job.observe_at is not None:
        return f"{reason}, read at {_text(job.observe_at)}"
    return reason


def _text(time: datetime | None) -> str | None:
    return None if time is None else time.isoformat(timespec="seconds")
