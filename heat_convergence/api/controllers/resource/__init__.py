"""Resource."""
