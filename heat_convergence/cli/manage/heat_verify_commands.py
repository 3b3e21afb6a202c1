"""``heat-convergence-manage import-heat --verify``: compare the imported stacks with Heat.

Called by ``heat_import_commands``; decides how the clients log in and what is printed. The
comparison itself is ``heat_import.verification``.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable
from typing import Any

import requests
from keystoneauth1.exceptions import ClientException
from keystoneauth1.session import Session
from openstack.config import OpenStackConfig
from openstack.exceptions import SDKException

from heat_convergence.common.errors import Invalid
from heat_convergence.heat_import.verification.verifier import VerifiedStack, verify_stacks
from heat_convergence.heat_import.verification.view_client import (
    ViewClient,
    ViewError,
    ViewResponse,
)

OK, DIFFERENT = 0, 1
_TIMEOUT_S = 120
_RETRIES = 3


def is_requested(parsed: argparse.Namespace) -> bool:
    """Return whether a command is the comparison, which needs no configuration or database."""
    return bool(getattr(parsed, "verify", False))


def verify_heat(parsed: argparse.Namespace) -> int:
    """Compare the stacks of each project; exit code 1 if there is a difference."""
    if not (parsed.heat_url and parsed.url):
        raise Invalid("--verify requires --heat-url and --url, the endpoints up to /v1")
    different = 0
    try:
        for project in parsed.project or [None]:
            session = log_in(parsed.os_cloud, project)
            project_id = session.get_project_id()
            if project_id is None:
                raise Invalid("the credentials are of no project: name one with --project ID")
            heat, own = (
                create_client(session, url, project_id) for url in (parsed.heat_url, parsed.url)
            )
            different += verify_project(heat, own, project_id, parsed.stack)
    except (ClientException, SDKException, requests.RequestException, ViewError) as error:
        raise Invalid(f"the comparison was aborted: {type(error).__name__}: {error}") from error
    return DIFFERENT if different else OK


def log_in(cloud: str | None, project_id: str | None) -> Session:
    """Return a session with the credentials of the environment or of a named cloud."""
    changes: dict[str, Any] = {}
    if project_id is not None:
        changes = {"project_id": project_id, "project_name": None}
    region = OpenStackConfig(load_envvars=True).get_one(cloud=cloud, **changes)
    session: Session = region.get_session()
    return session


def create_client(session: Session, url: str, project_id: str) -> ViewClient:
    """Return a client of the endpoint, which may end in the version or the project."""
    base = url.replace("%(tenant_id)s", project_id).replace("%(project_id)s", project_id)
    base = base.rstrip("/").removesuffix(f"/{project_id}")
    return ViewClient(f"{base}/{project_id}", _fetcher(session))


def _fetcher(session: Session) -> Callable[[str], ViewResponse]:
    def fetch(url: str) -> ViewResponse:
        response = session.get(
            url,
            headers={"Accept": "application/json"},
            raise_exc=False,
            timeout=_TIMEOUT_S,
            connect_retries=_RETRIES,
        )
        try:
            return ViewResponse(response.status_code, response.json())
        except ValueError:
            return ViewResponse(response.status_code, response.text)

    return fetch


def verify_project(heat: ViewClient, own: ViewClient, project_id: str, selected: list[str]) -> int:
    """Print the differences of a project's stacks, and return their number."""
    known: Counter[str] = Counter()
    stacks = different = 0
    for found in verify_stacks(heat, own, selected):
        stacks += 1
        different += len(found.differences)
        known.update(found.known)
        _print_stack(found)
    print(f"Project {project_id}: {stacks} stacks compared, {different} differences.")
    for reason, count in sorted(known.items()):
        print(f"  {count} known differences: {reason}")
    return different


def _print_stack(found: VerifiedStack) -> None:
    name = f"{found.stack.name} ({found.stack.id})"
    for each in found.differences:
        print(f"{name}: {each}", flush=True)


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the options of the comparison to the command."""
    command.add_argument(
        "--verify",
        action="store_true",
        help="import nothing: compare the stacks of Heat and of this service through their APIs;"
        " exit code 1 if there is a difference",
    )
    command.add_argument(
        "--heat-url", metavar="URL", help="with --verify: the endpoint of Heat, up to /v1"
    )
    command.add_argument(
        "--url", metavar="URL", help="with --verify: the endpoint of this service, up to /v1"
    )
    command.add_argument(
        "--os-cloud",
        metavar="NAME",
        help="with --verify: the cloud in clouds.yaml whose credentials are used; by default"
        " those of the environment (OS_CLOUD, or OS_AUTH_URL and the like)",
    )
