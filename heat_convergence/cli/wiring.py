"""The parts of one process, put together from its options.

Called by the daemons' workers, by ``standalone`` and by ``wsgi``, in the process
that is to use them: connections must not cross a fork.  Must not import the web
application, which engines and observers have no room for.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass

import oslo_messaging
from oslo_config import cfg

from heat_convergence.api.context import Auth, UsersDomain
from heat_convergence.api.services import ApiServices, SignerOf
from heat_convergence.cli import plugins, settings
from heat_convergence.cli.credentials import SealedCredentials
from heat_convergence.cli.environment import operator_environment
from heat_convergence.cli.software import StoredSoftware
from heat_convergence.clients.addresses import LocalCloud
from heat_convergence.clients.clouds import Clouds
from heat_convergence.clients.credentials import Credential
from heat_convergence.clients.delegation import Delegation
from heat_convergence.clients.keystone import Keystone
from heat_convergence.clients.plugins import Service
from heat_convergence.clients.signed_urls import Ec2Tokens
from heat_convergence.common import errors
from heat_convergence.common.clock import Clock, utc_now
from heat_convergence.common.ids import IdFactory, IdGenerator
from heat_convergence.convergence.notices import Told
from heat_convergence.db import credentials, goals, revisions
from heat_convergence.db.engine import Database, create_database
from heat_convergence.db.reads import stacks
from heat_convergence.db.sealing import Keyring, attach
from heat_convergence.db.store import SqlStore
from heat_convergence.engine.nesting import Bounds, Nester
from heat_convergence.resources import constraints
from heat_convergence.resources.catalog import constraints as cloud_constraints
from heat_convergence.resources.nesting.parsed import Parsed
from heat_convergence.resources.plugin import CloudOf
from heat_convergence.resources.registry import Registry
from heat_convergence.rpc import notifications
from heat_convergence.rpc.bus import RpcBus
from heat_convergence.rpc.transport import create_transport
from heat_convergence.template.functions.base import Function


@dataclass(frozen=True, slots=True)
class Parts:
    """What daemons are made of; nothing is connected yet."""

    conf: cfg.ConfigOpts
    database: Database
    store: SqlStore
    transport: oslo_messaging.RPCTransport
    bus: RpcBus
    registry: Registry
    functions: Mapping[str, Function]
    parsed: Parsed
    clock: Clock
    ids: IdFactory
    clouds: Clouds | None = None  # None: there is no Keystone
    delegation: Delegation | None = None

    @property
    def cloud_of(self) -> CloudOf:
        """What engines and observers fill ``View.cloud`` with."""
        if self.clouds is not None:
            return self.clouds.of
        local = LocalCloud(self.conf.clients_heat.url, StoredSoftware(self.database))
        return lambda _tree_id: local

    def check(self) -> None:
        """Raise ``Unavailable`` until the database answers with a schema that will do."""
        self.database.ping()
        found = revisions.current(self.database)
        if not revisions.will_do(found):
            raise errors.Unavailable(
                f"the schema is at {found}, this release needs {revisions.HEAD}: "
                "run heat-convergence-manage db upgrade"
            )

    def close(self) -> None:
        self.transport.cleanup()
        self.database.close()


def assemble(conf: cfg.ConfigOpts, *, transport_url: str | None = None) -> Parts:
    """Without ``transport_url``, the option of that name counts.

    Raises ``cfg.RequiredOptError`` where there is no key to keep secrets with.
    """
    if not conf.auth_encryption_key:
        raise cfg.RequiredOptError("auth_encryption_key")
    database = create_database(conf)
    attach(database.engine, Keyring(conf.auth_encryption_key))
    transport = create_transport(conf, url=transport_url)
    clouds, delegation = _keystone(conf, database)
    return Parts(
        conf=conf,
        database=database,
        store=SqlStore(database, _told(conf, database)),
        transport=transport,
        bus=RpcBus(transport, retries=conf.rpc.send_retries, quiet_s=conf.rpc.quiet_time),
        registry=Registry.load(settings.type_defaults(conf), settings.type_traits(conf)),
        functions=plugins.functions(),
        parsed=Parsed(settings.limits(conf), max_bytes=conf.template_cache_size * 2**20),
        clock=utc_now,
        ids=IdGenerator(utc_now, random.SystemRandom()),
        clouds=clouds,
        delegation=delegation,
    )


def _told(conf: cfg.ConfigOpts, database: Database) -> Told | None:
    """Notifications of stacks; None where nobody wants any."""
    sender = notifications.notifier(conf)
    if sender is None:
        return None

    level = conf.default_notification_level
    return notifications.StackNotifications(sender, level, known_stacks(database))


def known_stacks(database: Database) -> notifications.StackOf:
    """What notifications tell of a stack beside its state."""

    def stack_of(stack_id: str) -> notifications.Known | None:
        with database.read() as connection:
            stack = stacks.get(connection, stack_id)
            if stack is None:
                return None
            goal = goals.get(connection, stack.goal_id)
            credential = credentials.get(connection, stack.tree_id)
        description = "" if goal is None else goal.description
        user_id = None if credential is None else Credential.load(credential).user_id
        return notifications.Known(stack, description, user_id)

    return stack_of


def _keystone(
    conf: cfg.ConfigOpts, database: Database
) -> tuple[Clouds | None, Delegation | None]:
    """Nothing is asked of Keystone yet."""
    if Auth(conf.heat_api.auth_strategy) is not Auth.KEYSTONE:
        return None, None
    how, service, store = settings.clients(conf), Service(conf), SealedCredentials(database)
    clouds = Clouds(how, service, store.get, StoredSoftware(database))
    return clouds, Delegation(Keystone(how, service), clouds, store)


def api_services(parts: Parts) -> ApiServices:
    """What the API, and whoever rolls a stack back, evaluates templates with."""
    limits = settings.limits(parts.conf)
    return ApiServices(
        database=parts.database,
        store=parts.store,
        bus=parts.bus,
        registry=parts.registry,
        clock=parts.clock,
        ids=parts.ids,
        settings=settings.settings(parts.conf),
        limits=limits,
        parsed=parts.parsed,
        environment=operator_environment(parts.conf.environment_dir, limits=limits),
        options=settings.api_options(parts.conf),
        custom_constraints={
            **cloud_constraints.load(parts.registry),
            **constraints.load(),
        },
        delegation=parts.delegation,
        functions=parts.functions,
        users_domain=_users_domain(parts.conf),
        signer_of=_signer_of(parts),
    )


def _users_domain(conf: cfg.ConfigOpts) -> UsersDomain:
    return UsersDomain(
        conf.stack_user_domain_id, conf.stack_user_domain_name, conf.heat_stack_user_role
    )


def _signer_of(parts: Parts) -> SignerOf | None:
    """How signed URLs are judged; None where stacks have no users to sign them."""
    conf = parts.conf
    if parts.clouds is None or not (conf.stack_user_domain_id or conf.stack_user_domain_name):
        return None
    return Ec2Tokens(parts.clouds.settings, parts.clouds.service).signer


def nester(parts: Parts) -> Nester:
    """What engines make nested stacks with."""
    given = api_services(parts)
    return Nester(
        store=given.store,
        children=given.children(),
        clock=given.clock,
        ids=given.ids,
        settings=given.settings,
        bounds=Bounds(
            depth=given.options.max_nested_stack_depth,
            resources=given.options.max_resources_per_stack,
        ),
    )
