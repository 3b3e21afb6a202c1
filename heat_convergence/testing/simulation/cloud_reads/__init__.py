"""What reads and lists show of the simulated cloud, and how old it is."""
