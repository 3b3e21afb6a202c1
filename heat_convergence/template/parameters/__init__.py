"""Parameters."""
