"""Sessions and connections to OpenStack services."""
