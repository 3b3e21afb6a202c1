"""The messages between the simulated processes."""
