"""Resource types that the service implements itself, without another OpenStack service."""
