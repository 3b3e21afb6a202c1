"""Nova."""
