"""Options as the plain numbers that the parts are built with.

Called by ``wiring``; the parts themselves know no configuration.
"""

from __future__ import annotations

from oslo_config import cfg

from heat_convergence.api.services import ApiOptions
from heat_convergence.convergence.ports import Settings
from heat_convergence.template.limits import Limits


def settings(conf: cfg.ConfigOpts) -> Settings:
    return Settings(
        batch_size=conf.engine.batch_size,
        jobs_in_flight=conf.engine.jobs_in_flight,
        retry_limit=conf.action_retry_limit,
        retry_backoff_s=conf.engine.retry_backoff,
        retry_backoff_max_s=conf.engine.retry_backoff_max,
        lease_s=conf.engine.lease,
        repost_after_s=conf.engine.repost_after,
        error_wait_s=float(conf.error_wait_time),
        action_timeout_s=float(conf.stack_action_timeout),
        sweep_interval_s=conf.observer.sweep_interval,
        sweep_limit=conf.observer.sweep_limit,
    )


def limits(conf: cfg.ConfigOpts) -> Limits:
    return Limits(
        max_template_size=conf.max_template_size,
        yaql_limit_iterators=conf.yaql.limit_iterators,
        yaql_memory_quota_bytes=conf.yaql.memory_quota,
    )


def api_options(conf: cfg.ConfigOpts) -> ApiOptions:
    return ApiOptions(
        max_json_body_bytes=conf.max_json_body_size,
        max_stacks_per_tenant=conf.max_stacks_per_tenant,
        max_resources_per_stack=conf.max_resources_per_stack,
        max_nested_stack_depth=conf.max_nested_stack_depth,
        hidden_stack_tags=tuple(conf.hidden_stack_tags),
        revision=conf.revision.heat_revision,
        template_fetch_timeout_s=conf.template_fetch_timeout,
    )
