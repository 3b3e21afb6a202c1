"""The components of one process, assembled from its options.

Called by the workers of the daemons, by ``standalone`` and by ``wsgi``, in the process that
uses them: connections must not cross a fork. Must not import the web application, whose memory
engines and observers do not need.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import oslo_messaging
from oslo_config import cfg

from heat_convergence.api.context import AuthStrategy, StackUserDomain
from heat_convergence.api.services import ApiServices, LogIn, SignerLookup, TokenIssuer
from heat_convergence.cli.components import function_plugins, settings
from heat_convergence.cli.components.credential_store import DatabaseCredentialStore
from heat_convergence.cli.components.event_store import (
    EventForwardingStore,
    create_dispatch_sources,
)
from heat_convergence.cli.components.operator_environment import load_operator_environment
from heat_convergence.cli.components.software_store import DatabaseSoftwareStore
from heat_convergence.clients.auth import ServiceAuth
from heat_convergence.clients.clouds import StackCloudCache
from heat_convergence.clients.credentials import Credential
from heat_convergence.clients.delegation import Delegation
from heat_convergence.clients.endpoints import NoAuthCloud
from heat_convergence.clients.keystone import CredentialIssuer
from heat_convergence.clients.login.user_login import UserLogin
from heat_convergence.clients.signed_urls import Ec2SignatureVerifier
from heat_convergence.common.clock import Clock, utc_now
from heat_convergence.common.error_log import ErrorLog
from heat_convergence.common.failures import Unavailable
from heat_convergence.common.ids import IdFactory, IdGenerator
from heat_convergence.convergence.drift.announcements import Announce, announce_nothing
from heat_convergence.convergence.model.notification_events import NotifyCallback
from heat_convergence.db.connection.database import Database, create_database
from heat_convergence.db.encryption.column_encryption import Keyring, attach_keyring
from heat_convergence.db.maintenance import schema_revisions
from heat_convergence.db.reads import stacks
from heat_convergence.db.repositories.goals import SqlGoalRepository
from heat_convergence.db.statements import credentials
from heat_convergence.db.store import SqlStore
from heat_convergence.engine.nested.executor import NestedStackExecutor, NestedTreeLimits
from heat_convergence.resources import custom_constraints
from heat_convergence.resources.catalog import custom_constraints as cloud_constraints
from heat_convergence.resources.nested.template_cache import TemplateCache
from heat_convergence.resources.protocol.verb_values import CloudFactory, no_cloud
from heat_convergence.resources.registry import ResourceTypeRegistry
from heat_convergence.rpc import notifications
from heat_convergence.rpc.bus import RpcBus
from heat_convergence.rpc.transport import create_transport
from heat_convergence.sandbox.expression_sandbox import ExpressionSandbox
from heat_convergence.stacks.contained_bus import ContainedBus
from heat_convergence.stacks.event_sinks.event_dispatcher import EventDispatcher
from heat_convergence.stacks.event_sinks.lifecycle_plugins import load_lifecycle_plugins
from heat_convergence.stacks.goal.nested_builder import NestedStackBuilder
from heat_convergence.stacks.services import StackServices
from heat_convergence.template.functions.function import Function
from heat_convergence.template.limits import TemplateLimits


@dataclass(frozen=True, slots=True)
class ProcessComponents:
    """The components of a daemon, not connected yet.

    Attributes:
        conf: The configuration.
        database: The database.
        store: Store of stacks and resources.
        transport: Transport of messages.
        bus: Bus to engines and observers.
        registry: Resource types.
        template_functions: Template functions of installed plug-ins.
        template_cache: Cache of parsed templates.
        clock: The wall clock.
        ids: Generator of identifiers.
        errors: Log of unexpected errors.
        announce: Function that sends notifications of drift.
        cloud_cache: Clients of stack trees; None without Keystone.
        delegation: Credentials of stack trees; None without Keystone.
        emulated_cloud: Clients of stack trees without Keystone; None if there is no cloud.
    """

    conf: cfg.ConfigOpts
    database: Database
    store: SqlStore
    transport: oslo_messaging.RPCTransport
    bus: RpcBus
    registry: ResourceTypeRegistry
    template_functions: Mapping[str, Function]
    template_cache: TemplateCache
    template_limits: TemplateLimits
    expression_sandbox: ExpressionSandbox
    clock: Clock
    ids: IdFactory
    errors: ErrorLog = field(default_factory=ErrorLog)
    announce: Announce = announce_nothing
    cloud_cache: StackCloudCache | None = None  # None: there is no Keystone
    delegation: Delegation | None = None
    emulated_cloud: CloudFactory | None = None

    @property
    def cloud_of(self) -> CloudFactory:
        """Function that engines and observers fill ``ResourceContext.cloud`` with."""
        if self.cloud_cache is not None:
            return self.cloud_cache.get
        if self.emulated_cloud is not None:
            return self.emulated_cloud
        local = NoAuthCloud(self.conf.clients_heat.url, DatabaseSoftwareStore(self.database))
        return lambda _tree_id: local

    def check_database(self) -> None:
        """Check that the database answers and has a compatible schema.

        Raises:
            Unavailable: It does not, or not yet.
        """
        self.database.ping()
        found = schema_revisions.get_current_revision(self.database)
        if not schema_revisions.is_compatible(found):
            raise Unavailable(
                f"the database schema is at {found},"
                f" this release needs {schema_revisions.HEAD_REVISION}: "
                "run heat-convergence-manage db upgrade"
            )

    def close(self) -> None:
        """Close the sandbox, the transport and the database."""
        self.expression_sandbox.close()
        self.transport.cleanup()
        self.database.close()


def assemble_components(
    conf: cfg.ConfigOpts, *, transport_url: str | None = None
) -> ProcessComponents:
    """Build the components of a process.

    Args:
        conf: The configuration.
        transport_url: URL instead of the option of that name.

    Raises:
        cfg.RequiredOptError: There is no key for the encryption of secrets.
    """
    if not conf.auth_encryption_key:
        raise cfg.RequiredOptError("auth_encryption_key")
    database = create_database(conf)
    attach_keyring(database.engine, Keyring(conf.auth_encryption_key))
    transport = create_transport(conf, url=transport_url)
    error_log = ErrorLog()
    clouds, delegation = create_keystone_clients(conf, database)
    sandbox = ExpressionSandbox(settings.sandbox_settings(conf))
    limits = settings.template_limits(conf, sandbox)
    return ProcessComponents(
        conf=conf,
        database=database,
        store=EventForwardingStore(
            database,
            _create_stack_notifier(conf, database),
            forward=EventDispatcher(
                create_dispatch_sources(database, no_cloud if clouds is None else clouds.get),
                load_lifecycle_plugins(),
                error_log,
            ),
            errors=error_log,
        ),
        transport=transport,
        bus=RpcBus(
            transport, send_retries=conf.rpc.send_retries, send_pause_s=conf.rpc.quiet_time
        ),
        registry=ResourceTypeRegistry.load(
            settings.property_defaults(conf), settings.resource_type_traits(conf)
        ),
        template_functions=function_plugins.load_functions(),
        template_cache=TemplateCache(limits, max_bytes=conf.template_cache_size * 2**20),
        template_limits=limits,
        expression_sandbox=sandbox,
        clock=utc_now,
        errors=error_log,
        announce=_create_drift_notifier(conf),
        ids=IdGenerator(utc_now, random.SystemRandom()),
        cloud_cache=clouds,
        delegation=delegation,
    )


def _create_stack_notifier(conf: cfg.ConfigOpts, database: Database) -> NotifyCallback | None:
    """Return the sender of stack notifications; None when no driver is configured."""
    sender = notifications.create_notifier(conf)
    if sender is None:
        return None
    level = conf.default_notification_level
    return notifications.StackNotifier(sender, level, notified_stack_finder(database))


def _create_drift_notifier(conf: cfg.ConfigOpts) -> Announce:
    """Return the sender of announcements of drift."""
    sender = notifications.create_notifier(conf)
    if sender is None:
        return announce_nothing
    return notifications.DriftNotifier(
        sender, conf.default_notification_level, conf.rpc.quiet_time
    )


def notified_stack_finder(database: Database) -> notifications.FindNotifiedStack:
    """Return the function that reads what notifications contain of a stack."""

    def find_stack(stack_id: str) -> notifications.NotifiedStack | None:
        with database.read() as connection:
            stack = stacks.get(connection, stack_id)
            if stack is None:
                return None
            goal = SqlGoalRepository(connection).get(stack.goal_id)
            credential = credentials.get(connection, stack.tree_id)
        description = "" if goal is None else goal.description
        user_id = None if credential is None else Credential.load(credential).user_id
        return notifications.NotifiedStack(stack, description, user_id)

    return find_stack


def create_keystone_clients(
    conf: cfg.ConfigOpts, database: Database
) -> tuple[StackCloudCache | None, Delegation | None]:
    """Build the clients of Keystone, without a request to it; None without Keystone."""
    if AuthStrategy(conf.heat_api.auth_strategy) is not AuthStrategy.KEYSTONE:
        return None, None
    client_settings = settings.client_settings(conf)
    service, store = ServiceAuth(conf), DatabaseCredentialStore(database)
    clouds = StackCloudCache(client_settings, service, store.get, DatabaseSoftwareStore(database))
    return clouds, Delegation(CredentialIssuer(client_settings, service), clouds, store)


def create_stack_services(components: ProcessComponents) -> StackServices:
    """Build what engines and observers need to evaluate templates."""
    return StackServices(
        options=settings.stack_options(components.conf), **_stack_service_values(components)
    )


def create_api_services(components: ProcessComponents) -> ApiServices:
    """Build the services of the API, which evaluates templates as daemons do."""
    return ApiServices(
        database=components.database,
        store=components.store,
        bus=ContainedBus(components.bus, components.errors),
        ids=components.ids,
        options=settings.api_options(components.conf),
        delegation=components.delegation,
        stack_user_domain=_stack_user_domain(components.conf),
        find_signer=_signer_lookup(components),
        cloud_of=components.cloud_of,
        issue_token=_token_issuer(components),
        log_in=_user_login(components),
        **_stack_service_values(components),
    )


def _stack_service_values(components: ProcessComponents) -> dict[str, Any]:
    limits = components.template_limits
    folder = components.conf.environment_dir
    return {
        "registry": components.registry,
        "clock": components.clock,
        "settings": settings.convergence_settings(components.conf),
        "limits": limits,
        "template_cache": components.template_cache,
        "global_environment": load_operator_environment(
            folder, limits=limits, stabilization_s=components.conf.stabilization_window
        ),
        "custom_constraints": {
            **cloud_constraints.load_custom_constraints(components.registry),
            **custom_constraints.load_constraints(),
        },
        "functions": components.template_functions,
        "errors": components.errors,
    }


def _stack_user_domain(conf: cfg.ConfigOpts) -> StackUserDomain:
    return StackUserDomain(
        conf.stack_user_domain_id, conf.stack_user_domain_name, conf.heat_stack_user_role
    )


def _signer_lookup(components: ProcessComponents) -> SignerLookup | None:
    """Return the verification of signed URLs; None when stacks have no users to sign them."""
    conf = components.conf
    if components.cloud_cache is None or not (
        conf.stack_user_domain_id or conf.stack_user_domain_name
    ):
        return None
    return Ec2SignatureVerifier(
        components.cloud_cache.settings, components.cloud_cache.service_auth
    ).identify_signer


def _token_issuer(components: ProcessComponents) -> TokenIssuer | None:
    """Return what asks Keystone for tokens of signed requests; None without Keystone."""
    clouds = components.cloud_cache
    if clouds is None:
        return None
    return Ec2SignatureVerifier(clouds.settings, clouds.service_auth).issue_token


def _user_login(components: ProcessComponents) -> LogIn | None:
    """Return what logs users of the console in; None without Keystone."""
    clouds = components.cloud_cache
    if clouds is None:
        return None
    return UserLogin(clouds.settings, clouds.service_auth).log_in


def create_nested_executor(components: ProcessComponents) -> NestedStackExecutor:
    """Build the executor with which engines create nested stacks."""
    services = create_stack_services(components)
    return NestedStackExecutor(
        store=components.store,
        builder=NestedStackBuilder(services),
        clock=components.clock,
        ids=components.ids,
        settings=services.settings,
        limits=NestedTreeLimits(
            max_depth=services.options.max_nested_stack_depth,
            max_resources=services.options.max_resources_per_stack,
        ),
    )
