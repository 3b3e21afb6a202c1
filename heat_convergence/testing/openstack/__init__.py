"""A cloud in memory that answers over HTTP as the OpenStack services do."""
