"""The commands that this package adds to the ``openstack`` command line."""
