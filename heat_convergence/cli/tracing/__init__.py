"""The tracing libraries that a daemon can load."""
