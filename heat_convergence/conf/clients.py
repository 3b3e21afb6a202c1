"""How other services are reached, and as whom.

Names and defaults are those of the Orchestration service's configuration.  Read by
``cli``, which makes ``client_settings.convergence_settings.ClientSettings`` of them; sections of
keystoneauth plug-ins (``trustee``) are read by ``client_settings.plugins`` alone.
"""

from __future__ import annotations

from collections.abc import Mapping

from keystoneauth1 import loading
from oslo_config import cfg

GROUP = None
TRUSTEE_GROUP = "trustee"
_INTERFACES = ["publicURL", "internalURL", "adminURL", "public", "internal", "admin"]

# Section of one service → the name that openstacksdk has for its settings.
SDK_SERVICE_NAMES: Mapping[str, str] = {
    "clients_aodh": "alarming",
    "clients_barbican": "key_manager",
    "clients_cinder": "block_storage",
    "clients_designate": "dns",
    "clients_glance": "image",
    "clients_heat": "orchestration",
    "clients_keystone": "identity",
    "clients_magnum": "container_infrastructure_management",
    "clients_manila": "shared_file_system",
    "clients_mistral": "workflow",
    "clients_neutron": "network",
    "clients_nova": "compute",
    "clients_octavia": "load_balancer",
    "clients_swift": "object_store",
    "clients_trove": "database",
    "clients_zaqar": "messaging",
}

OPTS = [
    cfg.StrOpt(
        "deferred_auth_method",
        default="trusts",
        choices=[
            ("trusts", "the service acts by a Keystone trust"),
            ("application_credential", "by an application credential made for the stack"),
            ("password", "by the user's own password, sent in X-Auth-User and X-Auth-Key"),
        ],
        help="As whom the service acts for a stack once the request that made it is over.",
    ),
    cfg.ListOpt(
        "trusts_delegated_roles",
        default=[],
        help="Roles that are delegated to the service; none named: all that the user has.",
    ),
    cfg.BoolOpt(
        "allow_trusts_redelegation",
        default=False,
        help="Whether a trust that the service holds may be delegated once more.",
    ),
    cfg.StrOpt(
        "heat_stack_user_role",
        default="heat_stack_user",
        help="Role of the users that stacks make for resources which signal.",
    ),
    cfg.StrOpt(
        "stack_user_domain_id",
        help="Keystone domain of the users that stacks make; without it there are none.",
    ),
    cfg.StrOpt(
        "stack_user_domain_name",
        help="The same by name; stack_user_domain_id counts when both are given.",
    ),
    cfg.StrOpt("stack_domain_admin", help="User who administers that domain."),
    cfg.StrOpt("stack_domain_admin_password", secret=True, help="That user's password."),
    cfg.URIOpt(
        "heat_waitcondition_server_url",
        help="Where guests call signed URLs of wait conditions, up to and including "
        "/v1/waitcondition; without it the Orchestration API's own address.",
    ),
    cfg.URIOpt(
        "heat_metadata_server_url",
        help="Where tools in guests ask for the metadata of their server; without it the"
        " catalogue's cloudformation endpoint.",
    ),
    cfg.StrOpt(
        "default_software_config_transport",
        default="POLL_SERVER_CFN",
        choices=[
            ("POLL_SERVER_CFN", "from heat_metadata_server_url, with a pair of keys"),
            ("POLL_SERVER_HEAT", "from the Orchestration API, with a password"),
        ],
        help="How servers fetch what is deployed on them, where a template does not say.",
    ),
    cfg.StrOpt(
        "default_deployment_signal_transport",
        default="CFN_SIGNAL",
        choices=[
            ("CFN_SIGNAL", "at a signed URL"),
            ("HEAT_SIGNAL", "at the Orchestration API, with a password"),
        ],
        help="How servers say that a deployment is done, where a template does not say.",
    ),
    cfg.StrOpt(
        "default_user_data_format",
        default="HEAT_CFNTOOLS",
        choices=[
            ("HEAT_CFNTOOLS", "for tools in the guest"),
            ("RAW", "as they are"),
            ("SOFTWARE_CONFIG", "for an agent that fetches deployments"),
        ],
        help="What servers' user data are handed over as, where a template does not say.",
    ),
    cfg.StrOpt(
        "server_keystone_endpoint_type",
        default="",
        choices=["", *_INTERFACES],
        help="Which of Keystone's endpoints in the catalogue guests log in at; without it"
        " [clients_keystone] auth_uri.",
    ),
    cfg.IntOpt(
        "max_server_name_length",
        default=53,
        min=16,
        max=63,
        help="Longest name that a server is given where its template names none.",
    ),
    cfg.BoolOpt(
        "stack_scheduler_hints",
        default=False,
        help="Whether the schedulers of servers and volumes are told, by hints, of the stack"
        " and the resource that they are for.",
    ),
    cfg.StrOpt(
        "region_name_for_services",
        help="Region whose endpoints are used when the request names none;"
        " templates see it as OS::region.",
    ),
    cfg.StrOpt(
        "region_name_for_shared_services",
        help="Region of the services that regions have in common.",
    ),
    cfg.ListOpt(
        "shared_services_types",
        default=["image", "volumev3"],
        help="Which services regions have in common, by their types in the catalogue.",
    ),
    cfg.IntOpt(
        "client_retry_limit",
        default=2,
        min=0,
        help="How often a request is repeated when the connection to a service breaks.",
    ),
]

VOLUMES_GROUP = "volumes"

VOLUMES_OPTS = [
    cfg.BoolOpt(
        "backups_enabled",
        default=True,
        help="Whether templates may ask for a backup of a volume before it is deleted.",
    ),
]

CLIENTS_GROUP = "clients"

CLIENTS_OPTS = [
    cfg.StrOpt(
        "endpoint_type",
        default="public",
        choices=_INTERFACES,
        help="Which endpoints of the catalogue are used.",
    ),
    cfg.StrOpt("ca_file", help="Certificate authorities to trust, as a PEM file."),
    cfg.StrOpt("cert_file", help="Certificate that the service shows to others, PEM."),
    cfg.StrOpt("key_file", help="Private key of that certificate, PEM."),
    cfg.BoolOpt("insecure", default=False, help="Do not verify the certificates of services."),
    cfg.FloatOpt(
        "timeout",
        default=60.0,
        min=1.0,
        help="Seconds that a service may take to begin its answer.",
    ),
]


def service_opts(group: str) -> list[cfg.Opt]:
    """Options of one service's section."""
    opts: list[cfg.Opt] = [
        cfg.StrOpt(
            "endpoint_type",
            choices=_INTERFACES,
            help="Which of its endpoints is used, instead of [clients] endpoint_type.",
        )
    ]
    if group == "clients_keystone":
        opts.append(cfg.URIOpt("auth_uri", help="Keystone's URL as guests reach it."))
    if group == "clients_heat":
        opts.append(
            cfg.URIOpt(
                "url",
                help="Endpoint of the Orchestration API instead of the catalogue's; "
                "%(tenant_id)s stands for the project.",
            )
        )
    return opts


def trustee_opts() -> list[cfg.Opt]:
    """Which plug-in logs the service in; the plug-in's own options come with it."""
    return list(loading.get_auth_common_conf_options())
