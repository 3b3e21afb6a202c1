"""Source."""
