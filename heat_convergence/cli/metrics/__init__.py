"""The metrics of a daemon, served to Prometheus."""
