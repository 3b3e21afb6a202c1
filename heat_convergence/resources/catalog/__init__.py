"""Resource types declared as data."""
