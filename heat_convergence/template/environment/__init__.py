"""Environment."""
