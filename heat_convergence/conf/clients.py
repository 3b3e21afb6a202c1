"""Options of the clients of other OpenStack services: endpoints, credentials, time-outs.

Names and defaults are those of the Orchestration service's configuration. Read by ``cli``,
which builds ``clients.settings.ClientSettings`` from them. The sections of keystoneauth
plug-ins (``trustee``) are read by ``clients.auth`` alone.
"""

from __future__ import annotations

from collections.abc import Mapping

from keystoneauth1 import loading
from oslo_config import cfg

GROUP = None
TRUSTEE_GROUP = "trustee"
DRIFT_AUTH_GROUP = "drift_auth"
_INTERFACES = ["publicURL", "internalURL", "adminURL", "public", "internal", "admin"]

# Configuration section of a service → openstacksdk's name for its settings.
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
            ("trusts", "with a Keystone trust"),
            ("application_credential", "with an application credential created for the stack"),
            ("password", "with the user's own password, sent in X-Auth-User and X-Auth-Key"),
        ],
        help="How the service authenticates on behalf of a stack's user after the request has "
        "ended.",
    ),
    cfg.ListOpt(
        "trusts_delegated_roles",
        default=[],
        help="Roles that users delegate to the service. When empty, all roles of the user are"
        " delegated.",
    ),
    cfg.BoolOpt(
        "allow_trusts_redelegation",
        default=False,
        help="Whether the service may redelegate the trusts that it holds.",
    ),
    cfg.StrOpt(
        "heat_stack_user_role",
        default="heat_stack_user",
        help="Keystone role of the users that stacks create for resources that send signals.",
    ),
    cfg.StrOpt(
        "stack_user_domain_id",
        help="Id of the Keystone domain of the users that stacks create. Without a domain, stacks"
        " create no users.",
    ),
    cfg.StrOpt(
        "stack_user_domain_name",
        help="Name of that domain. Ignored when stack_user_domain_id is set.",
    ),
    cfg.StrOpt("stack_domain_admin", help="Administrator of the stack user domain."),
    cfg.StrOpt("stack_domain_admin_password", secret=True, help="Password of stack_domain_admin."),
    cfg.URIOpt(
        "heat_waitcondition_server_url",
        help="Base URL of the signed URLs of wait conditions as servers reach it, up to and "
        "including /v1/waitcondition. Defaults to the address of the Orchestration API.",
    ),
    cfg.URIOpt(
        "heat_metadata_server_url",
        help="URL from which agents in servers poll metadata. Defaults to the cloudformation"
        " endpoint of the service catalog.",
    ),
    cfg.StrOpt(
        "default_software_config_transport",
        default="POLL_SERVER_CFN",
        choices=[
            ("POLL_SERVER_CFN", "poll heat_metadata_server_url with EC2 credentials"),
            ("POLL_SERVER_HEAT", "poll the Orchestration API with a password"),
            ("POLL_TEMP_URL", "poll a signed URL of the object storage"),
            ("ZAQAR_MESSAGE", "read messages from a queue of Zaqar with a password"),
        ],
        help="How servers fetch their software deployments when the template does not specify it.",
    ),
    cfg.StrOpt(
        "default_deployment_signal_transport",
        default="CFN_SIGNAL",
        choices=[
            ("CFN_SIGNAL", "to a signed URL"),
            ("HEAT_SIGNAL", "to the Orchestration API, with a password"),
            ("TEMP_URL_SIGNAL", "to a signed URL of the object storage"),
            ("ZAQAR_SIGNAL", "to a queue of Zaqar, with a password"),
        ],
        help="How servers signal that a deployment has completed when the template does not "
        "specify it.",
    ),
    cfg.StrOpt(
        "default_user_data_format",
        default="HEAT_CFNTOOLS",
        choices=[
            ("HEAT_CFNTOOLS", "multipart MIME for heat-cfntools in the server"),
            ("RAW", "unchanged"),
            ("SOFTWARE_CONFIG", "for an agent that polls for software deployments"),
        ],
        help="Format of the user data of servers when the template does not specify it.",
    ),
    cfg.StrOpt(
        "server_keystone_endpoint_type",
        default="",
        choices=["", *_INTERFACES],
        help="Interface of Keystone's endpoint at which servers authenticate. When empty,"
        " [clients_keystone] auth_uri is used.",
    ),
    cfg.IntOpt(
        "max_server_name_length",
        default=53,
        min=16,
        max=63,
        help="Maximum length of the name of a server when its template does not name it.",
    ),
    cfg.BoolOpt(
        "stack_scheduler_hints",
        default=False,
        help="Whether scheduler hints of servers and volumes name the stack and the resource that"
        " they belong to.",
    ),
    cfg.StrOpt(
        "loadbalancer_template",
        help="File with the template of the nested stack of"
        " AWS::ElasticLoadBalancing::LoadBalancer, whose resource LB_instance gets the"
        " configuration of HAProxy. Defaults to a server that installs HAProxy with"
        " heat-cfntools.",
    ),
    cfg.BoolOpt(
        "remote_cloud_private_addresses",
        default=False,
        help="Whether OS::Heat::Stack may connect to another cloud at loopback, link-local and"
        " private addresses. Every user who may create stacks can then send requests to these"
        " hosts.",
    ),
    cfg.StrOpt(
        "region_name_for_services",
        help="Region whose endpoints are used when the request names none. Templates read it as"
        " OS::region.",
    ),
    cfg.StrOpt(
        "region_name_for_shared_services",
        help="Region of the services that several regions share.",
    ),
    cfg.ListOpt(
        "shared_services_types",
        default=["image", "volumev3"],
        help="Types, as in the service catalog, of the services that several regions share.",
    ),
    cfg.IntOpt(
        "client_retry_limit",
        default=2,
        min=0,
        help="Number of times a request is repeated when the connection to a service fails.",
    ),
]

VOLUMES_GROUP = "volumes"

VOLUMES_OPTS = [
    cfg.BoolOpt(
        "backups_enabled",
        default=True,
        help="Whether templates may request a backup of a volume before it is deleted.",
    ),
]

CLIENTS_GROUP = "clients"

CLIENTS_OPTS = [
    cfg.StrOpt(
        "endpoint_type",
        default="public",
        choices=_INTERFACES,
        help="Interface of the endpoints that are used.",
    ),
    cfg.StrOpt("ca_file", help="PEM file with the certificate authorities to trust."),
    cfg.StrOpt("cert_file", help="PEM file with the client certificate."),
    cfg.StrOpt("key_file", help="PEM file with the private key of the client certificate."),
    cfg.BoolOpt(
        "insecure", default=False, help="Do not verify the certificates of other services."
    ),
    cfg.FloatOpt(
        "timeout",
        default=60.0,
        min=1.0,
        help="Seconds to wait for the response of a service.",
    ),
    cfg.IntOpt(
        "circuit_failures",
        default=5,
        min=1,
        help="Number of failures in a row (no connection, no response in time, or a response of "
        "429, 500, 502, 503 or 504) after which a process stops to call a service of a region.",
    ),
    cfg.FloatOpt(
        "circuit_pause",
        default=5.0,
        min=0.1,
        help="Seconds after which one call tries whether the service responds again; doubled each "
        "time that it does not.",
    ),
    cfg.FloatOpt(
        "circuit_pause_max",
        default=60.0,
        min=0.1,
        help="Maximum number of seconds between two such calls, unless the service asks for a "
        "longer pause with Retry-After, of which up to 300 seconds are granted.",
    ),
]


def service_opts(group: str) -> list[cfg.Opt]:
    """Return the options of one service's section."""
    opts: list[cfg.Opt] = [
        cfg.StrOpt(
            "endpoint_type",
            choices=_INTERFACES,
            help="Interface of the endpoint of this service, instead of [clients] endpoint_type.",
        )
    ]
    if group == "clients_keystone":
        opts.append(cfg.URIOpt("auth_uri", help="URL of Keystone as servers reach it."))
    if group == "clients_heat":
        opts.append(
            cfg.URIOpt(
                "url",
                help="Endpoint of the Orchestration API, instead of the one in the service "
                "catalog. %(tenant_id)s is replaced by the project id.",
            )
        )
    return opts


def auth_opts() -> list[cfg.Opt]:
    """Return the options that choose the plug-in of keystoneauth that logs in.

    The section ``trustee`` has that of the service itself, ``drift_auth`` that of the reader whose
    lists show the resources of all projects.
    """
    return list(loading.get_auth_common_conf_options())
