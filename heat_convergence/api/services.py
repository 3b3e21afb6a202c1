"""The services that the API application needs, handed to it once by its creator.

Built by ``cli`` and by tests; decides nothing.  Must not reach for anything global: two
applications with different services live in one process.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from heat_convergence.api.context import StackUserDomain
from heat_convergence.clients.delegation import Delegation
from heat_convergence.clients.login.user_login import GrantedToken, LoginRequest
from heat_convergence.clients.signed_urls import Signer
from heat_convergence.common.ids import IdFactory
from heat_convergence.common.transactions import Wait
from heat_convergence.convergence.ports.bus import Bus
from heat_convergence.convergence.ports.store import Store
from heat_convergence.db.connection.database import Database
from heat_convergence.resources.protocol.verb_values import CloudFactory, no_cloud
from heat_convergence.stacks.services import StackOptions, StackServices

SignerLookup = Callable[[Mapping[str, Any]], Signer]
TokenIssuer = Callable[[Mapping[str, Any]], str]
LogIn = Callable[[LoginRequest], GrantedToken]


@dataclass(frozen=True, slots=True)
class ApiOptions(StackOptions):
    """The operator's options of the API, beside those of stacks.

    Attributes:
        max_software_configs_per_tenant: negative for no limit.
        max_software_deployments_per_tenant: negative for no limit.
        observe_on_update: whether every update behaves as if it said ``converge``.
        quarantine_on_delete: whether deletions quarantine what they cannot delete, where requests
            do not say.
        plan_lifetime_s: how long a stored plan can be executed.
        max_plans_per_tenant: plans that can be executed; negative for no limit.
        public_endpoint: URL that links begin with, without version and project; None for the
            address of each request.
        access_log: whether to log every request at INFO.
        console: whether to serve the console.
        transaction_tries: how often to try what the database refused or did not answer.
    """

    max_software_configs_per_tenant: int = 4096
    max_software_deployments_per_tenant: int = 4096
    enable_stack_adopt: bool = False
    enable_stack_abandon: bool = False
    observe_on_update: bool = False
    quarantine_on_delete: bool = False
    hidden_stack_tags: tuple[str, ...] = ()
    revision: str = "unknown"
    transaction_tries: int = 3
    access_log: bool = True
    console: bool = False
    public_endpoint: str | None = None
    plan_lifetime_s: int = 86_400
    max_plans_per_tenant: int = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiServices(StackServices):
    """The services of one application.

    Attributes:
        database: for reads.
        store: for writes.
        bus: takes jobs after a commit.
        delegation: None without Keystone.
        cloud_of: returns the cloud of a stack's tree, for signals that a service acts on.
        find_signer: None where signed URLs are not answered.
        log_in: logs a user in to the console; None without Keystone.
        issue_token: returns a token of the signer of a request; None without Keystone.
        wait: pauses a request before it asks the database again.
    """

    database: Database
    store: Store
    bus: Bus
    ids: IdFactory
    options: ApiOptions = field(default_factory=ApiOptions)
    delegation: Delegation | None = None
    stack_user_domain: StackUserDomain = field(default_factory=StackUserDomain)
    find_signer: SignerLookup | None = None
    cloud_of: CloudFactory = no_cloud
    issue_token: TokenIssuer | None = None
    log_in: LogIn | None = None
    wait: Wait = time.sleep
