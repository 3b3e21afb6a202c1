"""Resource types of the services that others rely on: Keystone, Glance and Barbican."""
