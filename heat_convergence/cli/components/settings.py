"""Settings of the components, built from options.

Called by ``assembly``; the components themselves do not read the configuration.
"""

from __future__ import annotations

from typing import Any

from oslo_config import cfg

from heat_convergence.api.services import ApiOptions
from heat_convergence.clients.circuit_breaker import CircuitSettings
from heat_convergence.clients.settings import ClientSettings, DeferredAuthMethod
from heat_convergence.conf.clients import SDK_SERVICE_NAMES
from heat_convergence.convergence.drift.policy import OperatorPolicies
from heat_convergence.convergence.drift.repair_budget import RepairLimits
from heat_convergence.convergence.drift.settings import DriftSettings, MassLossLimits
from heat_convergence.convergence.ports.settings import ConvergenceSettings
from heat_convergence.convergence.quarantine.entry import QuarantineSettings
from heat_convergence.sandbox.expression_sandbox import SandboxSettings
from heat_convergence.stacks.services import StackOptions
from heat_convergence.template.environment.drift_policies import DriftPolicy
from heat_convergence.template.environment.repair_window import RepairWindow
from heat_convergence.template.limits import TemplateLimits, YaqlRunner

_EXPRESSION_WAIT_S = 0.5  # of a request for processor time


def convergence_settings(conf: cfg.ConfigOpts) -> ConvergenceSettings:
    """Return the settings of engines and observers."""
    return ConvergenceSettings(
        batch_size=conf.engine.batch_size,
        jobs_in_flight=conf.engine.jobs_in_flight,
        jobs_on_bus=conf.engine.jobs_on_bus,
        jobs_in_hand=conf.engine.jobs_in_hand,
        retry_limit=conf.action_retry_limit,
        retry_backoff_s=conf.engine.retry_backoff,
        retry_backoff_max_s=conf.engine.retry_backoff_max,
        lease_s=conf.engine.lease,
        max_job_takeovers=conf.engine.max_job_takeovers,
        repost_after_s=conf.engine.repost_after,
        error_wait_s=float(conf.error_wait_time),
        action_timeout_s=float(conf.stack_action_timeout),
        observation_limit_s=conf.observer.poll_timeout,
        sweep_interval_s=conf.observer.sweep_interval,
        sweep_limit=conf.observer.sweep_limit,
        watch_interval_s=conf.drift.interval if conf.drift.enabled else 0.0,
        watch_interval_max_s=max(conf.drift.interval, conf.drift.interval_max),
        drift=drift_settings(conf),
        quarantine=QuarantineSettings(
            conf.quarantine.interval, max(conf.quarantine.interval, conf.quarantine.interval_max)
        ),
    )


def drift_settings(conf: cfg.ConfigOpts) -> DriftSettings:
    """Return the operator's policies and limits of drift."""
    by_type = (each.rpartition("=") for each in conf.drift.policies)
    return DriftSettings(
        policies=OperatorPolicies(
            DriftPolicy(conf.drift.default_policy),
            tuple((name, DriftPolicy(policy)) for name, _, policy in by_type),
        ),
        repairs=RepairLimits(
            per_stack=conf.drift.repair_budget_per_stack,
            per_project=conf.drift.repair_budget_per_project,
            tries=conf.drift.repair_limit,
            backoff_s=conf.drift.repair_backoff,
            backoff_max_s=max(conf.drift.repair_backoff, conf.drift.repair_backoff_max),
            window=_repair_window(conf),
        ),
        mass_loss=MassLossLimits(conf.drift.mass_loss_count, conf.drift.mass_loss_share),
    )


def _repair_window(conf: cfg.ConfigOpts) -> RepairWindow | None:
    """Return the operator's window of repairs, which ``checks`` has found to be one."""
    if not conf.drift.repair_window:
        return None
    return RepairWindow(
        " ".join(conf.drift.repair_window.split()),
        conf.drift.repair_window_duration,
        conf.drift.repair_window_timezone,
    )


def template_limits(conf: cfg.ConfigOpts, yaql_runner: YaqlRunner | None = None) -> TemplateLimits:
    """Return the limits of template evaluation."""
    return TemplateLimits(
        max_template_size=conf.max_template_size,
        max_evaluation_steps=conf.max_template_evaluation_steps,
        yaql_limit_iterators=conf.yaql.limit_iterators,
        yaql_memory_quota_bytes=conf.yaql.memory_quota,
        yaql_max_seconds=conf.yaql.time_limit,
        yaql_max_wall_seconds=conf.yaql.time_limit + _EXPRESSION_WAIT_S,
        yaql_runner=yaql_runner,
    )


def stack_options(conf: cfg.ConfigOpts) -> StackOptions:
    """Return the options that bound stacks, for engines and observers."""
    return StackOptions(**_stack_option_values(conf))


def sandbox_settings(conf: cfg.ConfigOpts) -> SandboxSettings:
    """Return the limits of the child processes that evaluate expressions."""
    return SandboxSettings(
        max_children=conf.yaql.processes, memory_bytes=conf.yaql.process_memory * 2**20
    )


def api_options(conf: cfg.ConfigOpts) -> ApiOptions:
    """Return the options of the API, those of stacks included."""
    return ApiOptions(
        **_stack_option_values(conf),
        max_software_configs_per_tenant=conf.max_software_configs_per_tenant,
        max_software_deployments_per_tenant=conf.max_software_deployments_per_tenant,
        enable_stack_adopt=conf.enable_stack_adopt,
        enable_stack_abandon=conf.enable_stack_abandon,
        observe_on_update=conf.observe_on_update,
        quarantine_on_delete=conf.quarantine.on_delete,
        plan_lifetime_s=conf.plan_lifetime,
        max_plans_per_tenant=conf.max_plans_per_tenant,
        hidden_stack_tags=tuple(conf.hidden_stack_tags),
        revision=conf.revision.heat_revision,
        access_log=conf.heat_api.access_log,
        console=conf.console.enabled,
        public_endpoint=conf.public_endpoint,
    )


def _stack_option_values(conf: cfg.ConfigOpts) -> dict[str, Any]:
    return {
        "max_json_body_bytes": conf.max_json_body_size,
        "max_stacks_per_tenant": conf.max_stacks_per_tenant,
        "max_resources_per_stack": conf.max_resources_per_stack,
        "max_nested_stack_depth": conf.max_nested_stack_depth,
        "max_snapshots_per_stack": conf.max_snapshots_per_stack,
        "partial_update_min_resources": conf.partial_update_min_resources,
        "region": conf.region_name_for_services,
        "template_fetch_timeout_s": conf.template_fetch_timeout,
        "fetch_private_addresses": conf.template_fetch_private_addresses,
    }


def property_defaults(conf: cfg.ConfigOpts) -> dict[tuple[str, str], str]:
    """Return the configured defaults of properties by resource type and property."""
    deployments = (
        "OS::Heat::SoftwareDeployment",
        "OS::Heat::SoftwareDeploymentGroup",
        "OS::Heat::SoftwareDeployments",
        "OS::Heat::StructuredDeployment",
        "OS::Heat::StructuredDeploymentGroup",
        "OS::Heat::StructuredDeployments",
    )
    servers = ("OS::Nova::Server", "OS::Heat::DeployedServer")
    signal = conf.default_deployment_signal_transport
    transport = conf.default_software_config_transport
    return {
        ("OS::Nova::Server", "user_data_format"): conf.default_user_data_format,
        **{(name, "software_config_transport"): transport for name in servers},
        **{(name, "signal_transport"): signal for name in deployments},
    }


def resource_type_traits(conf: cfg.ConfigOpts) -> dict[tuple[str, str], Any]:
    """Return the configured traits of resource types by type and trait."""
    return {
        ("OS::Nova::Server", "physical_name_limit"): conf.max_server_name_length,
        ("AWS::ElasticLoadBalancing::LoadBalancer", "template_path"): conf.loadbalancer_template,
        ("OS::Cinder::Volume", "allows_snapshot_on_delete"): conf.volumes.backups_enabled,
    }


def client_settings(conf: cfg.ConfigOpts) -> ClientSettings:
    """Return the settings of the clients of other services."""
    clients = conf.clients
    interfaces = {
        name: conf[group].endpoint_type
        for group, name in SDK_SERVICE_NAMES.items()
        if conf[group].endpoint_type
    }
    return ClientSettings(
        deferred_auth_method=DeferredAuthMethod(conf.deferred_auth_method),
        delegated_roles=tuple(conf.trusts_delegated_roles),
        allow_redelegation=conf.allow_trusts_redelegation,
        region=conf.region_name_for_services,
        shared_services_region=conf.region_name_for_shared_services,
        shared_service_types=tuple(conf.shared_services_types),
        interface=clients.endpoint_type,
        interfaces=interfaces,
        heat_url=conf.clients_heat.url,
        waitcondition_url=conf.heat_waitcondition_server_url,
        metadata_url=conf.heat_metadata_server_url,
        auth_uri=conf.clients_keystone.auth_uri,
        server_keystone_interface=conf.server_keystone_endpoint_type,
        send_scheduler_hints=conf.stack_scheduler_hints,
        verify=False if clients.insecure else clients.ca_file or True,
        cert=(clients.cert_file, clients.key_file) if clients.key_file else clients.cert_file,
        timeout_s=clients.timeout,
        connect_retries=conf.client_retry_limit,
        circuits=CircuitSettings(
            failures=clients.circuit_failures,
            pause_s=clients.circuit_pause,
            max_pause_s=clients.circuit_pause_max,
        ),
        stack_user_role=conf.heat_stack_user_role,
        stack_user_domain_id=conf.stack_user_domain_id,
        stack_user_domain_name=conf.stack_user_domain_name,
        stack_domain_admin=conf.stack_domain_admin,
        stack_domain_admin_password=conf.stack_domain_admin_password,
        remote_private_addresses=conf.remote_cloud_private_addresses,
    )
