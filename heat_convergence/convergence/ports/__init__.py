"""What the algorithm needs from outside: a store, a bus, and settings."""
