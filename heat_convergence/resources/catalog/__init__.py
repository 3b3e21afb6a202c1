"""Resource types of OpenStack's services, declared as data."""
