"""Resource types of the compute services: Nova."""
