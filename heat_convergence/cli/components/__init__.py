"""Components of a process, built from the configuration."""
