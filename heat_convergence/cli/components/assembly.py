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

from heat_convergence.api.context import AuthStrategy, StackUserDomain
from heat_convergence.api.services import ApiServices, SignerLookup
from heat_convergence.cli.components import function_plugins, settings
from heat_convergence.cli.components.credential_store import DatabaseCredentialStore
from heat_convergence.cli.components.operator_environment import load_operator_environment
from heat_convergence.cli.components.software_store import DatabaseSoftwareStore
from heat_convergence.clients.auth import ServiceAuth
from heat_convergence.clients.clouds import StackCloudCache
from heat_convergence.clients.credentials import Credential
from heat_convergence.clients.delegation import Delegation
from heat_convergence.clients.endpoints import NoAuthCloud
from heat_convergence.clients.keystone import CredentialIssuer
from heat_convergence.clients.signed_urls import Ec2SignatureVerifier
from heat_convergence.common import errors
from heat_convergence.common.clock import Clock, utc_now
from heat_convergence.common.ids import IdFactory, IdGenerator
from heat_convergence.convergence.model.notification_events import NotifyCallback
from heat_convergence.db.connection.database import Database, create_database
from heat_convergence.db.encryption.column_encryption import Keyring, attach_keyring
from heat_convergence.db.maintenance import schema_revisions
from heat_convergence.db.reads import stacks
from heat_convergence.db.repositories.goals import SqlGoalRepository
from heat_convergence.db.statements import credentials
from heat_convergence.db.store import SqlStore
from heat_convergence.engine.nested_executor import NestedStackExecutor, NestedTreeLimits
from heat_convergence.resources import custom_constraints
from heat_convergence.resources.catalog import custom_constraints as cloud_constraints
from heat_convergence.resources.nested.template_cache import TemplateCache
from heat_convergence.resources.protocol.resource_type import CloudFactory
from heat_convergence.resources.registry import ResourceTypeRegistry
from heat_convergence.rpc import notifications
from heat_convergence.rpc.bus import RpcBus
from heat_convergence.rpc.transport import create_transport
from heat_convergence.template.functions.function import Function


@dataclass(frozen=True, slots=True)
class ProcessComponents:
    """What daemons are made of; nothing is connected yet."""

    conf: cfg.ConfigOpts
    database: Database
    store: SqlStore
    transport: oslo_messaging.RPCTransport
    bus: RpcBus
    registry: ResourceTypeRegistry
    template_functions: Mapping[str, Function]
    template_cache: TemplateCache
    clock: Clock
    ids: IdFactory
    cloud_cache: StackCloudCache | None = None  # None: there is no Keystone
    delegation: Delegation | None = None

    @property
    def cloud_of(self) -> CloudFactory:
        """What engines and observers fill ``View.cloud`` with."""
        if self.cloud_cache is not None:
            return self.cloud_cache.get
        local = NoAuthCloud(self.conf.clients_heat.url, DatabaseSoftwareStore(self.database))
        return lambda _tree_id: local

    def check_database(self) -> None:
        """Raise ``Unavailable`` until the database answers with a schema that will do."""
        self.database.ping()
        found = schema_revisions.get_current_revision(self.database)
        if not schema_revisions.is_compatible(found):
            raise errors.Unavailable(
                f"the schema is at {found}, this release needs {schema_revisions.HEAD_REVISION}: "
                "run heat-convergence-manage db upgrade"
            )

    def close(self) -> None:
        self.transport.cleanup()
        self.database.close()


def assemble_components(
    conf: cfg.ConfigOpts, *, transport_url: str | None = None
) -> ProcessComponents:
    """Without ``transport_url``, the option of that name counts.

    Raises ``cfg.RequiredOptError`` where there is no key to keep secrets with.
    """
    if not conf.auth_encryption_key:
        raise cfg.RequiredOptError("auth_encryption_key")
    database = create_database(conf)
    attach_keyring(database.engine, Keyring(conf.auth_encryption_key))
    transport = create_transport(conf, url=transport_url)
    clouds, delegation = _keystone(conf, database)
    return ProcessComponents(
        conf=conf,
        database=database,
        store=SqlStore(database, _told(conf, database)),
        transport=transport,
        bus=RpcBus(
            transport, send_retries=conf.rpc.send_retries, send_pause_s=conf.rpc.quiet_time
        ),
        registry=ResourceTypeRegistry.load(
            settings.property_defaults(conf), settings.resource_type_traits(conf)
        ),
        template_functions=function_plugins.load_functions(),
        template_cache=TemplateCache(
            settings.template_limits(conf), max_bytes=conf.template_cache_size * 2**20
        ),
        clock=utc_now,
        ids=IdGenerator(utc_now, random.SystemRandom()),
        cloud_cache=clouds,
        delegation=delegation,
    )


def _told(conf: cfg.ConfigOpts, database: Database) -> NotifyCallback | None:
    """Notifications of stacks; None where nobody wants any."""
    sender = notifications.create_notifier(conf)
    if sender is None:
        return None

    level = conf.default_notification_level
    return notifications.StackNotifier(sender, level, notified_stack_finder(database))


def notified_stack_finder(database: Database) -> notifications.FindNotifiedStack:
    """What notifications tell of a stack beside its state."""

    def stack_of(stack_id: str) -> notifications.NotifiedStack | None:
        with database.read() as connection:
            stack = stacks.get(connection, stack_id)
            if stack is None:
                return None
            goal = SqlGoalRepository(connection).get(stack.goal_id)
            credential = credentials.get(connection, stack.tree_id)
        description = "" if goal is None else goal.description
        user_id = None if credential is None else Credential.load(credential).user_id
        return notifications.NotifiedStack(stack, description, user_id)

    return stack_of


def _keystone(
    conf: cfg.ConfigOpts, database: Database
) -> tuple[StackCloudCache | None, Delegation | None]:
    """Nothing is asked of Keystone yet."""
    if AuthStrategy(conf.heat_api.auth_strategy) is not AuthStrategy.KEYSTONE:
        return None, None
    how, service, store = (
        settings.client_settings(conf),
        ServiceAuth(conf),
        DatabaseCredentialStore(database),
    )
    clouds = StackCloudCache(how, service, store.get, DatabaseSoftwareStore(database))
    return clouds, Delegation(CredentialIssuer(how, service), clouds, store)


def create_api_services(parts: ProcessComponents) -> ApiServices:
    """What the API, and whoever rolls a stack back, evaluates templates with."""
    limits = settings.template_limits(parts.conf)
    return ApiServices(
        database=parts.database,
        store=parts.store,
        bus=parts.bus,
        registry=parts.registry,
        clock=parts.clock,
        ids=parts.ids,
        settings=settings.convergence_settings(parts.conf),
        limits=limits,
        template_cache=parts.template_cache,
        global_environment=load_operator_environment(parts.conf.environment_dir, limits=limits),
        options=settings.api_options(parts.conf),
        custom_constraints={
            **cloud_constraints.load_custom_constraints(parts.registry),
            **custom_constraints.load_constraints(),
        },
        delegation=parts.delegation,
        functions=parts.template_functions,
        stack_user_domain=_users_domain(parts.conf),
        find_signer=_signer_of(parts),
    )


def _users_domain(conf: cfg.ConfigOpts) -> StackUserDomain:
    return StackUserDomain(
        conf.stack_user_domain_id, conf.stack_user_domain_name, conf.heat_stack_user_role
    )


def _signer_of(parts: ProcessComponents) -> SignerLookup | None:
    """How signed URLs are judged; None where stacks have no users to sign them."""
    conf = parts.conf
    if parts.cloud_cache is None or not (conf.stack_user_domain_id or conf.stack_user_domain_name):
        return None
    return Ec2SignatureVerifier(
        parts.cloud_cache.settings, parts.cloud_cache.service_auth
    ).identify_signer


def create_nested_executor(parts: ProcessComponents) -> NestedStackExecutor:
    """What engines make nested stacks with."""
    given = create_api_services(parts)
    return NestedStackExecutor(
        store=given.store,
        builder=given.nested_stack_builder(),
        clock=given.clock,
        ids=given.ids,
        settings=given.settings,
        limits=NestedTreeLimits(
            max_depth=given.options.max_nested_stack_depth,
            max_resources=given.options.max_resources_per_stack,
        ),
    )
