#!/bin/bash
# DevStack plug-in: runs the service in place of Heat. In local.conf, without Heat's own services:
#
#   enable_plugin heat-convergence https://REPOSITORY/heat-convergence

function install_heat_convergence {
    pip_install "$DEST/heat-convergence[mysql]"
}

function configure_heat_convergence {
    sudo install -d -o "$STACK_USER" "$(dirname "$HEAT_CONVERGENCE_CONF")"
    iniset_rpc_backend heat-convergence "$HEAT_CONVERGENCE_CONF"
    iniset "$HEAT_CONVERGENCE_CONF" DEFAULT auth_encryption_key "$(generate_hex_string 16)"
    iniset "$HEAT_CONVERGENCE_CONF" DEFAULT stack_user_domain_name heat
    iniset "$HEAT_CONVERGENCE_CONF" DEFAULT stack_domain_admin heat_domain_admin
    iniset "$HEAT_CONVERGENCE_CONF" DEFAULT stack_domain_admin_password "$SERVICE_PASSWORD"
    iniset "$HEAT_CONVERGENCE_CONF" database connection "$(database_connection_url heat)"
    iniset "$HEAT_CONVERGENCE_CONF" heat_api bind_port "$HEAT_CONVERGENCE_PORT"
    configure_keystone_authtoken_middleware "$HEAT_CONVERGENCE_CONF" heat
}

function create_heat_convergence_accounts {
    create_service_user heat admin
    get_or_create_service heat orchestration Orchestration
    get_or_create_endpoint orchestration "$REGION_NAME" \
        "http://$SERVICE_HOST:$HEAT_CONVERGENCE_PORT/v1/\$(project_id)s"
    get_or_create_domain heat "Users of stacks"
    get_or_create_user heat_domain_admin "$SERVICE_PASSWORD" heat
    openstack role add --domain heat --user-domain heat --user heat_domain_admin admin
    get_or_create_role heat_stack_user
}

function init_heat_convergence {
    recreate_database heat
    heat-convergence-manage --config-file "$HEAT_CONVERGENCE_CONF" db upgrade
}

function start_heat_convergence {
    local daemon
    for daemon in api engine observer; do
        run_process "hc-$daemon" \
            "$(command -v heat-convergence-$daemon) --config-file $HEAT_CONVERGENCE_CONF"
    done
}

function stop_heat_convergence {
    local daemon
    for daemon in api engine observer; do
        stop_process "hc-$daemon"
    done
}

case "$1 ${2:-}" in
    "stack install") install_heat_convergence ;;
    "stack post-config")
        configure_heat_convergence
        create_heat_convergence_accounts
        ;;
    "stack extra")
        init_heat_convergence
        start_heat_convergence
        ;;
    "unstack ") stop_heat_convergence ;;
    "clean ") sudo rm -rf "$(dirname "$HEAT_CONVERGENCE_CONF")" ;;
esac
