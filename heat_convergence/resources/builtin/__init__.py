"""Resource types that need no cloud."""
