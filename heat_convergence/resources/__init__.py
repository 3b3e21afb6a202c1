"""Resource types: their protocol, the driver of OpenStack types, and all types of the service."""
